/* Growth of arrays: checked, and amortised by doubling. */
#include "core/vector.h"

static int64_t larger_capacity(int64_t capacity, int64_t needed)
{
    int64_t larger = capacity <= INT64_MAX / 2 ? 2 * capacity : needed;
    larger = larger > GS_VECTOR_FIRST ? larger : GS_VECTOR_FIRST;
    return larger > needed ? larger : needed;
}

void *gs_vector_reserve(gs_context_t *ctx, void *array, int64_t *capacity, int64_t needed,
                        size_t size)
{
    if (array != NULL && needed <= *capacity) {
        return array;
    }
    int64_t larger = larger_capacity(*capacity, needed);
    void *grown = gs_grow(ctx, array, (size_t)larger, size);
    if (grown != NULL) {
        *capacity = larger;
    }
    return grown;
}

int gs_vector_reserve_columns(gs_context_t *ctx, int64_t **columns, int count, int64_t *capacity,
                              int64_t needed, int64_t most)
{
    if (columns[0] != NULL && needed <= *capacity) {
        return GS_OK;
    }
    int64_t larger = larger_capacity(*capacity, needed);
    larger = larger < most ? larger : most;
    for (int i = 0; i < count; i++) {
        int64_t *grown = gs_grow(ctx, columns[i], (size_t)larger, sizeof *grown);
        if (grown == NULL) {
            return ctx->status;
        }
        columns[i] = grown;
    }
    *capacity = larger;
    return GS_OK;
}
