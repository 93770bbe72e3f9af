/* Streams and channels of a simulated GPU: FIFO queues whose operations may end in another order
 * where a graph or a programmatic kernel is among them. */
#include "core/vector.h"
#include "simulate/gpu/gpu_parts.h"

typedef gs_simulate_gpu_op_t op_t;
typedef gs_simulate_gpu_stream_t stream_t;

static stream_t *stream_of(const gs_simulate_gpu_t *self, int64_t op)
{
    return &self->stream[gs_simulate_gpu_room_of(self, op)->stream];
}

int gs_simulate_gpu_add_head(gs_simulate_gpu_t *self, gs_context_t *ctx, int64_t op)
{
    if (self->head_count == self->head_room) {
        int64_t *grown = gs_vector_reserve(ctx, self->heads, &self->head_room, self->head_count + 1,
                                           sizeof *grown);
        if (grown == NULL) {
            return ctx->status;
        }
        self->heads = grown;
    }
    int64_t at = self->head_count++;
    for (; at > 0 && self->op[self->heads[at - 1]].rank > self->op[op].rank; at--) {
        self->heads[at] = self->heads[at - 1];
    }
    self->heads[at] = op;
    return GS_OK;
}

static int reach_head(gs_simulate_gpu_t *self, gs_context_t *ctx, int64_t op)
{
    self->op[op].head = self->now;
    gs_simulate_gpu_note(self, op, GS_SIMULATE_GPU_TIME_HEAD);
    self->retry = true;
    if (self->op[op].graph >= 0) {
        self->graph[self->op[op].graph].is_head = true;
    }
    return gs_simulate_gpu_add_head(self, ctx, op);
}

/* Whether a kernel may start before the operation launched before it in its stream has ended, if
 * that lets it. */
static bool may_be_early(const gs_simulate_gpu_t *self, int64_t op)
{
    return self->op[op].graph < 0 && gs_simulate_gpu_is_programmatic(self, op);
}

/* Whether an operation lets the next one of its stream start before it has ended. */
static bool lets_start(const gs_simulate_gpu_t *self, int64_t op)
{
    return self->op[op].graph < 0 && gs_simulate_gpu_is_kernel(self, op) &&
           gs_simulate_gpu_is_past_triggers(self, op);
}

/* A kernel enters its channel. */
static void line_up(gs_simulate_gpu_t *self, int64_t op)
{
    op_t *state = &self->op[op];
    int64_t channel = gs_simulate_gpu_room_of(self, op)->channel;
    if (channel < 0 || !gs_simulate_gpu_is_kernel(self, op)) {
        return;
    }
    gs_simulate_gpu_list_t *list = &self->channel[channel];
    state->in_channel = true;
    state->previous_in_channel = list->tail;
    if (list->tail >= 0) {
        self->op[list->tail].next_in_channel = op;
    } else {
        list->head = op;
    }
    list->tail = op;
    if (state->graph >= 0 && self->graph[state->graph].first_kernel < 0) {
        self->graph[state->graph].first_kernel = op;
    }
}

int gs_simulate_gpu_enter_stream(gs_simulate_gpu_t *self, gs_context_t *ctx, int64_t op)
{
    op_t *state = &self->op[op];
    stream_t *stream = stream_of(self, op);
    int64_t before = stream->op.tail;
    bool early = may_be_early(self, op) && before >= 0 &&
                 (stream->last < 0 ? stream->last_was_kernel : lets_start(self, stream->last));
    line_up(self, op);
    stream->last = stream->op.tail = op;
    state->previous = before;
    if (before < 0) {
        stream->op.head = op;
        return reach_head(self, ctx, op);
    }
    self->op[before].next = op;
    int64_t first = op;
    if (state->graph >= 0) {
        gs_simulate_gpu_graph_t *graph = &self->graph[state->graph];
        early = graph->is_head;
        first = graph->first = graph->first < 0 ? op : graph->first;
    }
    return early ? reach_head(self, ctx, op)
                 : gs_simulate_gpu_wait(self, ctx, op, GS_SIMULATE_GPU_WAIT_STREAM,
                                        gs_simulate_gpu_row(self, self->op[first].previous), -1);
}

int gs_simulate_gpu_start_secondary(gs_simulate_gpu_t *self, gs_context_t *ctx, int64_t op)
{
    int64_t next = self->op[op].next;
    if (next < 0 || self->op[next].head >= 0 || !may_be_early(self, next) ||
        !lets_start(self, op)) {
        return GS_OK;
    }
    int status = reach_head(self, ctx, next);
    return status != GS_OK ? status : gs_simulate_gpu_wait(self, ctx, next, -1, -1, -1);
}

/* Takes an operation out of its stream. */
static void unlink_op(gs_simulate_gpu_t *self, int64_t op)
{
    const op_t *state = &self->op[op];
    stream_t *stream = stream_of(self, op);
    if (stream->last == op) {
        stream->last = -1;
        stream->last_was_kernel = state->graph < 0 && gs_simulate_gpu_is_kernel(self, op);
    }
    if (state->previous < 0) {
        stream->op.head = state->next;
    } else {
        self->op[state->previous].next = state->next;
    }
    if (state->next < 0) {
        stream->op.tail = state->previous;
    } else {
        self->op[state->next].previous = state->previous;
    }
}

