/* Ordered set of numbers below a bound. */
#include "core/index_set.h"

/* Words of a level over so many bits; one more, so that a search may begin behind the last. */
static int64_t words_for(int64_t bits)
{
    return bits / 64 + 1;
}

int gs_index_set_init(gs_index_set_t *self, gs_context_t *ctx, int64_t bound)
{
    *self = (gs_index_set_t){0};
    int64_t size[GS_INDEX_SET_LEVELS], total = 0;
    do {
        size[self->levels] = words_for(self->levels == 0 ? bound : size[self->levels - 1]);
        total += size[self->levels];
    } while (size[self->levels++] > 1);
    self->words[0] = gs_alloc(ctx, (size_t)total, sizeof *self->words[0]);
    if (self->words[0] == NULL) {
        return ctx->status;
    }
    for (int level = 1; level < self->levels; level++) {
        self->words[level] = self->words[level - 1] + size[level - 1];
    }
    return GS_OK;
}

void gs_index_set_free(gs_index_set_t *self, gs_context_t *ctx)
{
    gs_free(ctx, self->words[0]);
    *self = (gs_index_set_t){0};
}

void gs_index_set_add(gs_index_set_t *self, int64_t number)
{
    for (int level = 0; level < self->levels; level++, number /= 64) {
        self->words[level][number / 64] |= UINT64_C(1) << number % 64;
    }
}

void gs_index_set_remove(gs_index_set_t *self, int64_t number)
{
    for (int level = 0; level < self->levels; level++, number /= 64) {
        self->words[level][number / 64] &= ~(UINT64_C(1) << number % 64);
        if (self->words[level][number / 64] != 0) {
            return;
        }
    }
}

int64_t gs_index_set_next(const gs_index_set_t *self, int64_t from)
{
    for (int level = 0; level < self->levels; level++) {
        uint64_t rest = self->words[level][from / 64] >> from % 64;
        if (rest != 0) {
            from += __builtin_ctzll(rest);
            for (; level > 0; level--) {
                from = from * 64 + __builtin_ctzll(self->words[level - 1][from]);
            }
            return from;
        }
        if (level + 1 < self->levels) {
            from = from / 64 + 1; /* the next word */
        }
    }
    return -1;
}
