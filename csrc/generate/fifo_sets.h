/* Random task sets of the block-level model (model/kernel_tasks.h): how wide, how many blocks, how
 * long.
 *
 * As in generate/kernel_sets.h, set i of a key is the same whatever else is drawn and on every
 * machine: utilizations, periods and shapes have streams of their own, and no number passes through
 * a function of the machine's library that rounds.
 */
#ifndef GS_GENERATE_FIFO_SETS_H
#define GS_GENERATE_FIFO_SETS_H

#include "core/context.h"

/* What the kernels are drawn from. */
typedef struct {
    int64_t n;        /* tasks in a set */
    int64_t m;        /* threads of the GPU */
    int64_t shortest; /* period, in units of `ticks` */
    int64_t longest;
    int64_t ticks;
    const int64_t *sizes; /* threads of a block, each as likely among those that can do */
    int64_t size_count;
    int64_t blocks_max;
} gs_generate_fifo_t;

/* The largest utilization, in threads, that one task can have: it runs without a pause, as many
 * blocks side by side as there may be. Expects a spec that gs_generate_fifo accepts. */
int64_t gs_generate_fifo_capacity(const gs_generate_fifo_t *spec);

/* Set `index` of a key. Task i has
 *   u        = m times its share of `utilization`, by gs_generate_uunifast;
 *   period   = about log-uniform: uniform within each octave from `shortest` on, all octaves as
 *              likely, the last one as far as `longest` cuts it off; times `ticks`;
 *   threads  = b, uniform over the sizes with u <= min(m / b, blocks_max) b;
 *   blocks   = g, uniform over the grids of at most blocks_max blocks that, alone on the GPU, fit
 *              the period (ceil(g / floor(m / b)) u <= g b) and whose blocks last a tick or more
 *              (g b <= u period; or else the smallest that fits);
 *   block_time = u period / (g b) to the nearest tick, but at least 1, and at most what fits.
 * share (scratch), period, block_time, blocks, threads: n entries each, of the caller's.
 * Errors: those of gs_generate_uunifast; an utilization above what one task can have; m or
 * blocks_max outside 1 .. INT32_MAX; no sizes, or one outside 1 .. m; periods that are not
 * positive, in the wrong order, or beyond the clock. */
int gs_generate_fifo(gs_context_t *ctx, const gs_generate_fifo_t *spec, const uint64_t key[4],
                     uint64_t index, double utilization, double *share, int64_t *period,
                     int64_t *block_time, int64_t *blocks, int64_t *threads);

#endif
