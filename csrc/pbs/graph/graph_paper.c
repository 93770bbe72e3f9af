/* Algorithms 1 to 4 of [RTNS24] as printed; comments give their line numbers.
 *
 * The algorithm is neither sound nor complete:
 *
 * 1. A(t, t') closed at t adds jobs again that were just executed (GS_PBS_GRAPH_PRINTED only).
 * 2. Algorithm 3, line 8: a split vertex becomes a child of the dominating vertex, whose schedule
 *    reaches it only by idling, and the deadlines in between are not checked.
 * 3. Algorithm 3, line 6: deltas are relative to t(v_k), but are copied to a vertex at
 *    t(v_k) + delta.
 * 4. Lines 27, 31-33: merging keeps one delta and drops the list and the successors of the other.
 * 5. Line 23 checks deadlines that lie in the frame, not those that passed while a split vertex
 *    idled; with GS_PBS_GRAPH_PRUNING_READY not those of jobs that arrive during the frame; with
 *    GS_PBS_GRAPH_PRUNING_BATCH only those of the jobs of the batch.
 * 6. Algorithm 4 moves t(v_k), and a later Algorithm 2 adds its delta to the moved time.
 *
 * Where the listing leaves a choice: the batches of a vertex are taken by ascending mask, one job
 * (the oldest ready) per task; new vertices are appended to L; deltas are taken in ascending order;
 * line 25 goes through V in order of creation (fast-forwarded vertices move to its end), restricted
 * to those with the same ready and executed jobs, which an index finds; a delta of 0 merges
 * nothing; fast-forwarding without another arrival is success; discarded vertices leave the list of
 * their predecessor; split vertices enter G and L without a check of dominance.
 */
#include "pbs/graph/graph_paper_vertices.h"

#include <string.h>

#include "core/vector.h"

/* Algorithm 3, Split(v, delta). */
static int split(gs_pbs_graph_paper_t *self, int64_t v, int64_t delta)
{
    int64_t s;
    int64_t t = self->vertices[v].t;
    self->engine->result->splits++;
    int status = gs_pbs_graph_paper_create(self, t + delta, v, &s); /* lines 2, 3, 6 */
    if (status != GS_OK) {
        return status;
    }
    memcpy(gs_pbs_graph_paper_ready(self, s), gs_pbs_graph_paper_ready(self, v),
           2 * (size_t)self->words * sizeof(uint64_t));
    gs_pbs_graph_paper_add_arrivals(self, gs_pbs_graph_paper_ready(self, s), t, t + delta,
                                    self->closed);                          /* line 4 */
    status = gs_pbs_graph_paper_enter(self, s, v, GS_PBS_GRAPH_EDGE_SPLIT); /* line 8 */
    return status == GS_OK ? gs_pbs_graph_paper_enqueue(self, s) : status;  /* line 9 */
}

static int begin_merge(gs_pbs_graph_paper_t *self, int64_t depth, int64_t v, int64_t delta)
{
    gs_pbs_graph_paper_merge_t *merges = gs_vector_reserve(
        self->ctx, self->merges, &self->merge_capacity, depth + 1, sizeof *merges);
    if (merges == NULL) {
        return self->ctx->status;
    }
    self->merges = merges;
    self->merges[depth] = (gs_pbs_graph_paper_merge_t){v, delta, self->vertices[v].first_child};
    return gs_pbs_graph_paper_add_delta(self, v, delta); /* line 2 */
}

/* Algorithm 2, Merge(v, delta), with an explicit stack: the recursion is as deep as the hyperperiod
 * is long. */
static int merge(gs_pbs_graph_paper_t *self, int64_t v, int64_t delta)
{
    if (delta == 0) {
        return GS_OK;
    }
    int64_t depth = 0;
    int status = begin_merge(self, depth, v, delta);
    while (status == GS_OK && depth >= 0) {
        int64_t k = self->merges[depth].child;
        if (k < 0) {
            depth--;
            continue;
        }
        self->merges[depth].child = self->vertices[k].next_sibling; /* line 3 */
        if (!self->vertices[k].discarded) {
            if (gs_pbs_graph_paper_arrives(self, self->vertices[k].t,
                                           self->vertices[k].t + delta)) { /* line 4 */
                status = split(self, k, delta);                            /* line 5 */
            } else {
                status = begin_merge(self, ++depth, k, delta); /* line 7 */
            }
        }
        if (status == GS_OK) {
            status = gs_poll(self->ctx, self->jobs->n);
        }
    }
    return status;
}

