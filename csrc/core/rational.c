/* Sums of fractions, compared and rounded up exactly, by long division in digits of 62 bits. */
#include "core/rational.h"

#include "core/int128.h"

enum { DIGIT_BITS = 62 };

/* m minus the sum of the whole parts; rest receives the remainders. */
static gs_int128_t first_digits(const int64_t *work, const int64_t *period, int64_t n, int64_t m,
                                int64_t *rest)
{
    gs_int128_t left = m;
    for (int64_t i = 0; i < n; i++) {
        left -= work[i] / period[i];
        rest[i] = work[i] % period[i];
    }
    return left;
}

/* Sum of the next digit of every fraction; *all_zero: whether all remainders are 0. */
static gs_int128_t next_digits(const int64_t *period, int64_t n, int64_t *rest, bool *all_zero)
{
    gs_int128_t sum = 0;
    int64_t any = 0;
    for (int64_t i = 0; i < n; i++) {
        gs_int128_t shifted = (gs_int128_t)rest[i] << DIGIT_BITS;
        gs_int128_t digit = shifted / period[i];
        rest[i] = (int64_t)(shifted - digit * period[i]);
        any |= rest[i];
        sum += digit;
    }
    *all_zero = any == 0;
    return sum;
}

int gs_rational_compare(gs_context_t *ctx, const int64_t *work, const int64_t *period, int64_t n,
                        int64_t m, int64_t *rest, int *sign)
{
    gs_int128_t left = first_digits(work, period, n, m, rest);
    /* The remaining sum is at least 0 and below n, in units of the last digit. A sum other than m
     * differs from m by at least 1 / (product of all periods): once the digits are finer than that,
     * the sum is m. */
    int64_t bits = gs_int128_bits(n);
    for (int64_t i = 0; i < n; i++) {
        bits += gs_int128_bits(period[i]);
    }
    for (;;) {
        if (left < 0 || left >= n) {
            *sign = left < 0 ? 1 : -1;
            return GS_OK;
        }
        if (bits < 0) {
            *sign = 0;
            return GS_OK;
        }
        bool all_zero;
        left <<= DIGIT_BITS; /* left < n, which has 31 bits */
        left -= next_digits(period, n, rest, &all_zero);
        bits -= DIGIT_BITS;
        if (all_zero) {
            *sign = left < 0 ? 1 : left > 0 ? -1 : 0;
            return GS_OK;
        }
        int status = gs_poll(ctx, 30 * n);
        if (status != GS_OK) {
            return status;
        }
    }
}

int gs_rational_ceil(gs_context_t *ctx, const int64_t *work, const int64_t *period, int64_t n,
                     int64_t *rest, int64_t *ceiling)
{
    /* With one digit: sum < whole + (digits + n) / 2^62, and n is below 2^31. */
    gs_int128_t whole = -first_digits(work, period, n, 0, rest);
    bool all_zero;
    gs_int128_t digits = next_digits(period, n, rest, &all_zero);
    gs_int128_t unit = (gs_int128_t)1 << DIGIT_BITS;
    whole += digits / unit;
    digits %= unit;
    whole += digits != 0;
    if (whole > GS_NEVER) {
        return gs_fail(ctx, GS_ERR_OVERFLOW, "work", -1, -1,
                       "a total utilization of at most 2**61 - 1");
    }
    int sign = 0;
    int status = gs_rational_compare(ctx, work, period, n, (int64_t)whole, rest, &sign);
    *ceiling = (int64_t)whole + (sign > 0);
    return status;
}

int gs_rational_share(gs_context_t *ctx, const int64_t *work, const int64_t *period, int64_t n,
                      int64_t time, int64_t *scratch, int64_t *share)
{
    int64_t whole = 0, more = 0, *rest = scratch;
    for (int64_t i = 0; i < n; i++) {
        gs_int128_t product = (gs_int128_t)work[i] * time;
        gs_int128_t part = product / period[i];
        rest[i] = (int64_t)(product % period[i]);
        whole = part < time - whole ? whole + (int64_t)part : time;
    }
    int status = gs_rational_ceil(ctx, rest, period, n, scratch + n, &more);
    *share = more < time - whole ? whole + more : time;
    return status;
}
