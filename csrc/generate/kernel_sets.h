/* Random sets of periodic kernels, as in [RTNS24], section 6.1.
 *
 * Set i of a key does not depend on what else is drawn: every set has its own streams (core/rng.h),
 * one for utilizations and one for periods. Only additions, multiplications and comparisons are
 * used, each rounded as IEEE 754 says, so a key gives the same sets on every machine.
 */
#ifndef GS_GENERATE_KERNEL_SETS_H
#define GS_GENERATE_KERNEL_SETS_H

#include "core/context.h"

/* Parameters of the kernels of [RTNS24], section 6.1. */
typedef struct {
    int64_t n;              /* tasks in a set */
    const int64_t *periods; /* ticks, each equally likely */
    int64_t period_count;
    int64_t capacity; /* blocks of one kernel that the GPU holds at once */
} gs_generate_kernels_t;

/* Set `index` of a key: utilizations by UUniFast-Discard, period from the list, wcet = utilization
 * times period to the nearest tick but at least 1, blocks = floor(capacity times utilization) but
 * at least 1. share (scratch), period, wcet, blocks: n entries each, of the caller. Errors: those
 * of gs_generate_uunifast_discard; an empty list, a period outside 1..GS_NEVER / 2 - 1, a capacity
 * outside 1..INT32_MAX. */
int gs_generate_kernels(gs_context_t *ctx, const gs_generate_kernels_t *spec, const uint64_t key[4],
                        uint64_t index, double utilization, double *share, int64_t *period,
                        int64_t *wcet, int64_t *blocks);

#endif