/* Lines 24 to 44 for s, the vertex created last, which batch reached from v. */
static int consider(gs_pbs_graph_paper_t *self, int64_t v, uint32_t batch, int64_t s)
{
    int64_t count = 0;
    int64_t t = self->vertices[s].t;
    int status = self->engine->options->merge ? gs_pbs_graph_paper_equals(self, s, &count) : GS_OK;
    for (int64_t e = 0; status == GS_OK && e < count; e++) { /* line 25 */
        int64_t j = self->scratch[e];
        int64_t ahead = t - self->vertices[j].t;
        self->engine->result->merged++;
        if (ahead >= 0) { /* line 26 */
            gs_pbs_graph_paper_drop(self);
            return merge(self, j, ahead); /* lines 27-29 */
        }
        status =
            gs_pbs_graph_paper_add_delta(self, s, -ahead); /* lines 31, 32: s has no successors */
        if (status == GS_OK) {
            status = gs_pbs_graph_paper_discard(self, j, count); /* line 33 */
        }
    }
    if (status == GS_OK) {
        status = gs_pbs_graph_paper_enter(self, s, v, batch); /* line 38 */
    }
    if (status == GS_OK && t < self->jobs->hyperperiod) {
        return gs_pbs_graph_paper_enqueue(self, s); /* line 40 */
    }
    if (status == GS_OK) { /* line 42 */
        self->vertices[s].state = GS_PBS_GRAPH_VERTEX_SUCCESS;
        self->final = self->final < 0 ? s : self->final;
    }
    return status;
}

/* Line 23: whether a frame from start to end misses a deadline, of the jobs of options->pruning.
 * oldest: per task, the job that it runs. */
static bool misses(const gs_pbs_graph_paper_t *self, int64_t v, uint32_t batch,
                   const int64_t *oldest, int64_t start, int64_t end)
{
    const uint64_t *ready = gs_pbs_graph_paper_ready(self, v);
    int pruning = self->engine->options->pruning;
    for (int32_t i = 0; i < self->jobs->n; i++) {
        bool runs = (batch >> i & 1) != 0;
        if (runs && self->due[oldest[i]] < end) {
            return true;
        }
        if (pruning == GS_PBS_GRAPH_PRUNING_BATCH) {
            continue;
        }
        int64_t last = self->base[i] + self->jobs->jobs[i];
        int64_t next = self->base[i] + gs_pbs_graph_paper_arrived(self, i, start);
        if (pruning == GS_PBS_GRAPH_PRUNING_FRAME && next < last && self->due[next] <= end) {
            return true;
        }
        for (int64_t job = oldest[i]; job >= 0 && job < last && self->due[job] <= end; job++) {
            if (gs_pbs_graph_paper_has(ready, job) && !(runs && job == oldest[i]) &&
                start <= self->due[job]) {
                return true;
            }
        }
    }
    return false;
}

/* Algorithm 4; *done: no further job arrives. */
static int fast_forward(gs_pbs_graph_paper_t *self, int64_t v, bool *done)
{
    gs_pbs_graph_paper_vertex_t *vertex = &self->vertices[v];
    int64_t released[GS_PERIODIC_TASKS_MAX];
    gs_pbs_graph_jobs_released(self->jobs, vertex->t, released);
    int64_t next = gs_pbs_graph_jobs_next(self->jobs, released); /* line 2 */
    *done = next == GS_NEVER;
    if (*done) {
        return GS_OK;
    }
    vertex->dom_count = 0; /* line 3 */
    vertex->t = next;      /* line 4 */
    gs_pbs_graph_paper_add_arrivals(self, gs_pbs_graph_paper_ready(self, v), next, next,
                                    true); /* line 5 */
    return gs_pbs_graph_paper_index(self, v);
}

