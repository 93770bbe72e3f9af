/* Eligibility by placement and by utilization: the library against all orders of every set. */
#include "pbs/oracle/resource_demand.h"

#include "dense_tables.h"
#include "faults.h"
#include "minunit.h"

#include <string.h>

#include "model/block_placement_internal.h"

enum { MOST = 5, SETS = 1 << MOST };

static gs_gpu_t device(int32_t sms, int32_t warps, int32_t slots)
{
    return (gs_gpu_t){.sms = sms,
                      .warps_per_sm = warps,
                      .blocks_per_sm = slots,
                      .regs_per_sm = 16384,
                      .smem_per_sm = 16384,
                      .smem_per_block = 16384,
                      .smem_unit = 256,
                      .reg_unit = 256,
                      .partitions = 4};
}

/* The number of orders of a set that fit, and of all orders; each placed from the start. */
typedef struct {
    gs_block_placement_t placer;
    const gs_gpu_kernel_t *kernels;
    int8_t order[MOST];
    int tried;
    int fit;
} brute_t;

static bool fits(brute_t *self, const int8_t *order, int count)
{
    gs_context_t ctx;
    gs_context_init(&ctx);
    gs_block_placement_clear(&self->placer);
    for (int p = 0; p < count; p++) {
        const gs_gpu_kernel_t *kernel = &self->kernels[order[p]];
        int64_t placed = -1;
        MU_CHECK(gs_block_placement_kernel(&self->placer, &ctx, kernel, 0, NULL, &placed) == GS_OK);
        if (placed < kernel->blocks) {
            return false;
        }
    }
    return true;
}

static void try_orders(brute_t *self, uint32_t left, int depth)
{
    if (left == 0) {
        self->tried++;
        self->fit += fits(self, self->order, depth);
    }
    for (int8_t i = 0; i < MOST; i++) {
        if ((left >> i & 1) != 0) {
            self->order[depth] = i;
            try_orders(self, left & ~(UINT32_C(1) << i), depth + 1);
        }
    }
}

static int64_t pick(gs_rng_t *rng, const int64_t *from, uint64_t count)
{
    return from[gs_rng_below(rng, count)];
}

/* Kernels limited by warps, slots, registers and shared memory, mixed. */
static void draw_kernels(gs_rng_t *rng, gs_gpu_kernel_t *kernels)
{
    static const int64_t threads[] = {32, 64, 96, 128, 192, 256, 320};
    static const int64_t regs[] = {0, 8, 16, 24, 40};
    static const int64_t smem[] = {0, 512, 2048, 5000, 9000};
    for (int i = 0; i < MOST; i++) {
        kernels[i] = (gs_gpu_kernel_t){1 + (int64_t)gs_rng_below(rng, 6), pick(rng, threads, 7),
                                       pick(rng, regs, 5), pick(rng, smem, 5)};
    }
    if (gs_rng_below(rng, 3) ==
        0) { /* identical kernels, and kernels that differ only in their grid */
        kernels[3] = kernels[0];
        kernels[4] = kernels[1];
        kernels[4].blocks = 1 + (int64_t)gs_rng_below(rng, 6);
    }
}

/* Counts of the three verdicts of total demand. */
static void check_demand(const gs_gpu_t *gpu, const gs_gpu_kernel_t *kernels, brute_t *brute,
                         int *verdicts)
{
    gs_context_t ctx;
    gs_context_init(&ctx);
    gs_occupancy_footprint_t take[MOST];
    int64_t per_sm[MOST];
    for (int i = 0; i < MOST; i++) {
        int limit;
        MU_CHECK(gs_occupancy_footprint(&ctx, gpu, &kernels[i], i, &take[i], &per_sm[i], &limit) ==
                 GS_OK);
        MU_CHECK(per_sm[i] > 0);
    }
    gs_pbs_oracle_resource_demand_t demand;
    MU_CHECK(gs_pbs_oracle_resource_demand_init(&demand, &ctx, gpu, MOST, kernels, take, per_sm) ==
             GS_OK);
    for (uint32_t mask = 1; mask < SETS; mask++) {
        if ((mask & (mask - 1)) == 0) {
            continue;
        }
        brute->tried = brute->fit = 0;
        try_orders(brute, mask, 0);
        int verdict = gs_pbs_oracle_resource_demand_classify(&demand, mask);
        MU_CHECK(verdict != GS_PBS_ORACLE_RESOURCE_DEMAND_TOO_LARGE || brute->fit == 0);
        MU_CHECK(verdict != GS_PBS_ORACLE_RESOURCE_DEMAND_FITS || brute->fit == brute->tried);
        verdicts[verdict]++;
    }
    gs_pbs_oracle_resource_demand_free(&demand, &ctx);
    MU_CHECK(ctx.bytes_used == 0);
}

