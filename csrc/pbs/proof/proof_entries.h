/* Entries, spans and windows of a proof by dead states; their meaning is in proof_states.h. */
#ifndef GS_PBS_PROOF_PROOF_ENTRIES_H
#define GS_PBS_PROOF_PROOF_ENTRIES_H

#include <stdint.h>

typedef struct {
    int64_t windows;
    const int64_t *window; /* ends */
    const int64_t *prices; /* (windows, n) */
    const int64_t *scale;
    int64_t entries;
    const int64_t *start;      /* of the interval */
    const int64_t *pending;    /* (entries, n) */
    const int64_t *latest;     /* GS_NEVER or more: nothing is said about later instants */
    const int64_t *span_begin; /* entries + 1 offsets, from 0 to spans */
    int64_t spans;
    const int64_t *span_first;
    const int64_t *span_last; /* included */
} gs_pbs_proof_states_t;

#endif
