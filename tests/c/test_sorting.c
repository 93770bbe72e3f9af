/* Tests of the radix sort and of the ordered set of numbers. */
#include <stdlib.h>

#include "core/index_set.h"
#include "core/radix_sort.h"
#include "core/rng.h"

#include "minunit.h"

enum { MOST = 3000 };

static bool is_sorted(const int64_t *key, const int32_t *order, int count)
{
    for (int i = 1; i < count; i++) {
        int64_t a = key[order[i - 1]], b = key[order[i]];
        if (a > b || (a == b && order[i - 1] > order[i])) {
            return false;
        }
    }
    return true;
}

/* Keys of few and of many digits, negative ones too; equal keys keep their order. */
static void test_sort(void)
{
    static int64_t key[MOST];
    static int32_t order[MOST];
    const uint64_t words[4] = {1, 2, 3, 4};
    const int64_t spans[] = {1, 5, 3000, INT64_C(1) << 40, INT64_MAX};
    gs_context_t ctx;
    gs_context_init(&ctx);
    gs_rng_t rng;
    gs_rng_init(&rng, words, 0, 0);
    for (int s = 0; s < 5; s++) {
        for (int count = 0; count < MOST; count = count * 3 + 1) {
            for (int i = 0; i < count; i++) {
                key[i] = (int64_t)(gs_rng_next(&rng) % (uint64_t)spans[s]) - spans[s] / 2;
            }
            gs_radix_sort_identity(count, order);
            MU_CHECK(gs_radix_sort(&ctx, key, count, order) == GS_OK);
            MU_CHECK(is_sorted(key, order, count));
            MU_CHECK(ctx.bytes_used == 0);
        }
    }
    const int64_t extremes[] = {INT64_MAX, 0, INT64_MIN, -1, INT64_MAX, INT64_MIN};
    gs_radix_sort_identity(6, order);
    MU_CHECK(gs_radix_sort(&ctx, extremes, 6, order) == GS_OK && is_sorted(extremes, order, 6));
}

static int give_up(void *arg)
{
    (void)arg;
    return GS_ERR_INTERRUPTED;
}

static void test_failures(void)
{
    const int64_t key[] = {3, 1, 2};
    int32_t order[] = {0, 1, 2};
    gs_context_t ctx;
    gs_context_init(&ctx);
    ctx.fail_at = 1;
    MU_CHECK(gs_radix_sort(&ctx, key, 3, order) == GS_ERR_MEMORY);
    MU_CHECK(order[0] == 0 && order[1] == 1 && order[2] == 2);
    gs_context_init(&ctx);
    ctx.poll = give_up;
    ctx.work = 999999;
    MU_CHECK(gs_radix_sort(&ctx, key, 3, order) == GS_ERR_INTERRUPTED && ctx.bytes_used == 0);
    MU_CHECK(order[0] == 0 && order[1] == 1 && order[2] == 2);
    gs_index_set_t set;
    gs_context_init(&ctx);
    ctx.fail_at = 1;
    MU_CHECK(gs_index_set_init(&set, &ctx, 100) == GS_ERR_MEMORY);
    gs_index_set_free(&set, &ctx);
}

/* Against an array of flags, with bounds around those of words and levels. */
static void test_set(void)
{
    static bool in[70000];
    const int64_t bounds[] = {0, 1, 63, 64, 65, 4095, 4096, 4097, 70000};
    const uint64_t words[4] = {5, 6, 7, 8};
    gs_context_t ctx;
    gs_context_init(&ctx);
    gs_rng_t rng;
    gs_rng_init(&rng, words, 0, 0);
    for (size_t b = 0; b < sizeof bounds / sizeof *bounds; b++) {
        int64_t bound = bounds[b];
        gs_index_set_t set;
        MU_CHECK(gs_index_set_init(&set, &ctx, bound) == GS_OK);
        MU_CHECK(gs_index_set_next(&set, 0) == -1 && gs_index_set_next(&set, bound) == -1);
        for (int64_t i = 0; i < bound; i++) {
            in[i] = false;
        }
        bool same = true;
        for (int step = 0; step < 2000 && bound > 0; step++) {
            int64_t number = (int64_t)(gs_rng_next(&rng) % (uint64_t)bound);
            in[number] = !in[number];
            if (in[number]) {
                gs_index_set_add(&set, number);
            } else {
                gs_index_set_remove(&set, number);
            }
            int64_t from = (int64_t)(gs_rng_next(&rng) % (uint64_t)(bound + 1)), next = from;
            while (next < bound && !in[next]) {
                next++;
            }
            same = same && gs_index_set_next(&set, from) == (next < bound ? next : -1);
        }
        MU_CHECK(same);
        gs_index_set_free(&set, &ctx);
        MU_CHECK(ctx.bytes_used == 0);
    }
}

int main(void)
{
    test_sort();
    test_failures();
    test_set();
    return MU_END();
}