static void test_against_all_orders(void)
{
    static const uint64_t key[4] = {9, 9, 9, 9};
    static const gs_pbs_oracle_slowdown_t none = {GS_PBS_ORACLE_SLOWDOWN_ONE,
                                                  GS_PBS_ORACLE_SLOWDOWN_ONE};
    static const int64_t wcet[MOST] = {5, 4, 3, 2, 1};
    int verdicts[3] = {0}, only_some = 0;
    for (uint64_t trial = 0; trial < 400; trial++) {
        gs_rng_t rng;
        gs_rng_init(&rng, key, trial, 77);
        gs_gpu_t gpu = device(2 + (int32_t)gs_rng_below(&rng, 3), 10 + (int32_t)(trial % 3) * 3,
                              4 + (int32_t)gs_rng_below(&rng, 5));
        gs_gpu_kernel_t kernels[MOST];
        draw_kernels(&rng, kernels);
        gs_context_t ctx;
        gs_context_init(&ctx);
        brute_t brute = {.kernels = kernels};
        MU_CHECK(gs_block_placement_init(&brute.placer, &ctx, &gpu, GS_BLOCK_PLACEMENT_MOST_ROOM) ==
                 GS_OK);
        check_demand(&gpu, kernels, &brute, verdicts);

        int64_t completion[SETS], undecided[SETS];
        int8_t order[SETS * MOST];
        dense_t found = {0};
        MU_CHECK(gs_pbs_oracle_times(&ctx, MOST, wcet, none, NULL, completion) == GS_OK);
        MU_CHECK(dense_by_placement(&ctx, &gpu, MOST, kernels, completion, undecided, order,
                                    &found) == GS_OK);
        MU_CHECK(found.undecided == 0);
        for (uint32_t mask = 1; mask < SETS; mask++) {
            int count = __builtin_popcount(mask);
            brute.tried = brute.fit = 0;
            try_orders(&brute, mask, 0);
            bool eligible = count == 1 || brute.fit > 0;
            only_some += count > 1 && brute.fit > 0 && brute.fit < brute.tried;
            MU_CHECK(completion[mask] == (eligible ? wcet[__builtin_ctz(mask)] : 0));
            MU_CHECK(undecided[mask] == 0);
            const int8_t *row = order + mask * MOST;
            uint32_t members = 0;
            for (int p = 0; p < MOST; p++) {
                MU_CHECK((row[p] >= 0) == (eligible && p < count));
                members |= row[p] >= 0 ? UINT32_C(1) << row[p] : 0;
            }
            MU_CHECK(!eligible || members == mask);
            MU_CHECK(!eligible || count == 1 || fits(&brute, row, count));
        }
        gs_block_placement_free(&brute.placer, &ctx);
        MU_CHECK(ctx.bytes_used == 0);
    }
    /* The draws must cover every case. */
    MU_CHECK(verdicts[GS_PBS_ORACLE_RESOURCE_DEMAND_TOO_LARGE] > 500 &&
             verdicts[GS_PBS_ORACLE_RESOURCE_DEMAND_UNDECIDED] > 500);
    MU_CHECK(verdicts[GS_PBS_ORACLE_RESOURCE_DEMAND_FITS] > 500 && only_some > 200);
}

