/* Tests of random periodic kernels: ranges, reproducibility, refusals. */
#include "generate/kernel_sets.h"
#include "generate/uunifast.h"

#include "minunit.h"

#include <math.h>
#include <string.h>

enum { MOST = 64 };

static const uint64_t KEY[4] = {1, 2, 3, 4};

static double sum(const double *share, int64_t n)
{
    double total = 0;
    for (int64_t i = 0; i < n; i++) {
        total += share[i];
    }
    return total;
}

static void test_sums(void)
{
    gs_context_t ctx;
    gs_context_init(&ctx);
    double share[MOST];
    for (int64_t n = 1; n <= 20; n++) {
        for (uint64_t set = 0; set < 50; set++) {
            gs_rng_t rng;
            gs_rng_init(&rng, KEY, set, GS_RNG_STREAM_UTILIZATION);
            double utilization = (double)n * (double)(set + 1) / 50;
            MU_CHECK(gs_generate_uunifast(&ctx, &rng, n, utilization, share) == GS_OK);
            MU_CHECK(fabs(sum(share, n) - utilization) < 1e-12 * (double)n);
            MU_CHECK(gs_generate_uunifast_discard(&ctx, &rng, n, utilization, share) == GS_OK);
            MU_CHECK(fabs(sum(share, n) - utilization) < 1e-12 * (double)n);
            for (int64_t i = 0; i < n; i++) {
                MU_CHECK(share[i] >= 0 && share[i] <= 1);
            }
        }
    }
}

/* Above n/2 the set drawn for n - U comes back, each share u as 1 - u. */
static void test_reflection(void)
{
    gs_context_t ctx;
    gs_context_init(&ctx);
    double low[8], high[8];
    for (uint64_t set = 0; set < 100; set++) {
        gs_rng_t rng;
        gs_rng_init(&rng, KEY, set, GS_RNG_STREAM_UTILIZATION);
        MU_CHECK(gs_generate_uunifast_discard(&ctx, &rng, 8, 2.5, low) == GS_OK);
        gs_rng_init(&rng, KEY, set, GS_RNG_STREAM_UTILIZATION);
        MU_CHECK(gs_generate_uunifast_discard(&ctx, &rng, 8, 5.5, high) == GS_OK);
        for (int i = 0; i < 8; i++) {
            MU_CHECK(high[i] == 1.0 - low[i]);
        }
    }
}

static void test_kernels(void)
{
    gs_context_t ctx;
    gs_context_init(&ctx);
    const int64_t periods[3] = {400, 1, GS_NEVER / 4};
    const gs_generate_kernels_t spec = {6, periods, 3, 256};
    double share[6];
    int64_t period[6], wcet[6], blocks[6], again[6];
    bool seen[3] = {false};
    for (uint64_t set = 0; set < 200; set++) {
        MU_CHECK(gs_generate_kernels(&ctx, &spec, KEY, set, 5.9, share, period, wcet, blocks) ==
                 GS_OK);
        for (int i = 0; i < 6; i++) {
            for (int p = 0; p < 3; p++) {
                seen[p] = seen[p] || period[i] == periods[p];
            }
            MU_CHECK(wcet[i] >= 1 && wcet[i] <= period[i]);
            MU_CHECK(blocks[i] >= 1 && blocks[i] <= 256);
            MU_CHECK(blocks[i] == (int64_t)(share[i] * 256));
            MU_CHECK(period[i] != 400 || wcet[i] == (int64_t)floor(share[i] * 400 + 0.5));
        }
        memcpy(again, period, sizeof again);
        /* The periods of a set do not depend on how much its utilizations drew. */
        MU_CHECK(gs_generate_kernels(&ctx, &spec, KEY, set, 0.0, share, period, wcet, blocks) ==
                 GS_OK);
        MU_CHECK(memcmp(again, period, sizeof again) == 0);
        for (int i = 0; i < 6; i++) {
            MU_CHECK(wcet[i] == 1 && blocks[i] == 1);
        }
    }
    MU_CHECK(seen[0] && seen[1] && seen[2]);
}