/* The first ready job of each task at v, -1 when there is none. */
static void find_oldest(const gs_pbs_graph_paper_t *self, int64_t v, int64_t *oldest)
{
    const uint64_t *set = gs_pbs_graph_paper_ready(self, v);
    for (int32_t i = 0; i < self->jobs->n; i++) {
        int64_t last = self->base[i] + gs_pbs_graph_paper_arrived(self, i, self->vertices[v].t);
        oldest[i] = -1;
        for (int64_t job = self->base[i]; job < last && oldest[i] < 0; job++) {
            oldest[i] = gs_pbs_graph_paper_has(set, job) ? job : -1;
        }
    }
}

/* Lines 16 to 45 for one batch. */
static int expand_batch(gs_pbs_graph_paper_t *self, int64_t v, uint32_t batch,
                        const int64_t *oldest)
{
    int64_t start = self->vertices[v].t;
    int64_t end = start + self->engine->completion[batch]; /* line 18 */
    if (misses(self, v, batch, oldest, start, end)) {      /* line 23 */
        return GS_OK;
    }
    int64_t s;
    int status = gs_pbs_graph_paper_create(self, end, v, &s); /* lines 17, 21 */
    if (status != GS_OK) {
        return status;
    }
    memcpy(gs_pbs_graph_paper_ready(self, s), gs_pbs_graph_paper_ready(self, v),
           2 * (size_t)self->words * sizeof(uint64_t));
    for (int32_t i = 0; i < self->jobs->n; i++) {
        if ((batch >> i & 1) != 0) {
            gs_pbs_graph_paper_ready(self, s)[oldest[i] / 64] &= ~(UINT64_C(1) << (oldest[i] % 64));
            gs_pbs_graph_paper_put(gs_pbs_graph_paper_exe(self, s), oldest[i]); /* line 20 */
        }
    }
    gs_pbs_graph_paper_add_arrivals(self, gs_pbs_graph_paper_ready(self, s), start, end,
                                    self->closed);
    return consider(self, v, batch, s);
}

static bool is_empty(const gs_pbs_graph_paper_t *self, const uint64_t *set)
{
    for (int64_t w = 0; w < self->words; w++) {
        if (set[w] != 0) {
            return false;
        }
    }
    return true;
}

