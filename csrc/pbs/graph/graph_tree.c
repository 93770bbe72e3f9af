/* Exploration of the scheduling graph without merging.
 *
 * [RTNS24], Figure 5c, red line: every path has its own vertices, so the graph is a tree. It is
 * walked depth first, which needs memory for one path only (unless the graph is kept) and visits
 * the same vertices as any other order.
 */
#include "core/vector.h"
#include "pbs/graph/graph_engine.h"

#include <string.h>

/* A vertex on the current path, with the transitions left to follow. */
typedef struct {
    int64_t time;
    int64_t parent_start; /* when the frame that led here started */
    int64_t depth;
    int64_t vertex; /* its number */
    uint32_t batch; /* of that frame; 0: waiting */
    uint32_t ready;
    uint32_t left; /* the next batch to try, counting down through the subsets of ready */
    bool waits;    /* waiting is still to be followed */
} step_t;

typedef struct {
    gs_pbs_graph_engine_t *engine;
    gs_context_t *ctx;
    const gs_pbs_graph_jobs_t *jobs;
    step_t *path;
    int64_t *counts; /* per step of the path: n executed, then n released */
    int64_t length, path_capacity, count_capacity;
    int64_t vertices;
    /* capacities of the kept graph: */
    int64_t executed_capacity, ready_capacity, state_capacity, first_capacity, point_capacity;
} tree_t;

static int64_t *executed_of(const tree_t *self, int64_t step)
{
    return self->counts + step * 2 * self->jobs->n;
}

/* Appends the last step of the path to the kept graph. */
static int keep_vertex(tree_t *self, uint8_t state)
{
    gs_context_t *ctx = self->ctx;
    gs_pbs_graph_t *graph = &self->engine->result->graph;
    size_t n = (size_t)self->jobs->n;
    int64_t v = graph->vertices;
    const step_t *step = &self->path[self->length - 1];
    void *grown;
    if ((grown = gs_vector_reserve(ctx, graph->executed, &self->executed_capacity, v + 1,
                                   n * sizeof *graph->executed)) == NULL) {
        return ctx->status;
    }
    graph->executed = grown;
    if ((grown = gs_vector_reserve(ctx, graph->ready, &self->ready_capacity, v + 1,
                                   n * sizeof *graph->ready)) == NULL) {
        return ctx->status;
    }
    graph->ready = grown;
    if ((grown = gs_vector_reserve(ctx, graph->state, &self->state_capacity, v + 1,
                                   sizeof *graph->state)) == NULL) {
        return ctx->status;
    }
    graph->state = grown;
    if ((grown = gs_vector_reserve(ctx, graph->first, &self->first_capacity, v + 2,
                                   sizeof *graph->first)) == NULL) {
        return ctx->status;
    }
    graph->first = grown;
    if ((grown = gs_vector_reserve(ctx, graph->point, &self->point_capacity, v + 1,
                                   sizeof *graph->point)) == NULL) {
        return ctx->status;
    }
    graph->point = grown;
    const int64_t *executed = executed_of(self, self->length - 1);
    for (size_t i = 0; i < n; i++) {
        graph->executed[(size_t)v * n + i] = executed[i];
        graph->ready[(size_t)v * n + i] = executed[n + i] - executed[i];
    }
    graph->state[v] = state;
    graph->first[v] = v;
    graph->first[v + 1] = v + 1;
    graph->point[v] = (gs_pbs_graph_point_t){
        step->time, self->length > 1 ? self->path[self->length - 2].vertex : -1, step->batch};
    graph->vertices++;
    graph->points++;
    return GS_OK;
}

static int read_schedule(tree_t *self)
{
    for (int64_t s = 1; s < self->length; s++) {
        const step_t *step = &self->path[s];
        int status = gs_pbs_graph_frame(self->engine, step->parent_start, step->batch);
        if (status != GS_OK) {
            return status;
        }
    }
    self->engine->result->schedulable = 1;
    return GS_OK;
}

/* Appends the vertex at time t that batch leads to from the end of the path (the root when the path
 * is empty). */
