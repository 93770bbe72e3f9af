/* Random task sets: utilizations by UUniFast and UUniFast-Discard, kernels as in paper 001.
 *
 * Set i of a key is the same whatever else is drawn: every set has streams of its own (core/rng.h),
 * one for utilizations and one for periods. Only additions, multiplications and comparisons are
 * used, each rounded as IEEE 754 says, so a key gives the same sets on every machine.
 */
#ifndef GS_MODEL_GENERATE_H
#define GS_MODEL_GENERATE_H

#include "core/env.h"
#include "core/rng.h"

/* How often a set with a share above 1 is drawn anew before the generator gives up. */
#define GS_GENERATE_TRIES 1000000

/* n utilizations, uniform over all non-negative vectors of the given sum: the law of UUniFast
 * (Bini and Buttazzo 2005), every share utilization times Beta(1, n - 1). share: n entries of the
 * caller's. Refuses n < 1, and a utilization that is negative, infinite or NaN. */
int gs_generate_uunifast(gs_env_t *env, gs_rng_t *rng, int64_t n, double utilization,
                         double *share);

/* The same, uniform over the vectors whose shares are all at most 1 (Davis and Burns 2009; paper
 * 001, section 6.1). Above n/2 it draws for n - utilization and reflects every share to 1 - share,
 * which maps the one uniform law onto the other. Refuses a utilization above n, and gives up with
 * GS_ERR_VALUE (field "tasks", value n) after GS_GENERATE_TRIES draws. */
int gs_generate_uunifast_discard(gs_env_t *env, gs_rng_t *rng, int64_t n, double utilization,
                                 double *share);

/* What the kernels of paper 001, section 6.1, are drawn from. */
typedef struct {
    int64_t n;              /* tasks in a set */
    const int64_t *periods; /* ticks, each equally likely */
    int64_t period_count;
    int64_t capacity; /* blocks of one kernel that the GPU holds at once */
} gs_generate_kernels_t;

/* Set `index` of a key: utilizations by UUniFast-Discard, period from the list, wcet = utilization
 * times period to the nearest tick but at least 1, blocks = floor(capacity times utilization) but
 * at least 1. share (scratch), period, wcet, blocks: n entries each, of the caller's. Errors: those
 * of gs_generate_uunifast_discard; an empty list, a period below 1 or beyond the clock, a capacity
 * below 1 or above INT32_MAX. */
int gs_generate_kernels(gs_env_t *env, const gs_generate_kernels_t *spec, const uint64_t key[4],
                        uint64_t index, double utilization, double *share, int64_t *period,
                        int64_t *wcet, int64_t *blocks);

#endif
