/* Tests of the carve-outs for shared memory: of a kernel, of an SM, in placement, batches and
 * saturation, refusals. */
#include "analysis/fifo/saturation.h"
#include "model/block_placement_internal.h"
#include "pbs/oracle/oracle.h"

#include "dense_tables.h"
#include "minunit.h"

#include <string.h>

enum { KB = 1024, SMS = 4 };

static const int RULES[] = {GS_GPU_CARVEOUT_IGNORE, GS_GPU_CARVEOUT_MATCH,
                            GS_GPU_CARVEOUT_AT_LEAST};

/* A Volta (cc 7.0) or, with reserved memory, an Ampere (cc 8.0) with a few SMs. */
static gs_gpu_t device(int rule, bool ampere)
{
    gs_gpu_t gpu = {.sms = SMS,
                    .warps_per_sm = 64,
                    .blocks_per_sm = 32,
                    .regs_per_sm = 65536,
                    .smem_per_sm = (ampere ? 164 : 96) * KB,
                    .smem_per_block = (ampere ? 163 : 96) * KB,
                    .smem_reserved = ampere ? KB : 0,
                    .smem_unit = ampere ? 128 : 256,
                    .reg_unit = 256,
                    .partitions = 4,
                    .carveout_rule = rule};
    static const int32_t sizes[] = {0, 8, 16, 32, 64, 96, 0, 8, 16, 32, 64, 100, 132, 164};
    gpu.carveouts = ampere ? 8 : 6;
    for (int32_t k = 0; k < gpu.carveouts; k++) {
        gpu.carveout[k] = sizes[ampere ? 6 + k : k] * KB;
    }
    return gpu;
}

static int64_t carveout(const gs_gpu_t *gpu, int64_t threads, int64_t regs, int64_t smem)
{
    gs_context_t ctx;
    gs_context_init(&ctx);
    gs_gpu_kernel_t kernel = {1, threads, regs, smem};
    gs_occupancy_footprint_t take;
    int64_t blocks;
    int limit;
    MU_CHECK(gs_gpu_check(&ctx, gpu) == GS_OK);
    MU_CHECK(gs_occupancy_footprint(&ctx, gpu, &kernel, 0, &take, &blocks, &limit) == GS_OK);
    MU_CHECK(blocks > 0);
    return take.carveout;
}

static void test_kernels(void)
{
    gs_gpu_t volta = device(GS_GPU_CARVEOUT_MATCH, false);
    MU_CHECK(carveout(&volta, 1024, 0, 0) == 0);
    MU_CHECK(carveout(&volta, 1024, 0, 1) == 8 * KB);
    MU_CHECK(carveout(&volta, 1024, 0, 4 * KB) == 8 * KB);
    MU_CHECK(carveout(&volta, 1024, 0, 4 * KB + 1) == 16 * KB);
    MU_CHECK(carveout(&volta, 1024, 0, 40 * KB) == 96 * KB);
    MU_CHECK(carveout(&volta, 256, 0, 32 * KB) == 96 * KB);
    MU_CHECK(carveout(&volta, 512, 64, 16 * KB) == 32 * KB); /* registers for two blocks */
    gs_gpu_t ampere = device(GS_GPU_CARVEOUT_AT_LEAST, true);
    MU_CHECK(carveout(&ampere, 32, 0, 0) == 0); /* whatever the system reserves */
    MU_CHECK(carveout(&ampere, 1024, 0, 3 * KB) == 8 * KB);
    MU_CHECK(carveout(&ampere, 1024, 0, 3 * KB + 1) == 16 * KB);
    MU_CHECK(carveout(&ampere, 32, 0, 163 * KB) == 164 * KB);
    gs_gpu_t pascal = device(GS_GPU_CARVEOUT_IGNORE, false);
    MU_CHECK(carveout(&pascal, 1024, 0, 40 * KB) == -1);

    /* The occupancy that counts is the one at the largest carve-out. */
    gs_gpu_t odd = volta;
    odd.carveouts = 2;
    odd.carveout[0] = 60 * KB;
    odd.carveout[1] = 64 * KB;
    MU_CHECK(carveout(&odd, 32, 0, 20 * KB) == 60 * KB); /* 3 at 64 KB, 4 at 96 KB */
    MU_CHECK(carveout(&odd, 32, 0, 90 * KB) == 64 * KB); /* none fits: the largest */
    MU_CHECK(carveout(&odd, 32, 0, 0) == 60 * KB);

    /* No block fits: no footprint. */
    const gs_gpu_kernel_t none[] = {{1, 32, 0, 97 * KB}, {1, 1025, 0, KB}, {1, 1024, 255, KB}};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        gs_context_t ctx;
        gs_context_init(&ctx);
        gs_occupancy_footprint_t take;
        int64_t blocks = -1;
        int limit;
        MU_CHECK(gs_occupancy_footprint(&ctx, &volta, &none[i], 0, &take, &blocks, &limit) ==
                 GS_OK);
        MU_CHECK(blocks == 0 && take.smem == 0 && take.carveout == 0);
    }
}

