/* The search with batch times as a function, called from C. */
#include "core/rng.h"
#include "gpusched.h"
#include "pbs/large/large_parts.h"

#include "faults.h"
#include "minunit.h"

enum {
    N = 30,
    ALL = GS_PBS_LARGE_SKIP_EDF | GS_PBS_LARGE_SKIP_SEARCHED | GS_PBS_LARGE_SKIP_PRICES |
          GS_PBS_LARGE_SKIP_GROUPS | GS_PBS_LARGE_SKIP_CORES
};

static int64_t period[N], deadline[N], wcet[N];
static gs_gpu_kernel_t kernels[N];
static const gs_periodic_tasks_t tasks = {N, period, deadline, NULL, 0};
static const gs_pbs_oracle_slowdown_t slowdown = {1100000000, 1900000000};
static const gs_gpu_t gpu = {.sms = 4,
                             .warps_per_sm = 32,
                             .blocks_per_sm = 16,
                             .regs_per_sm = 65536,
                             .smem_per_sm = 65536,
                             .smem_per_block = 49152,
                             .smem_unit = 256,
                             .reg_unit = 256,
                             .partitions = 4,
                             .carveout_rule = GS_GPU_CARVEOUT_IGNORE};

/* Kernels of `length` ticks and longer, two classes of periods. */
static void set_tasks(int64_t length)
{
    for (int32_t i = 0; i < N; i++) {
        period[i] = deadline[i] = i % 2 == 0 ? 1000 : 2000;
        wcet[i] = length + i;
        kernels[i] = (gs_gpu_kernel_t){1 + i % 5, 128, 32, 0};
    }
}

static int run(gs_context_t *ctx, gs_pbs_large_t *search, bool placed, int skip, int32_t round)
{
    gs_pbs_large_function_t function;
    gs_pbs_large_options_t options = {.round = round, .skip = skip};
    int status = gs_pbs_large_function_init(&function, ctx, &tasks, wcet, slowdown, 7,
                                            placed ? &gpu : NULL, kernels);
    if (status == GS_OK) {
        status = gs_pbs_large_round(search, ctx, &tasks, &function, &options);
    }
    gs_pbs_large_function_free(&function, ctx);
    return status;
}

/* Something goes wrong at every place: an error or no answer, never a leak or a wrong answer. */
static void test_faults(bool placed, int skip, int32_t round, int answer)
{
    for (int kind = 0; kind < FAULT_KINDS; kind++) {
        for (fault_t fault = fault_first(kind); fault_next(&fault);) {
            gs_pbs_large_t search = {0};
            int status = run(&fault.ctx, &search, placed, skip, round);
            bool spent = search.answer == -1 && search.spent > 0;
            MU_CHECK(status != GS_OK || spent || search.answer == answer);
            gs_pbs_large_free(&search, &fault.ctx);
            gs_pbs_large_free(&search, &fault.ctx); /* freeing twice is allowed */
            fault_check(&fault, status);
        }
    }
}

static void test_budgets(void)
{
    gs_context_t ctx;
    gs_context_init(&ctx);
    gs_pbs_large_t search = {0};
    ctx.states_limit = 3;
    MU_CHECK(run(&ctx, &search, false, 0, 0) == GS_OK);
    MU_CHECK(search.answer == -1 && search.spent == GS_SPENT_STATES);
    gs_pbs_large_free(&search, &ctx);
    MU_CHECK(ctx.bytes_used == 0);
}

/* Twelve tasks of twelve periods: the only partition into parts is that of single tasks. A budget
 * of bytes that holds the prices alone refuses paths of many jobs, and tables of twelve parts or
 * tasks. Each way is tried all the same, and the round says why it did not answer. */
static void test_small_problems_without_bytes(void)
{
    static const int64_t periods[12] = {100, 200,  300,  400,  500,  600,
                                        800, 1000, 1200, 1500, 2000, 3000};
    const gs_periodic_tasks_t twelve = {12, periods, periods, NULL, 0};
    int64_t one[12];
    for (int i = 0; i < 12; i++) {
        one[i] = 1 + i % 3;
    }
    static const struct {
        int ways, answer; /* with all bytes */
        int64_t groups;   /* with too few */
    } rows[] = {{0, -1, 0},
                {GS_PBS_LARGE_SKIP_SEARCHED, 1, 0},
                {GS_PBS_LARGE_SKIP_GROUPS, 1, 2},
                {GS_PBS_LARGE_SKIP_CORES, -1, 0},
                {ALL, 1, 2}};
    int64_t prices = 0;
    for (int row = 0; row < 5; row++) {
        int ways = rows[row].ways;
        for (int few = 0; few < 2; few++) {
            gs_context_t ctx;
            gs_context_init(&ctx);
            gs_pbs_large_function_t function;
            gs_pbs_large_t search = {0};
            gs_pbs_large_options_t options = {.skip = ALL & ~ways};
            MU_CHECK(gs_pbs_large_function_init(&function, &ctx, &twelve, one, slowdown, 0, NULL,
                                                NULL) == GS_OK);
            int64_t before = ctx.bytes_peak = ctx.bytes_used;
            ctx.bytes_limit = few == 0 ? 0 : before + prices;
            MU_CHECK(gs_pbs_large_round(&search, &ctx, &twelve, &function, &options) == GS_OK);
            prices = ways == 0 ? ctx.bytes_peak - before : prices;
            if (few == 0) {
                MU_CHECK(search.answer == rows[row].answer && search.spent == GS_OK);
            } else {
                MU_CHECK(search.answer == -1);
                MU_CHECK(search.spent == (ways == 0 ? GS_OK : GS_SPENT_BYTES));
                MU_CHECK((search.searches > 0) == ((ways & GS_PBS_LARGE_SKIP_SEARCHED) != 0));
                MU_CHECK(search.groups == rows[row].groups);
                MU_CHECK((search.cores > 0) == ((ways & GS_PBS_LARGE_SKIP_CORES) != 0));
            }
            if (few == 0 && ways == GS_PBS_LARGE_SKIP_GROUPS) {
                MU_CHECK(search.groups == 1 && search.stage == GS_PBS_STAGE_GROUPS);
            }
            gs_pbs_large_free(&search, &ctx);
            gs_pbs_large_function_free(&function, &ctx);
            MU_CHECK(ctx.bytes_used == 0);
        }
    }
}

