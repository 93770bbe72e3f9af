/* Counts, edges and frames; jobs by arrival; construction and release of results. */
#include "pbs/graph/graph_engine.h"

#include "core/vector.h"
#include "model/periodic_tasks_internal.h"
#include "pbs/graph/graph_result.h"

#include <string.h>

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

int gs_pbs_graph_jobs_init(gs_pbs_graph_jobs_t *self, gs_context_t *ctx,
                           const gs_periodic_tasks_t *tasks)
{
    int status = gs_periodic_tasks_check(ctx, tasks);
    if (status == GS_OK) {
        status = gs_periodic_tasks_refuse_precedence(ctx, tasks);
    }
    if (status == GS_OK) {
        status = gs_periodic_tasks_hyperperiod(ctx, tasks, &self->hyperperiod);
    }
    if (status != GS_OK) {
        return status;
    }
    self->n = tasks->n;
    for (int32_t i = 0; i < tasks->n; i++) {
        self->period[i] = tasks->period[i];
        self->deadline[i] = tasks->deadline[i];
        self->offset[i] = gs_periodic_tasks_offset(tasks, i);
        self->jobs[i] = gs_periodic_tasks_jobs_before(tasks, i, self->hyperperiod);
    }
    return GS_OK;
}

void gs_pbs_graph_jobs_released(const gs_pbs_graph_jobs_t *self, int64_t t, int64_t *released)
{
    for (int32_t i = 0; i < self->n; i++) {
        int64_t count = t < self->offset[i] ? 0 : (t - self->offset[i]) / self->period[i] + 1;
        released[i] = count < self->jobs[i] ? count : self->jobs[i];
    }
}

int64_t gs_pbs_graph_jobs_next(const gs_pbs_graph_jobs_t *self, const int64_t *released)
{
    int64_t next = GS_NEVER;
    for (int32_t i = 0; i < self->n; i++) {
        if (released[i] < self->jobs[i]) {
            int64_t at = self->offset[i] + released[i] * self->period[i];
            next = at < next ? at : next;
        }
    }
    return next;
}

int64_t gs_pbs_graph_jobs_latest(const gs_pbs_graph_jobs_t *self, const int64_t *executed,
                                 uint32_t batch)
{
    int64_t latest = GS_NEVER;
    for (int32_t i = 0; i < self->n; i++) {
        int64_t k = executed[i];
        if ((batch >> i & 1) != 0) {
            int64_t due = gs_pbs_graph_jobs_due(self, i, k);
            latest = due < latest ? due : latest;
            k++;
        }
        int64_t waits = gs_pbs_graph_jobs_due(self, i, k) - 1;
        latest = waits < latest ? waits : latest;
    }
    return latest;
}

static void free_graph(gs_pbs_graph_t *graph, gs_context_t *ctx)
{
    gs_free(ctx, graph->executed);
    gs_free(ctx, graph->ready);
    gs_free(ctx, graph->state);
    gs_free(ctx, graph->first);
    gs_free(ctx, graph->point);
    gs_free(ctx, graph->edge);
    memset(graph, 0, sizeof *graph);
}

void gs_pbs_graph_result_free(gs_pbs_graph_result_t *self, gs_context_t *ctx)
{
    gs_schedule_free(&self->schedule, ctx);
    gs_free(ctx, self->per_depth);
    free_graph(&self->graph, ctx);
    memset(self, 0, sizeof *self);
}
