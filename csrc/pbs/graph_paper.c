/* What does the algorithm of paper 001 answer, as it is printed?
 *
 * Algorithms 1 to 4, with their line numbers in the comments. It is neither sound nor complete:
 *
 * 1. A(t, t') closed at t adds jobs again that were just executed (GS_GRAPH_PRINTED only).
 * 2. Algorithm 3, line 8: a split vertex hangs below the dominating vertex, whose schedule reaches
 *    it only by idling, and no deadline in between was looked at.
 * 3. Algorithm 3, line 6: deltas are relative to t(v_k), but are copied to a vertex at t(v_k) +
 *    delta.
 * 4. Lines 26, 31-33: merging keeps one delta and drops the list and the successors of the other.
 * 5. Line 22 looks at the jobs of the batch and at those waiting in v_i whose deadline lies in the
 *    frame, not at jobs that arrive during it.
 * 6. Algorithm 4 moves t(v_k), and a later Algorithm 2 adds its delta to the moved time.
 *
 * Where the listing leaves a choice: a vertex's batches go by ascending mask, one job (the oldest
 * ready) per task; new vertices go to the end of L; deltas are taken in ascending order; line 24
 * goes through V in order of creation (fast-forwarded vertices go to its end), but only through
 * those with the same ready and executed jobs, which an index finds; a delta of 0 merges nothing;
 * fast-forwarding without another arrival is success; discarded vertices leave their
 * predecessor's list; split vertices enter G and L without a check of dominance.
 */
#include "core/slots.h"
#include "pbs/graph_engine.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    int64_t t;
    int64_t depth; /* |exe| */
    int64_t parent;
    int64_t order;                                 /* of entry into V, for line 24 */
    int64_t first_child, last_child, next_sibling; /* succ(v): the graph is a tree */
    int64_t *dom;                                  /* owned, ascending */
    int64_t dom_count, dom_capacity;
    uint32_t batch; /* from the parent; GS_EDGE_SPLIT */
    bool queued;    /* in L */
    bool discarded;
    uint8_t state;
} vertex_t;

typedef struct {
    int64_t vertex;
    int64_t delta;
    int64_t child; /* the next successor to propagate to */
} merge_t;

typedef struct {
    gs_graph_engine_t *engine;
    gs_env_t *env;
    const gs_graph_jobs_t *jobs;
    bool closed; /* A(t, t') contains what arrives at t */
    int64_t words;
    int64_t base[GS_MAX_TASKS]; /* number of task i's job 0 among all jobs */
    int64_t *due;               /* of every job */
    vertex_t *vertices;
    uint64_t *bits; /* per vertex: the sets ready and exe, one bit per job */
    int64_t *queue; /* L, between queue_head and queue_count */
    merge_t *merges;
    int64_t *scratch; /* vertices of one key, or vertices to discard */
    int64_t vertex_count, vertex_capacity, bits_capacity;
    int64_t queue_head, queue_count, queue_capacity;
    int64_t merge_capacity, scratch_capacity;
    int64_t entered;  /* counts entries into V, for `order` */
    gs_slots_t known; /* V by (ready, exe) */
    int64_t final;    /* the first vertex of S, -1 */
} paper_t;

static uint64_t *ready_of(const paper_t *self, int64_t v)
{
    return self->bits + v * 2 * self->words;
}

static uint64_t *exe_of(const paper_t *self, int64_t v)
{
    return ready_of(self, v) + self->words;
}

static bool has(const uint64_t *set, int64_t job)
{
    return (set[job / 64] >> (job % 64) & 1) != 0;
}

static void put(uint64_t *set, int64_t job)
{
    set[job / 64] |= UINT64_C(1) << (job % 64);
}

/* How many jobs of task i arrive in [0, t]. */
static int64_t arrived(const paper_t *self, int32_t i, int64_t t)
{
    int64_t count = t < 0 ? 0 : t / self->jobs->period[i] + 1;
    return count < self->jobs->jobs[i] ? count : self->jobs->jobs[i];
}

