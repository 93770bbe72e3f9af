/* Random task sets of the block-level model (model/kernel_tasks.h): periods, widths, blocks, times.
 *
 * As in generate/kernel_sets.h, set i of a key does not depend on what else is drawn, and is the
 * same on every machine: utilizations, periods and shapes have their own streams, and no number
 * passes through a library function that rounds.
 */
#ifndef GS_GENERATE_FIFO_SETS_H
#define GS_GENERATE_FIFO_SETS_H

#include "core/context.h"

/* Parameters of the sets. */
typedef struct {
    int64_t n;        /* tasks in a set */
    int64_t m;        /* threads of the GPU */
    int64_t shortest; /* period, in units of `ticks` */
    int64_t longest;
    int64_t ticks;
    const int64_t *sizes; /* threads of a block, equally likely among those that are wide enough */
    int64_t size_count;
    int64_t blocks_max;
} gs_generate_fifo_t;

/* A set: n entries each, of the caller. */
typedef struct {
    double *share; /* of the utilization */
    int64_t *period, *wcet, *block_time, *blocks, *threads;
} gs_generate_fifo_set_t;

/* Set `index` of a key. Task i has
 *   u        = m times its share of `utilization`, by gs_generate_uunifast;
 *   period   = approximately log-uniform: uniform within each octave from `shortest` on, all
 *              octaves equally likely, the last one cut off at `longest`; times `ticks`;
 *   threads  = b, uniform over the sizes with u <= min(m / b, blocks_max) b;
 *   blocks   = g, uniform over the grids of at most blocks_max blocks that, alone on the GPU, fit
 *              the period (ceil(g / floor(m / b)) u <= g b) and whose blocks last a tick or more
 *              (g b <= u period; or else the smallest that fits);
 *   block_time = u period / (g b) to the nearest tick, but at least 1, and at most what fits;
 *   wcet     = block_time times ceil(g / floor(m / b)), at most the period.
 * Errors: those of gs_generate_uunifast; an utilization above what one task can have; m or
 * blocks_max outside 1 .. INT32_MAX; no sizes, or one outside 1 .. m; periods that are not
 * positive, in the wrong order, or of GS_NEVER / 64 ticks and more. */
int gs_generate_fifo(gs_context_t *ctx, const gs_generate_fifo_t *spec, const uint64_t key[4],
                     uint64_t index, double utilization, const gs_generate_fifo_set_t *set);

#endif
