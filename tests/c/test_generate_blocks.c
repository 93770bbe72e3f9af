/* Tests of random kernels with blocks: ranges, reproducibility, refusals. */
#include "generate/fifo_sets.h"

#include "minunit.h"

#include <math.h>
#include <string.h>

static const uint64_t KEY[4] = {1, 2, 3, 4};
static const int64_t SIZES[4] = {1, 24, 100, 40};

enum { N = 5 };

typedef struct {
    double share[N];
    int64_t period[N], wcet[N], block_time[N], blocks[N], threads[N];
} set_t;

static int draw(gs_context_t *ctx, gs_generate_fifo_t spec, uint64_t index, double utilization,
                set_t *set)
{
    const gs_generate_fifo_set_t into = {set->share,      set->period, set->wcet,
                                         set->block_time, set->blocks, set->threads};
    return gs_generate_fifo(ctx, &spec, KEY, index, utilization, &into);
}

static void test_sets(void)
{
    gs_context_t ctx;
    gs_context_init(&ctx);
    const gs_generate_fifo_t spec = {N, 100, 50, 700, 1000, SIZES, 4, 200};
    for (uint64_t index = 0; index < 500; index++) {
        set_t set;
        double utilization = (double)(index % 101) / 100;
        MU_CHECK(draw(&ctx, spec, index, utilization, &set) == GS_OK);
        for (int i = 0; i < N; i++) {
            int64_t period = set.period[i], g = set.blocks[i], b = set.threads[i];
            MU_CHECK(period % 1000 == 0 && period >= 50000 && period <= 700000);
            MU_CHECK(b == 1 || b == 24 || b == 40 || b == 100);
            MU_CHECK(g >= 1 && g <= 200);
            int64_t waves = (g + 100 / b - 1) / (100 / b);
            MU_CHECK(set.block_time[i] >= 1 && waves * set.block_time[i] <= period);
            MU_CHECK(set.wcet[i] == waves * set.block_time[i]);
            double work = set.share[i] * 100 * (double)period;
            double error = fabs((double)(g * b * set.block_time[i]) - work);
            MU_CHECK(error <= 0.5 * (double)(g * b) || set.block_time[i] == 1);
        }
    }
}

/* A grid, a block or a period more does not change what else is drawn. */
static void test_streams(void)
{
    gs_context_t ctx;
    gs_context_init(&ctx);
    set_t one, other;
    MU_CHECK(draw(&ctx, (gs_generate_fifo_t){N, 100, 5, 70, 1, SIZES, 4, 9}, 3, 0.5, &one) == 0);
    MU_CHECK(draw(&ctx, (gs_generate_fifo_t){N, 100, 5, 70, 1, SIZES, 2, 300}, 3, 0.5, &other) ==
             0);
    MU_CHECK(memcmp(one.period, other.period, sizeof one.period) == 0);
    MU_CHECK(memcmp(one.share, other.share, sizeof one.share) == 0);
    MU_CHECK(draw(&ctx, (gs_generate_fifo_t){N, 100, 7, 900, 2, SIZES, 4, 9}, 3, 0.5, &other) == 0);
    MU_CHECK(memcmp(one.threads, other.threads, sizeof one.threads) == 0);
}

static int status(gs_context_t *ctx, gs_generate_fifo_t spec, double utilization)
{
    set_t set;
    gs_context_init(ctx);
    return draw(ctx, spec, 0, utilization, &set);
}

static int give_up(void *arg)
{
    (*(int *)arg)++;
    return GS_ERR_INTERRUPTED;
}

static void test_refusals(void)
{
    gs_context_t ctx;
    const gs_generate_fifo_t good = {N, 100, 5, 70, 1, SIZES, 4, 200};
    gs_generate_fifo_t bad = good;
    MU_CHECK(status(&ctx, good, 1) == GS_OK);
    MU_CHECK(status(&ctx, good, 1.001) == GS_ERR_VALUE);
    MU_CHECK(strcmp(ctx.fault.field, "utilization") == 0);
    MU_CHECK(status(&ctx, good, (double)NAN) == GS_ERR_VALUE);
    MU_CHECK(status(&ctx, good, (double)INFINITY) == GS_ERR_VALUE);
    MU_CHECK(status(&ctx, good, -1e-300) == GS_ERR_VALUE);
    bad.blocks_max = 0;
    MU_CHECK(status(&ctx, bad, 0.5) == GS_ERR_VALUE);
    MU_CHECK(strcmp(ctx.fault.field, "blocks_max") == 0);
    bad = good;
    bad.m = 99; /* narrower than a block */
    MU_CHECK(status(&ctx, bad, 0.5) == GS_ERR_VALUE);
    MU_CHECK(strcmp(ctx.fault.field, "block_sizes") == 0 && ctx.fault.row == 2);
    bad.m = (int64_t)1 << 31;
    MU_CHECK(status(&ctx, bad, 0.5) == GS_ERR_VALUE);
    MU_CHECK(strcmp(ctx.fault.field, "threads") == 0);
    bad = good;
    bad.size_count = 0;
    MU_CHECK(status(&ctx, bad, 0.5) == GS_ERR_VALUE);
    bad = good;
    bad.shortest = 0;
    MU_CHECK(status(&ctx, bad, 0.5) == GS_ERR_VALUE && ctx.fault.row == 0);
    bad.shortest = 71;
    MU_CHECK(status(&ctx, bad, 0.5) == GS_ERR_VALUE && ctx.fault.row == 1);
    bad = good;
    bad.ticks = 0;
    MU_CHECK(status(&ctx, bad, 0.5) == GS_ERR_VALUE);
    bad.ticks = GS_NEVER / 64 / 70;
    MU_CHECK(status(&ctx, bad, 0.5) == GS_OK);
    bad.ticks += 1;
    MU_CHECK(status(&ctx, bad, 0.5) == GS_ERR_OVERFLOW);
    bad.ticks = INT64_MAX;
    MU_CHECK(status(&ctx, bad, 0.5) == GS_ERR_OVERFLOW);
    bad = good;
    bad.n = 0;
    MU_CHECK(status(&ctx, bad, 0.5) == GS_ERR_VALUE);
}

/* The widest range of periods, and a grid whose waves never all fit. */
static void test_extremes(void)
{
    gs_context_t ctx;
    gs_context_init(&ctx);
    set_t set;
    gs_generate_fifo_t spec = {N, INT32_MAX, 1, GS_NEVER / 64 - 1, 1, SIZES, 4, INT32_MAX};
    bool high = false;
    for (uint64_t index = 0; index < 300; index++) {
        MU_CHECK(draw(&ctx, spec, index, 0.01, &set) == GS_OK);
        for (int i = 0; i < N; i++) {
            MU_CHECK(set.period[i] >= 1 && set.period[i] < GS_NEVER / 64);
            high = high || set.period[i] > GS_NEVER / 256;
        }
    }
    MU_CHECK(high);
    int polls = 0;
    ctx.poll = give_up;
    ctx.poll_arg = &polls;
    const int64_t half[1] = {3};
    spec = (gs_generate_fifo_t){1, 8, 1 << 30, 1 << 30, 1, half, 1, INT32_MAX};
    MU_CHECK(draw(&ctx, spec, 0, 0.75 - 1e-12, &set) == GS_ERR_INTERRUPTED);
    MU_CHECK(polls == 1);
}

int main(void)
{
    test_sets();
    test_streams();
    test_refusals();
    test_extremes();
    return MU_END();
}
