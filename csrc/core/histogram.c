/* Histogram with bins of equal relative width. */
#include "core/histogram.h"

#include <string.h>

enum { STEPS_LOG = 7, STEPS = 1 << STEPS_LOG, GROWTH = 64 };

/* Numbers of an octave are divided by 1 << shift. */
static int shift_of(int64_t number)
{
    int bits = 64 - __builtin_clzll((uint64_t)number | 1);
    return bits > STEPS_LOG + 1 ? bits - STEPS_LOG - 1 : 0;
}

static int64_t bin_of(int64_t number)
{
    int shift = shift_of(number);
    return (number >> shift) + (int64_t)shift * STEPS;
}

int64_t gs_histogram_edge(int64_t bin)
{
    int64_t shift = bin < 2 * STEPS ? 0 : bin / STEPS - 1;
    return ((bin - shift * STEPS + 1) << shift) - 1;
}

/* Room for the bins begin .. end - 1. */
static int reserve(gs_histogram_t *self, gs_context_t *ctx, int64_t begin, int64_t end)
{
    int64_t last = self->first + self->bins;
    if (begin >= self->first && end <= last) {
        return GS_OK;
    }
    begin = begin / GROWTH * GROWTH;
    end = (end + GROWTH - 1) / GROWTH * GROWTH;
    if (self->bins > 0) {
        begin = begin < self->first ? begin : self->first;
        end = end > last ? end : last;
    }
    int64_t *count = gs_alloc(ctx, (size_t)(end - begin), sizeof *count);
    if (count == NULL) {
        return ctx->status;
    }
    if (self->bins > 0) {
        memcpy(&count[self->first - begin], self->count, (size_t)self->bins * sizeof *count);
    }
    gs_free(ctx, self->count);
    self->count = count;
    self->first = begin;
    self->bins = end - begin;
    return GS_OK;
}

int gs_histogram_add(gs_histogram_t *self, gs_context_t *ctx, int64_t number)
{
    int64_t bin = bin_of(number);
    int status = reserve(self, ctx, bin, bin + 1);
    if (status == GS_OK) {
        self->count[bin - self->first]++;
        self->most = self->total == 0 || number > self->most ? number : self->most;
        self->total++;
    }
    return status;
}

int gs_histogram_take(gs_histogram_t *self, gs_context_t *ctx, gs_histogram_t *other)
{
    if (other->total == 0) {
        return GS_OK;
    }
    int status = reserve(self, ctx, other->first, other->first + other->bins);
    if (status != GS_OK) {
        return status;
    }
    for (int64_t k = 0; k < other->bins; k++) {
        self->count[other->first + k - self->first] += other->count[k];
        other->count[k] = 0;
    }
    self->most = self->total == 0 || other->most > self->most ? other->most : self->most;
    self->total += other->total;
    other->total = other->most = 0;
    return GS_OK;
}

void gs_histogram_free(gs_histogram_t *self, gs_context_t *ctx)
{
    gs_free(ctx, self->count);
    *self = (gs_histogram_t){0};
}
