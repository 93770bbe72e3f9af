/* Saturation levels of kernel chains, by subset sums in bit sets. */
#include "analysis/priority_streams/chain_saturation.h"

#include "analysis/fifo/saturation.h"
#include "core/int128.h"

#include <string.h>

/* Adds a kernel to the items of its task: of one size, only the most blocks count. Returns its
 * item; *count: the items so far. */
static int64_t add_item(gs_analysis_fifo_subset_sums_item_t *item, int64_t *count, int64_t size,
                        int64_t blocks)
{
    for (int64_t i = 0; i < *count; i++) {
        if (item[i].size == size) {
            item[i].count = blocks > item[i].count ? blocks : item[i].count;
            return i;
        }
    }
    item[*count] = (gs_analysis_fifo_subset_sums_item_t){size, blocks};
    return (*count)++;
}

static int64_t common_divisor(const gs_kernel_chains_t *chains)
{
    int64_t divisor = 0;
    for (int64_t j = 0; j < chains->begin[chains->n] && divisor != 1; j++) {
        divisor = (int64_t)gs_int128_gcd(divisor, chains->threads[j]);
    }
    return divisor;
}

int gs_analysis_priority_streams_saturation_init(
    gs_analysis_priority_streams_saturation_t *self, gs_context_t *ctx,
    const gs_kernel_chains_t *chains, int64_t threads,
    const gs_analysis_priority_streams_device_t *device, bool overlap)
{
    *self = (gs_analysis_priority_streams_saturation_t){
        .chains = chains, .threads = threads, .device = device, .overlap = overlap};
    self->unit = common_divisor(chains);
    int64_t limit = threads / self->unit, kernels = chains->begin[chains->n];
    if (limit > GS_ANALYSIS_FIFO_SATURATION_BITS) {
        return gs_fail(ctx, GS_ERR_VALUE, "threads", -1, threads,
                       "at most 2**24 times the greatest common divisor of the block sizes");
    }
    self->begin = gs_alloc(ctx, (size_t)chains->n + 1, sizeof *self->begin);
    self->item = gs_alloc(ctx, (size_t)kernels, sizeof *self->item);
    self->united = gs_alloc(ctx, (size_t)limit / 64 + 1, sizeof *self->united);
    self->item_of = gs_alloc(ctx, (size_t)kernels, sizeof *self->item_of);
    self->from = gs_alloc(ctx, (size_t)kernels, sizeof *self->from);
    self->kernel = gs_alloc(ctx, (size_t)kernels, 7 * sizeof *self->kernel);
    if (self->begin == NULL || self->item == NULL || self->united == NULL ||
        self->item_of == NULL || self->from == NULL || self->kernel == NULL) {
        return ctx->status;
    }
    int status = gs_analysis_fifo_subset_sums_init(&self->sums, ctx, limit);
    if (status == GS_OK) {
        status = gs_analysis_fifo_subset_sums_init(&self->choice, ctx, limit);
    }
    int64_t count = 0;
    for (int64_t i = 0; i < chains->n && status == GS_OK; i++) {
        int64_t sizes = 0;
        self->begin[i] = count;
        for (int64_t j = chains->begin[i]; j < chains->begin[i + 1] && status == GS_OK; j++) {
            int64_t blocks = overlap ? GS_NEVER : chains->blocks[j];
            self->item_of[j] = count + add_item(self->item + count, &sizes,
                                                chains->threads[j] / self->unit, blocks);
            status = gs_poll(ctx, sizes + 4);
        }
        count += sizes;
    }
    self->begin[chains->n] = count;
    return status;
}

void gs_analysis_priority_streams_saturation_free(gs_analysis_priority_streams_saturation_t *self,
                                                  gs_context_t *ctx)
{
    gs_analysis_fifo_subset_sums_free(&self->sums, ctx);
    gs_analysis_fifo_subset_sums_free(&self->choice, ctx);
    gs_free(ctx, self->begin);
    gs_free(ctx, self->item);
    gs_free(ctx, self->united);
    gs_free(ctx, self->item_of);
    gs_free(ctx, self->from);
    gs_free(ctx, self->kernel);
    memset(self, 0, sizeof *self);
}

/* Sums of the busy tasks but one; -1 for none left out. Jobs that overlap may run any of their
 * kernels at once, others one of them. */
