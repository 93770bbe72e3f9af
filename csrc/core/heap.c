/* Binary heap of (time, item). */
#include "core/heap.h"

#include "core/vector.h"

static bool before(gs_heap_entry_t a, gs_heap_entry_t b)
{
    return a.time < b.time || (a.time == b.time && a.item < b.item);
}

int gs_heap_push(gs_heap_t *self, gs_context_t *ctx, int64_t time, int64_t item)
{
    if (self->count == self->capacity) {
        gs_heap_entry_t *entry =
            gs_vector_reserve(ctx, self->entry, &self->capacity, self->count + 1, sizeof *entry);
        if (entry == NULL) {
            return ctx->status;
        }
        self->entry = entry;
    }
    gs_heap_entry_t *e = self->entry, added = {time, item};
    size_t i = (size_t)self->count++;
    while (i > 0 && before(added, e[(i - 1) / 2])) {
        e[i] = e[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    e[i] = added;
    return GS_OK;
}

/* before() without branches, for comparisons that a processor cannot predict. */
static size_t is_before(gs_heap_entry_t a, gs_heap_entry_t b)
{
    return (size_t)((a.time < b.time) | ((a.time == b.time) & (a.item < b.item)));
}

/* Sifts an entry down from the root. */
static void sink(gs_heap_t *self, gs_heap_entry_t moved)
{
    gs_heap_entry_t *e = self->entry;
    size_t i = 0, n = (size_t)self->count;
    for (size_t child = 1; child < n; child = 2 * i + 1) {
        if (child + 1 < n) {
            child += is_before(e[child + 1], e[child]);
        }
        if (!before(e[child], moved)) {
            break;
        }
        e[i] = e[child];
        i = child;
    }
    e[i] = moved;
}

void gs_heap_pop(gs_heap_t *self)
{
    self->count--;
    if (self->count > 0) {
        sink(self, self->entry[self->count]);
    }
}

void gs_heap_replace(gs_heap_t *self, int64_t time, int64_t item)
{
    sink(self, (gs_heap_entry_t){time, item});
}

void gs_heap_free(gs_heap_t *self, gs_context_t *ctx)
{
    gs_free(ctx, self->entry);
    *self = (gs_heap_t){0};
}
