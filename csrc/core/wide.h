/* Integers of 128 bits for products of times and threads: never negative, always checked.
 *
 * A product is refused when the lengths of its factors add up to more than 126 bits, and so is a
 * sum beyond that: at most one bit stricter than the type, and cheap.
 */
#ifndef GS_CORE_WIDE_H
#define GS_CORE_WIDE_H

#include <stdbool.h>
#include <stdint.h>

__extension__ typedef __int128 gs_wide_t;

#define GS_WIDE_MAX ((gs_wide_t)1 << 126)

static inline int gs_wide_bits(gs_wide_t x)
{
    uint64_t high = (uint64_t)(x >> 64), low = (uint64_t)x;
    return high != 0 ? 128 - __builtin_clzll(high) : low != 0 ? 64 - __builtin_clzll(low) : 0;
}

static inline bool gs_wide_mul(gs_wide_t a, gs_wide_t b, gs_wide_t *product)
{
    if (gs_wide_bits(a) + gs_wide_bits(b) > 126) {
        return false;
    }
    *product = a * b;
    return true;
}

static inline bool gs_wide_add(gs_wide_t a, gs_wide_t b, gs_wide_t *sum)
{
    if (a > GS_WIDE_MAX || b > GS_WIDE_MAX - a) {
        return false;
    }
    *sum = a + b;
    return true;
}

/* a / b rounded up; b > 0. 64-bit division where that is enough: it is many times faster. */
static inline gs_wide_t gs_wide_ceil_div(gs_wide_t a, gs_wide_t b)
{
    if (gs_wide_bits(a) < 64 && gs_wide_bits(b) < 64) {
        uint64_t x = (uint64_t)a, y = (uint64_t)b;
        return (gs_wide_t)(x / y + (x % y != 0));
    }
    return a / b + (a % b != 0);
}

/* Greatest common divisor; a + b > 0. */
static inline gs_wide_t gs_wide_gcd(gs_wide_t a, gs_wide_t b)
{
    while (b >> 64 != 0 || (a >> 64 != 0 && b != 0)) {
        gs_wide_t rest = a % b;
        a = b;
        b = rest;
    }
    if (a == 0 || b == 0) {
        return a + b;
    }
    /* Without divisions, which take most of the time. */
    uint64_t x = (uint64_t)a, y = (uint64_t)b;
    int twos = __builtin_ctzll(x | y);
    x >>= __builtin_ctzll(x);
    while (y != 0) {
        y >>= __builtin_ctzll(y);
        uint64_t low = x < y ? x : y;
        y = x < y ? y - x : x - y;
        x = low;
    }
    return (gs_wide_t)x << twos;
}

#endif
