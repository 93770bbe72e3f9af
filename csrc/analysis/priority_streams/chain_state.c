/* State of the theorems for one set: what follows from the set, its saturation levels, the least
 * bounds so far, and their arithmetic. The proofs for partitions are in priority_streams.h. */
#include "analysis/priority_streams/chain_state.h"

#include <stdlib.h>

static int by_level(const void *a, const void *b)
{
    const int64_t *x = *(const int64_t *const *)a, *y = *(const int64_t *const *)b;
    return (*x > *y) - (*x < *y);
}

static int descending(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x < y) - (x > y);
}

static int rank_levels(gs_analysis_priority_streams_t *self, gs_context_t *ctx)
{
    const gs_kernel_chains_t *c = self->chains;
    const int64_t **order = gs_alloc(ctx, (size_t)c->n, sizeof *order);
    if (order == NULL) {
        return ctx->status;
    }
    for (int64_t i = 0; i < c->n; i++) {
        order[i] = &c->level[i];
    }
    qsort(order, (size_t)c->n, sizeof *order, by_level);
    for (int64_t i = 0; i < c->n; i++) {
        self->levels += i == 0 || *order[i] != *order[i - 1];
        self->rank[order[i] - c->level] = self->levels - 1;
    }
    gs_free(ctx, order);
    return GS_OK;
}

/* Entries of part_beta, of at most n levels; 1 where they are not used. */
static size_t part_betas(const gs_analysis_priority_streams_t *self)
{
    if (self->partitions == NULL) {
        return 1;
    }
    const bool shared = gs_analysis_priority_streams_is(self, GS_ANALYSIS_PRIORITY_STREAMS_SHARED);
    return (size_t)self->partitions->count * (shared ? (size_t)self->chains->n : 1);
}

int gs_analysis_priority_streams_prepare(gs_analysis_priority_streams_t *self, gs_context_t *ctx,
                                         int64_t threads,
                                         const gs_analysis_priority_streams_device_t *device,
                                         bool overlap)
{
    const gs_kernel_chains_t *c = self->chains;
    size_t n = (size_t)c->n;
    if ((self->rank = gs_alloc(ctx, n, sizeof *self->rank)) == NULL ||
        (self->beta = gs_alloc(ctx, n, sizeof *self->beta)) == NULL ||
        (self->work = gs_alloc(ctx, n, sizeof *self->work)) == NULL ||
        (self->height = gs_alloc(ctx, n, sizeof *self->height)) == NULL ||
        (self->largest = gs_alloc(ctx, (size_t)c->begin[c->n], sizeof *self->largest)) == NULL ||
        (self->response = gs_alloc(ctx, n, sizeof *self->response)) == NULL ||
        (self->part_beta = gs_alloc(ctx, part_betas(self), sizeof *self->part_beta)) == NULL ||
        (self->heads = gs_alloc(ctx, n, sizeof *self->heads)) == NULL ||
        (self->busy = gs_alloc(ctx, n, sizeof *self->busy)) == NULL) {
        return ctx->status;
    }
    for (int64_t i = 0; i < c->n; i++) {
        self->work[i] = gs_kernel_chains_work(c, i);
        for (int64_t j = c->begin[i]; j < c->begin[i + 1]; j++) {
            int64_t width = gs_analysis_priority_streams_width(self, i, j);
            self->height[i] = width > self->height[i] ? width : self->height[i];
            self->largest[j] = gs_kernel_chains_kernel_work(c, j);
        }
        qsort(self->largest + c->begin[i], (size_t)(c->begin[i + 1] - c->begin[i]),
              sizeof *self->largest, descending);
    }
    int status = rank_levels(self, ctx);
    return status != GS_OK ? status
                           : gs_analysis_priority_streams_saturation_init(&self->saturation, ctx, c,
                                                                          threads, device, overlap);
}

void gs_analysis_priority_streams_free(gs_analysis_priority_streams_t *self, gs_context_t *ctx)
{
    gs_analysis_priority_streams_saturation_free(&self->saturation, ctx);
    gs_free(ctx, self->rank);
    gs_free(ctx, self->beta);
    gs_free(ctx, self->work);
    gs_free(ctx, self->height);
    gs_free(ctx, self->largest);
    gs_free(ctx, self->response);
    gs_free(ctx, self->part_beta);
    gs_free(ctx, self->heads);
    gs_free(ctx, self->busy);
}

bool gs_analysis_priority_streams_record(gs_analysis_priority_streams_t *self, int64_t k,
                                         const gs_analysis_priority_streams_found_t *found)
{
    gs_analysis_priority_streams_time_t *best = &self->response[k];
    if (found->response.denominator == 0 ||
        (best->denominator != 0 && !gs_analysis_priority_streams_is_less(found->response, *best))) {
        return false;
    }
    *best = found->response;
    self->out[k] = found->terms;
    self->improvements++;
    return true;
}