static void test_sizes(void)
{
    gs_gpu_t gpu = device(GS_GPU_CARVEOUT_MATCH, false);
    MU_CHECK(gs_occupancy_carveout(&gpu, 0) == 0);
    MU_CHECK(gs_occupancy_carveout(&gpu, 1) == 8 * KB);
    MU_CHECK(gs_occupancy_carveout(&gpu, 64 * KB) == 64 * KB);
    MU_CHECK(gs_occupancy_carveout(&gpu, INT64_MAX) == 96 * KB);
    for (int r = 0; r < 3; r++) {
        gpu.carveout_rule = RULES[r];
        MU_CHECK(gs_occupancy_carveout_suits(&gpu, 8, 8));
        MU_CHECK(gs_occupancy_carveout_suits(&gpu, 16, 8) == (r != 1));
        MU_CHECK(gs_occupancy_carveout_suits(&gpu, 0, 8) == (r == 0));
    }
}

static int64_t place(gs_block_placement_t *placer, int64_t blocks, int64_t threads, int64_t smem,
                     int32_t *sm)
{
    gs_context_t ctx;
    gs_context_init(&ctx);
    gs_gpu_kernel_t kernel = {blocks, threads, 0, smem};
    int64_t placed;
    MU_CHECK(gs_block_placement_kernel(placer, &ctx, &kernel, 0, sm, &placed) == GS_OK);
    return placed;
}

/* A kernel on all SMs, then one with another carve-out; the SM is free again when it is empty. */
static void test_placement(int policy)
{
    for (int r = 0; r < 3; r++) {
        gs_context_t ctx;
        gs_context_init(&ctx);
        gs_gpu_t gpu = device(RULES[r], false);
        gs_block_placement_t placer;
        int32_t sm[SMS];
        gs_occupancy_footprint_t none, some;
        gs_gpu_kernel_t without = {SMS, 1024, 0, 0}, with = {1, 1024, 0, 8 * KB};
        int64_t blocks;
        int limit;
        gs_occupancy_footprint(&ctx, &gpu, &without, 0, &none, &blocks, &limit);
        gs_occupancy_footprint(&ctx, &gpu, &with, 0, &some, &blocks, &limit);
        MU_CHECK(gs_block_placement_init(&placer, &ctx, &gpu, policy) == GS_OK);
        MU_CHECK(place(&placer, SMS, 1024, 0, sm) == SMS);
        MU_CHECK(placer.load[1].carveout == (r == 0 ? -1 : 0));
        MU_CHECK(gs_block_placement_lack(&placer, 1, &some) ==
                 (r == 0 ? -1 : GS_OCCUPANCY_LIMIT_CARVEOUT));
        MU_CHECK(place(&placer, 1, 1024, 8 * KB, sm) == (r == 0));
        gs_block_placement_clear(&placer);
        MU_CHECK(place(&placer, SMS, 1024, 8 * KB, sm) == SMS);
        MU_CHECK(place(&placer, 1, 1024, 0, sm) == (r != 1));
        gs_block_placement_clear(&placer);
        MU_CHECK(place(&placer, SMS, 1024, 0, sm) == SMS);
        gs_block_placement_remove(&placer, 2, &none, 1);
        MU_CHECK(placer.load[2].carveout == -1);
        MU_CHECK(place(&placer, 1, 1024, 8 * KB, sm) == 1);
        MU_CHECK(r == 0 || sm[0] == 2);
        gs_block_placement_free(&placer, &ctx);
        MU_CHECK(ctx.bytes_used == 0);
    }
}

/* Until the SM is empty, it keeps the carve-out of a block that has ended. */
static void test_the_first_block_decides(void)
{
    gs_context_t ctx;
    gs_context_init(&ctx);
    gs_gpu_t gpu = device(GS_GPU_CARVEOUT_AT_LEAST, false);
    gpu.sms = 1;
    gs_block_placement_t placer;
    int32_t sm;
    gs_occupancy_footprint_t first;
    gs_gpu_kernel_t large = {1, 512, 0, 16 * KB};
    int64_t blocks;
    int limit;
    gs_occupancy_footprint(&ctx, &gpu, &large, 0, &first, &blocks, &limit);
    MU_CHECK(gs_block_placement_init(&placer, &ctx, &gpu, GS_BLOCK_PLACEMENT_MOST_ROOM) == GS_OK);
    MU_CHECK(place(&placer, 1, 512, 16 * KB, &sm) == 1); /* 64 KB, for four blocks */
    MU_CHECK(place(&placer, 1, 32, 0, &sm) == 1);
    gs_block_placement_remove(&placer, 0, &first, 1);
    MU_CHECK(placer.load[0].carveout == 64 * KB);
    MU_CHECK(place(&placer, 1, 512, 16 * KB, &sm) == 1);
    gs_block_placement_clear(&placer);
    MU_CHECK(place(&placer, 1, 32, 0, &sm) == 1);
    MU_CHECK(place(&placer, 1, 512, 16 * KB, &sm) == 0);

    /* A load without a carve-out takes any block, whose carve-out it has from then on; that of an
     * SM without blocks does not count. */
    gs_block_placement_sm_load_t load = {.warps = 1, .blocks = 1, .carveout = -1};
    MU_CHECK(gs_block_placement_set(&placer, &ctx, &load) == GS_OK);
    MU_CHECK(place(&placer, 1, 512, 16 * KB, &sm) == 1 && placer.load[0].carveout == 64 * KB);
    load.carveout = 0;
    MU_CHECK(gs_block_placement_set(&placer, &ctx, &load) == GS_OK);
    MU_CHECK(place(&placer, 1, 512, 16 * KB, &sm) == 0);
    load.blocks = 0;
    MU_CHECK(gs_block_placement_set(&placer, &ctx, &load) == GS_OK);
    MU_CHECK(place(&placer, 1, 512, 16 * KB, &sm) == 1);
    load.carveout = -2;
    MU_CHECK(gs_block_placement_set(&placer, &ctx, &load) == GS_ERR_VALUE);
    MU_CHECK(strcmp(ctx.fault.field, "load.carveout") == 0);
    gs_block_placement_free(&placer, &ctx);
}

