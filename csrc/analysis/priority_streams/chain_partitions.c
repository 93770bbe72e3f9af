/* Bounds in partitions with own queues, each by itself, and the check of partitions. */
#include "analysis/priority_streams/chain_state.h"

static int check(gs_context_t *ctx, const gs_kernel_chains_t *chains,
                 const gs_analysis_priority_streams_partitions_t *partitions, int64_t sms,
                 bool overlap)
{
    if (partitions->kind < GS_ANALYSIS_PRIORITY_STREAMS_OWN ||
        partitions->kind > GS_ANALYSIS_PRIORITY_STREAMS_LIMITS) {
        return gs_fail(ctx, GS_ERR_VALUE, "kind", -1, partitions->kind, "0, 1 or 2");
    }
    if (partitions->count < 1 || partitions->count > INT32_MAX) {
        return gs_fail(ctx, GS_ERR_VALUE, "partitions", -1, partitions->count,
                       "a positive number below 2**31");
    }
    const bool limits = partitions->kind == GS_ANALYSIS_PRIORITY_STREAMS_LIMITS;
    int64_t left = sms;
    for (int64_t p = 0; p < partitions->count; p++) {
        if (partitions->sms[p] < 1 || partitions->sms[p] > (limits ? sms : left)) {
            return gs_fail(ctx, GS_ERR_VALUE, limits ? "partition_limit" : "partition_sms", p,
                           partitions->sms[p],
                           limits ? "1 or more SMs, and no more than the GPU has"
                                  : "1 or more SMs, and no more than the GPU has left");
        }
        left -= limits ? 0 : partitions->sms[p];
    }
    for (int64_t i = 0; i < chains->n; i++) {
        if (partitions->of[i] < 0 || partitions->of[i] >= partitions->count) {
            return gs_fail(ctx, GS_ERR_VALUE, "partition", i, partitions->of[i],
                           "the index of a partition");
        }
    }
    if (overlap && partitions->kind == GS_ANALYSIS_PRIORITY_STREAMS_SHARED) {
        return gs_fail(ctx, GS_ERR_VALUE, "overlap", -1, 1,
                       "0 where partitions share their queues");
    }
    return gs_poll(ctx, chains->n + partitions->count);
}

/* The chains of one partition: copies of their columns. */
typedef struct {
    gs_kernel_chains_t chains;
    gs_analysis_priority_streams_device_t device;
    int64_t *task, *begin, *period, *level;
    int64_t *kernel[6]; /* blocks, threads, block time, latency, registers, shared memory */
    gs_analysis_priority_streams_bound_t *bound;
    int64_t *beta;
} part_t;

static int part_init(part_t *self, gs_context_t *ctx, const gs_kernel_chains_t *chains)
{
    size_t n = (size_t)chains->n, kernels = (size_t)chains->begin[chains->n];
    *self = (part_t){0};
    if ((self->task = gs_alloc(ctx, n, sizeof *self->task)) == NULL ||
        (self->begin = gs_alloc(ctx, n + 1, sizeof *self->begin)) == NULL ||
        (self->period = gs_alloc(ctx, n, sizeof *self->period)) == NULL ||
        (self->level = gs_alloc(ctx, n, sizeof *self->level)) == NULL ||
        (self->bound = gs_alloc(ctx, n, sizeof *self->bound)) == NULL ||
        (self->beta = gs_alloc(ctx, n, sizeof *self->beta)) == NULL) {
        return ctx->status;
    }
    for (int c = 0; c < 6; c++) {
        if ((self->kernel[c] = gs_alloc(ctx, kernels, sizeof *self->kernel[c])) == NULL) {
            return ctx->status;
        }
    }
    return GS_OK;
}

static void part_free(part_t *self, gs_context_t *ctx)
{
    gs_free(ctx, self->task);
    gs_free(ctx, self->begin);
    gs_free(ctx, self->period);
    gs_free(ctx, self->level);
    gs_free(ctx, self->bound);
    gs_free(ctx, self->beta);
    for (int c = 0; c < 6; c++) {
        gs_free(ctx, self->kernel[c]);
    }
}

static void part_fill(part_t *self, const gs_kernel_chains_t *chains,
                      const gs_analysis_priority_streams_partitions_t *partitions, int64_t p,
                      const gs_analysis_priority_streams_device_t *device)
{
    const int64_t *column[6] = {chains->blocks,
                                chains->threads,
                                chains->block_time,
                                chains->latency,
                                device == NULL ? NULL : device->regs,
                                device == NULL ? NULL : device->smem};
    int64_t n = 0, count = 0;
    for (int64_t i = 0; i < chains->n; i++) {
        if (partitions->of[i] != p) {
            continue;
        }
        self->task[n] = i;
        self->period[n] = chains->period[i];
        self->level[n] = chains->level[i];
        self->begin[n++] = count;
        for (int64_t j = chains->begin[i]; j < chains->begin[i + 1]; j++, count++) {
            for (int c = 0; c < 6; c++) {
                self->kernel[c][count] = column[c] == NULL ? 0 : column[c][j];
            }
        }
    }
    self->begin[n] = count;
    self->chains = (gs_kernel_chains_t){n,
                                        self->period,
                                        self->level,
                                        self->begin,
                                        self->kernel[0],
                                        self->kernel[1],
                                        self->kernel[2],
                                        self->kernel[3]};
    self->device = (gs_analysis_priority_streams_device_t){device == NULL ? NULL : device->gpu,
                                                           self->kernel[4], self->kernel[5]};
}

static int bound_each(gs_context_t *ctx, const gs_kernel_chains_t *chains,
                      const gs_analysis_priority_streams_partitions_t *partitions, int64_t threads,
                      const gs_analysis_priority_streams_device_t *device, bool overlap,
                      gs_analysis_priority_streams_bound_t *bound, int64_t *beta)
{
    part_t part;
    int status = part_init(&part, ctx, chains);
    for (int64_t p = 0; p < partitions->count && status == GS_OK; p++) {
        part_fill(&part, chains, partitions, p, device);
        if (part.chains.n > 0) {
            status = gs_analysis_priority_streams_bound_in(
                ctx, &part.chains, NULL, partitions->sms[p], threads,
                device == NULL ? NULL : &part.device, overlap, part.bound, part.beta);
        }
        for (int64_t i = 0; i < part.chains.n && status == GS_OK; i++) {
            bound[part.task[i]] = part.bound[i];
            beta[part.task[i]] = part.beta[i];
        }
        status = status == GS_OK ? gs_poll(ctx, chains->n + 1) : status;
    }
    part_free(&part, ctx);
    return status;
}

int gs_analysis_priority_streams_partitioned(
    gs_context_t *ctx, const gs_kernel_chains_t *chains,
    const gs_analysis_priority_streams_partitions_t *partitions, int64_t sms, int64_t threads,
    const gs_analysis_priority_streams_device_t *device, bool overlap,
    gs_analysis_priority_streams_bound_t *bound, int64_t *beta)
{
    int status = check(ctx, chains, partitions, sms, overlap);
    if (status != GS_OK) {
        return status;
    }
    if (partitions->kind == GS_ANALYSIS_PRIORITY_STREAMS_OWN) {
        return bound_each(ctx, chains, partitions, threads, device, overlap, bound, beta);
    }
    return gs_analysis_priority_streams_bound_in(ctx, chains, partitions, sms, threads, device,
                                                 overlap, bound, beta);
}