static int fill_others(gs_analysis_priority_streams_saturation_t *self, gs_context_t *ctx,
                       const bool *busy, int64_t without)
{
    gs_analysis_fifo_subset_sums_clear(&self->sums);
    int status = GS_OK;
    for (int64_t i = 0; i < self->chains->n && status == GS_OK; i++) {
        int64_t from = self->begin[i], to = self->begin[i + 1];
        if (!busy[i] || i == without) {
            continue;
        }
        if (to - from == 1 || self->overlap) {
            for (int64_t c = from; c < to && status == GS_OK; c++) {
                status = gs_analysis_fifo_subset_sums_add(&self->sums, ctx, self->item[c].size,
                                                          self->item[c].count);
            }
            continue;
        }
        int64_t most = self->sums.most;
        size_t words = (size_t)self->sums.limit / 64 + 1;
        memcpy(self->united, self->sums.bits, words * sizeof *self->united);
        for (int64_t c = from; c < to && status == GS_OK; c++) {
            gs_analysis_fifo_subset_sums_copy(&self->choice, &self->sums);
            status = gs_analysis_fifo_subset_sums_add(&self->choice, ctx, self->item[c].size,
                                                      self->item[c].count);
            size_t used = (size_t)self->choice.most / 64 + 1;
            for (size_t w = 0; w < used; w++) {
                self->united[w] |= self->choice.bits[w];
            }
            most = self->choice.most > most ? self->choice.most : most;
        }
        memcpy(self->sums.bits, self->united, words * sizeof *self->united);
        self->sums.most = most;
    }
    return status;
}

/* Fills in `from`: for want of threads, or with a device for want of any resource while any of the
 * kernels of busy tasks run. */
static int find_shortages(gs_analysis_priority_streams_saturation_t *self, gs_context_t *ctx,
                          const bool *busy)
{
    const gs_kernel_chains_t *c = self->chains;
    int64_t room = c->begin[c->n], count = 0;
    for (int64_t i = 0; i < self->begin[c->n]; i++) {
        self->from[i] = self->threads / self->unit - self->item[i].size + 1;
    }
    if (self->device == NULL) {
        return GS_OK;
    }
    int64_t *column[7]; /* period, block time, blocks, threads, registers, shared memory, result */
    for (int i = 0; i < 7; i++) {
        column[i] = self->kernel + i * room;
    }
    for (int64_t i = 0; i < c->n; i++) {
        for (int64_t j = c->begin[i]; busy[i] && j < c->begin[i + 1]; j++, count++) {
            const int64_t entry[] = {c->period[i],  c->block_time[j],      c->blocks[j],
                                     c->threads[j], self->device->regs[j], self->device->smem[j]};
            for (int e = 0; e < 6; e++) {
                column[e][count] = entry[e];
            }
        }
    }
    gs_kernel_tasks_t kernels = {count, column[0], column[1], column[2], column[3]};
    int status = gs_analysis_fifo_saturation_shortages(ctx, &kernels, self->device->gpu, column[4],
                                                       column[5], self->overlap, column[6]);
    count = 0;
    for (int64_t i = 0; i < c->n && status == GS_OK; i++) {
        for (int64_t j = c->begin[i]; busy[i] && j < c->begin[i + 1]; j++, count++) {
            int64_t threads = column[6][count] * GS_GPU_WARP_THREADS;
            int64_t from = (threads + self->unit - 1) / self->unit;
            int64_t *least = &self->from[self->item_of[j]];
            *least = from < *least ? from : *least;
        }
    }
    return status;
}

int gs_analysis_priority_streams_saturation_least(gs_analysis_priority_streams_saturation_t *self,
                                                  gs_context_t *ctx, const bool *heads,
                                                  const bool *busy, int64_t *least)
{
    int64_t limit = self->sums.limit, best = 0;
    int status = find_shortages(self, ctx, busy);
    for (int64_t h = 0; h < self->chains->n && status == GS_OK; h++) {
        if (!heads[h]) {
            continue;
        }
        bool filled = false;
        for (int64_t c = self->begin[h]; c < self->begin[h + 1] && status == GS_OK; c++) {
            int64_t size = self->item[c].size, from = self->from[c];
            if (best != 0 && from >= best) {
                continue; /* it cannot wait at fewer */
            }
            if (!filled) {
                status = fill_others(self, ctx, busy, self->overlap ? -1 : h);
                filled = true;
            }
            gs_analysis_fifo_subset_sums_copy(&self->choice, &self->sums);
            if (status == GS_OK && !self->overlap) {
                status = gs_analysis_fifo_subset_sums_add(&self->choice, ctx, size,
                                                          self->item[c].count - 1);
            }
            int64_t sum =
                status == GS_OK ? gs_analysis_fifo_subset_sums_least_from(&self->choice, from) : -1;
            if (sum >= 0 && sum <= limit && (best == 0 || sum < best)) {
                best = sum;
            }
        }
    }
    *least = best * self->unit;
    return status;
}
