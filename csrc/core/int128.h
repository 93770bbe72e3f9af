/* Checked, non-negative 128-bit integers for products of times and threads.
 *
 * A product is refused when the lengths of its factors add up to more than 126 bits, and a sum when
 * it exceeds 2^126. This is at most one bit stricter than the type, and cheap.
 */
#ifndef GS_CORE_INT128_H
#define GS_CORE_INT128_H

#include <stdbool.h>
#include <stdint.h>

__extension__ typedef __int128 gs_int128_t;

#define GS_INT128_MAX ((gs_int128_t)1 << 126)

static inline int gs_int128_bits(gs_int128_t x)
{
    uint64_t high = (uint64_t)(x >> 64), low = (uint64_t)x;
    return high != 0 ? 128 - __builtin_clzll(high) : low != 0 ? 64 - __builtin_clzll(low) : 0;
}

static inline bool gs_int128_mul(gs_int128_t a, gs_int128_t b, gs_int128_t *product)
{
    if (gs_int128_bits(a) + gs_int128_bits(b) > 126) {
        return false;
    }
    *product = a * b;
    return true;
}

static inline bool gs_int128_add(gs_int128_t a, gs_int128_t b, gs_int128_t *sum)
{
    if (a > GS_INT128_MAX || b > GS_INT128_MAX - a) {
        return false;
    }
    *sum = a + b;
    return true;
}

/* a / b rounded up; b > 0. Operands of 64 bits take the 64-bit division, which is many times
 * faster. */
static inline gs_int128_t gs_int128_ceil_div(gs_int128_t a, gs_int128_t b)
{
    if (gs_int128_bits(a) < 64 && gs_int128_bits(b) < 64) {
        uint64_t x = (uint64_t)a, y = (uint64_t)b;
        return (gs_int128_t)(x / y + (x % y != 0));
    }
    return a / b + (a % b != 0);
}

/* Greatest common divisor; a + b > 0. */
static inline gs_int128_t gs_int128_gcd(gs_int128_t a, gs_int128_t b)
{
    while (b >> 64 != 0 || (a >> 64 != 0 && b != 0)) {
        gs_int128_t rest = a % b;
        a = b;
        b = rest;
    }
    if (a == 0 || b == 0) {
        return a + b;
    }
    /* Binary algorithm: divisions would take most of the time. */
    uint64_t x = (uint64_t)a, y = (uint64_t)b;
    int twos = __builtin_ctzll(x | y);
    x >>= __builtin_ctzll(x);
    while (y != 0) {
        y >>= __builtin_ctzll(y);
        uint64_t low = x < y ? x : y;
        y = x < y ? y - x : x - y;
        x = low;
    }
    return (gs_int128_t)x << twos;
}

#endif
