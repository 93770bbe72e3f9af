/* Which operations stand in which queue, and which one may join one? */
#include "sim/hierarchy_parts.h"

int gs_hierarchy_push(gs_env_t *env, gs_hierarchy_queue_t *queue, int64_t op)
{
    if (queue->count == queue->room) {
        size_t room = queue->room == 0 ? 16 : 2 * queue->room;
        int64_t *larger = gs_alloc(env, room, sizeof *larger);
        if (larger == NULL) {
            return env->status;
        }
        for (size_t k = 0; k < queue->count; k++) {
            larger[k] = queue->op[(queue->head + k) & (queue->room - 1)];
        }
        gs_free(env, queue->op);
        *queue = (gs_hierarchy_queue_t){larger, 0, queue->count, room};
    }
    queue->op[(queue->head + queue->count++) & (queue->room - 1)] = op;
    return GS_OK;
}

int64_t gs_hierarchy_pop(gs_hierarchy_queue_t *queue)
{
    int64_t op = queue->op[queue->head];
    queue->head = (queue->head + 1) & (queue->room - 1);
    queue->count--;
    return op;
}

int64_t gs_hierarchy_first(const gs_hierarchy_queue_t *queue)
{
    return queue->count == 0 ? -1 : queue->op[queue->head];
}

int64_t gs_hierarchy_last(const gs_hierarchy_queue_t *queue)
{
    return queue->count == 0 ? -1 : queue->op[(queue->head + queue->count - 1) & (queue->room - 1)];
}

void gs_hierarchy_join_channel(gs_hierarchy_t *self, int64_t op)
{
    int64_t stream = self->model.stream[op], channel = self->stream_channel[stream];
    if (self->model.kind[op] != GS_OP_KERNEL || channel < 0) {
        return;
    }
    gs_hierarchy_context_t *context = &self->context[self->model.context[stream]];
    int64_t tail = context->channel_tail[channel];
    if (tail < 0) {
        context->channel_head[channel] = op;
    } else {
        self->op[tail].next_in_channel = op;
    }
    context->channel_tail[channel] = op;
}

/* The operation of a stream that the NULL stream's rule keeps before this one, -1 if none: its
 * head, when that was launched earlier. */
static int64_t earlier_head(const gs_hierarchy_t *self, int64_t stream, int64_t op)
{
    int64_t head = self->stream_head[stream];
    return head >= 0 && self->op[head].rank < self->op[op].rank ? head : -1;
}

static int64_t null_stream_obstacle(const gs_hierarchy_t *self, int64_t op)
{
    const gs_hierarchy_model_t *model = &self->model;
    int64_t own = model->stream[op], context = model->context[own];
    int64_t null_stream = self->context[context].null_stream;
    if (model->stream_kind[own] == GS_STREAM_BLOCKING && null_stream >= 0) {
        return earlier_head(self, null_stream, op);
    }
    for (int64_t s = 0; s < model->streams && own == null_stream; s++) {
        if (model->context[s] == context && model->stream_kind[s] == GS_STREAM_BLOCKING) {
            int64_t head = earlier_head(self, s, op);
            if (head >= 0) {
                return head;
            }
        }
    }
    return -1;
}

int gs_hierarchy_obstacle(const gs_hierarchy_t *self, int64_t op, int64_t *blocker)
{
    const gs_hierarchy_model_t *model = &self->model;
    for (int64_t k = model->after_begin == NULL ? 0 : model->after_begin[op];
         model->after_begin != NULL && k < model->after_begin[op + 1]; k++) {
        if (self->op[model->after[k]].end < 0) {
            *blocker = model->after[k];
            return GS_WAIT_AFTER;
        }
    }
    *blocker = null_stream_obstacle(self, op);
    if (*blocker >= 0) {
        return GS_WAIT_NULL_STREAM;
    }
    int64_t stream = model->stream[op], channel = self->stream_channel[stream];
    if (model->kind[op] == GS_OP_KERNEL && channel >= 0) {
        *blocker = self->context[model->context[stream]].channel_head[channel];
        if (*blocker != op) {
            return GS_WAIT_CHANNEL;
        }
    }
    *blocker = -1;
    return -1;
}
