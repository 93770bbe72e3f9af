/* Usage of SMs over time: the starts and ends of each SM, merged. */
#include "simulate/sm_usage.h"

#include "core/radix_sort.h"
#include "model/gpu.h"

static int check(gs_context_t *ctx, const gs_simulate_sm_usage_spans_t *spans)
{
    if (spans->count > INT32_MAX) {
        return gs_fail(ctx, GS_ERR_OVERFLOW, "spans", -1, spans->count, "less than 2**31");
    }
    for (int64_t i = 0; i < spans->count; i++) {
        if (spans->sm[i] < 0 || spans->sm[i] >= spans->sms) {
            return gs_fail(ctx, GS_ERR_VALUE, "sm", i, spans->sm[i], "an SM of the GPU");
        }
        if (spans->end[i] < spans->start[i]) {
            return gs_fail(ctx, GS_ERR_VALUE, "end", i, spans->end[i], "at least the start");
        }
        if (spans->threads[i] < 0 || spans->threads[i] > INT32_MAX) {
            return gs_fail(ctx, GS_ERR_VALUE, "threads", i, spans->threads[i],
                           "a number from 0 to 2**31 - 1");
        }
    }
    return GS_OK;
}

/* Writes the rows, or counts them where there are no columns. */
static int merge(const gs_simulate_sm_usage_t *self, gs_context_t *ctx, int64_t *const *column,
                 int64_t *rows)
{
    const gs_simulate_sm_usage_spans_t *spans = self->spans;
    int64_t starts = 0, ends = 0, sm = -1;
    int64_t warps = 0, threads = 0, blocks = 0;
    *rows = 0;
    while (ends < spans->count) { /* an SM's last end comes after its last start */
        int32_t next = self->by_end[ends];
        int64_t time = spans->end[next];
        sm = spans->sm[next];
        if (starts < spans->count && spans->sm[self->by_start[starts]] == sm &&
            spans->start[self->by_start[starts]] < time) {
            time = spans->start[self->by_start[starts]];
        }
        const int64_t before[3] = {warps, threads, blocks};
        int64_t began = starts + ends;
        for (; starts < spans->count; starts++) {
            int32_t i = self->by_start[starts];
            if (spans->sm[i] != sm || spans->start[i] != time) {
                break;
            }
            warps += (spans->threads[i] + GS_GPU_WARP_THREADS - 1) / GS_GPU_WARP_THREADS;
            threads += spans->threads[i];
            blocks++;
        }
        for (; ends < spans->count; ends++) {
            int32_t i = self->by_end[ends];
            if (spans->sm[i] != sm || spans->end[i] != time) {
                break;
            }
            warps -= (spans->threads[i] + GS_GPU_WARP_THREADS - 1) / GS_GPU_WARP_THREADS;
            threads -= spans->threads[i];
            blocks--;
        }
        if (warps != before[0] || threads != before[1] || blocks != before[2]) {
            if (column != NULL) {
                column[GS_SIMULATE_SM_USAGE_SM][*rows] = sm;
                column[GS_SIMULATE_SM_USAGE_TIME][*rows] = time;
                column[GS_SIMULATE_SM_USAGE_WARPS][*rows] = warps;
                column[GS_SIMULATE_SM_USAGE_THREADS][*rows] = threads;
                column[GS_SIMULATE_SM_USAGE_BLOCKS][*rows] = blocks;
            }
            (*rows)++;
        }
        int status = gs_poll(ctx, starts + ends - began);
        if (status != GS_OK) {
            return status;
        }
    }
    return GS_OK;
}

int gs_simulate_sm_usage_init(gs_simulate_sm_usage_t *self, gs_context_t *ctx,
                              const gs_simulate_sm_usage_spans_t *spans)
{
    *self = (gs_simulate_sm_usage_t){.spans = spans};
    int status = check(ctx, spans);
    if (status != GS_OK) {
        return status;
    }
    size_t count = (size_t)spans->count;
    if ((self->by_start = gs_alloc(ctx, count, sizeof *self->by_start)) == NULL ||
        (self->by_end = gs_alloc(ctx, count, sizeof *self->by_end)) == NULL) {
        return ctx->status;
    }
    gs_radix_sort_identity(spans->count, self->by_start);
    gs_radix_sort_identity(spans->count, self->by_end);
    if ((status = gs_radix_sort(ctx, spans->start, spans->count, self->by_start)) != GS_OK ||
        (status = gs_radix_sort(ctx, spans->sm, spans->count, self->by_start)) != GS_OK ||
        (status = gs_radix_sort(ctx, spans->end, spans->count, self->by_end)) != GS_OK ||
        (status = gs_radix_sort(ctx, spans->sm, spans->count, self->by_end)) != GS_OK) {
        return status;
    }
    return merge(self, ctx, NULL, &self->rows);
}

int gs_simulate_sm_usage_write(const gs_simulate_sm_usage_t *self, gs_context_t *ctx,
                               int64_t *const column[GS_SIMULATE_SM_USAGE_COLUMNS])
{
    int64_t rows;
    return merge(self, ctx, column, &rows);
}

void gs_simulate_sm_usage_free(gs_simulate_sm_usage_t *self, gs_context_t *ctx)
{
    gs_free(ctx, self->by_start);
    gs_free(ctx, self->by_end);
    self->by_start = self->by_end = NULL;
}
