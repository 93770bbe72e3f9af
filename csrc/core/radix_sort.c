/* Stable sort of a permutation by integer keys, digit by digit. */
#include "core/radix_sort.h"

enum { DIGIT_BITS = 11, DIGITS = 6, BUCKETS = 1 << DIGIT_BITS };

typedef struct {
    uint64_t key; /* above the smallest */
    int32_t item;
} entry_t;

void gs_radix_sort_identity(int64_t count, int32_t *order)
{
    for (int64_t i = 0; i < count; i++) {
        order[i] = (int32_t)i;
    }
}

/* Whether the order is right; the smallest and largest key. */
static bool in_order(const int64_t *key, int64_t count, const int32_t *order, int64_t *least,
                     int64_t *most)
{
    bool sorted = true;
    *least = *most = key[order[0]];
    for (int64_t i = 1; i < count; i++) {
        int64_t value = key[order[i]];
        sorted = sorted && value >= *most;
        *least = value < *least ? value : *least;
        *most = value > *most ? value : *most;
    }
    return sorted;
}

static void sort_digit(const entry_t *from, int64_t count, int shift, entry_t *to)
{
    int64_t begin[BUCKETS] = {0};
    for (int64_t i = 0; i < count; i++) {
        begin[from[i].key >> shift & (BUCKETS - 1)]++;
    }
    int64_t sum = 0;
    for (int b = 0; b < BUCKETS; b++) {
        int64_t entries = begin[b];
        begin[b] = sum;
        sum += entries;
    }
    for (int64_t i = 0; i < count; i++) {
        to[begin[from[i].key >> shift & (BUCKETS - 1)]++] = from[i];
    }
}

int gs_radix_sort(gs_context_t *ctx, const int64_t *key, int64_t count, int32_t *order)
{
    int64_t least, most;
    if (count < 2 || in_order(key, count, order, &least, &most)) {
        return GS_OK;
    }
    entry_t *from = gs_alloc(ctx, (size_t)count, 2 * sizeof *from);
    if (from == NULL) {
        return ctx->status;
    }
    entry_t *const owned = from;
    entry_t *to = from + count;
    for (int64_t i = 0; i < count; i++) {
        from[i] = (entry_t){(uint64_t)key[order[i]] - (uint64_t)least, order[i]};
    }
    uint64_t span = (uint64_t)most - (uint64_t)least;
    int status = GS_OK;
    for (int digit = 0; digit < DIGITS && span >> (digit * DIGIT_BITS) != 0; digit++) {
        status = gs_poll(ctx, count);
        if (status != GS_OK) {
            goto out;
        }
        sort_digit(from, count, digit * DIGIT_BITS, to);
        entry_t *sorted = to;
        to = from;
        from = sorted;
    }
    for (int64_t i = 0; i < count; i++) {
        order[i] = from[i].item;
    }
out:
    gs_free(ctx, owned);
    return status;
}
