/* Checks of the limits of a GPU. */
#include "model/gpu.h"

static int check_order(gs_context_t *ctx, const gs_gpu_t *gpu)
{
    bool *seen = gs_alloc(ctx, (size_t)gpu->sms, sizeof *seen);
    if (seen == NULL) {
        return ctx->status;
    }
    int status = GS_OK;
    for (int32_t i = 0; i < gpu->sms; i++) {
        int32_t sm = gpu->sm_order[i];
        if (sm < 0 || sm >= gpu->sms) {
            status = gs_fail(ctx, GS_ERR_VALUE, "sm_order", i, sm, "an SM of the GPU");
            goto out;
        }
        if (seen[sm]) {
            status = gs_fail(ctx, GS_ERR_VALUE, "sm_order", i, sm, "each SM once");
            goto out;
        }
        seen[sm] = true;
    }
out:
    gs_free(ctx, seen);
    return status;
}

static int check_carveouts(gs_context_t *ctx, const gs_gpu_t *gpu)
{
    if (gpu->carveout_rule < GS_GPU_CARVEOUT_IGNORE ||
        gpu->carveout_rule > GS_GPU_CARVEOUT_AT_LEAST) {
        return gs_fail(ctx, GS_ERR_VALUE, "carveout_rule", -1, gpu->carveout_rule, "a known rule");
    }
    int32_t least = gpu->carveout_rule == GS_GPU_CARVEOUT_IGNORE ? 0 : 1;
    if (gpu->carveouts < least || gpu->carveouts > GS_GPU_MAX_CARVEOUTS) {
        return gs_fail(ctx, GS_ERR_VALUE, "carveouts", -1, gpu->carveouts,
                       least == 0 ? "at most 16 carve-outs" : "1 to 16 carve-outs");
    }
    for (int32_t k = 0; k < gpu->carveouts; k++) {
        if (gpu->carveout[k] < 0 || (k > 0 && gpu->carveout[k] <= gpu->carveout[k - 1])) {
            return gs_fail(ctx, GS_ERR_VALUE, "carveouts", k, gpu->carveout[k],
                           "bytes of at least 0, in ascending order");
        }
    }
    return GS_OK;
}

int gs_gpu_check(gs_context_t *ctx, const gs_gpu_t *gpu)
{
    const struct {
        const char *field;
        int32_t value;
        int32_t least;
    } limits[] = {
        {"sms", gpu->sms, 1},
        {"warps_per_sm", gpu->warps_per_sm, 1},
        {"blocks_per_sm", gpu->blocks_per_sm, 1},
        {"regs_per_sm", gpu->regs_per_sm, 0},
        {"smem_per_sm", gpu->smem_per_sm, 0},
        {"smem_per_block", gpu->smem_per_block, 0},
        {"smem_reserved", gpu->smem_reserved, 0},
        {"smem_unit", gpu->smem_unit, 1},
        {"reg_unit", gpu->reg_unit, 1},
        {"partitions", gpu->partitions, 1},
        {"regs_per_block", gpu->regs_per_block, 0},
    };
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        if (limits[i].value < limits[i].least) {
            return gs_fail(ctx, GS_ERR_VALUE, limits[i].field, -1, limits[i].value,
                           limits[i].least == 0 ? "a number of at least 0" : "a positive number");
        }
    }
    if (gpu->sms > GS_GPU_MAX_SMS) {
        return gs_fail(ctx, GS_ERR_VALUE, "sms", -1, gpu->sms, "at most 65536 SMs");
    }
    int status = check_carveouts(ctx, gpu);
    return status != GS_OK || gpu->sm_order == NULL ? status : check_order(ctx, gpu);
}
