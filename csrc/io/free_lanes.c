/* Lanes for intervals that overlap. */
#include "io/free_lanes.h"

#include "core/heap.h"

typedef struct {
    gs_heap_t busy; /* (end, lane) */
    gs_heap_t free; /* (lane, lane) */
    int64_t lanes;
    int64_t start; /* of the last interval */
} group_t;

static int place(group_t *self, gs_context_t *ctx, int64_t start, int64_t end, int64_t *which)
{
    int status = GS_OK;
    while (status == GS_OK && self->busy.count > 0 && self->busy.entry[0].time <= start) {
        int64_t lane = self->busy.entry[0].item;
        gs_heap_pop(&self->busy);
        status = gs_heap_push(&self->free, ctx, lane, lane);
    }
    if (status != GS_OK) {
        return status;
    }
    if (self->free.count > 0) {
        *which = self->free.entry[0].item;
        gs_heap_pop(&self->free);
    } else {
        *which = self->lanes++;
    }
    self->start = start;
    return gs_heap_push(&self->busy, ctx, end, *which);
}

int gs_io_free_lanes_find(gs_context_t *ctx, const gs_io_free_lanes_t *intervals, int64_t *which)
{
    if (intervals->groups < 0) {
        return gs_fail(ctx, GS_ERR_VALUE, "groups", -1, intervals->groups, "0 or more");
    }
    group_t *groups = gs_alloc(ctx, (size_t)intervals->groups, sizeof *groups);
    if (groups == NULL) {
        return ctx->status;
    }
    int status = GS_OK;
    for (int64_t i = 0; i < intervals->count && status == GS_OK; i++) {
        int64_t g = intervals->group[i], start = intervals->start[i], end = intervals->end[i];
        if (g < 0 || g >= intervals->groups) {
            status = gs_fail(ctx, GS_ERR_VALUE, "group", i, g, "the number of a group");
        } else if (end < start) {
            status = gs_fail(ctx, GS_ERR_VALUE, "end", i, end, "at least the start");
        } else if (groups[g].lanes > 0 && start < groups[g].start) {
            status = gs_fail(ctx, GS_ERR_VALUE, "start", i, start, "ascending starts in a group");
        } else {
            status = place(&groups[g], ctx, start, end, &which[i]);
        }
        if (status == GS_OK) {
            status = gs_poll(ctx, 8);
        }
    }
    for (int64_t g = 0; g < intervals->groups; g++) {
        gs_heap_free(&groups[g].busy, ctx);
        gs_heap_free(&groups[g].free, ctx);
    }
    gs_free(ctx, groups);
    return status;
}