static int push(tree_t *self, int64_t t, uint32_t batch)
{
    gs_context_t *ctx = self->ctx;
    const gs_pbs_graph_options_t *options = self->engine->options;
    int32_t n = self->jobs->n;
    if (options->states_limit != 0 && self->vertices >= options->states_limit) {
        return GS_SPENT_STATES;
    }
    step_t *path =
        gs_vector_reserve(ctx, self->path, &self->path_capacity, self->length + 1, sizeof *path);
    if (path == NULL) {
        return ctx->status;
    }
    self->path = path;
    int64_t *rows = gs_vector_reserve(ctx, self->counts, &self->count_capacity, self->length + 1,
                                      2 * (size_t)n * sizeof *rows);
    if (rows == NULL) {
        return ctx->status;
    }
    self->counts = rows;
    step_t step = {.time = t, .batch = batch, .vertex = self->vertices};
    int64_t *executed = executed_of(self, self->length), *released = executed + n;
    if (self->length == 0) {
        memset(executed, 0, (size_t)n * sizeof *executed);
    } else {
        const step_t *parent = &self->path[self->length - 1];
        const int64_t *before = executed_of(self, self->length - 1);
        step.parent_start = parent->time;
        step.depth = parent->depth + __builtin_popcount(batch);
        for (int32_t i = 0; i < n; i++) {
            executed[i] = before[i] + (batch >> i & 1);
        }
    }
    gs_pbs_graph_jobs_released(self->jobs, t, released);
    int64_t next = gs_pbs_graph_jobs_next(self->jobs, released);
    bool all_done = false;
    if (memcmp(executed, released, (size_t)n * sizeof *executed) == 0) {
        all_done = next == GS_NEVER;
        if (!all_done) { /* Algorithm 4: skip the idle time */
            step.time = next;
            gs_pbs_graph_jobs_released(self->jobs, next, released);
            next = gs_pbs_graph_jobs_next(self->jobs, released);
        }
    }
    for (int32_t i = 0; i < n; i++) {
        step.ready |= (released[i] > executed[i] ? UINT32_C(1) : 0) << i;
    }
    bool leaf = all_done;
    if (!all_done && options->depth_limit >= 0 && step.depth >= options->depth_limit) {
        self->engine->cut = true;
        leaf = true;
    }
    step.left = leaf ? 0 : step.ready;
    step.waits = !leaf && options->idling && next < GS_NEVER &&
                 next <= gs_pbs_graph_jobs_latest(self->jobs, executed, 0);
    self->path[self->length++] = step;
    int status = gs_pbs_graph_count(self->engine, step.depth);
    if (status == GS_OK && options->keep) {
        uint8_t state = all_done ? GS_PBS_GRAPH_VERTEX_SUCCESS
                        : leaf   ? GS_PBS_GRAPH_VERTEX_OPEN
                                 : GS_PBS_GRAPH_VERTEX_EXPANDED;
        status = keep_vertex(self, state);
    }
    if (status == GS_OK && self->length > 1) {
        status = gs_pbs_graph_edge(self->engine, self->path[self->length - 2].vertex, step.vertex,
                                   batch);
    }
    if (status == GS_OK) {
        self->vertices++;
        if (all_done && self->engine->result->schedulable != 1) {
            status = read_schedule(self);
        }
    }
    return status;
}

static int explore(tree_t *self)
{
    gs_pbs_graph_result_t *result = self->engine->result;
    int32_t n = self->jobs->n;
    int status = push(self, 0, 0);
    while (status == GS_OK && self->length > 0) {
        if (result->schedulable == 1 && self->engine->options->first_only) {
            return GS_OK;
        }
        int64_t last = self->length - 1;
        step_t *step = &self->path[last];
        if (step->left != 0) {
            uint32_t batch = step->left;
            int64_t c = self->engine->completion[batch];
            step->left = (batch - 1) & step->ready;
            if (c > 0 && step->time + c <=
                             gs_pbs_graph_jobs_latest(self->jobs, executed_of(self, last), batch)) {
                status = push(self, step->time + c, batch);
            }
        } else if (step->waits) {
            step->waits = false;
            status = push(self, gs_pbs_graph_jobs_next(self->jobs, executed_of(self, last) + n), 0);
        } else {
            self->length--;
        }
        if (status == GS_OK) {
            status = gs_poll(self->ctx, n);
        }
    }
    return status;
}

int gs_pbs_graph_tree(gs_pbs_graph_engine_t *engine)
{
    tree_t self = {.engine = engine, .ctx = engine->ctx, .jobs = &engine->jobs};
    int status = explore(&self);
    engine->result->times = engine->result->vertices;
    gs_free(self.ctx, self.path);
    gs_free(self.ctx, self.counts);
    return status;
}
