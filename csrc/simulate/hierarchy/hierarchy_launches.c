/* Graphs and programmatic launches, for the hierarchy simulator. */
#include "simulate/hierarchy/hierarchy_parts.h"

/* Adds a node, the next one of its number and in the order of the rows. */
static int add_node(gs_simulate_hierarchy_t *self, gs_context_t *ctx, int64_t op, int64_t last,
                    int64_t *graphs)
{
    const gs_simulate_hierarchy_model_t *model = &self->model;
    if (last < 0 || model->graph[op] != model->graph[last]) {
        self->op[op].graph = (*graphs)++;
        self->graph[self->op[op].graph] =
            (gs_simulate_hierarchy_graph_t){.first = op, .first_kernel = -1};
        return GS_OK;
    }
    self->op[op].graph = self->op[last].graph;
    if (model->time[op] != model->time[last]) {
        return gs_fail(ctx, GS_ERR_VALUE, "time", op, model->time[op],
                       "the time of the other launches of its graph");
    }
    if (model->stream[op] != model->stream[last]) {
        return gs_fail(ctx, GS_ERR_VALUE, "stream", op, model->stream[op],
                       "the stream of the other launches of its graph");
    }
    return GS_OK;
}

/* Finds the graphs; node receives their nodes, graph by graph. */
static int find_graphs(gs_simulate_hierarchy_t *self, gs_context_t *ctx, int64_t *node,
                       int64_t *nodes)
{
    gs_heap_t heap = {0};
    int status = GS_OK;
    for (int64_t i = 0; i < self->model.ops && status == GS_OK; i++) {
        if (self->model.graph[i] >= 0) {
            status = gs_heap_push(&heap, ctx, self->model.graph[i], i);
        }
    }
    int64_t graphs = 0;
    while (status == GS_OK && heap.count > 0) {
        int64_t op = heap.entry[0].item;
        gs_heap_pop(&heap);
        status = add_node(self, ctx, op, *nodes == 0 ? -1 : node[*nodes - 1], &graphs);
        node[(*nodes)++] = op;
        if (status == GS_OK) {
            status = gs_poll(ctx, 32);
        }
    }
    gs_heap_free(&heap, ctx);
    return status;
}

/* Moves the nodes of each graph to its first one in the order of launch. */
static void order_nodes(gs_simulate_hierarchy_t *self, const int64_t *node, int64_t nodes,
                        int64_t *following, int64_t *order)
{
    int64_t rank = 0, ops = self->model.ops;
    for (int64_t k = 0; k < nodes; k++) {
        const bool same = k + 1 < nodes && self->op[node[k + 1]].graph == self->op[node[k]].graph;
        following[node[k]] = same ? node[k + 1] : -1;
    }
    for (int64_t k = 0; k < ops; k++) {
        int64_t op = self->order[k], graph = self->op[op].graph;
        if (graph < 0) {
            order[rank++] = op;
        } else if (self->graph[graph].first == op) {
            for (; op >= 0; op = following[op]) {
                order[rank++] = op;
            }
        }
    }
    for (int64_t k = 0; k < ops; k++) {
        self->order[k] = order[k];
        self->op[order[k]].rank = k;
    }
}

/* The primary of a programmatic node is the only kernel that it waits for. */
static int check_primaries(const gs_simulate_hierarchy_t *self, gs_context_t *ctx)
{
    const gs_simulate_hierarchy_model_t *model = &self->model;
    for (int64_t i = 0; i < model->ops; i++) {
        if (self->op[i].graph < 0 || !gs_simulate_hierarchy_is_programmatic(self, i)) {
            continue;
        }
        bool found = false;
        for (int64_t k = model->after_begin == NULL ? 0 : model->after_begin[i];
             model->after_begin != NULL && k < model->after_begin[i + 1]; k++) {
            int64_t before = model->after[k];
            found = before != i && before == model->after[model->after_begin[i]] &&
                    self->op[before].graph == self->op[i].graph &&
                    model->kind[before] == GS_SIMULATE_HIERARCHY_OP_KERNEL;
            if (!found) {
                break;
            }
        }
        if (!found) {
            return gs_fail(ctx, GS_ERR_VALUE, "programmatic", i, model->programmatic[i],
                           "0, as `after` is not one kernel of its graph");
        }
    }
    return GS_OK;
}

int gs_simulate_hierarchy_make_graphs(gs_simulate_hierarchy_t *self, gs_context_t *ctx)
{
    size_t ops = (size_t)self->model.ops;
    int64_t nodes = 0;
    int64_t *node = gs_alloc(ctx, ops, sizeof *node);
    int64_t *following = gs_alloc(ctx, ops, sizeof *following);
    int64_t *order = gs_alloc(ctx, ops, sizeof *order);
    self->graph = gs_alloc(ctx, ops, sizeof *self->graph);
    const bool ready = node != NULL && following != NULL && order != NULL && self->graph != NULL;
    int status = ready ? find_graphs(self, ctx, node, &nodes) : ctx->status;
    if (status == GS_OK) {
        order_nodes(self, node, nodes, following, order);
        status = check_primaries(self, ctx);
    }
    gs_free(ctx, node);
    gs_free(ctx, following);
    gs_free(ctx, order);
    return status;
}

int gs_simulate_hierarchy_pass_triggers(gs_simulate_hierarchy_t *self, gs_context_t *ctx,
                                        int64_t op)
{
    if (!gs_simulate_hierarchy_is_past_triggers(self, op)) {
        return GS_OK;
    }
    if (self->op[op].waiter >= 0) {
        gs_simulate_hierarchy_wake(self, op);
        self->retry = true;
    }
    return gs_simulate_hierarchy_start_secondary(self, ctx, op);
}

int gs_simulate_hierarchy_aim(gs_simulate_hierarchy_t *self, gs_context_t *ctx, int64_t slot,
                              int64_t duration, int64_t end)
{
    gs_simulate_hierarchy_flight_t *flight = &self->flight[slot];
    int64_t trigger = self->model.trigger[flight->op];
    flight->later = trigger < 0 || trigger >= duration ? 0 : duration - trigger;
    return flight->later == duration
               ? gs_simulate_hierarchy_trigger(self, ctx, slot)
               : gs_heap_push(&self->context[self->active].ends, ctx, end - flight->later, slot);
}

int gs_simulate_hierarchy_trigger(gs_simulate_hierarchy_t *self, gs_context_t *ctx, int64_t slot)
{
    gs_simulate_hierarchy_flight_t *flight = &self->flight[slot];
    gs_simulate_hierarchy_context_t *context = &self->context[self->active];
    int64_t now = context->clock + (self->now - context->resumed), end = now + flight->later;
    flight->later = -1;
    self->op[flight->op].triggered += flight->blocks;
    int64_t op = flight->op;
    int status = self->model.interference == NULL
                     ? gs_heap_push(&context->ends, ctx, end, slot)
                     : gs_simulate_hierarchy_push_end(self, ctx, slot, now);
    if (status == GS_OK) {
        status = gs_poll(ctx, 16);
    }
    return status == GS_OK && self->model.programmatic != NULL
               ? gs_simulate_hierarchy_pass_triggers(self, ctx, op)
               : status;
}
