/* Exact total utilizations: sums of fractions whose common denominator may exceed 128 bits.
 *
 * A test of the form "sum of e / p <= m" must not depend on rounding, and 36 periods in nanoseconds
 * have a common multiple of hundreds of digits. The fractions are divided out in parallel, 62 bits
 * at a time, until their digits decide.
 */
#ifndef GS_CORE_RATIONAL_H
#define GS_CORE_RATIONAL_H

#include "core/context.h"

/* Sign (-1, 0, 1) of the sum of work[i] / period[i] minus m. work >= 0 and period > 0, both below
 * 2^62; n and m below 2^31. rest: n entries of the caller, overwritten. Returns a status of
 * gs_poll. Equality takes longest: about (total bits of the periods) / 62 rounds. */
int gs_rational_compare(gs_context_t *ctx, const int64_t *work, const int64_t *period, int64_t n,
                        int64_t m, int64_t *rest, int *sign);

/* The sum of work[i] / period[i], rounded up. GS_ERR_OVERFLOW above GS_NEVER. */
int gs_rational_ceil(gs_context_t *ctx, const int64_t *work, const int64_t *period, int64_t n,
                     int64_t *rest, int64_t *ceiling);

/* min(time, ceil(time * sum of work[i] / period[i])), for 0 < time < 2^62. scratch: 2 n entries of
 * the caller, overwritten. */
int gs_rational_share(gs_context_t *ctx, const int64_t *work, const int64_t *period, int64_t n,
                      int64_t time, int64_t *scratch, int64_t *share);

#endif
