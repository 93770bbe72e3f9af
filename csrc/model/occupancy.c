/* Occupancy: the blocks of a kernel that are resident on an SM, and what limits them. */
#include "model/occupancy.h"

bool gs_occupancy_carveout_suits(const gs_gpu_t *gpu, int64_t of_sm, int64_t of_kernel)
{
    switch (gpu->carveout_rule) {
    case GS_GPU_CARVEOUT_MATCH:
        return of_sm == of_kernel;
    case GS_GPU_CARVEOUT_AT_LEAST:
        return of_sm >= of_kernel;
    default:
        return true;
    }
}

static int check_kernel(gs_context_t *ctx, const gs_gpu_kernel_t *kernel, int64_t row)
{
    if (kernel->blocks < 1) {
        return gs_fail(ctx, GS_ERR_VALUE, "blocks", row, kernel->blocks, "a positive number");
    }
    if (kernel->threads < 1) {
        return gs_fail(ctx, GS_ERR_VALUE, "threads", row, kernel->threads, "a positive number");
    }
    if (kernel->regs < 0) {
        return gs_fail(ctx, GS_ERR_VALUE, "regs", row, kernel->regs, "a number of at least 0");
    }
    if (kernel->smem < 0) {
        return gs_fail(ctx, GS_ERR_VALUE, "smem", row, kernel->smem, "a number of at least 0");
    }
    return GS_OK;
}

static int64_t round_up(int64_t value, int64_t unit)
{
    return (value + unit - 1) / unit * unit;
}

/* Registers of a block; false when it cannot be launched. */
static bool registers(const gs_gpu_t *gpu, int64_t regs, gs_occupancy_footprint_t *take)
{
    if (regs > GS_GPU_MAX_THREAD_REGS) { /* keeps the product small, too */
        return false;
    }
    int64_t per_warp = round_up(regs * GS_GPU_WARP_THREADS, gpu->reg_unit);
    if (per_warp == 0) {
        return true;
    }
    /* The launch check counts equally many warps of the block in every partition (rounded up). */
    int32_t most = gpu->regs_per_block == 0 || gpu->regs_per_block > gpu->regs_per_sm
                       ? gpu->regs_per_sm
                       : gpu->regs_per_block;
    if (round_up(take->warps, gpu->partitions) > most / per_warp) {
        return false;
    }
    int64_t warps_per_partition = gpu->regs_per_sm / gpu->partitions / per_warp;
    take->regs = take->warps * per_warp;
    take->regs_usable = gpu->partitions * warps_per_partition * per_warp;
    return true;
}

int64_t gs_occupancy_carveout(const gs_gpu_t *gpu, int64_t bytes)
{
    if (gpu->carveout_rule == GS_GPU_CARVEOUT_IGNORE) {
        return -1;
    }
    int32_t k = 0;
    while (k + 1 < gpu->carveouts && gpu->carveout[k] < bytes) {
        k++;
    }
    return gpu->carveout[k];
}

/* Blocks that fit an SM with the largest carve-out, at least 1. */
static int64_t resident(const gs_gpu_t *gpu, const gs_occupancy_footprint_t *take, int64_t blocks)
{
    if (gpu->carveouts > 0 && blocks > gpu->carveout[gpu->carveouts - 1] / take->smem) {
        blocks = gpu->carveout[gpu->carveouts - 1] / take->smem;
    }
    return blocks < 1 ? 1 : blocks;
}

int gs_occupancy_footprint(gs_context_t *ctx, const gs_gpu_t *gpu, const gs_gpu_kernel_t *kernel,
                           int64_t row, gs_occupancy_footprint_t *footprint, int64_t *blocks,
                           int *limit)
{
    int status = check_kernel(ctx, kernel, row);
    if (status != GS_OK) {
        return status;
    }
    gs_occupancy_footprint_t take = {0};
    int64_t bound[4] = {0};
    *blocks = 0;
    *limit = GS_OCCUPANCY_LIMIT_THREADS;
    if (kernel->threads > GS_GPU_MAX_BLOCK_THREADS) {
        goto out;
    }
    take.warps = (kernel->threads + GS_GPU_WARP_THREADS - 1) / GS_GPU_WARP_THREADS;
    bound[GS_OCCUPANCY_LIMIT_WARPS] = gpu->warps_per_sm / take.warps;
    bound[GS_OCCUPANCY_LIMIT_BLOCKS] = gpu->blocks_per_sm;
    if (registers(gpu, kernel->regs, &take)) {
        bound[GS_OCCUPANCY_LIMIT_REGS] = take.regs == 0 ? INT64_MAX : take.regs_usable / take.regs;
    }
    if (kernel->smem <= gpu->smem_per_block) {
        take.smem = round_up(kernel->smem + gpu->smem_reserved, gpu->smem_unit);
        bound[GS_OCCUPANCY_LIMIT_SMEM] = take.smem == 0 ? INT64_MAX : gpu->smem_per_sm / take.smem;
    }
    *limit = GS_OCCUPANCY_LIMIT_WARPS;
    for (int i = 1; i < 4; i++) {
        if (bound[i] < bound[*limit]) {
            *limit = i;
        }
    }
    *blocks = bound[*limit];
    if (*blocks > 0) {
        int64_t bytes = kernel->smem == 0 ? 0 : take.smem * resident(gpu, &take, *blocks);
        take.carveout = gs_occupancy_carveout(gpu, bytes);
    }
out:
    if (footprint != NULL) {
        *footprint = *blocks == 0 ? (gs_occupancy_footprint_t){0} : take;
    }
    return GS_OK;
}

int gs_occupancy_blocks(gs_context_t *ctx, const gs_gpu_t *gpu, const gs_gpu_kernel_t *kernel,
                        int64_t row, int64_t *blocks, int *limit)
{
    int ignored;
    return gs_occupancy_footprint(ctx, gpu, kernel, row, NULL, blocks,
                                  limit == NULL ? &ignored : limit);
}