/* [RTNS24], Example 2.1: four blocks of 64 threads and one of 192 on two SMs of 256. */
static const gs_gpu_kernel_t EXAMPLE[2] = {{4, 64, 0, 0}, {1, 192, 0, 0}};

static void test_example(void)
{
    gs_gpu_t gpu = device(2, 8, 16);
    gs_context_t ctx;
    gs_context_init(&ctx);
    int64_t completion[4] = {0, 3, 4, 7}, undecided[4];
    int8_t order[8];
    dense_t found = {0};
    MU_CHECK(dense_by_placement(&ctx, &gpu, 2, EXAMPLE, completion, undecided, order, &found) ==
             GS_OK);
    MU_CHECK(completion[1] == 3 && completion[2] == 4 && completion[3] == 7);
    MU_CHECK(order[6] == 1 && order[7] == 0);
    MU_CHECK(order[2] == 0 && order[3] == -1 && order[4] == 1 && order[5] == -1);
    MU_CHECK(!found.ascending && found.undecided == 0);
}

/* Kernels that total demand leaves open and no order places: blocks of 3, 6, ..., 18 warps and of 1
 * warp are 64 warps in all, but no subset of them is 32. */
static void puzzle(gs_gpu_kernel_t kernels[7])
{
    for (int i = 0; i < 7; i++) {
        kernels[i] = (gs_gpu_kernel_t){1, i == 6 ? 32 : 96 * (i + 1), 0, 0};
    }
}

static void test_undecided(void)
{
    gs_gpu_t gpu = device(2, 32, 32);
    gs_context_t ctx;
    gs_context_init(&ctx);
    gs_gpu_kernel_t kernels[7];
    int64_t completion[128], undecided[128];
    int8_t order[128 * 7];
    dense_t found = {0};
    puzzle(kernels);
    for (int mask = 0; mask < 128; mask++) {
        completion[mask] = mask;
    }
    MU_CHECK(dense_by_placement(&ctx, &gpu, 7, kernels, completion, undecided, order, &found) ==
             GS_OK);
    MU_CHECK(found.undecided == 1);
    MU_CHECK(completion[127] == 0 && undecided[127] == 127 && order[127 * 7] == -1);
    for (int mask = 0; mask < 127; mask++) {
        MU_CHECK(undecided[mask] == 0);
    }
    /* Identical kernels leave few orders: decided, whatever their number. */
    for (int i = 0; i < 7; i++) {
        kernels[i] = (gs_gpu_kernel_t){1, i == 6 ? 64 : 96, 0, 0};
        completion[127] = 127;
    }
    gpu.warps_per_sm = 10;
    MU_CHECK(dense_by_placement(&ctx, &gpu, 7, kernels, completion, undecided, order, &found) ==
             GS_OK);
    MU_CHECK(found.undecided == 0 && completion[127] == 0);
}

static int give_up(void *arg)
{
    int *left = arg;
    return (*left)-- > 0 ? GS_OK : GS_ERR_INTERRUPTED;
}

static void test_failures(void)
{
    gs_gpu_t gpu = device(2, 32, 32);
    gs_gpu_kernel_t kernels[7];
    int64_t completion[128] = {0}, undecided[128];
    int8_t order[128 * 7];
    dense_t found = {0};
    puzzle(kernels);
    for (int kind = 0; kind < FAULT_KINDS; kind++) {
        for (fault_t fault = fault_first(kind); fault_next(&fault);) {
            int status = dense_by_placement(&fault.ctx, &gpu, 7, kernels, completion, undecided,
                                            order, &found);
            fault_check(&fault, status);
        }
    }

    /* 20 kernels in 2^20 sets: every loop can be interrupted. */
    gs_gpu_t wide = device(16, 64, 32);
    gs_gpu_kernel_t many[20];
    for (int i = 0; i < 20; i++) {
        many[i] = (gs_gpu_kernel_t){1 + i % 3, 96 + 32 * i, 8, 256 * i};
    }
    gs_context_t big;
    gs_context_init(&big);
    int64_t *times = gs_alloc(&big, (size_t)1 << 20, sizeof *times);
    int64_t *open = gs_alloc(&big, (size_t)1 << 20, sizeof *open);
    int8_t *orders = gs_alloc(&big, (size_t)20 << 20, 1);
    MU_CHECK(times != NULL && open != NULL && orders != NULL);
    for (int polls = 0; polls < 20; polls += 2) {
        gs_context_t ctx;
        gs_context_init(&ctx);
        int left = polls;
        ctx.poll = give_up;
        ctx.poll_arg = &left;
        MU_CHECK(dense_by_placement(&ctx, &wide, 20, many, times, open, orders, &found) ==
                 GS_ERR_INTERRUPTED);
        MU_CHECK(ctx.bytes_used == 0 && left == -1);
    }
    gs_free(&big, times);
    gs_free(&big, open);
    gs_free(&big, orders);
}

