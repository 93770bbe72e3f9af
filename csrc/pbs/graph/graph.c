/* Search of the scheduling graph: choice of the exploration, shared results, budgets and undecided
 * batches. */
#include "pbs/graph/graph_engine.h"

#include <string.h>

#include "core/vector.h"

void gs_pbs_graph_result_init(gs_pbs_graph_result_t *self)
{
    memset(self, 0, sizeof *self);
    gs_schedule_init(&self->schedule);
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
    gs_pbs_graph_result_init(self);
}

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

static int explore(gs_pbs_graph_engine_t *self)
{
    if (self->options->variant != GS_PBS_GRAPH_REPAIRED) {
        return gs_pbs_graph_paper(self);
    }
    return self->options->merge ? gs_pbs_graph_repaired(self) : gs_pbs_graph_tree(self);
}

/* Checks that the variant supports the options and the task set. */
static int check_variant(gs_context_t *ctx, const gs_periodic_tasks_t *tasks,
                         const gs_pbs_graph_options_t *options)
{
    if (options->pruning < GS_PBS_GRAPH_PRUNING_FRAME ||
        options->pruning > GS_PBS_GRAPH_PRUNING_BATCH) {
        return gs_fail(ctx, GS_ERR_VALUE, "pruning", -1, options->pruning,
                       "0 (frame), 1 (ready) or 2 (batch)");
    }
    if (options->variant == GS_PBS_GRAPH_REPAIRED) {
        if (options->pruning != GS_PBS_GRAPH_PRUNING_FRAME) {
            return gs_fail(ctx, GS_ERR_VALUE, "pruning", -1, options->pruning,
                           "0 (frame): the repaired graph checks every deadline");
        }
        return !options->lifo
                   ? GS_OK
                   : gs_fail(ctx, GS_ERR_VALUE, "order", -1, 1,
                             "an order of 0: the repaired graph is always expanded by depth");
    }
    if (options->variant != GS_PBS_GRAPH_PAPER && options->variant != GS_PBS_GRAPH_PRINTED) {
        return gs_fail(ctx, GS_ERR_VALUE, "variant", -1, options->variant,
                       "0 (repaired), 1 (paper) or 2 (printed)");
    }
    if (options->idling) {
        return gs_fail(ctx, GS_ERR_VALUE, "idling", -1, 1,
                       "0: the listing of [RTNS24] never waits while work is ready");
    }
    for (int32_t i = 0; i < tasks->n; i++) {
        if (gs_periodic_tasks_offset(tasks, i) != 0) {
            return gs_fail(ctx, GS_ERR_VALUE, "offset", i, tasks->offset[i],
                           "an offset of 0: the listing of [RTNS24] has no offsets");
        }
        if (tasks->deadline[i] > tasks->period[i]) {
            return gs_fail(
                ctx, GS_ERR_VALUE, "deadline", i, tasks->deadline[i],
                "a deadline of at most the period: the listing of [RTNS24] has no longer ones");
        }
    }
    return GS_OK;
}

/* Whether a schedule exists with every undecided batch eligible. Returns GS_OK with *possible, a
 * spent budget or an error. */
static int explore_optimistic(const gs_pbs_graph_engine_t *first, const gs_batch_table_t *table,
                              bool *possible)
{
    gs_context_t *ctx = first->ctx;
    int64_t *completion = gs_batch_table_hopeful(ctx, table);
    if (completion == NULL) {
        return ctx->status;
    }
    gs_pbs_graph_options_t options = *first->options;
    options.first_only = true;
    options.keep = false;
    gs_pbs_graph_result_t result;
    gs_pbs_graph_result_init(&result);
    gs_pbs_graph_engine_t self = {
        .ctx = ctx,
        .jobs = first->jobs,
        .completion = completion,
        .options = &options,
        .result = &result,
    };
    int status = explore(&self);
    *possible = result.schedulable == 1;
    gs_pbs_graph_result_free(&result, ctx);
    gs_free(ctx, completion);
    return status;
}

int gs_pbs_graph_search(gs_context_t *ctx, const gs_periodic_tasks_t *tasks,
                        const gs_batch_table_t *table, const gs_pbs_graph_options_t *options,
                        gs_pbs_graph_result_t *result)
{
    gs_pbs_graph_engine_t self = {
        .ctx = ctx,
        .completion = table->completion,
        .options = options,
        .result = result,
    };
    int status = gs_pbs_graph_jobs_init(&self.jobs, ctx, tasks);
    if (status == GS_OK) {
        status = check_variant(ctx, tasks, options);
    }
    if (status == GS_OK && options->states_limit < 0) {
        status = gs_fail(ctx, GS_ERR_VALUE, "states", -1, options->states_limit,
                         "a number of at least 0");
    }
    if (status == GS_OK && table->n != tasks->n) {
        status = gs_fail(ctx, GS_ERR_VALUE, "tasks", -1, table->n,
                         "a table for as many tasks as the task set has");
    }
    if (status == GS_OK) {
        status = gs_batch_table_check(ctx, table);
    }
    if (status != GS_OK) {
        return status;
    }
    result->graph.n = tasks->n;
    status = explore(&self);
    if (status < 0) {
        return status;
    }
    bool found = result->schedulable == 1;
    result->reason = status != GS_OK                ? status
                     : found && options->first_only ? GS_PBS_GRAPH_FOUND
                     : self.cut                     ? GS_PBS_GRAPH_DEPTH
                                                    : GS_PBS_GRAPH_COMPLETE;
    if (!found && result->reason != GS_PBS_GRAPH_COMPLETE) {
        result->schedulable = -1;
    }
    if (!found && result->reason == GS_PBS_GRAPH_COMPLETE && gs_batch_table_is_open(table)) {
        bool possible = false;
        status = explore_optimistic(&self, table, &possible);
        if (status < 0) {
            return status;
        }
        if (possible || status > 0) {
            result->schedulable = -1;
            result->reason = possible ? GS_PBS_GRAPH_UNDECIDED : status;
        }
    }
    return GS_OK;
}
