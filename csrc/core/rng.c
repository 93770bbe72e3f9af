/* Pseudorandom numbers: xoshiro256++, seeded by splitmix64. */
#include "core/rng.h"

static uint64_t splitmix64(uint64_t *x)
{
    uint64_t z = gs_rng_at(*x, 0);
    *x += UINT64_C(0x9e3779b97f4a7c15);
    return z;
}

static uint64_t rotl(uint64_t x, int k)
{
    return (x << k) | (x >> (64 - k));
}

void gs_rng_init(gs_rng_t *self, const uint64_t key[4], uint64_t index, uint64_t stream)
{
    uint64_t x = stream;
    uint64_t seed = splitmix64(&x) ^ index;
    for (int i = 0; i < 4; i++) {
        uint64_t y = seed ^ key[i];
        seed = splitmix64(&y);
        self->s[i] = splitmix64(&y);
    }
    /* A second pass, so that the first words depend on the last words of the key, too. */
    for (int i = 0; i < 4; i++) {
        self->s[i] ^= splitmix64(&seed);
    }
    if ((self->s[0] | self->s[1] | self->s[2] | self->s[3]) == 0) {
        self->s[0] = 1;
    }
}

uint64_t gs_rng_next(gs_rng_t *self)
{
    uint64_t *s = self->s;
    uint64_t result = rotl(s[0] + s[3], 23) + s[0];
    uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotl(s[3], 45);
    return result;
}

double gs_rng_double(gs_rng_t *self)
{
    return (double)(gs_rng_next(self) >> 11) * 0x1.0p-53;
}

uint64_t gs_rng_below(gs_rng_t *self, uint64_t n)
{
    /* Rejects the lowest 2^64 mod n numbers, which would make some remainders more likely. */
    uint64_t reject = (0 - n) % n;
    uint64_t x;
    do {
        x = gs_rng_next(self);
    } while (x < reject);
    return x % n;
}
