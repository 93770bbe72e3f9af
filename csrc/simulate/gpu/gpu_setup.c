/* Initial state of a simulated GPU: contexts with their groups of queues, channels, operations. */
#include "simulate/gpu/gpu_device.h"

#include <string.h>

#include "core/vector.h"
#include "simulate/gpu/gpu_parts.h"

typedef gs_simulate_gpu_context_t context_t;
typedef gs_simulate_gpu_group_t group_t;

/* Numbers the queues of the groups of a context: one for each priority of its rooms. */
static int make_levels(gs_simulate_gpu_t *self, gs_context_t *ctx, int64_t c)
{
    context_t *context = &self->context[c];
    gs_heap_t heap = {0};
    int64_t *last = gs_alloc(ctx, (size_t)context->groups, sizeof *last); /* priorities */
    int status = last == NULL ? ctx->status : gs_poll(ctx, self->rooms);
    for (int64_t r = 0; r < self->rooms && status == GS_OK; r++) {
        if (self->room[r].context == c) {
            status = gs_heap_push(&heap, ctx, self->room[r].priority, r);
        }
    }
    for (; status == GS_OK && heap.count > 0; gs_heap_pop(&heap)) {
        gs_simulate_gpu_room_t *room = &self->room[heap.entry[0].item];
        group_t *group = &context->group[room->group];
        group->level_end += group->level_end == 0 || room->priority != last[room->group];
        room->level = group->level_end - 1;
        last[room->group] = room->priority;
    }
    for (int64_t g = 0; g < context->groups && status == GS_OK; g++) {
        context->group[g].level = context->levels;
        context->group[g].level_end = context->levels += context->group[g].level_end;
    }
    for (int64_t r = 0; r < self->rooms && status == GS_OK; r++) {
        if (self->room[r].context == c) {
            self->room[r].level += context->group[self->room[r].group].level;
        }
    }
    gs_heap_free(&heap, ctx);
    gs_free(ctx, last);
    return status;
}

static int make_context(gs_simulate_gpu_t *self, gs_context_t *ctx, int64_t c)
{
    context_t *context = &self->context[c];
    const size_t sms = (size_t)self->gpu->sms;
    context->placed_rank = -1;
    context->places = self->resident_grids > 0 ? self->resident_grids : INT64_MAX;
    context->groups = 1;
    for (int64_t r = 0; r < self->rooms; r++) {
        if (self->room[r].context == c && self->room[r].group >= context->groups) {
            context->groups = self->room[r].group + 1;
        }
    }
    const size_t groups = (size_t)context->groups;
    int status = gs_block_placement_init(&context->placer, ctx, self->gpu, self->policy);
    if (status == GS_OK &&
        ((context->group = gs_alloc(ctx, groups, sizeof *context->group)) == NULL ||
         (context->stuck = gs_alloc(ctx, groups, sizeof *context->stuck)) == NULL)) {
        status = ctx->status;
    }
    if (status == GS_OK) {
        status = make_levels(self, ctx, c);
    }
    for (int64_t g = 0; g < context->groups && status == GS_OK; g++) {
        group_t *group = &context->group[g];
        group->head = -1;
        if ((group->freed = gs_alloc(ctx, sms, sizeof *group->freed)) == NULL ||
            (group->is_freed = gs_alloc(ctx, sms, sizeof *group->is_freed)) == NULL) {
            status = ctx->status;
        }
    }
    if (status != GS_OK) {
        return status;
    }
    const size_t levels = (size_t)context->levels + 1;
    if ((context->queue = gs_alloc(ctx, levels, sizeof *context->queue)) == NULL ||
        (context->is_first = gs_alloc(ctx, levels, sizeof *context->is_first)) == NULL) {
        return ctx->status;
    }
    for (int64_t level = 0; level < context->levels; level++) {
        context->queue[level] = (gs_simulate_gpu_list_t){-1, -1};
    }
    for (int64_t g = 0; g < context->groups; g++) {
        context->is_first[context->group[g].level] = true;
    }
    return GS_OK;
}

/* Finds the GPC of each SM. */
static void find_gpcs(gs_simulate_gpu_t *self)
{
    int32_t g = 0;
    int64_t left = self->gpc_sms == NULL ? self->gpu->sms : self->gpc_sms[0];
    for (int32_t s = 0; s < self->gpu->sms; s++, left--) {
        if (left == 0) {
            left = self->gpc_sms[++g];
        }
        self->gpc[s] = g;
    }
}

static int allocate(gs_simulate_gpu_t *self, gs_context_t *ctx)
{
    const size_t sms = (size_t)self->gpu->sms;
    if ((self->context = gs_alloc(ctx, (size_t)self->contexts, sizeof *self->context)) == NULL ||
        (self->channel = gs_alloc(ctx, (size_t)self->channels, sizeof *self->channel)) == NULL ||
        (self->position = gs_alloc(ctx, sms, sizeof *self->position)) == NULL ||
        (self->gpc = gs_alloc(ctx, sms, sizeof *self->gpc)) == NULL ||
        (self->on_sm = gs_alloc(ctx, sms, sizeof *self->on_sm)) == NULL ||
        (self->used_sm = gs_alloc(ctx, sms, sizeof *self->used_sm)) == NULL ||
        (self->sm_op = gs_alloc(ctx, sms, sizeof *self->sm_op)) == NULL ||
        (self->gpc_op = gs_alloc(ctx, sms, sizeof *self->gpc_op)) == NULL) {
        return ctx->status;
    }
    return GS_OK;
}

