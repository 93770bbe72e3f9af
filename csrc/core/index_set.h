/* Ordered set of numbers below a bound: bits, with a summary level over each 64 words. */
#ifndef GS_CORE_INDEX_SET_H
#define GS_CORE_INDEX_SET_H

#include "core/context.h"

#define GS_INDEX_SET_LEVELS 6

typedef struct {
    uint64_t *words[GS_INDEX_SET_LEVELS]; /* words[0] is owned, the others lie behind it */
    int levels;
} gs_index_set_t;

/* An empty set for the numbers 0 to bound - 1, bound at most 2^36. */
int gs_index_set_init(gs_index_set_t *self, gs_context_t *ctx, int64_t bound);
void gs_index_set_free(gs_index_set_t *self, gs_context_t *ctx);

void gs_index_set_add(gs_index_set_t *self, int64_t number);
void gs_index_set_remove(gs_index_set_t *self, int64_t number);

/* The smallest number of the set that is at least `from` (0 to bound), -1 without one. */
int64_t gs_index_set_next(const gs_index_set_t *self, int64_t from);

#endif