static void refused(gs_gpu_kernel_t kernel, const char *field)
{
    gs_gpu_t gpu = device(2, 16, 32);
    gs_gpu_kernel_t kernels[2] = {{1, 32, 0, 0}, kernel};
    int64_t completion[4] = {0, 1, 1, 1}, undecided[4];
    int8_t order[8];
    dense_t found = {0};
    gs_context_t ctx;
    gs_context_init(&ctx);
    MU_CHECK(dense_by_placement(&ctx, &gpu, 2, kernels, completion, undecided, order, &found) ==
             GS_ERR_VALUE);
    MU_CHECK(strcmp(ctx.fault.field, field) == 0 && ctx.fault.row == 1);
    MU_CHECK(ctx.bytes_used == 0);
}

static void test_refusals(void)
{
    refused((gs_gpu_kernel_t){1, 544, 0, 0}, "threads");
    refused((gs_gpu_kernel_t){1, 2048, 0, 0}, "threads");
    refused((gs_gpu_kernel_t){1, 512, 64, 0}, "regs");
    refused((gs_gpu_kernel_t){1, 32, 0, 20000}, "smem");
    refused((gs_gpu_kernel_t){0, 32, 0, 0}, "blocks");
    refused((gs_gpu_kernel_t){1, 32, -1, 0}, "regs");
    gs_context_t ctx;
    gs_context_init(&ctx);
    gs_gpu_t gpu = device(0, 16, 32);
    MU_CHECK(dense_by_placement(&ctx, &gpu, 2, EXAMPLE, NULL, NULL, NULL, NULL) == GS_ERR_VALUE);
    MU_CHECK(dense_by_placement(&ctx, &gpu, 21, EXAMPLE, NULL, NULL, NULL, NULL) == GS_ERR_VALUE);
}

static void test_large_grids(void)
{
    gs_gpu_t gpu = device(2, 16, 32);
    const gs_gpu_kernel_t kernels[3] = {{INT64_MAX, 512, 0, 0}, {32, 32, 0, 0}, {33, 32, 0, 0}};
    int64_t completion[8] = {0, 1, 2, 3, 4, 5, 6, 7}, undecided[8];
    int8_t order[24];
    dense_t found = {0};
    gs_context_t ctx;
    gs_context_init(&ctx);
    MU_CHECK(dense_by_placement(&ctx, &gpu, 3, kernels, completion, undecided, order, &found) ==
             GS_OK);
    for (int mask = 0; mask < 8; mask++) {
        bool single = (mask & (mask - 1)) == 0;
        MU_CHECK(completion[mask] == (single ? mask : 0));
    }
    MU_CHECK(found.ascending);
}

