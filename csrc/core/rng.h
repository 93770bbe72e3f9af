/* Pseudorandom numbers that depend on a key and an index alone.
 *
 * xoshiro256++ (Blackman and Vigna 2019); its state is mixed by splitmix64 from a 256-bit key (from
 * NumPy's SeedSequence), the index of the task set and the purpose of the stream. Task set i of a
 * seed is therefore the same whatever the count, and the number of draws of one quantity does not
 * shift another.
 */
#ifndef GS_CORE_RNG_H
#define GS_CORE_RNG_H

#include <stdint.h>

typedef struct {
    uint64_t s[4];
} gs_rng_t;

/* Purpose of a stream. Append only: the numbers of a seed depend on these values. */
enum {
    GS_RNG_STREAM_UTILIZATION = 1,
    GS_RNG_STREAM_PERIOD = 2,
    GS_RNG_STREAM_SLOWDOWN = 3,
    GS_RNG_STREAM_EXECUTION = 4,
    GS_RNG_STREAM_RELEASE = 5,
    GS_RNG_STREAM_SHAPE = 6,
    GS_RNG_STREAM_USES_GPU = 7,
    GS_RNG_STREAM_SEGMENT = 8,
    GS_RNG_STREAM_PROFILE = 9,
    GS_RNG_STREAM_CUT = 10,
    GS_RNG_STREAM_COPY = 11,
    GS_RNG_STREAM_CHALLENGE = 12,
    GS_RNG_STREAM_ELLIOTT = 16 /* all of a set of generate/elliott_sets.h */
};

void gs_rng_init(gs_rng_t *self, const uint64_t key[4], uint64_t index, uint64_t stream);

uint64_t gs_rng_next(gs_rng_t *self);

/* Uniform in [0, 1), a multiple of 2^-53. */
double gs_rng_double(gs_rng_t *self);

/* Uniform in 0 .. n-1 without bias; n > 0. */
uint64_t gs_rng_below(gs_rng_t *self, uint64_t n);

/* splitmix64 (Steele, Lea and Flood 2014): a counter in steps of GS_RNG_GAMMA, mixed. */
#define GS_RNG_GAMMA UINT64_C(0x9e3779b97f4a7c15)

static inline uint64_t gs_rng_mix(uint64_t place)
{
    uint64_t z = (place ^ (place >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* Number `index` of the splitmix64 sequence from seed: for draws that must not depend on their
 * order. */
static inline uint64_t gs_rng_at(uint64_t seed, uint64_t index)
{
    return gs_rng_mix(seed + (index + 1) * GS_RNG_GAMMA);
}

/* 0 .. n-1 from 64 random bits, n > 0; uniform up to differences of n / 2^64 in probability. */
static inline uint64_t gs_rng_scale(uint64_t bits, uint64_t n)
{
    __extension__ typedef unsigned __int128 product_t;
    return (uint64_t)(((product_t)bits * n) >> 64);
}

#endif