/* Algorithm 1, lines 6 to 46. */
static int expand(gs_pbs_graph_paper_t *self, int64_t v)
{
    for (int64_t d = 0; d < self->vertices[v].dom_count;) { /* line 6 */
        gs_pbs_graph_paper_vertex_t *vertex = &self->vertices[v];
        int64_t delta = vertex->dom[d];
        if (!gs_pbs_graph_paper_arrives(self, vertex->t, vertex->t + delta)) { /* line 7 */
            int status = gs_poll(self->ctx, self->jobs->n);
            if (status != GS_OK) {
                return status;
            }
            d++;
            continue;
        }
        vertex->dom_count--; /* line 8 */
        memmove(vertex->dom + d, vertex->dom + d + 1,
                (size_t)(vertex->dom_count - d) * sizeof *vertex->dom);
        int status = split(self, v, delta); /* line 9 */
        if (status != GS_OK) {
            return status;
        }
    }
    self->vertices[v].state = GS_PBS_GRAPH_VERTEX_EXPANDED;
    if (is_empty(self, gs_pbs_graph_paper_ready(self, v))) { /* line 12 */
        bool done;
        int status = fast_forward(self, v, &done);
        if (status != GS_OK) {
            return status;
        }
        if (done) {
            self->vertices[v].state = GS_PBS_GRAPH_VERTEX_SUCCESS;
            self->final = self->final < 0 ? v : self->final;
            return GS_OK;
        }
    }
    int64_t oldest[GS_PERIODIC_TASKS_MAX];
    find_oldest(self, v, oldest);
    uint32_t ready = 0;
    for (int32_t i = 0; i < self->jobs->n; i++) {
        ready |= (oldest[i] >= 0 ? UINT32_C(1) : 0) << i;
    }
    /* Line 15: the subsets of the ready tasks in ascending order. */
    for (uint32_t batch = (0 - ready) & ready; batch != 0; batch = (batch - ready) & ready) {
        int status = gs_poll(self->ctx, self->words * 64);
        if (status == GS_OK && self->engine->completion[batch] > 0) {
            status = expand_batch(self, v, batch, oldest);
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

/* Algorithm 1. */
static int explore(gs_pbs_graph_paper_t *self)
{
    int64_t v;
    int64_t limit = self->engine->options->depth_limit;
    int status = gs_pbs_graph_paper_init(self);
    if (status == GS_OK) {
        status = gs_pbs_graph_paper_create(self, 0, -1, &v); /* line 2 */
    }
    if (status == GS_OK) {
        gs_pbs_graph_paper_add_arrivals(self, gs_pbs_graph_paper_ready(self, v), 0, 0, true);
        status = gs_pbs_graph_paper_enter(self, v, -1, 0); /* line 3 */
    }
    if (status == GS_OK) {
        status = gs_pbs_graph_paper_enqueue(self, v);
    }
    while (status == GS_OK && (v = gs_pbs_graph_paper_dequeue(self)) >= 0) { /* lines 4, 5 */
        if (limit >= 0 && self->vertices[v].depth >= limit) {
            self->engine->cut = true;
            continue;
        }
        status = expand(self, v);
        if (self->final >= 0 && self->engine->options->first_only) {
            break;
        }
    }
    return status;
}

/* The frames on the path to the first vertex of S. After a split vertex the GPU idles its delta. */
static int read_schedule(gs_pbs_graph_paper_t *self)
{
    for (int64_t v = self->final; self->vertices[v].parent >= 0; v = self->vertices[v].parent) {
        int status = gs_pbs_graph_frame(self->engine, self->vertices[self->vertices[v].parent].t,
                                        self->vertices[v].batch);
        if (status != GS_OK) {
            return status;
        }
    }
    gs_pbs_graph_reverse(&self->engine->result->schedule);
    return GS_OK;
}

static int keep_graph(gs_pbs_graph_paper_t *self)
{
    gs_pbs_graph_t *graph = &self->engine->result->graph;
    /* A vertex created when a budget ended may not have entered the graph. */
    int64_t vertices = self->engine->result->vertices;
    size_t n = (size_t)self->jobs->n;
    int status = gs_pbs_graph_keep(self->engine, vertices, vertices);
    if (status != GS_OK) {
        return status;
    }
    for (int64_t v = 0; v < vertices; v++) {
        const gs_pbs_graph_paper_vertex_t *vertex = &self->vertices[v];
        for (int32_t i = 0; i < self->jobs->n; i++) {
            for (int64_t k = 0; k < self->jobs->jobs[i]; k++) {
                int64_t job = self->base[i] + k;
                graph->executed[(size_t)v * n + (size_t)i] +=
                    gs_pbs_graph_paper_has(gs_pbs_graph_paper_exe(self, v), job) ? 1 : 0;
                graph->ready[(size_t)v * n + (size_t)i] +=
                    gs_pbs_graph_paper_has(gs_pbs_graph_paper_ready(self, v), job) ? 1 : 0;
            }
        }
        graph->state[v] = vertex->discarded ? GS_PBS_GRAPH_VERTEX_DISCARDED : vertex->state;
        graph->first[v] = v;
        graph->point[v] = (gs_pbs_graph_point_t){vertex->t, vertex->parent, vertex->batch};
    }
    graph->first[vertices] = vertices;
    return GS_OK;
}

int gs_pbs_graph_paper(gs_pbs_graph_engine_t *engine)
{
    gs_pbs_graph_paper_t self = {
        .engine = engine,
        .ctx = engine->ctx,
        .jobs = &engine->jobs,
        .closed = engine->options->variant == GS_PBS_GRAPH_PRINTED,
    };
    int status = explore(&self);
    engine->result->times = engine->result->vertices;
    if (status >= 0 && self.final >= 0) {
        int failed = read_schedule(&self);
        engine->result->schedulable = failed == GS_OK ? 1 : 0;
        status = failed == GS_OK ? status : failed;
    }
    if (status >= 0 && engine->options->keep) {
        int failed = keep_graph(&self);
        status = failed == GS_OK ? status : failed;
    }
    gs_pbs_graph_paper_free(&self);
    return status;
}
