/* Checks of what kernels state beside the needs of their blocks. */
#include "core/checks.h"
#include "simulate/gpu/gpu_parts.h"

int gs_simulate_gpu_check_gpcs(gs_context_t *ctx, const gs_gpu_t *gpu, const int64_t *sms,
                               int64_t gpcs)
{
    int64_t left = gpu->sms;
    for (int64_t g = 0; sms != NULL && g < gpcs; g++) {
        if (sms[g] < 1) {
            return gs_fail(ctx, GS_ERR_VALUE, "sms_per_gpc", g, sms[g], "a positive number");
        }
        if (sms[g] > left) {
            return gs_fail_above(ctx, GS_ERR_VALUE, "sms_per_gpc", g, sms[g], left,
                                 "the SMs of the GPU that are left");
        }
        left -= sms[g];
    }
    if (sms != NULL && left > 0) {
        return gs_fail(ctx, GS_ERR_VALUE, "sms_per_gpc", -1, gpu->sms - left,
                       "sizes that add up to the SMs of the GPU");
    }
    return GS_OK;
}

int gs_simulate_gpu_check_kernels(gs_context_t *ctx, const gs_simulate_gpu_kernels_t *kernels)
{
    const int64_t *cluster = kernels->cluster, *blocks = kernels->blocks;
    int status = gs_check_range(ctx, "interference", kernels->interference, 4 * kernels->count,
                                1000, 1000000, "1000 to 1000000 thousandths");
    if (status == GS_OK) {
        status = gs_check_range(ctx, "cooperative", kernels->cooperative, kernels->count, 0, 1,
                                "0 or 1");
    }
    for (int64_t i = 0; cluster != NULL && i < kernels->count && status == GS_OK; i++) {
        if (kernels->kind[i] != kernels->kernel) {
            continue;
        }
        if (cluster[i] < 1 || cluster[i] > GS_SIMULATE_GPU_CLUSTER_BLOCKS) {
            status = gs_fail(ctx, GS_ERR_VALUE, "cluster", i, cluster[i], "1 to 16 blocks");
        } else if (blocks[i] % cluster[i] != 0) {
            status = gs_fail(ctx, GS_ERR_VALUE, "cluster", i, cluster[i],
                             "a divisor of the number of blocks");
        }
    }
    return status;
}
