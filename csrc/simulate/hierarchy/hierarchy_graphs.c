/* Graphs of given launches. */
#include "core/radix_sort.h"
#include "simulate/hierarchy/hierarchy_parts.h"

/* Finds the graphs, of which the nodes stand together in the rows that are sorted by graph: each
 * gets its number, and the nodes get the rank of the first one. rank: per launch. */
static int find_graphs(gs_simulate_hierarchy_t *self, gs_context_t *ctx, const int32_t *by_graph,
                       int64_t *rank, int32_t *graphs)
{
    const gs_simulate_hierarchy_model_t *model = &self->model;
    int64_t last = -1;
    for (int64_t k = 0; k < model->ops; k++) {
        const int64_t node = by_graph[k];
        if (model->graph[node] < 0) {
            self->graph[node] = -1;
            continue;
        }
        if (last < 0 || model->graph[node] != model->graph[last]) {
            self->graph[node] = (*graphs)++;
        } else if (model->time[node] != model->time[last]) {
            return gs_fail(ctx, GS_ERR_VALUE, "time", node, model->time[node],
                           "the time of the other launches of its graph");
        } else if (model->stream[node] != model->stream[last]) {
            return gs_fail(ctx, GS_ERR_VALUE, "stream", node, model->stream[node],
                           "the stream of the other launches of its graph");
        } else {
            self->graph[node] = self->graph[last];
            rank[node] = rank[last];
        }
        last = node;
    }
    return gs_poll(ctx, model->ops);
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
    const int64_t ops = self->model.ops;
    int32_t graphs = 0;
    int32_t *by_graph = gs_alloc(ctx, (size_t)ops, sizeof *by_graph);
    int64_t *rank = gs_alloc(ctx, (size_t)ops, sizeof *rank);
    self->graph = gs_alloc(ctx, (size_t)ops, sizeof *self->graph);
    int status = GS_OK;
    if (by_graph == NULL || rank == NULL || self->graph == NULL) {
        status = ctx->status;
        goto out;
    }
    for (int64_t k = 0; k < ops; k++) {
        rank[self->order[k]] = k;
    }
    gs_radix_sort_identity(ops, by_graph);
    if ((status = gs_radix_sort(ctx, self->model.graph, ops, by_graph)) != GS_OK ||
        (status = find_graphs(self, ctx, by_graph, rank, &graphs)) != GS_OK ||
        (status = gs_radix_sort(ctx, rank, ops, self->order)) != GS_OK ||
        (status = check_primaries(self, ctx)) != GS_OK) {
        goto out;
    }
    if ((self->gpu.graph = gs_alloc(ctx, (size_t)graphs, sizeof *self->gpu.graph)) == NULL) {
        status = ctx->status;
        goto out;
    }
    for (int32_t g = 0; g < graphs; g++) {
        self->gpu.graph[g] = (gs_simulate_gpu_graph_t){.first = -1, .first_kernel = -1};
    }
out:
    gs_free(ctx, by_graph);
    gs_free(ctx, rank);
    return status;
}
