/* Vertices of the listing of [RTNS24]: creation, entry into G, V and L, lookup and removal. */
#include "pbs/graph/graph_paper_vertices.h"

#include <string.h>

#include "core/vector.h"

int gs_pbs_graph_paper_init(gs_pbs_graph_paper_t *self)
{
    int64_t total = 0;
    self->final = -1;
    gs_hash_index_init(&self->known);
    for (int32_t i = 0; i < self->jobs->n; i++) {
        self->base[i] = total;
        if (!gs_add(total, self->jobs->jobs[i], &total)) {
            return gs_fail(self->ctx, GS_ERR_OVERFLOW, "period", i, self->jobs->period[i],
                           "a period that keeps the jobs of the hyperperiod below 2**63");
        }
    }
    self->words = (total + 63) / 64;
    self->due = gs_alloc(self->ctx, (size_t)total, sizeof *self->due);
    if (self->due == NULL) {
        return self->ctx->status;
    }
    for (int32_t i = 0; i < self->jobs->n; i++) {
        for (int64_t k = 0; k < self->jobs->jobs[i]; k++) {
            self->due[self->base[i] + k] = gs_pbs_graph_jobs_due(self->jobs, i, k);
            int status = gs_poll(self->ctx, 1);
            if (status != GS_OK) {
                return status;
            }
        }
    }
    return GS_OK;
}

void gs_pbs_graph_paper_free(gs_pbs_graph_paper_t *self)
{
    for (int64_t v = 0; v < self->vertex_count; v++) {
        gs_free(self->ctx, self->vertices[v].dom);
    }
    gs_free(self->ctx, self->due);
    gs_free(self->ctx, self->vertices);
    gs_free(self->ctx, self->bits);
    gs_free(self->ctx, self->queue);
    gs_free(self->ctx, self->merges);
    gs_free(self->ctx, self->scratch);
    gs_hash_index_free(&self->known, self->ctx);
}

int64_t gs_pbs_graph_paper_arrived(const gs_pbs_graph_paper_t *self, int32_t i, int64_t t)
{
    int64_t count = t < 0 ? 0 : t / self->jobs->period[i] + 1;
    return count < self->jobs->jobs[i] ? count : self->jobs->jobs[i];
}

void gs_pbs_graph_paper_add_arrivals(const gs_pbs_graph_paper_t *self, uint64_t *set, int64_t from,
                                     int64_t to, bool closed)
{
    for (int32_t i = 0; i < self->jobs->n; i++) {
        int64_t last = gs_pbs_graph_paper_arrived(self, i, to);
        for (int64_t k = gs_pbs_graph_paper_arrived(self, i, closed ? from - 1 : from); k < last;
             k++) {
            gs_pbs_graph_paper_put(set, self->base[i] + k);
        }
    }
}

bool gs_pbs_graph_paper_arrives(const gs_pbs_graph_paper_t *self, int64_t from, int64_t to)
{
    for (int32_t i = 0; i < self->jobs->n; i++) {
        if (gs_pbs_graph_paper_arrived(self, i, self->closed ? from - 1 : from) <
            gs_pbs_graph_paper_arrived(self, i, to)) {
            return true;
        }
    }
    return false;
}

static uint64_t hash_key(const gs_pbs_graph_paper_t *self, int64_t v)
{
    uint64_t hash = 0;
    for (int64_t w = 0; w < 2 * self->words; w++) {
        hash = gs_hash_index_mix(hash, gs_pbs_graph_paper_ready(self, v)[w]);
    }
    return hash;
}

int gs_pbs_graph_paper_add_delta(gs_pbs_graph_paper_t *self, int64_t v, int64_t delta)
{
    gs_pbs_graph_paper_vertex_t *vertex = &self->vertices[v];
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
    int64_t *dom = gs_vector_reserve(self->ctx, vertex->dom, &vertex->dom_capacity,
                                     vertex->dom_count + 1, sizeof *dom);
    if (dom == NULL) {
        return self->ctx->status;
    }
    vertex->dom = dom;
    memmove(dom + at + 1, dom + at, (size_t)(vertex->dom_count - at) * sizeof *dom);
    dom[at] = delta;
    vertex->dom_count++;
    return gs_poll(self->ctx, vertex->dom_count);
}