/* Adds A(from, to) to a set, or the arrivals of [from, to] when closed. */
static void add_arrivals(const paper_t *self, uint64_t *set, int64_t from, int64_t to, bool closed)
{
    for (int32_t i = 0; i < self->jobs->n; i++) {
        int64_t last = arrived(self, i, to);
        for (int64_t k = arrived(self, i, closed ? from - 1 : from); k < last; k++) {
            put(set, self->base[i] + k);
        }
    }
}

/* Is A(from, to) not empty? */
static bool arrives(const paper_t *self, int64_t from, int64_t to)
{
    for (int32_t i = 0; i < self->jobs->n; i++) {
        if (arrived(self, i, self->closed ? from - 1 : from) < arrived(self, i, to)) {
            return true;
        }
    }
    return false;
}

static bool is_empty(const paper_t *self, const uint64_t *set)
{
    for (int64_t w = 0; w < self->words; w++) {
        if (set[w] != 0) {
            return false;
        }
    }
    return true;
}

static uint64_t hash_key(const paper_t *self, int64_t v)
{
    uint64_t hash = 0;
    for (int64_t w = 0; w < 2 * self->words; w++) {
        hash = gs_slots_mix(hash, ready_of(self, v)[w]);
    }
    return hash;
}

/* dom(v) <- dom(v) + {delta}, ascending and without repetition. */
static int add_delta(paper_t *self, int64_t v, int64_t delta)
{
    vertex_t *vertex = &self->vertices[v];
    int64_t at = 0, last = vertex->dom_count;
    while (at < last) {
        int64_t middle = at + (last - at) / 2;
        if (vertex->dom[middle] < delta) {
            at = middle + 1;
        } else {
            last = middle;
        }
    }
    if (at < vertex->dom_count && vertex->dom[at] == delta) {
        return GS_OK;
    }
    int64_t *dom = gs_graph_room(self->env, vertex->dom, &vertex->dom_capacity, vertex->dom_count,
                                 sizeof *dom);
    if (dom == NULL) {
        return self->env->status;
    }
    vertex->dom = dom;
    memmove(dom + at + 1, dom + at, (size_t)(vertex->dom_count - at) * sizeof *dom);
    dom[at] = delta;
    vertex->dom_count++;
    return gs_poll(self->env, vertex->dom_count);
}

/* Makes a vertex that is not in the graph yet, with empty sets and the dom of `from` (-1: none).
 * The next call of create replaces it unless enter is called. */
static int create(paper_t *self, int64_t t, int64_t from, int64_t *v)
{
    int64_t limit = self->engine->options->states_limit;
    *v = -1;
    if (limit != 0 && self->vertex_count >= limit) {
        return GS_SPENT_STATES;
    }
    vertex_t *vertices = gs_graph_room(self->env, self->vertices, &self->vertex_capacity,
                                       self->vertex_count, sizeof *vertices);
    if (vertices == NULL) {
        return self->env->status;
    }
    self->vertices = vertices;
    uint64_t *bits = gs_graph_room(self->env, self->bits, &self->bits_capacity, self->vertex_count,
                                   2 * (size_t)self->words * sizeof *bits);
    if (bits == NULL) {
        return self->env->status;
    }
    self->bits = bits;
    *v = self->vertex_count++;
    self->vertices[*v] = (vertex_t){
        .t = t,
        .parent = -1,
        .first_child = -1,
        .last_child = -1,
        .next_sibling = -1,
    };
    memset(ready_of(self, *v), 0, 2 * (size_t)self->words * sizeof *bits);
    if (from >= 0 && self->vertices[from].dom_count > 0) {
        int64_t count = self->vertices[from].dom_count;
        int64_t *dom = gs_alloc(self->env, (size_t)count, sizeof *dom);
        if (dom == NULL) {
            self->vertex_count--;
            return self->env->status;
        }
        memcpy(dom, self->vertices[from].dom, (size_t)count * sizeof *dom);
        self->vertices[*v].dom = dom;
        self->vertices[*v].dom_count = count;
        self->vertices[*v].dom_capacity = count;
        return gs_poll(self->env, count);
    }
    return GS_OK;
}

/* Takes back the vertex that was created last. */
static void drop(paper_t *self)
{
    self->vertex_count--;
    gs_free(self->env, self->vertices[self->vertex_count].dom);
    self->vertices[self->vertex_count].dom = NULL;
}

