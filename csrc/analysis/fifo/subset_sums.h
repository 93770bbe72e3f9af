/* Subset sums of running blocks, as a bit set. */
#ifndef GS_ANALYSIS_FIFO_SUBSET_SUMS_H
#define GS_ANALYSIS_FIFO_SUBSET_SUMS_H

#include "core/context.h"

/* Blocks of one size: at most count of them run at once. */
typedef struct {
    int64_t size;
    int64_t count;
} gs_analysis_fifo_subset_sums_item_t;

/* All sums of the items added so far up to the limit (bits beyond it are undefined). */
typedef struct {
    uint64_t *bits; /* owned, words of 64 */
    uint64_t *next; /* owned, the set being built */
    int64_t limit;
    int64_t most; /* the greatest sum, at most the last bit of the last word */
} gs_analysis_fifo_subset_sums_t;

/* Starts with the empty sum alone. Allocates limit / 4 bytes for limit >= 0. Safe to free after a
 * failure. */
int gs_analysis_fifo_subset_sums_init(gs_analysis_fifo_subset_sums_t *self, gs_context_t *ctx,
                                      int64_t limit);
void gs_analysis_fifo_subset_sums_free(gs_analysis_fifo_subset_sums_t *self, gs_context_t *ctx);

/* Removes all items. */
void gs_analysis_fifo_subset_sums_clear(gs_analysis_fifo_subset_sums_t *self);

/* Adds up to count items of a size (>= 1); about log2(limit / size) passes over the words. */
int gs_analysis_fifo_subset_sums_add(gs_analysis_fifo_subset_sums_t *self, gs_context_t *ctx,
                                     int64_t size, int64_t count);

/* Clears, then adds all items but one of the size of items[less] (less < 0: all items). */
int gs_analysis_fifo_subset_sums_fill(gs_analysis_fifo_subset_sums_t *self, gs_context_t *ctx,
                                      const gs_analysis_fifo_subset_sums_item_t *items,
                                      int64_t count, int64_t less);

/* Makes `to` equal to `from`; both have the same limit. */
void gs_analysis_fifo_subset_sums_copy(gs_analysis_fifo_subset_sums_t *to,
                                       const gs_analysis_fifo_subset_sums_t *from);

/* The least sum in value..limit (value >= 0), or -1. */
int64_t gs_analysis_fifo_subset_sums_least_from(const gs_analysis_fifo_subset_sums_t *self,
                                                int64_t value);

/* Sorts by size, descending, and merges items of one size; their counts, which must not be
 * negative, are limited to the limit. Returns the number of sizes. */
int64_t gs_analysis_fifo_subset_sums_merge_items(gs_analysis_fifo_subset_sums_item_t *items,
                                                 int64_t count, int64_t limit);

#endif
