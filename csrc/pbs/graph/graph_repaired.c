/* Exact exploration of the scheduling graph: every pair (ready, executed) with all its real times.
 *
 * [RTNS24], section 3, repaired. A vertex is a pair (executed, ready). Given one of its instants,
 * the pair determines the arrival interval of all its times, because within an interval nothing
 * arrives and across an arrival something does. A vertex holds every distinct time at which it is
 * reached, so merging loses nothing and adds no time that no schedule reaches. A batch leads from
 * each time to the vertex of the interval in which the frame ends, which is the purpose of the
 * splitting in [RTNS24].
 *
 * Frames only add executed jobs, and waiting is followed at once (below), so when the least depth
 * (number of executed jobs) of the vertices left is reached, its vertices have all their times:
 * each vertex is expanded exactly once.
 */
#include "core/hash_index.h"
#include "core/vector.h"
#include "pbs/graph/graph_engine.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    int64_t until; /* the first arrival after its times */
    int64_t depth;
    int64_t newest;  /* newest point; the others are linked from it */
    int64_t times;   /* number of times */
    int64_t sibling; /* the next vertex of the same depth, -1 */
    uint8_t state;
} vertex_t;

typedef struct {
    int64_t time;
    int64_t vertex;
    int64_t parent;
    int64_t older; /* previous point of the same vertex, -1 */
    uint32_t batch;
} point_t;

/* The vertices of one depth, in order of creation. */
typedef struct {
    int64_t head;
    int64_t tail;
} level_t;

typedef struct {
    int64_t time;
    int64_t point;
} moment_t;

typedef struct {
    gs_pbs_graph_engine_t *engine;
    gs_context_t *ctx;
    const gs_pbs_graph_jobs_t *jobs;
    vertex_t *vertices;
    int64_t *counts; /* per vertex: n executed, then n released */
    point_t *points;
    level_t *levels;
    moment_t *moments; /* scratch: the times of the vertex being expanded, ascending */
    int64_t vertex_count, vertex_capacity, count_capacity;
    int64_t point_count, point_capacity;
    int64_t level_count, level_capacity;
    int64_t moment_capacity;
    gs_hash_index_t by_counts; /* vertices */
    gs_hash_index_t by_time;   /* points, by vertex and time */
    int64_t final;             /* the first point at which every job is executed, -1 */
} repaired_t;

static int64_t *executed_of(const repaired_t *self, int64_t v)
{
    return self->counts + v * 2 * self->jobs->n;
}

static int64_t *released_of(const repaired_t *self, int64_t v)
{
    return executed_of(self, v) + self->jobs->n;
}

static uint64_t hash_counts(const repaired_t *self, const int64_t *counts)
{
    uint64_t hash = 0;
    for (int32_t i = 0; i < 2 * self->jobs->n; i++) {
        hash = gs_hash_index_mix(hash, (uint64_t)counts[i]);
    }
    return hash;
}

static int append_level(repaired_t *self, int64_t depth)
{
    while (self->level_count <= depth) {
        level_t *grown = gs_vector_reserve(self->ctx, self->levels, &self->level_capacity,
                                           self->level_count + 1, sizeof *grown);
        if (grown == NULL) {
            return self->ctx->status;
        }
        self->levels = grown;
        self->levels[self->level_count++] = (level_t){-1, -1};
    }
    return GS_OK;
}

static int add_vertex(repaired_t *self, const int64_t *counts, uint64_t hash, int64_t depth,
                      int64_t *v)
{
    int32_t n = self->jobs->n;
    vertex_t *vertices = gs_vector_reserve(self->ctx, self->vertices, &self->vertex_capacity,
                                           self->vertex_count + 1, sizeof *vertices);
    if (vertices == NULL) {
        return self->ctx->status;
    }
    self->vertices = vertices;
    int64_t *rows = gs_vector_reserve(self->ctx, self->counts, &self->count_capacity,
                                      self->vertex_count + 1, 2 * (size_t)n * sizeof *rows);
    if (rows == NULL) {
        return self->ctx->status;
    }
    self->counts = rows;
    int status = append_level(self, depth);
    if (status == GS_OK) {
        status = gs_hash_index_add(&self->by_counts, self->ctx, hash, self->vertex_count);
    }
    if (status == GS_OK) {
        status = gs_pbs_graph_count(self->engine, depth);
    }
    if (status != GS_OK) {
        return status;
    }
    *v = self->vertex_count++;
    memcpy(executed_of(self, *v), counts, 2 * (size_t)n * sizeof *counts);
    self->vertices[*v] = (vertex_t){
        .until = gs_pbs_graph_jobs_next(self->jobs, counts + n),
        .depth = depth,
        .newest = -1,
        .sibling = -1,
        .state = GS_PBS_GRAPH_VERTEX_OPEN,
    };
    level_t *level = &self->levels[depth];
    if (level->tail < 0) {
        level->head = *v;
    } else {
        self->vertices[level->tail].sibling = *v;
    }
    level->tail = *v;
    return GS_OK;
}