/* Puts v where line 24 finds it. */
static int index_vertex(paper_t *self, int64_t v)
{
    self->vertices[v].order = self->entered++;
    return self->engine->options->merge
               ? gs_slots_add(&self->known, self->env, hash_key(self, v), v)
               : GS_OK;
}

/* Adds the vertex that was created last to G, as successor of its parent. */
static int enter(paper_t *self, int64_t v, int64_t parent, uint32_t batch)
{
    vertex_t *vertex = &self->vertices[v];
    for (int64_t w = 0; w < self->words; w++) {
        vertex->depth += __builtin_popcountll(exe_of(self, v)[w]);
    }
    vertex->parent = parent;
    vertex->batch = batch;
    if (parent >= 0) {
        vertex_t *above = &self->vertices[parent];
        if (above->last_child < 0) {
            above->first_child = v;
        } else {
            self->vertices[above->last_child].next_sibling = v;
        }
        above->last_child = v;
    }
    int status = index_vertex(self, v);
    if (status == GS_OK) {
        status = gs_graph_count(self->engine, vertex->depth);
    }
    if (status == GS_OK && parent >= 0) {
        status = gs_graph_edge(self->engine, parent, v, batch);
    }
    return status;
}

/* Adds v to L. */
static int enqueue(paper_t *self, int64_t v)
{
    int64_t *queue = gs_graph_room(self->env, self->queue, &self->queue_capacity, self->queue_count,
                                   sizeof *queue);
    if (queue == NULL) {
        return self->env->status;
    }
    self->queue = queue;
    self->queue[self->queue_count++] = v;
    self->vertices[v].queued = true;
    return GS_OK;
}

/* Takes the next vertex out of L, -1 when it is empty. */
static int64_t dequeue(paper_t *self)
{
    while (self->queue_head < self->queue_count) {
        int64_t v = self->engine->options->lifo ? self->queue[--self->queue_count]
                                                : self->queue[self->queue_head++];
        if (self->vertices[v].queued) { /* not discarded meanwhile */
            self->vertices[v].queued = false;
            return v;
        }
    }
    return -1;
}

/* Algorithm 3, Split(v, delta). */
static int split(paper_t *self, int64_t v, int64_t delta)
{
    int64_t s;
    int64_t t = self->vertices[v].t;
    self->engine->result->splits++;
    int status = create(self, t + delta, v, &s); /* lines 2, 3, 6 */
    if (status != GS_OK) {
        return status;
    }
    memcpy(ready_of(self, s), ready_of(self, v), 2 * (size_t)self->words * sizeof(uint64_t));
    add_arrivals(self, ready_of(self, s), t, t + delta, self->closed); /* line 4 */
    status = enter(self, s, v, GS_EDGE_SPLIT);                         /* line 8 */
    return status == GS_OK ? enqueue(self, s) : status;                /* line 9 */
}

static int begin_merge(paper_t *self, int64_t depth, int64_t v, int64_t delta)
{
    merge_t *merges =
        gs_graph_room(self->env, self->merges, &self->merge_capacity, depth, sizeof *merges);
    if (merges == NULL) {
        return self->env->status;
    }
    self->merges = merges;
    self->merges[depth] = (merge_t){v, delta, self->vertices[v].first_child};
    return add_delta(self, v, delta); /* line 2 */
}

/* Algorithm 2, Merge(v, delta), its recursion on a stack of its own: a long hyperperiod must not
 * overflow the C stack. */
static int merge(paper_t *self, int64_t v, int64_t delta)
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
            if (arrives(self, self->vertices[k].t, self->vertices[k].t + delta)) { /* line 4 */
                status = split(self, k, delta);                                    /* line 5 */
            } else {
                status = begin_merge(self, ++depth, k, delta); /* line 7 */
            }
        }
        if (status == GS_OK) {
            status = gs_poll(self->env, self->jobs->n);
        }
    }
    return status;
}

static int push_scratch(paper_t *self, int64_t count, int64_t v)
{
    int64_t *scratch =
        gs_graph_room(self->env, self->scratch, &self->scratch_capacity, count, sizeof *scratch);
    if (scratch == NULL) {
        return self->env->status;
    }
    self->scratch = scratch;
    self->scratch[count] = v;
    return GS_OK;
}

