/* Subset sums by shifts of a bit set, with binary splitting of multiplicities. */
#include "analysis/fifo/subset_sums.h"

#include <stdlib.h>
#include <string.h>

int gs_analysis_fifo_subset_sums_init(gs_analysis_fifo_subset_sums_t *self, gs_context_t *ctx,
                                      int64_t limit)
{
    *self = (gs_analysis_fifo_subset_sums_t){.limit = limit};
    size_t words = (size_t)limit / 64 + 1;
    self->bits = gs_alloc(ctx, words, sizeof *self->bits);
    self->next = self->bits == NULL ? NULL : gs_alloc(ctx, words, sizeof *self->next);
    if (self->next == NULL) {
        return ctx->status;
    }
    self->bits[0] = 1;
    return GS_OK;
}

void gs_analysis_fifo_subset_sums_free(gs_analysis_fifo_subset_sums_t *self, gs_context_t *ctx)
{
    gs_free(ctx, self->bits);
    gs_free(ctx, self->next);
    self->bits = NULL;
    self->next = NULL;
}

void gs_analysis_fifo_subset_sums_clear(gs_analysis_fifo_subset_sums_t *self)
{
    size_t bytes = ((size_t)self->most / 64 + 1) * sizeof *self->bits;
    memset(self->bits, 0, bytes);
    memset(self->next, 0, bytes);
    self->bits[0] = 1;
    self->most = 0;
}

/* to = from | from << shift, for words that do not overlap. */
static void shift_or(uint64_t *restrict to, const uint64_t *restrict from, size_t words,
                     int64_t shift)
{
    size_t whole = (size_t)shift / 64;
    unsigned bits = (unsigned)shift % 64;
    memcpy(to, from, (whole < words ? whole : words) * sizeof *to);
    if (bits == 0) {
        for (size_t w = whole; w < words; w++) {
            to[w] = from[w] | from[w - whole];
        }
    } else if (whole < words) {
        to[whole] = from[whole] | from[0] << bits;
        for (size_t w = whole + 1; w < words; w++) {
            to[w] = from[w] | from[w - whole] << bits | from[w - whole - 1] >> (64 - bits);
        }
    }
}

int gs_analysis_fifo_subset_sums_add(gs_analysis_fifo_subset_sums_t *self, gs_context_t *ctx,
                                     int64_t size, int64_t count)
{
    int64_t fit = self->limit / size, last = (self->limit | 63);
    count = count < fit ? count : fit;
    /* Any number up to count is a sum of some of 1, 2, 4, ... and the remainder. */
    for (int64_t part = 1; count > 0; part *= 2) {
        part = part < count ? part : count;
        count -= part;
        int64_t shift = part * size, most = self->most + shift;
        most = most < last ? most : last;
        size_t words = (size_t)most / 64 + 1;
        shift_or(self->next, self->bits, words, shift);
        uint64_t *made = self->next;
        self->next = self->bits;
        self->bits = made;
        self->most = most;
        int status = gs_poll(ctx, (int64_t)words + 8);
        if (status != GS_OK) {
            return status;
        }
    }
    return GS_OK;
}

void gs_analysis_fifo_subset_sums_copy(gs_analysis_fifo_subset_sums_t *to,
                                       const gs_analysis_fifo_subset_sums_t *from)
{
    size_t words = (size_t)from->limit / 64 + 1;
    memcpy(to->bits, from->bits, words * sizeof *to->bits);
    memset(to->next, 0, words * sizeof *to->next);
    to->most = from->most;
}

int gs_analysis_fifo_subset_sums_fill(gs_analysis_fifo_subset_sums_t *self, gs_context_t *ctx,
                                      const gs_analysis_fifo_subset_sums_item_t *items,
                                      int64_t count, int64_t less)
{
    gs_analysis_fifo_subset_sums_clear(self);
    int status = GS_OK;
    for (int64_t i = 0; i < count && status == GS_OK; i++) {
        status = gs_analysis_fifo_subset_sums_add(self, ctx, items[i].size,
                                                  items[i].count - (i == less));
    }
    return status;
}

int64_t gs_analysis_fifo_subset_sums_least_from(const gs_analysis_fifo_subset_sums_t *self,
                                                int64_t value)
{
    if (value > self->most) {
        return -1;
    }
    int64_t word = value / 64, last = self->most / 64;
    uint64_t bits = self->bits[word] & (UINT64_MAX << (value % 64));
    while (bits == 0 && word < last) {
        bits = self->bits[++word];
    }
    if (bits == 0) {
        return -1;
    }
    int64_t sum = 64 * word + __builtin_ctzll(bits);
    return sum <= self->limit ? sum : -1;
}

static int by_size(const void *a, const void *b)
{
    int64_t x = ((const gs_analysis_fifo_subset_sums_item_t *)a)->size,
            y = ((const gs_analysis_fifo_subset_sums_item_t *)b)->size;
    return (x < y) - (x > y);
}

int64_t gs_analysis_fifo_subset_sums_merge_items(gs_analysis_fifo_subset_sums_item_t *items,
                                                 int64_t count, int64_t limit)
{
    qsort(items, (size_t)count, sizeof *items, by_size);
    int64_t sizes = 0;
    for (int64_t i = 0; i < count; i++) {
        int64_t more = items[i].count < limit ? items[i].count : limit;
        if (sizes > 0 && items[sizes - 1].size == items[i].size) {
            int64_t *sum = &items[sizes - 1].count;
            *sum = *sum < limit - more ? *sum + more : limit;
        } else {
            items[sizes++] = (gs_analysis_fifo_subset_sums_item_t){items[i].size, more};
        }
    }
    return sizes;
}
