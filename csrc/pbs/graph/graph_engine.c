/* Shared parts of the explorations: counts, edges, frames and the arrays of a graph. */
#include "pbs/graph/graph_engine.h"

#include "core/vector.h"

int gs_pbs_graph_count(gs_pbs_graph_engine_t *self, int64_t depth)
{
    gs_pbs_graph_result_t *result = self->result;
    while (result->depths <= depth) {
        int64_t *grown = gs_vector_reserve(self->ctx, result->per_depth, &self->depth_capacity,
                                           result->depths + 1, sizeof *grown);
        if (grown == NULL) {
            return self->ctx->status;
        }
        result->per_depth = grown;
        result->per_depth[result->depths++] = 0;
    }
    result->per_depth[depth]++;
    result->vertices++;
    return GS_OK;
}

int gs_pbs_graph_edge(gs_pbs_graph_engine_t *self, int64_t source, int64_t target, uint32_t batch)
{
    gs_pbs_graph_t *graph = &self->result->graph;
    self->result->edges++;
    if (!self->options->keep) {
        return GS_OK;
    }
    gs_pbs_graph_edge_t *grown = gs_vector_reserve(self->ctx, graph->edge, &self->edge_capacity,
                                                   graph->edges + 1, sizeof *grown);
    if (grown == NULL) {
        return self->ctx->status;
    }
    graph->edge = grown;
    graph->edge[graph->edges++] = (gs_pbs_graph_edge_t){source, target, batch};
    return GS_OK;
}

int gs_pbs_graph_frame(gs_pbs_graph_engine_t *self, int64_t start, uint32_t batch)
{
    if (batch == 0 || batch == GS_PBS_GRAPH_EDGE_SPLIT) {
        return GS_OK;
    }
    return gs_schedule_append(&self->result->schedule, self->ctx, start,
                              start + self->completion[batch], batch);
}

void gs_pbs_graph_reverse(gs_schedule_t *schedule)
{
    for (int64_t a = 0, b = schedule->count - 1; a < b; a++, b--) {
        gs_schedule_frame_t frame = schedule->frames[a];
        schedule->frames[a] = schedule->frames[b];
        schedule->frames[b] = frame;
    }
}

int gs_pbs_graph_keep(gs_pbs_graph_engine_t *self, int64_t vertices, int64_t points)
{
    gs_context_t *ctx = self->ctx;
    gs_pbs_graph_t *graph = &self->result->graph;
    size_t n = (size_t)self->jobs.n, rows = (size_t)vertices;
    if ((graph->executed = gs_alloc(ctx, rows * n, sizeof *graph->executed)) == NULL ||
        (graph->ready = gs_alloc(ctx, rows * n, sizeof *graph->ready)) == NULL ||
        (graph->state = gs_alloc(ctx, rows, sizeof *graph->state)) == NULL ||
        (graph->first = gs_alloc(ctx, rows + 1, sizeof *graph->first)) == NULL ||
        (graph->point = gs_alloc(ctx, (size_t)points, sizeof *graph->point)) == NULL) {
        return ctx->status;
    }
    graph->vertices = vertices;
    graph->points = points;
    return GS_OK;
}