int gs_simulate_gpu_leave_stream(gs_simulate_gpu_t *self, gs_context_t *ctx, int64_t op)
{
    int64_t previous = self->op[op].previous, next = self->op[op].next;
    unlink_op(self, op);
    if (next < 0) {
        return GS_OK;
    }
    int status = GS_OK;
    const int64_t graph = self->op[next].graph;
    /* All nodes of a graph, or a single operation, unless they are heads already. */
    for (int64_t at = next; at >= 0 && self->op[at].head < 0 && status == GS_OK;
         at = graph >= 0 ? self->op[at].next : -1) {
        if (self->op[at].graph != graph) {
            break;
        }
        if (previous < 0) {
            status = reach_head(self, ctx, at);
        }
        if (status == GS_OK) {
            status =
                gs_simulate_gpu_wait(self, ctx, at, previous < 0 ? -1 : GS_SIMULATE_GPU_WAIT_STREAM,
                                     gs_simulate_gpu_row(self, previous), -1);
        }
    }
    return status;
}

void gs_simulate_gpu_leave_channel(gs_simulate_gpu_t *self, int64_t op)
{
    op_t *state = &self->op[op];
    if (!state->in_channel) {
        return;
    }
    gs_simulate_gpu_list_t *list = &self->channel[gs_simulate_gpu_room_of(self, op)->channel];
    int64_t previous = state->previous_in_channel, next = state->next_in_channel;
    state->in_channel = false;
    self->retry = true;
    if (state->graph >= 0 && self->graph[state->graph].first_kernel == op) {
        self->graph[state->graph].first_kernel = -1;
    }
    if (previous < 0) {
        list->head = next;
    } else {
        self->op[previous].next_in_channel = next;
    }
    if (next < 0) {
        list->tail = previous;
    } else {
        self->op[next].previous_in_channel = previous;
    }
}

/* The last operation of the NULL stream that was launched before this one, -1: none. */
static int64_t null_before(gs_simulate_gpu_t *self, int64_t null_stream, op_t *state)
{
    if (null_stream < 0) {
        return -1;
    }
    if (state->null_before >= 0 && self->op[state->null_before].rank == state->null_rank) {
        return state->null_before; /* it has not ended */
    }
    state->null_before = -1;
    for (int64_t k = self->stream[null_stream].op.head; k >= 0 && self->op[k].rank < state->rank;
         k = self->op[k].next) {
        state->null_before = k;
        state->null_rank = self->op[k].rank;
    }
    return state->null_before;
}

/* The operation before this one by the rule of the NULL stream, -1 if none. */
static int64_t null_stream_obstacle(gs_simulate_gpu_t *self, int64_t op)
{
    const stream_t *own = stream_of(self, op);
    if (own->kind == GS_SIMULATE_GPU_STREAM_NON_BLOCKING) {
        return -1;
    }
    op_t *state = &self->op[op];
    if (own->kind == GS_SIMULATE_GPU_STREAM_BLOCKING) {
        return null_before(self, self->partition[own->partition].null_stream, state);
    }
    for (int64_t s = 0; s < self->streams; s++) {
        const stream_t *stream = &self->stream[s];
        int64_t head = stream->op.head;
        if (head >= 0 && stream->partition == own->partition &&
            stream->kind == GS_SIMULATE_GPU_STREAM_BLOCKING && self->op[head].rank < state->rank) {
            return head;
        }
    }
    return -1;
}

/* The last kernel before this one, or before its graph, that is still in its channel, -1 if none.
 */
static int64_t channel_obstacle(const gs_simulate_gpu_t *self, int64_t op)
{
    int64_t graph = self->op[op].graph;
    int64_t first = graph >= 0 ? self->graph[graph].first_kernel : op;
    return first >= 0 && self->op[first].in_channel ? self->op[first].previous_in_channel : -1;
}

int gs_simulate_gpu_obstacle(gs_simulate_gpu_t *self, int64_t op, int64_t *blocker, bool *aside)
{
    *aside = false;
    if (self->calls->before != NULL &&
        (*blocker = self->calls->before(self->owner, op, aside)) >= 0) {
        return GS_SIMULATE_GPU_WAIT_AFTER;
    }
    int64_t before = null_stream_obstacle(self, op);
    if (before >= 0) {
        *blocker = gs_simulate_gpu_row(self, before);
        return GS_SIMULATE_GPU_WAIT_NULL_STREAM;
    }
    before = gs_simulate_gpu_is_kernel(self, op) ? channel_obstacle(self, op) : -1;
    *blocker = gs_simulate_gpu_row(self, before);
    return before >= 0 ? GS_SIMULATE_GPU_WAIT_CHANNEL : -1;
}
