/* Growth of arrays: checked, and amortised by doubling. */
#include "core/vector.h"

void *gs_vector_reserve(gs_context_t *ctx, void *array, int64_t *capacity, int64_t needed,
                        size_t size)
{
    if (array != NULL && needed <= *capacity) {
        return array;
    }
    int64_t larger = *capacity <= INT64_MAX / 2 ? 2 * *capacity : needed;
    larger = larger > GS_VECTOR_FIRST ? larger : GS_VECTOR_FIRST;
    larger = larger > needed ? larger : needed;
    void *grown = gs_grow(ctx, array, (size_t)larger, size);
    if (grown != NULL) {
        *capacity = larger;
    }
    return grown;
}
