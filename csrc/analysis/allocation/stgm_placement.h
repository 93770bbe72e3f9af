/* Variants and result of the STGM allocation. */
#ifndef GS_ANALYSIS_ALLOCATION_STGM_PLACEMENT_H
#define GS_ANALYSIS_ALLOCATION_STGM_PLACEMENT_H

#include <stdint.h>

/* Lines of Algorithm 1 as printed. */
enum {
    GS_ANALYSIS_ALLOCATION_ALLOCATE_ONE_TASK =
        1, /* line 16: only the task being placed is tested: unsafe */
    GS_ANALYSIS_ALLOCATION_ALLOCATE_CPU_LOAD =
        2, /* lines 16, 17: loads of C / T instead of (C + G^m) / T or (C + G) / T */
    GS_ANALYSIS_ALLOCATION_ALLOCATE_SIGN =
        4, /* line 24: the largest G(N + 1) - G(N), which is the smallest gain */
    GS_ANALYSIS_ALLOCATION_ALLOCATE_NO_RESET =
        8, /* line 26: loads, cores and marks of earlier rounds are kept: unsafe */
    GS_ANALYSIS_ALLOCATION_ALLOCATE_PAST_END =
        16, /* line 23: continues while some N is at most the number of SMs, and line 24 takes any
               task, also beyond it. That may not terminate; it is stopped when a task has 2 sms
               more SMs than can help */
    GS_ANALYSIS_ALLOCATION_ALLOCATE_PAPER = 31,
    GS_ANALYSIS_ALLOCATION_ALLOCATE_ISOLATED =
        32, /* not in [RTCSA19]: see stgm_allocate.h; the lines as
               printed apply only to the rounds after it */
    GS_ANALYSIS_ALLOCATION_ALLOCATE_ALL = 63
};

/* Number of tries with groups. */
#define GS_ANALYSIS_ALLOCATION_ALLOCATE_TRIES 16

/* Allocation of one set. The arrays belong to the caller. */
typedef struct {
    int64_t *core;  /* n; -1: none in the last round */
    uint8_t *sm;    /* n rows of sms */
    int64_t rounds; /* number of times SMs were assigned */
} gs_analysis_allocation_stgm_placement_t;

#endif