static int kernels_status(gs_context_t *ctx, gs_generate_kernels_t spec, double utilization)
{
    double share[4];
    int64_t period[4], wcet[4], blocks[4];
    gs_context_init(ctx);
    return gs_generate_kernels(ctx, &spec, KEY, 0, utilization, share, period, wcet, blocks);
}

static int give_up(void *arg)
{
    (*(int *)arg)++;
    return GS_ERR_INTERRUPTED;
}

static void test_refusals(void)
{
    gs_context_t ctx;
    double share[MOST];
    gs_rng_t rng;
    gs_rng_init(&rng, KEY, 0, GS_RNG_STREAM_UTILIZATION);
    const double bad[] = {-1e-300, (double)NAN, (double)INFINITY, -(double)INFINITY};
    for (int i = 0; i < 4; i++) {
        gs_context_init(&ctx);
        MU_CHECK(gs_generate_uunifast(&ctx, &rng, 4, bad[i], share) == GS_ERR_VALUE);
        MU_CHECK(strcmp(ctx.fault.field, "utilization") == 0);
        MU_CHECK(gs_generate_uunifast_discard(&ctx, &rng, 4, bad[i], share) == GS_ERR_VALUE);
    }
    MU_CHECK(gs_generate_uunifast_discard(&ctx, &rng, 4, 4.0000001, share) == GS_ERR_VALUE);
    MU_CHECK(gs_generate_uunifast_discard(&ctx, &rng, 4, 4.0, share) == GS_OK);
    MU_CHECK(share[0] == 1 && share[1] == 1 && share[2] == 1 && share[3] == 1);
    MU_CHECK(gs_generate_uunifast(&ctx, &rng, 0, 1, share) == GS_ERR_VALUE);
    MU_CHECK(strcmp(ctx.fault.field, "tasks") == 0 && ctx.fault.value == 0);

    const int64_t good[1] = {10}, zero[2] = {10, 0}, late[1] = {GS_NEVER / 2};
    MU_CHECK(kernels_status(&ctx, (gs_generate_kernels_t){4, good, 1, 256}, 1) == GS_OK);
    MU_CHECK(kernels_status(&ctx, (gs_generate_kernels_t){4, good, 0, 256}, 1) == GS_ERR_VALUE);
    MU_CHECK(kernels_status(&ctx, (gs_generate_kernels_t){4, zero, 2, 256}, 1) == GS_ERR_VALUE);
    MU_CHECK(strcmp(ctx.fault.field, "periods") == 0 && ctx.fault.row == 1);
    MU_CHECK(kernels_status(&ctx, (gs_generate_kernels_t){4, late, 1, 256}, 1) == GS_ERR_OVERFLOW);
    MU_CHECK(kernels_status(&ctx, (gs_generate_kernels_t){4, good, 1, 0}, 1) == GS_ERR_VALUE);
    MU_CHECK(strcmp(ctx.fault.field, "capacity") == 0);
    MU_CHECK(kernels_status(&ctx, (gs_generate_kernels_t){4, good, 1, 256}, 5) == GS_ERR_VALUE);
}

/* 64 tasks at 32 are hopeless: the tries are bounded, and can be interrupted. */
static void test_hopeless(void)
{
    gs_context_t ctx;
    gs_context_init(&ctx);
    gs_rng_t rng;
    gs_rng_init(&rng, KEY, 0, GS_RNG_STREAM_UTILIZATION);
    double share[MOST];
    int polls = 0;
    ctx.poll = give_up;
    ctx.poll_arg = &polls;
    MU_CHECK(gs_generate_uunifast_discard(&ctx, &rng, 64, 32, share) == GS_ERR_INTERRUPTED);
    MU_CHECK(polls == 1);
    ctx.poll = NULL;
    MU_CHECK(gs_generate_uunifast_discard(&ctx, &rng, 64, 32, share) == GS_ERR_VALUE);
    MU_CHECK(strcmp(ctx.fault.field, "tasks") == 0 && ctx.fault.value == 64);
}

int main(void)
{
    test_sums();
    test_reflection();
    test_kernels();
    test_refusals();
    test_hopeless();
    return MU_END();
}
