/* Growth of arrays: checked, and amortised by doubling.
 *
 * An array is a pointer from gs_alloc (or NULL), a capacity and a count. The caller compares count
 * with capacity inline and calls only where an array is full:
 *
 *     if (self->count == self->capacity) {
 *         item_t *items = gs_vector_reserve(ctx, self->items, &self->capacity, self->count + 1,
 *                                           sizeof *items);
 *         if (items == NULL) {
 *             return ctx->status;
 *         }
 *         self->items = items;
 *     }
 */
#ifndef GS_CORE_VECTOR_H
#define GS_CORE_VECTOR_H

#include "core/context.h"

/* The capacity of the first allocation, unless more is needed. */
#define GS_VECTOR_FIRST 16

/* The array with room for at least `needed` items of size bytes. Where *capacity is too small it
 * becomes GS_VECTOR_FIRST, twice its value or `needed`, whichever is largest, so one more item at a
 * time keeps it a power of two. New items are not zeroed, except in a first allocation. On failure
 * the result is NULL, ctx->status is GS_ERR_MEMORY or GS_SPENT_BYTES, and the array and *capacity
 * are unchanged. */
void *gs_vector_reserve(gs_context_t *ctx, void *array, int64_t *capacity, int64_t needed,
                        size_t size);

/* The same for columns of one capacity, in place; at most `most` rows are ever needed, and
 * *capacity does not exceed it. Columns without memory are NULL, all of them. On failure, which the
 * status says, *capacity is unchanged; some columns may have more room than it. */
int gs_vector_reserve_columns(gs_context_t *ctx, int64_t **columns, int count, int64_t *capacity,
                              int64_t needed, int64_t most);

#endif