/* Line 33: discard v and its successors in G and L. Uses scratch from `used` on. */
static int discard(paper_t *self, int64_t v, int64_t used)
{
    int64_t count = used;
    int status = push_scratch(self, count++, v);
    while (status == GS_OK && count > used) {
        int64_t w = self->scratch[--count];
        vertex_t *vertex = &self->vertices[w];
        if (vertex->discarded) {
            continue;
        }
        vertex->discarded = true;
        vertex->queued = false;
        for (int64_t k = vertex->first_child; status == GS_OK && k >= 0;
             k = self->vertices[k].next_sibling) {
            status = push_scratch(self, count++, k);
        }
        if (status == GS_OK) {
            status = gs_poll(self->env, 1);
        }
    }
    return status;
}

/* The vertices of V with the ready and executed jobs of s, in order of entry, into scratch. */
static int find_equals(paper_t *self, int64_t s, int64_t *count)
{
    uint64_t hash = hash_key(self, s);
    size_t size = 2 * (size_t)self->words * sizeof(uint64_t);
    int64_t cursor = 0, v;
    *count = 0;
    while ((v = gs_slots_next(&self->known, hash, &cursor)) >= 0) {
        if (self->vertices[v].discarded ||
            memcmp(ready_of(self, v), ready_of(self, s), size) != 0) {
            continue;
        }
        int status = push_scratch(self, *count, v);
        if (status != GS_OK) {
            return status;
        }
        int64_t at = (*count)++;
        for (; at > 0 && self->vertices[self->scratch[at - 1]].order > self->vertices[v].order;
             at--) {
            self->scratch[at] = self->scratch[at - 1];
        }
        self->scratch[at] = v;
    }
    return gs_poll(self->env, cursor * self->words);
}

/* Lines 23 to 44 for s, the vertex created last, which batch reached from v. */
static int consider(paper_t *self, int64_t v, uint32_t batch, int64_t s)
{
    int64_t count = 0;
    int64_t t = self->vertices[s].t;
    int status = self->engine->options->merge ? find_equals(self, s, &count) : GS_OK;
    for (int64_t e = 0; status == GS_OK && e < count; e++) { /* line 24 */
        int64_t j = self->scratch[e];
        int64_t ahead = t - self->vertices[j].t;
        self->engine->result->merged++;
        if (ahead >= 0) { /* line 25 */
            drop(self);
            return merge(self, j, ahead); /* lines 26-29 */
        }
        status = add_delta(self, s, -ahead); /* lines 31, 32: s has no successors */
        if (status == GS_OK) {
            status = discard(self, j, count); /* line 33 */
        }
    }
    if (status == GS_OK) {
        status = enter(self, s, v, batch); /* line 38 */
    }
    if (status == GS_OK && t < self->jobs->hyperperiod) {
        return enqueue(self, s); /* line 40 */
    }
    if (status == GS_OK) { /* line 42 */
        self->vertices[s].state = GS_VERTEX_SUCCESS;
        self->final = self->final < 0 ? s : self->final;
    }
    return status;
}

/* Line 22: does a frame from start to end miss a deadline? oldest: per task, the job it runs. */
static bool misses(const paper_t *self, int64_t v, uint32_t batch, const int64_t *oldest,
                   int64_t start, int64_t end)
{
    const uint64_t *ready = ready_of(self, v);
    for (int32_t i = 0; i < self->jobs->n; i++) {
        bool runs = (batch >> i & 1) != 0;
        if (runs && self->due[oldest[i]] < end) {
            return true;
        }
        int64_t last = self->base[i] + self->jobs->jobs[i];
        for (int64_t job = oldest[i]; job >= 0 && job < last && self->due[job] <= end; job++) {
            if (has(ready, job) && !(runs && job == oldest[i]) && start <= self->due[job]) {
                return true;
            }
        }
    }
    return false;
}

