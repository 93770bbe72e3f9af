/* Index from hashes to numbers, by open addressing. */
#include "core/hash_index.h"

void gs_hash_index_init(gs_hash_index_t *self)
{
    self->slots = NULL;
    self->capacity = 0;
    self->count = 0;
}

void gs_hash_index_free(gs_hash_index_t *self, gs_context_t *ctx)
{
    gs_free(ctx, self->slots);
    gs_hash_index_init(self);
}

static void place(gs_hash_index_entry_t *slots, int64_t capacity, uint64_t hash, int64_t id)
{
    uint64_t last = (uint64_t)capacity - 1;
    uint64_t at = hash & last;
    while (slots[at].id != 0) {
        at = (at + 1) & last;
    }
    slots[at] = (gs_hash_index_entry_t){hash, id};
}

int gs_hash_index_add(gs_hash_index_t *self, gs_context_t *ctx, uint64_t hash, int64_t id)
{
    /* At most two thirds full: probes stay short. */
    if (self->count >= self->capacity / 3 * 2) {
        int64_t capacity = self->capacity == 0 ? 64 : 2 * self->capacity;
        gs_hash_index_entry_t *slots = gs_alloc(ctx, (size_t)capacity, sizeof *slots);
        if (slots == NULL) {
            return ctx->status;
        }
        /* From a free slot on: entries of one hash keep their order. */
        int64_t first = 0;
        while (first < self->capacity && self->slots[first].id != 0) {
            first++;
        }
        for (int64_t s = 0; s < self->capacity; s++) {
            const gs_hash_index_entry_t *slot = &self->slots[(first + s) & (self->capacity - 1)];
            if (slot->id != 0) {
                place(slots, capacity, slot->hash, slot->id);
            }
        }
        gs_free(ctx, self->slots);
        self->slots = slots;
        self->capacity = capacity;
    }
    place(self->slots, self->capacity, hash, id + 1);
    self->count++;
    return GS_OK;
}

int64_t gs_hash_index_next(const gs_hash_index_t *self, uint64_t hash, int64_t *cursor)
{
    if (self->capacity == 0) {
        return -1;
    }
    uint64_t last = (uint64_t)self->capacity - 1;
    for (;;) {
        const gs_hash_index_entry_t *slot = &self->slots[(hash + (uint64_t)*cursor) & last];
        ++*cursor;
        if (slot->id == 0) {
            return -1;
        }
        if (slot->hash == hash) {
            return slot->id - 1;
        }
    }
}
