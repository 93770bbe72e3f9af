/* How long do warps take that share an SM's schedulers and pipelines?
 *
 * Paper 003, section IV: every warp scheduler issues at most one instruction a cycle, loose
 * round-robin: the first warp after the one that issued last whose next instruction can go. A warp
 * instruction keeps its pipeline busy for `interval` cycles (the width of a warp over the lanes of
 * the pipeline), and the warp's next instruction has to wait `latency` cycles for its result. Up to
 * Pascal integer and floating-point instructions share one pipeline; from Volta on each has its
 * own.
 *
 * Of a warp's n instructions, of which i are integer ones, number k (from 1) is one of those when
 * floor(k i / n) exceeds floor((k - 1) i / n).
 */
#ifndef GS_SIMULATE_WARPS_H
#define GS_SIMULATE_WARPS_H

#include "core/context.h"

typedef struct {
    int64_t warps;
    const int64_t *scheduler; /* per warp: which one it belongs to, any number from 0 on */
    const int64_t *integer;   /* integer instructions of each warp */
    const int64_t *floating;  /* floating-point instructions, spread evenly among the others */
    int64_t interval;
    int64_t latency;
    bool separate; /* pipelines for integer and floating-point instructions */
} gs_simulate_warps_t;

/* finish (warps entries of the caller's): when the result of each warp's last instruction is there,
 * in cycles; 0 for a warp without instructions. Refuses a negative count or scheduler, an interval
 * or latency below 1, and what might take more than GS_NEVER cycles. */
int gs_simulate_warps_run(gs_context_t *ctx, const gs_simulate_warps_t *self, int64_t *finish);

#endif