/* Algorithm 4; *done when no job arrives any more. */
static int fast_forward(paper_t *self, int64_t v, bool *done)
{
    vertex_t *vertex = &self->vertices[v];
    int64_t released[GS_MAX_TASKS];
    gs_graph_jobs_released(self->jobs, vertex->t, released);
    int64_t next = gs_graph_jobs_next(self->jobs, released); /* line 2 */
    *done = next == GS_NEVER;
    if (*done) {
        return GS_OK;
    }
    vertex->dom_count = 0;                                   /* line 3 */
    vertex->t = next;                                        /* line 4 */
    add_arrivals(self, ready_of(self, v), next, next, true); /* line 5 */
    return index_vertex(self, v);
}

/* The first ready job of each task at v, -1 when there is none. */
static void find_oldest(const paper_t *self, int64_t v, int64_t *oldest)
{
    const uint64_t *set = ready_of(self, v);
    for (int32_t i = 0; i < self->jobs->n; i++) {
        int64_t last = self->base[i] + arrived(self, i, self->vertices[v].t);
        oldest[i] = -1;
        for (int64_t job = self->base[i]; job < last && oldest[i] < 0; job++) {
            oldest[i] = has(set, job) ? job : -1;
        }
    }
}

/* Lines 16 to 45 for one batch. */
static int expand_batch(paper_t *self, int64_t v, uint32_t batch, const int64_t *oldest)
{
    int64_t start = self->vertices[v].t;
    int64_t end = start + self->engine->completion[batch]; /* line 18 */
    if (misses(self, v, batch, oldest, start, end)) {      /* line 22 */
        return GS_OK;
    }
    int64_t s;
    int status = create(self, end, v, &s); /* lines 17, 20 */
    if (status != GS_OK) {
        return status;
    }
    memcpy(ready_of(self, s), ready_of(self, v), 2 * (size_t)self->words * sizeof(uint64_t));
    for (int32_t i = 0; i < self->jobs->n; i++) {
        if ((batch >> i & 1) != 0) {
            ready_of(self, s)[oldest[i] / 64] &= ~(UINT64_C(1) << (oldest[i] % 64));
            put(exe_of(self, s), oldest[i]); /* line 19 */
        }
    }
    add_arrivals(self, ready_of(self, s), start, end, self->closed);
    return consider(self, v, batch, s);
}

