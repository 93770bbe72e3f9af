/* Queues of operations, and the rules by which an operation may enter one. */
#include "simulate/hierarchy/hierarchy_parts.h"

#include <string.h>

#include "core/vector.h"

int gs_simulate_hierarchy_push(gs_simulate_hierarchy_queue_t *self, gs_context_t *ctx, int64_t op)
{
    if (self->count == self->room) {
        size_t before = (size_t)self->room;
        int64_t *ops = gs_vector_reserve(ctx, self->op, &self->room, self->count + 1, sizeof *ops);
        if (ops == NULL) {
            return ctx->status;
        }
        /* The entries before the head move behind the others. */
        memcpy(ops + before, ops, (size_t)self->head * sizeof *ops);
        self->op = ops;
    }
    self->op[(self->head + self->count++) & (self->room - 1)] = op;
    return GS_OK;
}

int64_t gs_simulate_hierarchy_pop(gs_simulate_hierarchy_queue_t *self)
{
    int64_t op = self->op[self->head];
    self->head = (self->head + 1) & (self->room - 1);
    self->count--;
    return op;
}

int64_t gs_simulate_hierarchy_last(const gs_simulate_hierarchy_queue_t *self)
{
    return self->count == 0 ? -1 : self->op[(self->head + self->count - 1) & (self->room - 1)];
}

void gs_simulate_hierarchy_line_up(gs_simulate_hierarchy_t *self, int64_t op)
{
    const gs_simulate_hierarchy_model_t *model = &self->model;
    gs_simulate_hierarchy_op_t *state = &self->op[op];
    int64_t stream = model->stream[op], channel = self->stream_channel[stream];
    gs_simulate_hierarchy_context_t *context = &self->context[model->context[stream]];
    const gs_simulate_hierarchy_partition_t *partition = &self->partition[model->partition[stream]];
    if (model->kind[op] == GS_SIMULATE_HIERARCHY_OP_KERNEL && channel >= 0) {
        state->before_in_channel = context->channel_tail[channel];
        context->channel_tail[channel] = op;
        if (state->graph >= 0 && self->graph[state->graph].first_kernel < 0) {
            self->graph[state->graph].first_kernel = op;
        }
    }
    if (model->stream_kind[stream] == GS_SIMULATE_HIERARCHY_STREAM_BLOCKING &&
        partition->null_stream >= 0) {
        state->before_in_null = self->stream_tail[partition->null_stream];
    }
}

/* The operation before this one by the rule of the NULL stream, -1 if none. */
static int64_t null_stream_obstacle(gs_simulate_hierarchy_t *self, int64_t op)
{
    const gs_simulate_hierarchy_model_t *model = &self->model;
    gs_simulate_hierarchy_op_t *state = &self->op[op];
    if (state->before_in_null >= 0) {
        state->before_in_null = gs_simulate_hierarchy_unended(self, state->before_in_null);
        return state->before_in_null;
    }
    int64_t own = model->stream[op];
    if (model->stream_kind[own] != GS_SIMULATE_HIERARCHY_STREAM_NULL) {
        return -1;
    }
    for (int64_t s = 0; s < model->streams; s++) {
        int64_t head = self->stream_head[s];
        if (head >= 0 && model->partition[s] == model->partition[own] &&
            model->stream_kind[s] == GS_SIMULATE_HIERARCHY_STREAM_BLOCKING &&
            self->op[head].rank < state->rank) {
            return head;
        }
    }
    return -1;
}

static bool has_left_channel(const gs_simulate_hierarchy_t *self, int64_t op)
{
    const gs_simulate_hierarchy_op_t *state = &self->op[op];
    return (self->model.channels_until_end ? state->end : state->dispatched) >= 0;
}

/* The last kernel before this one, or before its graph, that is still in its channel, -1 if none.
 * What has left it is passed over once. */
static int64_t channel_obstacle(gs_simulate_hierarchy_t *self, int64_t op)
{
    int64_t graph = self->op[op].graph;
    int64_t first = graph >= 0 ? self->graph[graph].first_kernel : op;
    if (first < 0) {
        return -1;
    }
    int64_t *before = &self->op[first].before_in_channel;
    while (*before >= 0 && has_left_channel(self, *before)) {
        *before = self->op[*before].before_in_channel;
    }
    return *before;
}

int gs_simulate_hierarchy_obstacle(gs_simulate_hierarchy_t *self, int64_t op, int64_t *blocker)
{
    const gs_simulate_hierarchy_model_t *model = &self->model;
    const bool early = self->op[op].graph >= 0 && gs_simulate_hierarchy_is_programmatic(self, op);
    for (int64_t k = model->after_begin == NULL ? 0 : model->after_begin[op];
         model->after_begin != NULL && k < model->after_begin[op + 1]; k++) {
        if (self->op[model->after[k]].end < 0 &&
            !(early && gs_simulate_hierarchy_is_past_triggers(self, model->after[k]))) {
            *blocker = model->after[k];
            return GS_SIMULATE_HIERARCHY_WAIT_AFTER;
        }
    }
    *blocker = null_stream_obstacle(self, op);
    if (*blocker >= 0) {
        return GS_SIMULATE_HIERARCHY_WAIT_NULL_STREAM;
    }
    const bool kernel = model->kind[op] == GS_SIMULATE_HIERARCHY_OP_KERNEL;
    *blocker = kernel ? channel_obstacle(self, op) : -1;
    return *blocker >= 0 ? GS_SIMULATE_HIERARCHY_WAIT_CHANNEL : -1;
}