/* Adds a time to a vertex unless it is there. */
static int add_time(repaired_t *self, int64_t v, int64_t time, int64_t parent, uint32_t batch,
                    int64_t *point)
{
    uint64_t hash = gs_hash_index_mix((uint64_t)v, (uint64_t)time);
    int64_t cursor = 0;
    while ((*point = gs_hash_index_next(&self->by_time, hash, &cursor)) >= 0) {
        if (self->points[*point].vertex == v && self->points[*point].time == time) {
            return GS_OK;
        }
    }
    int64_t limit = self->engine->options->states_limit;
    if (limit != 0 && self->point_count >= limit) {
        return GS_SPENT_STATES;
    }
    point_t *points = gs_vector_reserve(self->ctx, self->points, &self->point_capacity,
                                        self->point_count + 1, sizeof *points);
    if (points == NULL) {
        return self->ctx->status;
    }
    self->points = points;
    int status = gs_hash_index_add(&self->by_time, self->ctx, hash, self->point_count);
    if (status != GS_OK) {
        return status;
    }
    *point = self->point_count++;
    vertex_t *vertex = &self->vertices[v];
    self->points[*point] = (point_t){time, v, parent, vertex->newest, batch};
    vertex->newest = *point;
    vertex->times++;
    return GS_OK;
}

/* The state at the end of a frame: a vertex and the time there, which is later than the end when
 * nothing was ready. Every end before `until` leads to the same vertex. */
typedef struct {
    int64_t vertex; /* -1: none yet */
    int64_t time;   /* when `jumps` */
    int64_t until;
    bool jumps;
    bool created;
} landing_t;

/* Finds or creates the vertex of counts: jobs executed, then jobs released, per task. */
static int find_vertex(repaired_t *self, const int64_t *counts, int64_t depth, int64_t *v,
                       bool *created)
{
    uint64_t hash = hash_counts(self, counts);
    int64_t cursor = 0;
    *created = false;
    while ((*v = gs_hash_index_next(&self->by_counts, hash, &cursor)) >= 0) {
        if (memcmp(executed_of(self, *v), counts, 2 * (size_t)self->jobs->n * sizeof *counts) ==
            0) {
            return GS_OK;
        }
    }
    *created = true;
    return add_vertex(self, counts, hash, depth, v);
}

/* The state at time t with counts[0..n-1] jobs executed; sets counts[n..]. With nothing ready the
 * time advances to the next arrival (Algorithm 4). */
static int land(repaired_t *self, int64_t t, int64_t *counts, int64_t depth, landing_t *landing)
{
    int32_t n = self->jobs->n;
    int64_t *released = counts + n;
    gs_pbs_graph_jobs_released(self->jobs, t, released);
    landing->until = gs_pbs_graph_jobs_next(self->jobs, released);
    landing->time = t;
    landing->jumps = false;
    if (memcmp(counts, released, (size_t)n * sizeof *counts) == 0 && landing->until < GS_NEVER) {
        landing->jumps = true;
        landing->time = landing->until;
        gs_pbs_graph_jobs_released(self->jobs, landing->until, released);
    }
    return find_vertex(self, counts, depth, &landing->vertex, &landing->created);
}

/* Of a new time, for each task: its vertex is looked up in memory that is not at hand. */
enum { STATE_WORK = 16 };

/* With inserted idle time: from a new vertex, waits for the next arrival, and on from there. Done
 * at once, so that all times of one depth are known before the first of its vertices is expanded.
 * All times of a vertex wait to the same instant, hence once per vertex. counts is overwritten. */
static int wait_on(repaired_t *self, int64_t v, int64_t point, int64_t *counts)
{
    int32_t n = self->jobs->n;
    bool created = true;
    while (created) {
        vertex_t *vertex = &self->vertices[v];
        int64_t next = vertex->until, depth = vertex->depth;
        memcpy(counts, executed_of(self, v), 2 * (size_t)n * sizeof *counts);
        if (next == GS_NEVER || gs_pbs_graph_jobs_latest(self->jobs, counts, 0) < next) {
            return GS_OK;
        }
        gs_pbs_graph_jobs_released(self->jobs, next, counts + n);
        int64_t target, reached;
        int status = find_vertex(self, counts, depth, &target, &created);
        if (status == GS_OK) {
            status = add_time(self, target, next, point, 0, &reached);
        }
        if (status == GS_OK) {
            status = gs_pbs_graph_edge(self->engine, v, target, 0);
        }
        if (status == GS_OK) {
            status = gs_poll(self->ctx, STATE_WORK * n);
        }
        if (status != GS_OK) {
            return status;
        }
        self->engine->result->merged += created ? 0 : 1;
        v = target;
        point = reached;
    }
    return GS_OK;
}

