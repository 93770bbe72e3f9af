/* Memory, variants and result of the STGM allocation. */
#ifndef GS_ANALYSIS_ALLOCATION_STGM_MEMORY_H
#define GS_ANALYSIS_ALLOCATION_STGM_MEMORY_H

#include "analysis/partitioned/stgm.h"

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

/* Memory for sets of at most as many tasks as it was made for. The arrays are owned. */
typedef struct {
    int64_t n; /* tasks of the last set */
    gs_analysis_partitioned_stgm_t test;
    int64_t *rank;          /* of every task in the order of priority */
    int64_t *count;         /* N_i, 0 without GPU segments */
    int64_t *first;         /* the first of the N_i SMs */
    int64_t *gain;          /* G(N_i) - G(N_i + 1) */
    int64_t *placing_order; /* tasks in the order of placing: by descending utilization */
    int64_t *head;          /* by core: its highest-priority task; -1: the core is empty */
    int64_t *next;          /* by task with a core: the next one there by descending priority; -1 */
    int64_t *members;       /* of the current core, by descending priority; or other short lists */
    int64_t *bound;         /* W on the core, as last tested; groups: kernels by group */
    int64_t *found;         /* W of the members in the current test */
    int64_t *copy;          /* by core, busy: the longest copy on it; or SMs by core or group */
    int64_t *group;         /* the core assigned to a task with GPU segments; or its group */
    int64_t *seen; /* by core, busy: `version` when its contention was last computed; groups: weight
                      by task */
    int64_t *queue;       /* cores in the order in which they are tried, a heap */
    int64_t *rest;        /* scratch: those left */
    int64_t *run;         /* by task: its component of the graph of shared SMs */
    int64_t *run_users;   /* by run: its number of tasks */
    int64_t *run_kernels; /* by run: sum of their longest kernels */
    int64_t runs;         /* 0: no SM is shared */
    int64_t *run_cover;   /* by run, sound busy test: every boundary of two of its SMs is in so many
                             tasks */
    int64_t copies;       /* sound busy test: sum of the longest copies of all cores, and of tasks
                             without one */
    int64_t *before;      /* by task of a small run: the one before it there; -1 */
    int64_t *cut;         /* first SMs of the runs; then by run: its last task */
    int64_t version;      /* counts placed tasks with GPU segments, and rounds */
    double *share;
    double *load; /* by core */
} gs_analysis_allocation_stgm_allocate_t;

/* Allocation of one set. The arrays belong to the caller. */
typedef struct {
    int64_t *core;  /* n; -1: none in the last round */
    uint8_t *sm;    /* n rows of sms */
    int64_t rounds; /* number of times SMs were assigned */
} gs_analysis_allocation_stgm_placement_t;

#endif
