/* Graphs of given launches. */
#include "simulate/hierarchy/hierarchy_parts.h"

#include <string.h>

/* Adds a node, the next one of its number and in the order of the rows. */
static int add_node(gs_simulate_hierarchy_t *self, gs_context_t *ctx, int64_t launch, int64_t last,
                    int32_t *graphs)
{
    const gs_simulate_hierarchy_model_t *model = &self->model;
    if (last < 0 || model->graph[launch] != model->graph[last]) {
        self->graph[launch] = (*graphs)++;
        return GS_OK;
    }
    self->graph[launch] = self->graph[last];
    if (model->time[launch] != model->time[last]) {
        return gs_fail(ctx, GS_ERR_VALUE, "time", launch, model->time[launch],
                       "the time of the other launches of its graph");
    }
    if (model->stream[launch] != model->stream[last]) {
        return gs_fail(ctx, GS_ERR_VALUE, "stream", launch, model->stream[launch],
                       "the stream of the other launches of its graph");
    }
    return GS_OK;
}

/* Finds the graphs; node receives their nodes, graph by graph. */
static int find_graphs(gs_simulate_hierarchy_t *self, gs_context_t *ctx, int64_t *node,
                       int64_t *nodes, int32_t *graphs)
{
    gs_heap_t heap = {0};
    int status = GS_OK;
    for (int64_t i = 0; i < self->model.ops && status == GS_OK; i++) {
        if (self->model.graph[i] >= 0) {
            status = gs_heap_push(&heap, ctx, self->model.graph[i], i);
        }
    }
    while (status == GS_OK && heap.count > 0) {
        int64_t op = heap.entry[0].item;
        gs_heap_pop(&heap);
        status = add_node(self, ctx, op, *nodes == 0 ? -1 : node[*nodes - 1], graphs);
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
                        int64_t *following, int32_t *order)
{
    int64_t rank = 0, ops = self->model.ops;
    for (int64_t k = 0; k < nodes; k++) {
        const bool same = k + 1 < nodes && self->graph[node[k + 1]] == self->graph[node[k]];
        const bool first = k == 0 || self->graph[node[k - 1]] != self->graph[node[k]];
        following[node[k]] = same ? node[k + 1] : -1;
        order[node[k]] = first ? 0 : -1; /* -1: not where it stands */
    }
    for (int64_t k = 0; k < ops; k++) {
        int64_t launch = self->order[k];
        if (self->graph[launch] < 0) {
            following[launch] = -1;
            order[launch] = 0;
        }
    }
    for (int64_t k = 0; k < ops; k++) {
        int64_t launch = self->order[k];
        for (; launch >= 0 && order[self->order[k]] == 0; launch = following[launch]) {
            order[ops + rank++] = (int32_t)launch;
        }
    }
    memcpy(self->order, order + ops, (size_t)ops * sizeof *order);
}

/* The primary of a programmatic node is the only kernel that it waits for. */
static int check_primaries(const gs_simulate_hierarchy_t *self, gs_context_t *ctx)
{
    const gs_simulate_hierarchy_model_t *model = &self->model;
    for (int64_t i = 0; i < model->ops; i++) {
        if (self->graph[i] < 0 || !gs_simulate_hierarchy_is_programmatic(model, i)) {
            continue;
        }
        bool found = false;
        for (int64_t k = model->after_begin == NULL ? 0 : model->after_begin[i];
             model->after_begin != NULL && k < model->after_begin[i + 1]; k++) {
            int64_t before = model->after[k];
            found = before != i && before == model->after[model->after_begin[i]] &&
                    self->graph[before] == self->graph[i] &&
                    model->kind[before] == GS_SIMULATE_GPU_OP_KERNEL;
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
    int32_t graphs = 0;
    int64_t *node = gs_alloc(ctx, ops, sizeof *node);
    int64_t *following = gs_alloc(ctx, ops, sizeof *following);
    int32_t *order = gs_alloc(ctx, 2 * ops, sizeof *order);
    self->graph = gs_alloc(ctx, ops, sizeof *self->graph);
    const bool ready = node != NULL && following != NULL && order != NULL && self->graph != NULL;
    for (size_t k = 0; ready && k < ops; k++) {
        self->graph[k] = -1;
    }
    int status = ready ? find_graphs(self, ctx, node, &nodes, &graphs) : ctx->status;
    if (status == GS_OK) {
        order_nodes(self, node, nodes, following, order);
        status = check_primaries(self, ctx);
    }
    if (status == GS_OK) {
        self->gpu.graph = gs_alloc(ctx, (size_t)graphs, sizeof *self->gpu.graph);
        status = self->gpu.graph == NULL ? ctx->status : GS_OK;
    }
    for (int32_t g = 0; g < graphs && status == GS_OK; g++) {
        self->gpu.graph[g] = (gs_simulate_gpu_graph_t){.first = -1, .first_kernel = -1};
    }
    gs_free(ctx, node);
    gs_free(ctx, following);
    gs_free(ctx, order);
    return status;
}
