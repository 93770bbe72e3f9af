/* Tests of the random numbers: published values, uniformity, independence of key, index and stream.

 */
#include "core/rng.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "minunit.h"

/* The reference implementation from the state 1, 2, 3, 4 (also the vector of other ports). */
static void test_known_step(void)
{
    static const uint64_t expected[] = {
        UINT64_C(41943041),
        UINT64_C(58720359),
        UINT64_C(3588806011781223),
        UINT64_C(3591011842654386),
        UINT64_C(9228616714210784205),
        UINT64_C(9973669472204895162),
        UINT64_C(14011001112246962877),
        UINT64_C(12406186145184390807),
        UINT64_C(15849039046786891736),
        UINT64_C(10450023813501588000),
    };
    gs_rng_t rng = {{1, 2, 3, 4}};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        MU_CHECK(gs_rng_next(&rng) == expected[i]);
    }
}

/* The seeding, computed apart from this code. A change here changes the task sets behind every
 * published seed. */
static void test_known_seeds(void)
{
    static const struct {
        uint64_t key[4], index, stream, first[3];
    } cases[] = {
        {{0, 0, 0, 0},
         0,
         0,
         {UINT64_C(0xb3e01dc136961db7), UINT64_C(0x6c8d379f1d543ffa),
          UINT64_C(0x343814022e3d10b8)}},
        {{1, 2, 3, 4},
         5,
         GS_RNG_STREAM_PERIOD,
         {UINT64_C(0x2f04ad017fd9700d), UINT64_C(0x25ff0f72a2d9a72a),
          UINT64_C(0x9890ac58f387655d)}},
        {{UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX},
         UINT64_MAX,
         UINT64_MAX,
         {UINT64_C(0xa5dcf3a7e0bca567), UINT64_C(0x31e5fd347a11905d),
          UINT64_C(0x44ba5f478f88884b)}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        gs_rng_t rng;
        gs_rng_init(&rng, cases[i].key, cases[i].index, cases[i].stream);
        for (size_t j = 0; j < 3; j++) {
            MU_CHECK(gs_rng_next(&rng) == cases[i].first[j]);
        }
    }
    /* The purposes are part of what a seed means too. */
    MU_CHECK(GS_RNG_STREAM_UTILIZATION == 1 && GS_RNG_STREAM_PERIOD == 2);
    MU_CHECK(GS_RNG_STREAM_SLOWDOWN == 3 && GS_RNG_STREAM_EXECUTION == 4);
}

static const uint64_t seed[4] = {17, 23, 42, 99};

/* Chi-square of counts against the same expectation for all. */
static double chi_square(const int *counts, size_t bins, double expected)
{
    double sum = 0;
    for (size_t i = 0; i < bins; i++) {
        double d = counts[i] - expected;
        sum += d * d / expected;
    }
    return sum;
}

static void test_double(void)
{
    enum { BINS = 64, DRAWS = 640000 };
    int counts[BINS] = {0};
    double sum = 0, squares = 0;
    gs_rng_t rng;
    gs_rng_init(&rng, seed, 0, 1);
    for (int i = 0; i < DRAWS; i++) {
        double x = gs_rng_double(&rng);
        if (!(x >= 0 && x < 1) || x * 0x1p53 != (double)(uint64_t)(x * 0x1p53)) {
            MU_CHECK(false && "outside [0, 1) or no multiple of 2^-53");
            return;
        }
        counts[(int)(x * BINS)]++;
        sum += x;
        squares += x * x;
    }
    /* 63 degrees of freedom: above 120 or below 28 by chance once in 100,000 seeds. */
    double chi = chi_square(counts, BINS, (double)DRAWS / BINS);
    MU_CHECK(chi > 28 && chi < 120);
    double mean = sum / DRAWS, second = squares / DRAWS;
    MU_CHECK(mean > 0.5 - 0.0018 && mean < 0.5 + 0.0018); /* 5 standard errors */
    MU_CHECK(second > 1.0 / 3 - 0.0019 && second < 1.0 / 3 + 0.0019);

    /* The largest word must not round up to 1: s[0] + s[3] = 0 and s[0] all ones. */
    gs_rng_t top = {{UINT64_MAX, 5, 6, 1}};
    MU_CHECK(gs_rng_double(&top) == 1.0 - 0x1p-53);
}

static void test_below(void)
{
    enum { DRAWS = 100000 };
    gs_rng_t rng;
    gs_rng_init(&rng, seed, 1, 1);
    int counts[10] = {0};
    for (int i = 0; i < DRAWS; i++) {
        uint64_t x = gs_rng_below(&rng, 10);
        if (x >= 10) {
            MU_CHECK(x < 10);
            return;
        }
        counts[x]++;
    }
    /* 9 degrees of freedom: by chance once in 100,000 seeds. */
    MU_CHECK(chi_square(counts, 10, DRAWS / 10.0) < 41);

    /* A plain remainder would draw the lower third of 3 * 2^62 half of the time. */
    const uint64_t n = UINT64_C(3) << 62;
    int lower = 0;
    for (int i = 0; i < DRAWS; i++) {
        uint64_t x = gs_rng_below(&rng, n);
        MU_CHECK(x < n);
        lower += x < UINT64_C(1) << 62;
    }
    MU_CHECK(lower > DRAWS / 3 - 750 && lower < DRAWS / 3 + 750); /* 5 standard deviations */

    for (int i = 0; i < 100; i++) {
        MU_CHECK(gs_rng_below(&rng, 1) == 0);
    }
    gs_rng_t same = rng;
    MU_CHECK(gs_rng_below(&rng, UINT64_C(1) << 63) == gs_rng_next(&same) % (UINT64_C(1) << 63));
}

static int bits(uint64_t x)
{
    int count = 0;
    for (; x != 0; x &= x - 1) {
        count++;
    }
    return count;
}

/* Each single bit of key, index and stream must change about half of what comes out. */
static void test_every_bit_counts(void)
{
    uint64_t words[6] = {17, 23, 42, 99, 1234, GS_RNG_STREAM_PERIOD}, plain[4];
    gs_rng_t rng;
    gs_rng_init(&rng, words, words[4], words[5]);
    for (int i = 0; i < 4; i++) {
        plain[i] = gs_rng_next(&rng);
    }
    int total = 0;
    for (int bit = 0; bit < 6 * 64; bit++) {
        words[bit / 64] ^= UINT64_C(1) << bit % 64;
        gs_rng_init(&rng, words, words[4], words[5]);
        words[bit / 64] ^= UINT64_C(1) << bit % 64;
        int changed = 0;
        for (int i = 0; i < 4; i++) {
            int here = bits(plain[i] ^ gs_rng_next(&rng));
            MU_CHECK(here >= 8 && here <= 56); /* 32 expected, 4 the standard deviation */
            changed += here;
        }
        MU_CHECK(changed >= 84 && changed <= 172); /* 128, 8 */
        total += changed;
    }
    double mean = (double)total / (6 * 64);
    MU_CHECK(mean > 128 - 2.1 && mean < 128 + 2.1); /* 5 standard errors */
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* No two streams of neighbouring indexes begin alike, and neighbours are not correlated. */
static void test_streams_differ(void)
{
    enum { INDEXES = 20000, STREAMS = 5 };
    uint64_t *first = malloc(INDEXES * STREAMS * sizeof *first);
    MU_CHECK(first != NULL);
    if (first == NULL) {
        return;
    }
    for (uint64_t stream = 0; stream < STREAMS; stream++) {
        double product = 0, before = 0;
        for (uint64_t index = 0; index < INDEXES; index++) {
            gs_rng_t rng;
            gs_rng_init(&rng, seed, index, stream);
            first[stream * INDEXES + index] = gs_rng_next(&rng);
            double centred = gs_rng_double(&rng) - 0.5;
            product += centred * before;
            before = centred;
        }
        /* Of mean 0 and variance 1/144 for independent draws. */
        double correlation = product / INDEXES * 12;
        MU_CHECK(correlation > -0.036 && correlation < 0.036); /* 5 standard errors */
    }
    qsort(first, INDEXES * STREAMS, sizeof *first, compare);
    int equal = 0;
    for (size_t i = 1; i < INDEXES * STREAMS; i++) {
        equal += first[i] == first[i - 1];
    }
    MU_CHECK(equal == 0);
    free(first);
}

static void test_repeatable(void)
{
    gs_rng_t a, b;
    memset(&a, 0, sizeof a);
    memset(&b, 0xff, sizeof b);
    gs_rng_init(&a, seed, 3, 4);
    gs_rng_init(&b, seed, 3, 4);
    for (int i = 0; i < 1000; i++) {
        MU_CHECK(gs_rng_next(&a) == gs_rng_next(&b));
    }
}

int main(void)
{
    test_known_step();
    test_known_seeds();
    test_double();
    test_below();
    test_every_bit_counts();
    test_streams_differ();
    test_repeatable();
    return MU_END();
}