/* Factors are exact: 1.1 times 10 is 11, and a tick more is 13 (12.1). */
static void test_times(void)
{
    gs_context_t ctx;
    gs_context_init(&ctx);
    const int64_t wcet[3] = {10, 11, 1};
    int64_t times[8];
    const gs_pbs_oracle_slowdown_t tenth = {1100000000, 1100000000};
    MU_CHECK(gs_pbs_oracle_times(&ctx, 3, wcet, tenth, NULL, times) == GS_OK);
    const int64_t expected[8] = {0, 10, 11, 13, 1, 11, 13, 13};
    MU_CHECK(memcmp(times, expected, sizeof expected) == 0);

    /* Products that exceed 64 bits, and the largest time accepted. */
    const int64_t most = GS_NEVER / 2 - 1;
    const int64_t big[2] = {most, 1}, half[2] = {most / 2, 1}, bad[2] = {1, 0},
                  late[1] = {most + 1};
    MU_CHECK(gs_pbs_oracle_times(&ctx, 2, half, (gs_pbs_oracle_slowdown_t){2000000000, 2000000000},
                                 NULL, times) == GS_OK);
    MU_CHECK(times[3] == most / 2 * 2);
    MU_CHECK(gs_pbs_oracle_times(&ctx, 2, big, (gs_pbs_oracle_slowdown_t){1000000000, 1000000000},
                                 NULL, times) == GS_OK);
    MU_CHECK(gs_pbs_oracle_times(&ctx, 2, big, (gs_pbs_oracle_slowdown_t){1000000001, 1000000001},
                                 NULL, times) == GS_ERR_OVERFLOW);
    MU_CHECK(strcmp(ctx.fault.field, "batch") == 0 && ctx.fault.row == 3);
    MU_CHECK(gs_pbs_oracle_times(&ctx, 2, bad, tenth, NULL, times) == GS_ERR_VALUE);
    MU_CHECK(ctx.fault.row == 1);
    MU_CHECK(gs_pbs_oracle_times(&ctx, 1, late, tenth, NULL, times) == GS_ERR_OVERFLOW);
    MU_CHECK(gs_pbs_oracle_times(&ctx, 2, wcet, (gs_pbs_oracle_slowdown_t){999999999, 1000000000},
                                 NULL, times) == GS_ERR_VALUE);
    MU_CHECK(gs_pbs_oracle_times(&ctx, 2, wcet, (gs_pbs_oracle_slowdown_t){2000000000, 1000000000},
                                 NULL, times) == GS_ERR_VALUE);
    MU_CHECK(gs_pbs_oracle_times(&ctx, 0, wcet, tenth, NULL, times) == GS_ERR_VALUE);
}

/* 1/3 + 1/6 + 1/2 is 1 exactly; one tick in 10^15 more is not. */
static void test_utilization(void)
{
    gs_context_t ctx;
    gs_context_init(&ctx);
    const int64_t unit = INT64_C(1000000000000000);
    const int64_t period[4] = {3 * unit, 6 * unit, 2 * unit, unit};
    int64_t wcet[4] = {unit, unit, unit, GS_NEVER / 2 - 1};
    int64_t completion[16];
    const gs_periodic_tasks_t tasks = {4, period, period, NULL, 0};
    for (int64_t more = 0; more < 2; more++) {
        wcet[1] = unit + more;
        for (int mask = 0; mask < 16; mask++) {
            completion[mask] = mask;
        }
        MU_CHECK(gs_pbs_oracle_by_utilization(&ctx, &tasks, wcet, completion) == GS_OK);
        for (int mask = 0; mask < 16; mask++) {
            bool eligible = mask <= 8 && !(mask == 7 && more == 1);
            MU_CHECK(completion[mask] == (eligible ? mask : 0));
        }
    }
    const int64_t primes[2] = {INT64_C(2147483647), INT64_C(2147483629)};
    const gs_periodic_tasks_t overflow = {2, primes, primes, NULL, 0};
    MU_CHECK(gs_pbs_oracle_by_utilization(&ctx, &overflow, wcet, completion) == GS_ERR_OVERFLOW);
    const gs_periodic_tasks_t none = {0, period, period, NULL, 0};
    MU_CHECK(gs_pbs_oracle_by_utilization(&ctx, &none, wcet, completion) == GS_ERR_VALUE);
}

int main(void)
{
    test_against_all_orders();
    test_example();
    test_undecided();
    test_failures();
    test_refusals();
    test_large_grids();
    test_times();
    test_utilization();
    return MU_END();
}
