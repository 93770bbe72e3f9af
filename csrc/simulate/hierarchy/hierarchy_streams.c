/* Streams of the hierarchy simulator: FIFO queues whose operations may end in another order where a
 * graph or a programmatic kernel is among them. */
#include "simulate/hierarchy/hierarchy_parts.h"

int64_t gs_simulate_hierarchy_unended(gs_simulate_hierarchy_t *self, int64_t op)
{
    if (op < 0 || self->op[op].end < 0) {
        return op;
    }
    int64_t at = self->op[op].previous;
    while (at >= 0 && self->op[at].end >= 0) {
        at = self->op[at].previous;
    }
    self->op[op].previous = at; /* what has ended is passed over once */
    return at;
}

/* Adds an operation to the heads of streams. */
static void add_head(gs_simulate_hierarchy_t *self, int64_t op)
{
    int64_t at = self->head_count++;
    for (; at > 0 && self->op[self->heads[at - 1]].rank > self->op[op].rank; at--) {
        self->heads[at] = self->heads[at - 1];
    }
    self->heads[at] = op;
}

static void reach_head(gs_simulate_hierarchy_t *self, int64_t op)
{
    self->op[op].head = self->now;
    add_head(self, op);
    self->retry = true;
}

/* Whether a programmatic kernel may start, as the operation launched before it in its stream is a
 * kernel that has triggered. */
static bool is_early(const gs_simulate_hierarchy_t *self, int64_t op, int64_t before)
{
    return before >= 0 && self->op[op].graph < 0 &&
           gs_simulate_hierarchy_is_programmatic(self, op) && self->op[before].graph < 0 &&
           self->model.kind[before] == GS_SIMULATE_HIERARCHY_OP_KERNEL &&
           gs_simulate_hierarchy_is_past_triggers(self, before);
}

int gs_simulate_hierarchy_enter_stream(gs_simulate_hierarchy_t *self, gs_context_t *ctx, int64_t op)
{
    gs_simulate_hierarchy_op_t *state = &self->op[op];
    int64_t stream = self->model.stream[op], tail = self->stream_tail[stream];
    int64_t before = gs_simulate_hierarchy_unended(self, tail);
    self->stream_tail[stream] = op;
    state->previous = before;
    if (before < 0) {
        self->stream_head[stream] = op;
        reach_head(self, op);
        return GS_OK;
    }
    self->op[before].next = op;
    int64_t first = state->graph < 0 ? op : self->graph[state->graph].first;
    if (self->op[first].head >= 0 || is_early(self, op, tail)) {
        reach_head(self, op);
        return GS_OK;
    }
    return gs_simulate_hierarchy_wait(self, ctx, op, GS_SIMULATE_HIERARCHY_WAIT_STREAM,
                                      self->op[first].previous, -1);
}

int gs_simulate_hierarchy_start_secondary(gs_simulate_hierarchy_t *self, gs_context_t *ctx,
                                          int64_t op)
{
    int64_t next = self->op[op].next;
    if (next < 0 || self->op[next].head >= 0 || !is_early(self, next, op)) {
        return GS_OK;
    }
    reach_head(self, next);
    return gs_simulate_hierarchy_wait(self, ctx, next, -1, -1, -1);
}

int gs_simulate_hierarchy_leave_stream(gs_simulate_hierarchy_t *self, gs_context_t *ctx, int64_t op)
{
    int64_t previous = self->op[op].previous, next = self->op[op].next;
    if (previous < 0) {
        self->stream_head[self->model.stream[op]] = next;
    } else {
        self->op[previous].next = next;
    }
    if (next < 0) {
        return GS_OK;
    }
    self->op[next].previous = previous;
    int status = GS_OK;
    const int64_t graph = self->op[next].graph;
    /* All nodes of a graph, or a single operation, unless they are heads already. */
    for (int64_t at = next; at >= 0 && self->op[at].head < 0 && status == GS_OK;
         at = graph >= 0 ? self->op[at].next : -1) {
        if (self->op[at].graph != graph) {
            break;
        }
        if (previous < 0) {
            reach_head(self, at);
        }
        status = gs_simulate_hierarchy_wait(
            self, ctx, at, previous < 0 ? -1 : GS_SIMULATE_HIERARCHY_WAIT_STREAM, previous, -1);
    }
    return status;
}

void gs_simulate_hierarchy_await(gs_simulate_hierarchy_t *self, int64_t op, int64_t blocker)
{
    self->op[op].next_waiter = self->op[blocker].waiter;
    self->op[blocker].waiter = op;
}

void gs_simulate_hierarchy_wake(gs_simulate_hierarchy_t *self, int64_t op)
{
    int64_t waiter = self->op[op].waiter;
    self->op[op].waiter = -1;
    for (; waiter >= 0; waiter = self->op[waiter].next_waiter) {
        add_head(self, waiter);
    }
}
