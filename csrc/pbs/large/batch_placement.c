/* Orders of submission of one batch. */
#include "pbs/large/batch_placement.h"

#include <string.h>

#include "pbs/oracle/oracle.h"

int gs_pbs_large_placement_init(gs_pbs_large_placement_t *self, gs_context_t *ctx,
                                const gs_gpu_t *gpu, int32_t n, const gs_gpu_kernel_t *kernels)
{
    *self = (gs_pbs_large_placement_t){.n = n, .kernels = kernels};
    int status = gs_placement_init(&self->placer, ctx, gpu, GS_PLACEMENT_MOST_ROOM);
    if (status == GS_OK) {
        status = gs_pbs_oracle_kernels_read(ctx, gpu, n, kernels, self->take, self->per_sm);
    }
    if (status == GS_OK) {
        gs_pbs_oracle_kernels_sort(gpu, n, kernels, self->take, self->sorted);
        self->loads =
            gs_alloc(ctx, (size_t)gpu->sms * (GS_PBS_ORACLE_EXHAUSTIVE + 1), sizeof *self->loads);
        status = self->loads == NULL ? ctx->status : GS_OK;
    }
    return status;
}

void gs_pbs_large_placement_free(gs_pbs_large_placement_t *self, gs_context_t *ctx)
{
    gs_placement_free(&self->placer, ctx);
    gs_free(ctx, self->loads);
    self->loads = NULL;
}

/* Places all blocks of a kernel beside what the SMs hold. */
static int place(gs_pbs_large_placement_t *self, gs_context_t *ctx, int32_t i, bool *fits)
{
    int64_t placed;
    int status = gs_placement_kernel(&self->placer, ctx, &self->kernels[i], i, NULL, &placed);
    *fits = status == GS_OK && placed == self->kernels[i].blocks;
    return status == GS_OK ? gs_poll(ctx, self->placer.gpu->sms) : status;
}

/* Tries one of the sorted orders. */
static int try_sort(gs_pbs_large_placement_t *self, gs_context_t *ctx, uint64_t batch, int sort,
                    bool *fits)
{
    int status = GS_OK;
    int32_t placed = 0;
    *fits = true;
    gs_placement_clear(&self->placer);
    for (int32_t p = 0; p < self->n && *fits && status == GS_OK; p++) {
        int8_t i = self->sorted[sort * self->n + p];
        if ((batch >> i & 1) != 0) {
            self->order[placed++] = i;
            status = place(self, ctx, i, fits);
        }
    }
    return status;
}

/* Tries every order of the kernels left, after `depth` that are placed. */
static int try_all(gs_pbs_large_placement_t *self, gs_context_t *ctx, uint64_t left, int32_t depth,
                   bool *fits)
{
    size_t sms = (size_t)self->placer.gpu->sms;
    gs_placement_sm_load_t *before = self->loads + sms * (size_t)depth;
    *fits = left == 0;
    if (*fits) {
        return GS_OK;
    }
    memcpy(before, self->placer.load, sms * sizeof *before);
    int status = GS_OK;
    for (uint64_t rest = left; rest != 0 && !*fits && status == GS_OK; rest &= rest - 1) {
        int32_t i = __builtin_ctzll(rest);
        memcpy(self->placer.load, before, sms * sizeof *before);
        self->order[depth] = (int8_t)i;
        status = place(self, ctx, i, fits);
        if (status == GS_OK && *fits) {
            status = try_all(self, ctx, left & ~(UINT64_C(1) << i), depth + 1, fits);
        }
    }
    return status;
}

/* Whether every order places the batch, by total demand: a block finds no room only if every SM
 * holds too much of some resource for it, and the other blocks bring at most demand / (room - need
 * + 1) SMs to that. Kernels with different carve-outs may refuse an SM for that alone. */
static bool never_stuck(const gs_pbs_large_placement_t *self, uint64_t batch)
{
    const gs_gpu_t *gpu = self->placer.gpu;
    int64_t demand[4] = {0}, carveout = self->take[__builtin_ctzll(batch)].carveout;
    for (uint64_t rest = batch; rest != 0; rest &= rest - 1) {
        int32_t i = __builtin_ctzll(rest);
        const gs_gpu_footprint_t *take = &self->take[i];
        if (take->carveout != carveout) {
            return false;
        }
        demand[0] += self->kernels[i].blocks * take->warps;
        demand[1] += self->kernels[i].blocks;
        demand[2] += self->kernels[i].blocks * take->regs;
        demand[3] += self->kernels[i].blocks * take->smem;
    }
    for (uint64_t rest = batch; rest != 0; rest &= rest - 1) {
        const gs_gpu_footprint_t *take = &self->take[__builtin_ctzll(rest)];
        const int64_t need[4] = {take->warps, 1, take->regs, take->smem};
        const int64_t room[4] = {gpu->warps_per_sm, gpu->blocks_per_sm, take->regs_usable,
                                 gpu->smem_per_sm};
        int64_t full = 0;
        for (int r = 0; r < 4; r++) {
            full += need[r] == 0 ? 0 : (demand[r] - need[r]) / (room[r] - need[r] + 1);
        }
        if (full >= gpu->sms) {
            return false;
        }
    }
    return true;
}

int gs_pbs_large_placement_decide(gs_pbs_large_placement_t *self, gs_context_t *ctx, uint64_t batch,
                                  int *verdict)
{
    bool fits = never_stuck(self, batch);
    bool all = __builtin_popcountll(batch) <= GS_PBS_ORACLE_EXHAUSTIVE;
    int status = GS_OK;
    int32_t count = 0;
    for (uint64_t rest = fits ? batch : 0; rest != 0; rest &= rest - 1) {
        self->order[count++] = (int8_t)__builtin_ctzll(rest);
    }
    for (int sort = 0; sort < (all ? 1 : GS_PBS_ORACLE_KERNELS_ORDERS); sort++) {
        if (status == GS_OK && !fits) {
            status = try_sort(self, ctx, batch, sort, &fits);
        }
    }
    if (status == GS_OK && !fits && all) {
        gs_placement_clear(&self->placer);
        status = try_all(self, ctx, batch, 0, &fits);
    }
    *verdict = fits  ? GS_PBS_LARGE_PLACEMENT_FITS
               : all ? GS_PBS_LARGE_PLACEMENT_NO
                     : GS_PBS_LARGE_PLACEMENT_OPEN;
    return status;
}
