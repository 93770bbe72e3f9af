/* Footprints of kernels and sorted orders of submission. */
#include "pbs/oracle/oracle_kernels.h"

#include <string.h>

static int fail_block(gs_context_t *ctx, const gs_gpu_kernel_t *kernel, int32_t i, int limit)
{
    switch (limit) {
    case GS_GPU_LIMIT_THREADS:
        return gs_fail(ctx, GS_ERR_VALUE, "threads", i, kernel->threads,
                       "at most 1024 threads per block");
    case GS_GPU_LIMIT_WARPS:
        return gs_fail(ctx, GS_ERR_VALUE, "threads", i, kernel->threads,
                       "at most as many warps per block as an SM holds");
    case GS_GPU_LIMIT_REGS:
        return gs_fail(ctx, GS_ERR_VALUE, "regs", i, kernel->regs,
                       "registers per thread with which a block fits an SM");
    default:
        return gs_fail(ctx, GS_ERR_VALUE, "smem", i, kernel->smem,
                       "shared memory per block that fits an SM");
    }
}

int gs_pbs_oracle_kernels_read(gs_context_t *ctx, const gs_gpu_t *gpu, int32_t n,
                               const gs_gpu_kernel_t *kernels, gs_gpu_footprint_t *take,
                               int64_t *per_sm)
{
    for (int32_t i = 0; i < n; i++) {
        int limit;
        int status = gs_gpu_footprint(ctx, gpu, &kernels[i], i, &take[i], &per_sm[i], &limit);
        if (status != GS_OK) {
            return status;
        }
        if (per_sm[i] == 0) {
            return fail_block(ctx, &kernels[i], i, limit);
        }
    }
    return GS_OK;
}

/* The largest fraction of an SM resource that a block takes, in units of 2^-20. */
static int64_t largest_share(const gs_gpu_t *gpu, const gs_gpu_footprint_t *take)
{
    const int64_t need[] = {take->warps, 1, take->regs, take->smem};
    const int64_t room[] = {gpu->warps_per_sm, gpu->blocks_per_sm, take->regs_usable,
                            gpu->smem_per_sm};
    int64_t largest = 0;
    for (int r = 0; r < 4; r++) {
        int64_t share = need[r] == 0 ? 0 : (need[r] << 20) / room[r];
        largest = share > largest ? share : largest;
    }
    return largest;
}

/* Sort keys of a kernel, descending; ties go by index. */
static void sort_keys(const gs_gpu_t *gpu, const gs_gpu_kernel_t *kernel,
                      const gs_gpu_footprint_t *take, int sort, int64_t key[3])
{
    int64_t share = largest_share(gpu, take);
    int64_t blocks = kernel->blocks; /* larger grids are never eligible with others */
    blocks = blocks > INT32_MAX ? INT32_MAX : blocks;
    const int64_t keys[GS_PBS_ORACLE_KERNELS_ORDERS][3] = {
        {take->warps, take->smem, take->regs},
        {0, 0, 0}, /* increasing index */
        {take->smem, take->warps, take->regs},
        {take->regs, take->warps, take->smem},
        {share, take->warps, 0},
        {share * blocks, 0, 0},
        {-take->warps, -take->smem, -take->regs},
    };
    memcpy(key, keys[sort], sizeof keys[sort]);
}

static bool before(const int64_t a[3], const int64_t b[3])
{
    for (int k = 0; k < 3; k++) {
        if (a[k] != b[k]) {
            return a[k] > b[k];
        }
    }
    return false;
}

void gs_pbs_oracle_kernels_sort(const gs_gpu_t *gpu, int32_t n, const gs_gpu_kernel_t *kernels,
                                const gs_gpu_footprint_t *take, int8_t *sorted)
{
    for (int sort = 0; sort < GS_PBS_ORACLE_KERNELS_ORDERS; sort++) {
        int8_t *order = sorted + sort * n;
        for (int32_t i = 0; i < n; i++) {
            int64_t key[3], other[3];
            sort_keys(gpu, &kernels[i], &take[i], sort, key);
            int32_t p = i;
            for (; p > 0; p--) {
                int8_t j = order[p - 1];
                sort_keys(gpu, &kernels[j], &take[j], sort, other);
                if (!before(key, other)) {
                    break;
                }
                order[p] = j;
            }
            order[p] = (int8_t)i;
        }
    }
}
