/* Binary heap of (time, item), earliest first.
 *
 * Among equal times the smaller item comes first, so the order of removal does not depend on the
 * order of insertion.
 */
#ifndef GS_CORE_HEAP_H
#define GS_CORE_HEAP_H

#include "core/context.h"

typedef struct {
    int64_t time;
    int64_t item;
} gs_heap_entry_t;

typedef struct {
    gs_heap_entry_t *entry; /* entry[0] is the earliest */
    int64_t count;
    int64_t capacity;
} gs_heap_t;

/* A zeroed gs_heap_t is an empty heap. */
int gs_heap_push(gs_heap_t *self, gs_context_t *ctx, int64_t time, int64_t item);
void gs_heap_pop(gs_heap_t *self); /* the heap must not be empty */
/* A pop and a push in one pass; the heap must not be empty. */
void gs_heap_replace(gs_heap_t *self, int64_t time, int64_t item);
void gs_heap_free(gs_heap_t *self, gs_context_t *ctx);

/* The earliest time, GS_NEVER for an empty heap. */
static inline int64_t gs_heap_time(const gs_heap_t *self)
{
    return self->count == 0 ? GS_NEVER : self->entry[0].time;
}

#endif