int gs_pbs_graph_paper_create(gs_pbs_graph_paper_t *self, int64_t t, int64_t from, int64_t *v)
{
    int64_t limit = self->engine->options->states_limit;
    *v = -1;
    if (limit != 0 && self->vertex_count >= limit) {
        return GS_SPENT_STATES;
    }
    gs_pbs_graph_paper_vertex_t *vertices =
        gs_vector_reserve(self->ctx, self->vertices, &self->vertex_capacity, self->vertex_count + 1,
                          sizeof *vertices);
    if (vertices == NULL) {
        return self->ctx->status;
    }
    self->vertices = vertices;
    uint64_t *bits =
        gs_vector_reserve(self->ctx, self->bits, &self->bits_capacity, self->vertex_count + 1,
                          2 * (size_t)self->words * sizeof *bits);
    if (bits == NULL) {
        return self->ctx->status;
    }
    self->bits = bits;
    *v = self->vertex_count++;
    self->vertices[*v] = (gs_pbs_graph_paper_vertex_t){
        .t = t,
        .parent = -1,
        .first_child = -1,
        .last_child = -1,
        .next_sibling = -1,
    };
    memset(gs_pbs_graph_paper_ready(self, *v), 0, 2 * (size_t)self->words * sizeof *bits);
    if (from >= 0 && self->vertices[from].dom_count > 0) {
        int64_t count = self->vertices[from].dom_count;
        int64_t *dom = gs_alloc(self->ctx, (size_t)count, sizeof *dom);
        if (dom == NULL) {
            self->vertex_count--;
            return self->ctx->status;
        }
        memcpy(dom, self->vertices[from].dom, (size_t)count * sizeof *dom);
        self->vertices[*v].dom = dom;
        self->vertices[*v].dom_count = count;
        self->vertices[*v].dom_capacity = count;
        return gs_poll(self->ctx, count);
    }
    return GS_OK;
}

void gs_pbs_graph_paper_drop(gs_pbs_graph_paper_t *self)
{
    self->vertex_count--;
    gs_free(self->ctx, self->vertices[self->vertex_count].dom);
    self->vertices[self->vertex_count].dom = NULL;
}

int gs_pbs_graph_paper_index(gs_pbs_graph_paper_t *self, int64_t v)
{
    return self->engine->options->merge
               ? gs_hash_index_add(&self->known, self->ctx, hash_key(self, v), v)
               : GS_OK;
}

int gs_pbs_graph_paper_enter(gs_pbs_graph_paper_t *self, int64_t v, int64_t parent, uint32_t batch)
{
    gs_pbs_graph_paper_vertex_t *vertex = &self->vertices[v];
    for (int64_t w = 0; w < self->words; w++) {
        vertex->depth += __builtin_popcountll(gs_pbs_graph_paper_exe(self, v)[w]);
    }
    vertex->parent = parent;
    vertex->batch = batch;
    if (parent >= 0) {
        gs_pbs_graph_paper_vertex_t *above = &self->vertices[parent];
        if (above->last_child < 0) {
            above->first_child = v;
        } else {
            self->vertices[above->last_child].next_sibling = v;
        }
        above->last_child = v;
    }
    int status = gs_pbs_graph_paper_index(self, v);
    if (status == GS_OK) {
        status = gs_pbs_graph_count(self->engine, vertex->depth);
    }
    if (status == GS_OK && parent >= 0) {
        status = gs_pbs_graph_edge(self->engine, parent, v, batch);
    }
    return status;
}

int gs_pbs_graph_paper_enqueue(gs_pbs_graph_paper_t *self, int64_t v)
{
    int64_t *queue = gs_vector_reserve(self->ctx, self->queue, &self->queue_capacity,
                                       self->queue_count + 1, sizeof *queue);
    if (queue == NULL) {
        return self->ctx->status;
    }
    self->queue = queue;
    self->queue[self->queue_count++] = v;
    self->vertices[v].queued = true;
    return GS_OK;
}

int64_t gs_pbs_graph_paper_dequeue(gs_pbs_graph_paper_t *self)
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

static int push_scratch(gs_pbs_graph_paper_t *self, int64_t count, int64_t v)
{
    int64_t *scratch = gs_vector_reserve(self->ctx, self->scratch, &self->scratch_capacity,
                                         count + 1, sizeof *scratch);
    if (scratch == NULL) {
        return self->ctx->status;
    }
    self->scratch = scratch;
    self->scratch[count] = v;
    return GS_OK;
}

int gs_pbs_graph_paper_discard(gs_pbs_graph_paper_t *self, int64_t v, int64_t used)
{
    int64_t count = used;
    int status = push_scratch(self, count++, v);
    while (status == GS_OK && count > used) {
        int64_t w = self->scratch[--count];
        gs_pbs_graph_paper_vertex_t *vertex = &self->vertices[w];
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
            status = gs_poll(self->ctx, 1);
        }
    }
    return status;
}

int gs_pbs_graph_paper_equals(gs_pbs_graph_paper_t *self, int64_t s, int64_t *count)
{
    uint64_t hash = hash_key(self, s);
    size_t size = 2 * (size_t)self->words * sizeof(uint64_t);
    int64_t cursor = 0, v;
    *count = 0;
    while ((v = gs_hash_index_next(&self->known, hash, &cursor)) >= 0) {
        if (self->vertices[v].discarded || memcmp(gs_pbs_graph_paper_ready(self, v),
                                                  gs_pbs_graph_paper_ready(self, s), size) != 0) {
            continue;
        }
        int status = push_scratch(self, *count, v);
        if (status != GS_OK) {
            return status;
        }
        ++*count;
    }
    return gs_poll(self->ctx, cursor * self->words);
}
