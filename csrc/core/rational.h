/* Total utilizations, exactly: sums of fractions that have no common denominator of 128 bits.
 *
 * A test of the form "sum of e / p <= m" must not depend on rounding, and 36 periods in nanoseconds
 * have a common multiple of hundreds of digits. The fractions are divided out side by side, 62 bits
 * at a time, until their digits decide.
 */
#ifndef GS_CORE_RATIONAL_H
#define GS_CORE_RATIONAL_H

#include "core/context.h"

/* The sign (-1, 0, 1) of the sum of work[i] / period[i] less m. work >= 0 and period > 0, both
 * below 2^62, n and m within 31 bits. rest: n entries of the caller's, overwritten. Returns a
 * status of gs_poll. Equality of sums with long denominators takes longest: about as many rounds
 * as the periods have bits together, divided by 62. */
int gs_rational_compare(gs_context_t *ctx, const int64_t *work, const int64_t *period, int64_t n,
                        int64_t m, int64_t *rest, int *sign);

/* The sum rounded up to a whole number. */
int gs_rational_ceil(gs_context_t *ctx, const int64_t *work, const int64_t *period, int64_t n,
                     int64_t *rest, int64_t *ceiling);

/* What a load takes of a time, 0 < time < 2^62: their product rounded up, the time at most.
 * scratch: 2 n entries of the caller's, overwritten. */
int gs_rational_share(gs_context_t *ctx, const int64_t *work, const int64_t *period, int64_t n,
                      int64_t time, int64_t *scratch, int64_t *share);

#endif