/* Adds the state that a frame reached; records the first state with every job executed. */
static int arrive(repaired_t *self, const landing_t *landing, int64_t time, int64_t parent,
                  uint32_t batch, int64_t *counts)
{
    int64_t point;
    int64_t v = landing->vertex;
    int status = add_time(self, v, time, parent, batch, &point);
    if (status != GS_OK || !landing->created) {
        return status;
    }
    if (self->vertices[v].until == GS_NEVER &&
        memcmp(executed_of(self, v), released_of(self, v),
               (size_t)self->jobs->n * sizeof *counts) == 0) {
        self->vertices[v].state = GS_PBS_GRAPH_VERTEX_SUCCESS;
        self->final = self->final < 0 ? point : self->final;
    }
    return self->engine->options->idling ? wait_on(self, v, point, counts) : GS_OK;
}

static int compare_moments(const void *a, const void *b)
{
    int64_t x = ((const moment_t *)a)->time, y = ((const moment_t *)b)->time;
    return (x > y) - (x < y);
}

static int sort_times(repaired_t *self, int64_t v)
{
    int64_t count = self->vertices[v].times;
    if (count == 0) { /* a vertex created when a budget ended has no times */
        return GS_OK;
    }
    moment_t *moments =
        gs_vector_reserve(self->ctx, self->moments, &self->moment_capacity, count, sizeof *moments);
    if (moments == NULL) {
        return self->ctx->status;
    }
    self->moments = moments;
    int64_t at = 0;
    for (int64_t p = self->vertices[v].newest; p >= 0; p = self->points[p].older) {
        self->moments[at++] = (moment_t){self->points[p].time, p};
    }
    qsort(self->moments, (size_t)count, sizeof *self->moments, compare_moments);
    return GS_OK;
}

/* The frames that run one batch from every time of v. */
static int expand_batch(repaired_t *self, int64_t v, uint32_t batch)
{
    int32_t n = self->jobs->n;
    gs_pbs_graph_result_t *result = self->engine->result;
    int64_t length = self->engine->completion[batch];
    int64_t latest = gs_pbs_graph_jobs_latest(self->jobs, executed_of(self, v), batch);
    int64_t depth = self->vertices[v].depth + __builtin_popcount(batch);
    int64_t counts[2 * GS_PERIODIC_TASKS_MAX];
    landing_t landing = {.vertex = -1};
    int64_t times = self->vertices[v].times;
    for (int64_t m = 0; m < times && self->moments[m].time + length <= latest; m++) {
        int64_t end = self->moments[m].time + length;
        int64_t before = landing.vertex;
        int status = GS_OK;
        landing.created = false;
        if (before < 0 || end >= landing.until) {
            for (int32_t i = 0; i < n; i++) {
                counts[i] = executed_of(self, v)[i] + (batch >> i & 1);
            }
            status = land(self, end, counts, depth, &landing);
            /* After a jump to an arrival two intervals may share their landing. */
            if (status == GS_OK && landing.vertex != before) {
                result->splits += before < 0 ? 0 : 1;
                status = gs_pbs_graph_edge(self->engine, v, landing.vertex, batch);
            }
        }
        if (status == GS_OK) {
            result->merged += landing.created ? 0 : 1;
            status = arrive(self, &landing, landing.jumps ? landing.time : end,
                            self->moments[m].point, batch, counts);
        }
        if (status == GS_OK) {
            status = gs_poll(self->ctx, STATE_WORK * n);
        }
        if (status != GS_OK) {
            return status;
        }
        if (self->final >= 0 && self->engine->options->first_only) {
            return GS_OK;
        }
    }
    return GS_OK;
}

static uint32_t ready_mask(const repaired_t *self, int64_t v)
{
    const int64_t *executed = executed_of(self, v), *released = released_of(self, v);
    uint32_t mask = 0;
    for (int32_t i = 0; i < self->jobs->n; i++) {
        mask |= (released[i] > executed[i] ? UINT32_C(1) : 0) << i;
    }
    return mask;
}