/* Algorithm 1, lines 6 to 46. */
static int expand(paper_t *self, int64_t v)
{
    for (int64_t d = 0; d < self->vertices[v].dom_count;) { /* line 6 */
        vertex_t *vertex = &self->vertices[v];
        int64_t delta = vertex->dom[d];
        if (!arrives(self, vertex->t, vertex->t + delta)) { /* line 7 */
            int status = gs_poll(self->env, self->jobs->n);
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
    self->vertices[v].state = GS_VERTEX_EXPANDED;
    if (is_empty(self, ready_of(self, v))) { /* line 12 */
        bool done;
        int status = fast_forward(self, v, &done);
        if (status != GS_OK) {
            return status;
        }
        if (done) {
            self->vertices[v].state = GS_VERTEX_SUCCESS;
            self->final = self->final < 0 ? v : self->final;
            return GS_OK;
        }
    }
    int64_t oldest[GS_MAX_TASKS];
    find_oldest(self, v, oldest);
    uint32_t ready = 0;
    for (int32_t i = 0; i < self->jobs->n; i++) {
        ready |= (oldest[i] >= 0 ? UINT32_C(1) : 0) << i;
    }
    /* Line 15: the subsets of the ready tasks in ascending order. */
    for (uint32_t batch = (0 - ready) & ready; batch != 0; batch = (batch - ready) & ready) {
        int status = gs_poll(self->env, self->words * 64);
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

static int list_jobs(paper_t *self)
{
    int64_t total = 0;
    for (int32_t i = 0; i < self->jobs->n; i++) {
        self->base[i] = total;
        if (!gs_add(total, self->jobs->jobs[i], &total)) {
            return gs_fail(self->env, GS_ERR_OVERFLOW, "period", i, self->jobs->period[i],
                           "has too many jobs in a hyperperiod");
        }
    }
    self->words = (total + 63) / 64;
    self->due = gs_alloc(self->env, (size_t)total, sizeof *self->due);
    if (self->due == NULL) {
        return self->env->status;
    }
    for (int32_t i = 0; i < self->jobs->n; i++) {
        for (int64_t k = 0; k < self->jobs->jobs[i]; k++) {
            self->due[self->base[i] + k] = gs_graph_jobs_due(self->jobs, i, k);
            int status = gs_poll(self->env, 1);
            if (status != GS_OK) {
                return status;
            }
        }
    }
    return GS_OK;
}

/* Algorithm 1. */
static int explore(paper_t *self)
{
    int64_t v;
    int64_t limit = self->engine->options->depth_limit;
    int status = list_jobs(self);
    if (status == GS_OK) {
        status = create(self, 0, -1, &v); /* line 2 */
    }
    if (status == GS_OK) {
        add_arrivals(self, ready_of(self, v), 0, 0, true);
        status = enter(self, v, -1, 0); /* line 3 */
    }
    if (status == GS_OK) {
        status = enqueue(self, v);
    }
    while (status == GS_OK && (v = dequeue(self)) >= 0) { /* lines 4, 5 */
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

/* The frames on the way to the first vertex of S. Below a split vertex the GPU idles its delta. */
static int read_schedule(paper_t *self)
{
    gs_schedule_t *schedule = &self->engine->result->schedule;
    for (int64_t v = self->final; self->vertices[v].parent >= 0; v = self->vertices[v].parent) {
        uint32_t batch = self->vertices[v].batch;
        if (batch != GS_EDGE_SPLIT) {
            int64_t start = self->vertices[self->vertices[v].parent].t;
            int status = gs_schedule_append(schedule, self->env, start,
                                            start + self->engine->completion[batch], batch);
            if (status != GS_OK) {
                return status;
            }
        }
    }
    gs_graph_reverse(schedule);
    return GS_OK;
}

static int keep_graph(paper_t *self)
{
    gs_env_t *env = self->env;
    gs_graph_t *graph = &self->engine->result->graph;
    /* A vertex that was created when a budget ended may not have entered the graph. */
    size_t n = (size_t)self->jobs->n, vertices = (size_t)self->engine->result->vertices;
    if ((graph->executed = gs_alloc(env, vertices * n, sizeof *graph->executed)) == NULL ||
        (graph->ready = gs_alloc(env, vertices * n, sizeof *graph->ready)) == NULL ||
        (graph->state = gs_alloc(env, vertices, sizeof *graph->state)) == NULL ||
        (graph->first = gs_alloc(env, vertices + 1, sizeof *graph->first)) == NULL ||
        (graph->point = gs_alloc(env, vertices, sizeof *graph->point)) == NULL) {
        return env->status;
    }
    for (int64_t v = 0; v < (int64_t)vertices; v++) {
        const vertex_t *vertex = &self->vertices[v];
        for (int32_t i = 0; i < self->jobs->n; i++) {
            for (int64_t k = 0; k < self->jobs->jobs[i]; k++) {
                int64_t job = self->base[i] + k;
                graph->executed[(size_t)v * n + (size_t)i] += has(exe_of(self, v), job) ? 1 : 0;
                graph->ready[(size_t)v * n + (size_t)i] += has(ready_of(self, v), job) ? 1 : 0;
            }
        }
        graph->state[v] = vertex->discarded ? GS_VERTEX_DISCARDED : vertex->state;
        graph->first[v] = v;
        graph->point[v] = (gs_graph_point_t){vertex->t, vertex->parent, vertex->batch};
    }
    graph->first[vertices] = (int64_t)vertices;
    graph->vertices = (int64_t)vertices;
    graph->points = (int64_t)vertices;
    return GS_OK;
}

int gs_graph_paper(gs_graph_engine_t *engine)
{
    paper_t self = {
        .engine = engine,
        .env = engine->env,
        .jobs = &engine->jobs,
        .closed = engine->options->variant == GS_GRAPH_PRINTED,
        .final = -1,
    };
    gs_slots_init(&self.known);
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
    for (int64_t v = 0; v < self.vertex_count; v++) {
        gs_free(self.env, self.vertices[v].dom);
    }
    gs_free(self.env, self.due);
    gs_free(self.env, self.vertices);
    gs_free(self.env, self.bits);
    gs_free(self.env, self.queue);
    gs_free(self.env, self.merges);
    gs_free(self.env, self.scratch);
    gs_slots_free(&self.known, self.env);
    return status;
}
