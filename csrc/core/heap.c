/* Which of many instants comes first? */
#include "core/heap.h"

static bool before(gs_heap_entry_t a, gs_heap_entry_t b)
{
    return a.time < b.time || (a.time == b.time && a.item < b.item);
}

int gs_heap_push(gs_heap_t *heap, gs_context_t *ctx, int64_t time, int64_t item)
{
    if (heap->count == heap->room) {
        size_t room = heap->room == 0 ? 16 : 2 * heap->room;
        gs_heap_entry_t *grown = gs_grow(ctx, heap->entry, room, sizeof *grown);
        if (grown == NULL) {
            return ctx->status;
        }
        heap->entry = grown;
        heap->room = room;
    }
    gs_heap_entry_t *e = heap->entry, added = {time, item};
    size_t i = heap->count++;
    while (i > 0 && before(added, e[(i - 1) / 2])) {
        e[i] = e[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    e[i] = added;
    return GS_OK;
}

/* The same without branches, where the answer is anyone's guess, a processor's too. */
static size_t is_before(gs_heap_entry_t a, gs_heap_entry_t b)
{
    return (size_t)((a.time < b.time) | ((a.time == b.time) & (a.item < b.item)));
}

/* Lets an entry sink from the root to its place. */
static void sink(gs_heap_t *heap, gs_heap_entry_t moved)
{
    gs_heap_entry_t *e = heap->entry;
    size_t i = 0, n = heap->count;
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

void gs_heap_pop(gs_heap_t *heap)
{
    heap->count--;
    if (heap->count > 0) {
        sink(heap, heap->entry[heap->count]);
    }
}

void gs_heap_replace(gs_heap_t *heap, int64_t time, int64_t item)
{
    sink(heap, (gs_heap_entry_t){time, item});
}

void gs_heap_free(gs_heap_t *heap, gs_context_t *ctx)
{
    gs_free(ctx, heap->entry);
    *heap = (gs_heap_t){0};
}