/* The order of a batch that fits has each of its kernels once, and places all their blocks. */
static void check_order(const gs_gpu_t *small, const gs_gpu_kernel_t *some, uint64_t batch,
                        const int8_t *order)
{
    gs_context_t ctx;
    gs_context_init(&ctx);
    gs_block_placement_t placer;
    uint64_t seen = 0;
    MU_CHECK(gs_block_placement_init(&placer, &ctx, small, GS_BLOCK_PLACEMENT_MOST_ROOM) == GS_OK);
    for (int p = 0; p < __builtin_popcountll(batch); p++) {
        int64_t placed;
        MU_CHECK(order[p] >= 0 && (batch & ~seen) >> order[p] & 1);
        seen |= UINT64_C(1) << order[p];
        MU_CHECK(gs_block_placement_kernel(&placer, &ctx, &some[order[p]], 0, NULL, &placed) ==
                 GS_OK);
        MU_CHECK(placed == some[order[p]].blocks);
    }
    MU_CHECK(seen == batch);
    gs_block_placement_free(&placer, &ctx);
    MU_CHECK(ctx.bytes_used == 0);
}

/* Batches of a few kernels on a small GPU, some of which only one or two orders place. */
static void test_orders(void)
{
    static const uint64_t key[4] = {1};
    enum { KERNELS = 4 };
    gs_gpu_t small = gpu;
    gs_context_t ctx;
    gs_rng_t rng;
    int fitting = 0;
    small.sms = 2;
    small.warps_per_sm = small.blocks_per_sm = 8;
    gs_context_init(&ctx);
    gs_rng_init(&rng, key, 0, 0);
    for (int k = 0; k < 300; k++) {
        gs_gpu_kernel_t some[KERNELS];
        gs_pbs_large_placement_t placement;
        for (int i = 0; i < KERNELS; i++) {
            some[i] = (gs_gpu_kernel_t){1 + (int64_t)gs_rng_below(&rng, 3),
                                        32 * (1 + (int64_t)gs_rng_below(&rng, 4)), 32,
                                        4096 * (int64_t)gs_rng_below(&rng, 9)};
        }
        MU_CHECK(gs_pbs_large_placement_init(&placement, &ctx, &small, KERNELS, some) == GS_OK);
        for (uint64_t batch = 1; batch < UINT64_C(1) << KERNELS; batch++) {
            int verdict = GS_PBS_LARGE_PLACEMENT_NO;
            if ((batch & (batch - 1)) != 0) {
                MU_CHECK(gs_pbs_large_placement_decide(&placement, &ctx, batch, &verdict) == GS_OK);
            }
            if (verdict == GS_PBS_LARGE_PLACEMENT_FITS) {
                fitting++;
                check_order(&small, some, batch, placement.order);
            }
        }
        gs_pbs_large_placement_free(&placement, &ctx);
    }
    MU_CHECK(fitting > 100);
    MU_CHECK(ctx.bytes_used == 0);
}

static void test_refusals(void)
{
    gs_context_t ctx;
    gs_context_init(&ctx);
    gs_pbs_large_function_t function;
    const gs_pbs_oracle_slowdown_t fast = {1, 2};
    const gs_periodic_tasks_t many = {65, period, deadline, NULL, 0};
    MU_CHECK(gs_pbs_large_function_init(&function, &ctx, &tasks, wcet, fast, 0, NULL, NULL) ==
             GS_ERR_VALUE);
    gs_pbs_large_function_free(&function, &ctx);
    MU_CHECK(gs_pbs_large_function_init(&function, &ctx, &many, wcet, slowdown, 0, NULL, NULL) ==
             GS_ERR_VALUE);
    gs_pbs_large_function_free(&function, &ctx);
    wcet[4] = GS_NEVER / 2 - 1;
    MU_CHECK(gs_pbs_large_function_init(&function, &ctx, &tasks, wcet, slowdown, 0, NULL, NULL) ==
             GS_ERR_OVERFLOW);
    MU_CHECK(ctx.fault.row == 4);
    gs_pbs_large_function_free(&function, &ctx);
    MU_CHECK(ctx.bytes_used == 0);
}

int main(void)
{
    set_tasks(40);
    test_budgets();
    test_small_problems_without_bytes();
    for (int placed = 0; placed < 2; placed++) {
        test_faults(placed != 0, 0, 0, 1);
        test_faults(placed != 0, ALL & ~GS_PBS_LARGE_SKIP_SEARCHED, 0, 1);
    }
    test_faults(false, ALL & ~GS_PBS_LARGE_SKIP_GROUPS, 0, 1);
    test_faults(false, ALL & ~GS_PBS_LARGE_SKIP_GROUPS, 1, 1);
    set_tasks(900);
    test_faults(false, 0, 0, 0);
    test_faults(true, ALL & ~GS_PBS_LARGE_SKIP_CORES, 0, 0);
    test_orders();
    test_refusals();
    return MU_END();
}