/* The saturation level over some SMs; part: for heads of this partition alone, and where queues are
 * shared with blocks of its tasks; -1: of all. */
static int saturate_part(gs_analysis_priority_streams_t *self, gs_context_t *ctx, int64_t level,
                         const bool *lower, int64_t part, int64_t sms, int64_t *beta)
{
    const bool shared = gs_analysis_priority_streams_is(self, GS_ANALYSIS_PRIORITY_STREAMS_SHARED);
    for (int64_t i = 0; i < self->chains->n; i++) {
        const bool is_in = part < 0 || gs_analysis_priority_streams_part(self, i) == part;
        self->heads[i] = is_in && self->rank[i] <= level;
        self->busy[i] = (is_in || !shared) && (self->rank[i] <= level || lower == NULL || lower[i]);
    }
    int status = gs_analysis_priority_streams_saturation_least(&self->saturation, ctx, self->heads,
                                                               self->busy, beta);
    *beta *= sms;
    return status;
}

int gs_analysis_priority_streams_saturate(gs_analysis_priority_streams_t *self, gs_context_t *ctx,
                                          int64_t level, const bool *lower, int64_t *beta)
{
    const gs_analysis_priority_streams_partitions_t *partitions = self->partitions;
    if (gs_analysis_priority_streams_is(self, GS_ANALYSIS_PRIORITY_STREAMS_SHARED)) {
        *beta = 0;
        return GS_OK; /* part_beta, for all lower blocks, is all that counts */
    }
    int status = saturate_part(self, ctx, level, lower, -1, self->sms, beta);
    for (int64_t p = 0; partitions != NULL && p < partitions->count && status == GS_OK; p++) {
        status = saturate_part(self, ctx, level, lower, p, partitions->sms[p], &self->part_beta[p]);
    }
    return status;
}

int gs_analysis_priority_streams_saturate_all(gs_analysis_priority_streams_t *self,
                                              gs_context_t *ctx)
{
    const gs_analysis_priority_streams_partitions_t *partitions = self->partitions;
    const bool shared = gs_analysis_priority_streams_is(self, GS_ANALYSIS_PRIORITY_STREAMS_SHARED);
    int status = GS_OK;
    for (int64_t level = 0; level < self->levels && status == GS_OK; level++) {
        if (!shared) {
            status =
                gs_analysis_priority_streams_saturate(self, ctx, level, NULL, &self->beta[level]);
        }
        for (int64_t p = 0; partitions != NULL && p < partitions->count && status == GS_OK; p++) {
            int64_t *beta = &self->part_beta[shared ? level * partitions->count + p : p];
            if (shared) {
                status = saturate_part(self, ctx, level, NULL, p, partitions->sms[p], beta);
            } else if (*beta != 0 && *beta < self->beta[level]) {
                self->beta[level] = *beta;
            }
        }
    }
    return status;
}

int64_t gs_analysis_priority_streams_scale(const gs_analysis_priority_streams_t *self)
{
    const int64_t most = INT64_C(1) << 40;
    int64_t scale = 1;
    for (int64_t i = 0; i < self->chains->n; i++) {
        int64_t period = self->chains->period[i];
        int64_t part = period / (int64_t)gs_int128_gcd(scale, period);
        if (part > most / scale) {
            return most;
        }
        scale *= part;
    }
    return scale;
}

gs_int128_t gs_analysis_priority_streams_utilization(const gs_analysis_priority_streams_t *self,
                                                     int64_t i, int64_t scale)
{
    return gs_int128_ceil_div((gs_int128_t)self->work[i] * scale, self->chains->period[i]);
}

bool gs_analysis_priority_streams_make_time(int64_t whole, gs_int128_t numerator,
                                            gs_int128_t denominator,
                                            gs_analysis_priority_streams_time_t *made)
{
    const gs_int128_t most = (gs_int128_t)1 << 60;
    gs_int128_t ticks = numerator / denominator, rest = numerator % denominator;
    if (ticks >= most || ticks + whole >= most) {
        return false;
    }
    gs_int128_t divisor = gs_int128_gcd(rest, denominator), scaled;
    rest /= divisor;
    denominator /= divisor;
    if (denominator > INT32_MAX) {
        const int64_t coarse = INT64_C(1) << 20;
        rest =
            gs_int128_mul(rest, coarse, &scaled) ? gs_int128_ceil_div(scaled, denominator) : coarse;
        denominator = coarse;
    }
    made->denominator = (int64_t)denominator;
    made->numerator = (ticks + whole) * denominator + rest;
    return true;
}
