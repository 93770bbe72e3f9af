/* Tests of the heap and of 128-bit integers. */
#include "core/heap.h"
#include "core/rng.h"
#include "core/int128.h"

#include "minunit.h"

static bool in_order(gs_heap_entry_t a, gs_heap_entry_t b)
{
    return a.time < b.time || (a.time == b.time && a.item <= b.item);
}

static void test_heap(void)
{
    gs_context_t ctx;
    gs_context_init(&ctx);
    for (uint64_t round = 0; round < 50; round++) {
        gs_heap_t heap = {0};
        MU_CHECK(gs_heap_time(&heap) == GS_NEVER);
        int64_t sum = 0;
        for (uint64_t k = 0; k < 100; k++) { /* many equal times */
            int64_t time = (int64_t)gs_rng_scale(gs_rng_at(round, k), 20);
            sum += time;
            MU_CHECK(gs_heap_push(&heap, &ctx, time, (int64_t)(gs_rng_at(round, ~k) % 7)) == GS_OK);
        }
        gs_heap_entry_t first = heap.entry[0];
        gs_heap_replace(&heap, first.time + 5, first.item);
        sum += 5;
        gs_heap_entry_t last = {-1, 0};
        while (heap.count > 0) {
            gs_heap_entry_t next = heap.entry[0];
            MU_CHECK(in_order(last, next));
            sum -= next.time;
            last = next;
            gs_heap_pop(&heap);
        }
        MU_CHECK(sum == 0);
        gs_heap_free(&heap, &ctx);
    }
    MU_CHECK(ctx.bytes_used == 0);
    gs_heap_t heap = {0};
    ctx.fail_at = ctx.allocations + 1;
    MU_CHECK(gs_heap_push(&heap, &ctx, 1, 1) == GS_ERR_MEMORY && heap.count == 0);
    gs_heap_free(&heap, &ctx);
}

static void test_wide(void)
{
    gs_int128_t x, big = (gs_int128_t)1 << 100;
    MU_CHECK(gs_int128_bits(0) == 0 && gs_int128_bits(1) == 1 && gs_int128_bits(big) == 101);
    MU_CHECK(gs_int128_mul(big, 1 << 20, &x) && x >> 120 == 1);
    MU_CHECK(!gs_int128_mul(big, (gs_int128_t)1 << 40, &x) && !gs_int128_mul(big, big, &x));
    MU_CHECK(gs_int128_add(GS_INT128_MAX - 1, 1, &x) && x == GS_INT128_MAX);
    MU_CHECK(!gs_int128_add(GS_INT128_MAX, 1, &x));
    MU_CHECK(gs_int128_ceil_div(0, 7) == 0 && gs_int128_ceil_div(7, 7) == 1);
    MU_CHECK(gs_int128_ceil_div(8, 7) == 2 && gs_int128_ceil_div(big, 1 << 20) == (gs_int128_t)1
                                                                                      << 80);
    MU_CHECK(gs_int128_ceil_div(big + 1, 1 << 20) == ((gs_int128_t)1 << 80) + 1);
}

int main(void)
{
    test_heap();
    test_wide();
    return MU_END();
}
