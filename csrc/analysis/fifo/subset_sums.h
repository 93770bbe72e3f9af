/* The totals that running blocks can add up to: a set of numbers as bits. */
#ifndef GS_ANALYSIS_FIFO_SUBSET_SUMS_H
#define GS_ANALYSIS_FIFO_SUBSET_SUMS_H

#include "core/context.h"

/* Blocks of one size: so many of them may run at once. */
typedef struct {
    int64_t size;
    int64_t count;
} gs_analysis_fifo_subset_sums_item_t;

/* All sums of items added so far that do not exceed the limit (bits beyond it mean nothing). */
typedef struct {
    uint64_t *bits; /* owned, words of 64 */
    uint64_t *next; /* owned, the set that is being made */
    int64_t limit;
    int64_t most; /* the greatest sum, at most the last bit of the last word */
} gs_analysis_fifo_subset_sums_t;

/* The empty sum alone. Memory for limit >= 0, twice limit / 8 bytes. Safe to free after a
 * failure. */
int gs_analysis_fifo_subset_sums_init(gs_analysis_fifo_subset_sums_t *self, gs_context_t *ctx,
                                      int64_t limit);
void gs_analysis_fifo_subset_sums_free(gs_analysis_fifo_subset_sums_t *self, gs_context_t *ctx);

/* Forgets all items. */
void gs_analysis_fifo_subset_sums_clear(gs_analysis_fifo_subset_sums_t *self);

/* Adds up to count items of that size (>= 1); about log2(limit / size) passes over the words. */
int gs_analysis_fifo_subset_sums_add(gs_analysis_fifo_subset_sums_t *self, gs_context_t *ctx,
                                     int64_t size, int64_t count);

/* Clears, then adds all items but one of the size of items[less] (less < 0: none less). */
int gs_analysis_fifo_subset_sums_fill(gs_analysis_fifo_subset_sums_t *self, gs_context_t *ctx,
                                      const gs_analysis_fifo_subset_sums_item_t *items,
                                      int64_t count, int64_t less);

/* The least sum from value (>= 0) up to the limit, or -1. */
int64_t gs_analysis_fifo_subset_sums_least_from(const gs_analysis_fifo_subset_sums_t *self,
                                                int64_t value);

/* Sorts by size, the largest first, and joins items of one size; their counts, which must not be
 * negative, add up to no more than the limit. Returns how many sizes there are. */
int64_t gs_analysis_fifo_subset_sums_merge_items(gs_analysis_fifo_subset_sums_item_t *items,
                                                 int64_t count, int64_t limit);

#endif