static int expand(repaired_t *self, int64_t v)
{
    uint32_t ready = ready_mask(self, v);
    int status = sort_times(self, v);
    /* Subsets in descending order; the empty one ends the loop. */
    for (uint32_t batch = ready; status == GS_OK && batch != 0; batch = (batch - 1) & ready) {
        if (self->engine->completion[batch] > 0) {
            status = expand_batch(self, v, batch);
        }
        if (status == GS_OK) {
            status = gs_poll(self->ctx, self->jobs->n);
        }
        if (self->final >= 0 && self->engine->options->first_only) {
            return status;
        }
    }
    if (status == GS_OK) {
        self->vertices[v].state = GS_PBS_GRAPH_VERTEX_EXPANDED;
    }
    return status;
}

static int explore(repaired_t *self)
{
    int64_t counts[2 * GS_PERIODIC_TASKS_MAX] = {0};
    landing_t landing;
    int64_t limit = self->engine->options->depth_limit;
    int status = land(self, 0, counts, 0, &landing);
    if (status == GS_OK) {
        status = arrive(self, &landing, landing.time, -1, 0, counts);
    }
    for (int64_t depth = 0; status == GS_OK && depth < self->level_count; depth++) {
        for (int64_t v = self->levels[depth].head; v >= 0; v = self->vertices[v].sibling) {
            if (self->final >= 0 && self->engine->options->first_only) {
                return status;
            }
            if (self->vertices[v].state == GS_PBS_GRAPH_VERTEX_SUCCESS) {
                continue;
            }
            if (limit >= 0 && depth >= limit) {
                self->engine->cut = true;
                continue;
            }
            status = expand(self, v);
            if (status != GS_OK) {
                return status;
            }
        }
    }
    return status;
}

/* The frames on the path to the final point, along real predecessors. */
static int read_schedule(repaired_t *self)
{
    for (int64_t p = self->final; p >= 0 && self->points[p].parent >= 0;
         p = self->points[p].parent) {
        int status = gs_pbs_graph_frame(self->engine, self->points[self->points[p].parent].time,
                                        self->points[p].batch);
        if (status != GS_OK) {
            return status;
        }
    }
    gs_pbs_graph_reverse(&self->engine->result->schedule);
    return GS_OK;
}

/* Copies the graph to the result: the points of a vertex are contiguous and ascending in time. */
static int keep_graph(repaired_t *self)
{
    gs_context_t *ctx = self->ctx;
    gs_pbs_graph_t *graph = &self->engine->result->graph;
    size_t n = (size_t)self->jobs->n;
    int64_t *place = gs_alloc(ctx, (size_t)self->point_count, sizeof *place); /* old number: new */
    int status = place == NULL
                     ? ctx->status
                     : gs_pbs_graph_keep(self->engine, self->vertex_count, self->point_count);
    int64_t at = 0;
    for (int64_t v = 0; status == GS_OK && v < self->vertex_count; v++) {
        for (size_t i = 0; i < n; i++) {
            graph->executed[(size_t)v * n + i] = executed_of(self, v)[i];
            graph->ready[(size_t)v * n + i] = released_of(self, v)[i] - executed_of(self, v)[i];
        }
        graph->state[v] = self->vertices[v].state;
        graph->first[v] = at;
        status = sort_times(self, v);
        for (int64_t m = 0; status == GS_OK && m < self->vertices[v].times; m++, at++) {
            place[self->moments[m].point] = at;
        }
    }
    if (status == GS_OK) {
        graph->first[self->vertex_count] = at;
    }
    for (int64_t p = 0; status == GS_OK && p < self->point_count; p++) {
        const point_t *point = &self->points[p];
        graph->point[place[p]] = (gs_pbs_graph_point_t){
            point->time, point->parent < 0 ? -1 : place[point->parent], point->batch};
    }
    gs_free(ctx, place);
    return status;
}

int gs_pbs_graph_repaired(gs_pbs_graph_engine_t *engine)
{
    repaired_t self = {.engine = engine, .ctx = engine->ctx, .jobs = &engine->jobs, .final = -1};
    gs_hash_index_init(&self.by_counts);
    gs_hash_index_init(&self.by_time);
    int status = explore(&self);
    engine->result->times = self.point_count;
    if (status >= 0 && self.final >= 0) {
        int failed = read_schedule(&self);
        engine->result->schedulable = failed == GS_OK ? 1 : 0;
        status = failed == GS_OK ? status : failed;
    }
    if (status >= 0 && engine->options->keep) {
        int failed = keep_graph(&self);
        status = failed == GS_OK ? status : failed;
    }
    gs_free(self.ctx, self.vertices);
    gs_free(self.ctx, self.counts);
    gs_free(self.ctx, self.points);
    gs_free(self.ctx, self.levels);
    gs_free(self.ctx, self.moments);
    gs_hash_index_free(&self.by_counts, self.ctx);
    gs_hash_index_free(&self.by_time, self.ctx);
    return status;
}