int gs_simulate_gpu_init(gs_simulate_gpu_t *self, gs_context_t *ctx)
{
    self->active = self->last = self->op_free = -1;
    gs_simulate_gpu_make_engines(self);
    int status = allocate(self, ctx);
    if (status != GS_OK) {
        return status;
    }
    for (int32_t p = 0; p < self->gpu->sms; p++) {
        self->position[gs_gpu_sm_at(self->gpu, p)] = p;
    }
    find_gpcs(self);
    for (int64_t k = 0; k < self->channels; k++) {
        self->channel[k] = (gs_simulate_gpu_list_t){-1, -1};
    }
    for (int64_t s = 0; s < self->streams; s++) {
        self->stream[s].op = (gs_simulate_gpu_list_t){-1, -1};
        self->stream[s].last = -1;
    }
    for (int64_t c = 0; c < self->contexts && status == GS_OK; c++) {
        status = make_context(self, ctx, c);
    }
    return status == GS_OK ? gs_simulate_gpu_make_starts(self, ctx) : status;
}

int gs_simulate_gpu_confine(gs_simulate_gpu_t *self, gs_context_t *ctx, int64_t p,
                            const int64_t *set, int64_t count, int64_t limit)
{
    gs_simulate_gpu_partition_t *partition = &self->partition[p];
    const size_t sms = (size_t)self->gpu->sms;
    if (count > 0) {
        if ((partition->is_in_set = gs_alloc(ctx, sms, sizeof *partition->is_in_set)) == NULL) {
            return ctx->status;
        }
        for (int64_t k = 0; k < count; k++) {
            partition->is_in_set[self->position[set[k]]] = true;
        }
    }
    partition->limit = (int32_t)limit;
    if (limit > 0 && partition->client == p) {
        if ((partition->blocks = gs_alloc(ctx, sms, sizeof *partition->blocks)) == NULL) {
            return ctx->status;
        }
    }
    return GS_OK;
}

int64_t gs_simulate_gpu_new_op(gs_simulate_gpu_t *self, gs_context_t *ctx)
{
    int64_t k = self->op_free;
    if (k >= 0) {
        self->op_free = self->op[k].next;
    } else {
        if (self->op_used == self->op_room) {
            gs_simulate_gpu_op_t *ops =
                gs_vector_reserve(ctx, self->op, &self->op_room, self->op_used + 1, sizeof *ops);
            if (ops == NULL) {
                return -1;
            }
            self->op = ops;
        }
        k = self->op_used++;
    }
    self->op[k] = (gs_simulate_gpu_op_t){.owner = -1,
                                         .log = -1,
                                         .rank = -1,
                                         .head = -1,
                                         .joined = -1,
                                         .first = -1,
                                         .next = -1,
                                         .previous = -1,
                                         .next_in_channel = -1,
                                         .previous_in_channel = -1,
                                         .next_in_queue = -1,
                                         .null_before = -1,
                                         .graph = -1,
                                         .blocker = -1,
                                         .why = -1,
                                         .engine = -1};
    return k;
}

static void free_context(gs_context_t *ctx, context_t *context)
{
    gs_block_placement_free(&context->placer, ctx);
    gs_heap_free(&context->ends, ctx);
    gs_free(ctx, context->queue);
    gs_free(ctx, context->is_first);
    gs_free(ctx, context->stuck);
    for (int64_t g = 0; context->group != NULL && g < context->groups; g++) {
        gs_free(ctx, context->group[g].freed);
        gs_free(ctx, context->group[g].is_freed);
    }
    gs_free(ctx, context->group);
}

void gs_simulate_gpu_free(gs_simulate_gpu_t *self, gs_context_t *ctx)
{
    for (int64_t c = 0; self->context != NULL && c < self->contexts; c++) {
        free_context(ctx, &self->context[c]);
    }
    for (int64_t p = 0; self->partition != NULL && p < self->partitions; p++) {
        gs_free(ctx, self->partition[p].is_in_set);
        gs_free(ctx, self->partition[p].blocks);
    }
    gs_simulate_gpu_free_starts(self, ctx);
    void *const arrays[] = {
        self->room,     self->partition, self->stream, self->graph,  self->op,
        self->context,  self->channel,   self->heads,  self->flight, self->flight_free,
        self->position, self->gpc,       self->sm,     self->on_sm,  self->used_sm,
        self->sm_op,    self->gpc_op,
    };
    for (size_t k = 0; k < sizeof arrays / sizeof *arrays; k++) {
        gs_free(ctx, arrays[k]);
    }
    memset(self, 0, sizeof *self);
}