/* Two kernels with different carve-outs in one batch: on SMs of their own. */
static void test_batches(void)
{
    for (int r = 0; r < 3; r++) {
        gs_context_t ctx;
        gs_context_init(&ctx);
        gs_gpu_t gpu = device(RULES[r], false);
        const gs_gpu_kernel_t apart[] = {{2, 256, 0, 0}, {2, 256, 0, 8 * KB}};
        const gs_gpu_kernel_t full[] = {{1, 256, 0, 0}, {8 * (SMS - 1) + 1, 256, 0, 8 * KB}};
        int64_t completion[4] = {0, 5, 7, 7}, undecided[4];
        int8_t order[8];
        dense_t found = {0};
        MU_CHECK(dense_by_placement(&ctx, &gpu, 2, apart, completion, undecided, order, &found) ==
                 GS_OK);
        MU_CHECK(completion[3] == 7);
        MU_CHECK(dense_by_placement(&ctx, &gpu, 2, full, completion, undecided, order, &found) ==
                 GS_OK);
        MU_CHECK(completion[3] == (r == GS_GPU_CARVEOUT_MATCH ? 0 : 7));
        MU_CHECK(undecided[3] == 0);
        MU_CHECK(r != GS_GPU_CARVEOUT_AT_LEAST || order[6] == 1); /* the larger one first */
    }
}

/* One block without shared memory per SM keeps all others waiting. */
static void test_saturation(void)
{
    static const int64_t period[] = {10, 10}, time[] = {1, 1}, blocks[] = {SMS, 2};
    static const int64_t threads[] = {64, 128}, regs[] = {0, 0}, smem[] = {0, 8 * KB};
    static const int64_t expected[] = {0, SMS * 64, SMS * 64};
    const gs_kernel_tasks_t kernels = {2, period, time, blocks, threads};
    for (int r = 0; r < 3; r++) {
        gs_context_t ctx;
        gs_context_init(&ctx);
        gs_gpu_t gpu = device(RULES[r], false);
        int64_t beta = -1;
        MU_CHECK(gs_analysis_fifo_saturation_gpu(&ctx, &kernels, &gpu, regs, smem, false, &beta) ==
                 GS_OK);
        MU_CHECK(beta == expected[r]);
    }
}

static void refused(gs_gpu_t gpu, const char *field, int64_t row, int64_t value)
{
    gs_context_t ctx;
    gs_context_init(&ctx);
    MU_CHECK(gs_gpu_check(&ctx, &gpu) == GS_ERR_VALUE);
    MU_CHECK(strcmp(ctx.fault.field, field) == 0);
    MU_CHECK(ctx.fault.row == row && ctx.fault.value == value);
}

static void test_refusals(void)
{
    gs_gpu_t gpu = device(3, false);
    refused(gpu, "carveout_rule", -1, 3);
    gpu.carveout_rule = -1;
    refused(gpu, "carveout_rule", -1, -1);
    gpu = device(GS_GPU_CARVEOUT_MATCH, false);
    gpu.carveouts = 0;
    refused(gpu, "carveouts", -1, 0);
    gpu.carveouts = GS_GPU_MAX_CARVEOUTS + 1;
    refused(gpu, "carveouts", -1, GS_GPU_MAX_CARVEOUTS + 1);
    gpu = device(GS_GPU_CARVEOUT_IGNORE, false);
    gpu.carveouts = -1;
    refused(gpu, "carveouts", -1, -1);
    gpu.carveouts = 3;
    gpu.carveout[2] = gpu.carveout[1];
    refused(gpu, "carveouts", 2, 8 * KB);
    gpu.carveout[0] = -1;
    refused(gpu, "carveouts", 0, -1);
}

int main(void)
{
    test_kernels();
    test_sizes();
    for (int policy = GS_BLOCK_PLACEMENT_MOST_ROOM; policy <= GS_BLOCK_PLACEMENT_ROUND_ROBIN;
         policy++) {
        test_placement(policy);
    }
    test_the_first_block_decides();
    test_batches();
    test_saturation();
    test_refusals();
    return MU_END();
}
