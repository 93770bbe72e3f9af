/* Random utilizations: UUniFast and UUniFast-Discard.
 *
 * Only additions, multiplications and comparisons are used, each rounded as IEEE 754 says, so a key
 * gives the same utilizations on every machine.
 */
#ifndef GS_GENERATE_UUNIFAST_H
#define GS_GENERATE_UUNIFAST_H

#include "core/context.h"
#include "core/rng.h"

/* Maximum number of draws of UUniFast-Discard. */
#define GS_GENERATE_UUNIFAST_TRIES 1000000

/* n utilizations, uniform over all non-negative vectors of the given sum: the law of UUniFast (Bini
 * and Buttazzo 2005), every share utilization times Beta(1, n - 1). share: n entries of the caller.
 * Refuses n < 1, and a utilization that is negative, infinite or NaN. */
int gs_generate_uunifast(gs_context_t *ctx, gs_rng_t *rng, int64_t n, double utilization,
                         double *share);

/* The same, uniform over the vectors whose shares are all at most 1 (Davis and Burns 2009;
 * [RTNS24], section 6.1). Above n/2 it draws for n - utilization and reflects every share to 1 -
 * share, which maps the one uniform law onto the other. Refuses a utilization above n, and gives up
 * with GS_ERR_VALUE (field "tasks", value n) after GS_GENERATE_UUNIFAST_TRIES draws. */
int gs_generate_uunifast_discard(gs_context_t *ctx, gs_rng_t *rng, int64_t n, double utilization,
                                 double *share);

#endif
