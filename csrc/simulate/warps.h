/* Simulator of warps that share the schedulers and pipelines of an SM.
 *
 * [RTAS20], section IV: every warp scheduler issues at most one instruction a cycle, in loose
 * round-robin order: from the first warp, after the one that issued last, whose next instruction
 * can issue. A warp instruction occupies its pipeline for `interval` cycles (the width of a warp
 * divided by the lanes of the pipeline), and the next instruction of the warp waits `latency`
 * cycles for its result. Up to Pascal, integer and floating-point instructions share one pipeline;
 * from Volta on each has its own.
 *
 * Of the n instructions of a warp, i of which are integer ones, number k (from 1) is an integer one
 * when floor(k i / n) exceeds floor((k - 1) i / n).
 */
#ifndef GS_SIMULATE_WARPS_H
#define GS_SIMULATE_WARPS_H

#include "core/context.h"

typedef struct {
    int64_t warps;
    const int64_t *scheduler; /* scheduler of each warp, a number of at least 0 */
    const int64_t *integer;   /* integer instructions of each warp */
    const int64_t *floating;  /* floating-point instructions, spread evenly among the others */
    int64_t interval;
    int64_t latency;
    bool separate; /* separate integer and floating-point pipelines */
} gs_simulate_warps_t;

/* end (warps entries of the caller): cycle at which the result of the last instruction of each
 * warp is available; 0 for a warp without instructions. Refuses a negative count or scheduler, an
 * interval or latency below 1, and work that might take more than GS_NEVER cycles. */
int gs_simulate_warps_run(gs_context_t *ctx, const gs_simulate_warps_t *self, int64_t *end);

#endif
