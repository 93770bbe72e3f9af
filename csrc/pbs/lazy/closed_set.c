/* Collection of the dead instants that a proof needs.
 *
 * Moves lead to later intervals, or to smaller classes of the same one. In this order all that is
 * needed of a class is known before its own moves are followed, so of each span only the part
 * between the first and the last needed instant is taken, and of what is after a latest start only
 * what is after the first one. Where classes have too many numbers for this order, an item grows
 * when more of it is needed, and the moves of the new part are followed.
 */
#include "pbs/lazy/lazy.h"

#include "core/heap.h"
#include "core/vector.h"

#include <stdlib.h>
#include <string.h>

/* A class that was met; it is part of the proof if something of it is needed. */
typedef struct {
    int64_t k, class_index;
    int64_t bound;  /* dead after it by deadlines and prices */
    int64_t latest; /* INT64_MAX: only spans count */
    int64_t spans;
} class_t;

/* Needed part of a dead span of a class, or (last = INT64_MAX) of all after its latest start. */
typedef struct {
    int64_t entry;
    int64_t begin; /* of the dead span in the store */
    gs_pbs_span_t span;
    gs_pbs_span_t followed; /* the part whose moves are known to be dead */
    bool queued;
} item_t;

typedef struct {
    gs_pbs_lazy_engine_t *engine;
    gs_context_t *ctx;
    const gs_pbs_problem_t *problem;
    bool complete; /* everything needed so far is known to be dead */
    class_t *classes;
    int64_t count, capacity;
    item_t *items; /* in the order of discovery */
    int64_t item_count, item_capacity;
    bool ranked;           /* intervals times classes are below GS_NEVER */
    gs_heap_t queue;       /* of items, in the order in which moves lead */
    gs_hash_index_t index; /* of classes */
    gs_hash_index_t item_index;
} collection_t;

static int entry_of(collection_t *self, int64_t k, int64_t class_index, int64_t *entry)
{
    uint64_t hash = gs_hash_index_mix((uint64_t)k, (uint64_t)class_index);
    int64_t cursor = 0;
    while ((*entry = gs_hash_index_next(&self->index, hash, &cursor)) >= 0) {
        if (self->classes[*entry].k == k && self->classes[*entry].class_index == class_index) {
            return GS_OK;
        }
    }
    class_t *classes = gs_vector_reserve(self->ctx, self->classes, &self->capacity, self->count + 1,
                                         sizeof *classes);
    if (classes == NULL) {
        return self->ctx->status;
    }
    self->classes = classes;
    *entry = self->count;
    int64_t bound = self->problem->start[k + 1] - 1;
    if (class_index != 0) {
        bound = gs_pbs_lazy_store_bound(&self->engine->store, k, class_index);
    }
    classes[self->count++] = (class_t){k, class_index, bound, INT64_MAX, 0};
    return gs_hash_index_add(&self->index, self->ctx, hash, *entry);
}

static bool is_latest(const item_t *item)
{
    return item->span.last == INT64_MAX;
}

static int enqueue(collection_t *self, int64_t id)
{
    const class_t *class = &self->classes[self->items[id].entry];
    const gs_pbs_problem_t *p = self->problem;
    int64_t rank = self->ranked ? (class->k + 1) * p->classes - class->class_index : class->k;
    self->items[id].queued = true;
    return gs_heap_push(&self->queue, self->ctx, rank, id);
}

/* Needs first..last of the dead span of a class that begins at an instant, or with last =
 * INT64_MAX of what is after its latest start. */
static int need(collection_t *self, int64_t entry, int64_t begin, int64_t first, int64_t last)
{
    int64_t cursor = 0, id;
    uint64_t hash = gs_hash_index_mix((uint64_t)entry, (uint64_t)begin ^ (uint64_t)(last >> 62));
    while ((id = gs_hash_index_next(&self->item_index, hash, &cursor)) >= 0) {
        item_t *item = &self->items[id];
        if (item->entry == entry && item->begin == begin &&
            is_latest(item) == (last == INT64_MAX)) {
            bool longer = first < item->span.first || last > item->span.last;
            item->span.first = first < item->span.first ? first : item->span.first;
            item->span.last = last > item->span.last ? last : item->span.last;
            if (is_latest(item)) {
                self->classes[entry].latest = item->span.first - 1;
            }
            return longer && !item->queued ? enqueue(self, id) : GS_OK;
        }
    }
    item_t *items = gs_vector_reserve(self->ctx, self->items, &self->item_capacity,
                                      self->item_count + 1, sizeof *items);
    if (items == NULL) {
        return self->ctx->status;
    }
    self->items = items;
    id = self->item_count++;
    items[id] = (item_t){entry, begin, {first, last}, {0, -1}, false};
    if (last == INT64_MAX) {
        self->classes[entry].latest = first - 1;
    } else {
        self->classes[entry].spans++;
    }
    int status = gs_hash_index_add(&self->item_index, self->ctx, hash, id);
    status = status == GS_OK ? gs_count_states(self->ctx, 1) : status;
    return status == GS_OK ? enqueue(self, id) : status;
}

/* Adds what is needed for first..last of a class to be dead. spans: without inserted idle time. */
static int need_dead(collection_t *self, int64_t k, int64_t class_index, int64_t first,
                     int64_t last, bool spans)
{
    gs_pbs_lazy_view_t view;
    int64_t entry;
    int status = entry_of(self, k, class_index, &entry);
    if (status != GS_OK) {
        return status;
    }
    int64_t bound = self->classes[entry].bound, known = self->classes[entry].latest;
    last = last < bound ? last : bound; /* the prices show the rest */
    last = last < known ? last : known; /* as does what is needed already */
    if (first > last) {
        return GS_OK;
    }
    status = gs_pbs_lazy_store_view(&self->engine->store, self->ctx, k, class_index, spans, &view);
    if (status != GS_OK) {
        return status;
    }
    int64_t latest = view.latest < view.first ? view.first - 1 : view.latest;
    for (int64_t at = first; at <= last && status == GS_OK;) {
        if (at > latest) {
            bool by_spans = class_index == 0 && spans;
            return need(self, entry, latest + 1, at, by_spans ? last : INT64_MAX);
        }
        int64_t until = gs_pbs_lazy_view_dead_until(&view, at);
        if (until < at) {
            self->complete = false;
            return GS_OK;
        }
        until = until < latest ? until : latest;
        until = until < last ? until : last;
        status = need(self, entry, gs_pbs_lazy_view_dead_from(&view, at), at, until);
        at = until + 1;
    }
    return status;
}

/* Adds what the moves of some instants of an item lead to. */
static int follow(collection_t *self, const item_t *item, int64_t first, int64_t last)
{
    gs_pbs_lazy_engine_t *engine = self->engine;
    const gs_pbs_problem_t *p = self->problem;
    int64_t k = self->classes[item->entry].k, c = self->classes[item->entry].class_index;
    bool spans = !is_latest(item);
    int64_t work = 1;
    if (c == 0) {
        return need_dead(self, k + 1, p->arrived[k + 1] - p->arrived[k], p->start[k + 1],
                         p->start[k + 1], spans);
    }
    gs_pbs_lazy_class_t facts;
    gs_pbs_lazy_moves_class(&engine->moves, k, c, &facts);
    int64_t bound = self->classes[item->entry].bound;
    last = last < bound ? last : bound;
    if (last < first) {
        return GS_OK;
    }
    int status = GS_OK;
    if (!spans && gs_pbs_lazy_moves_waits(&engine->moves, &facts)) {
        status = need_dead(self, k + 1, c + p->arrived[k + 1] - p->arrived[k], p->start[k + 1],
                           p->start[k + 1], false);
    }
    for (uint32_t batch = facts.pending; batch != 0 && status == GS_OK && self->complete;
         batch = (batch - 1) & facts.pending) {
        int64_t time = p->completion[batch], to = k;
        work++;
        if (time == 0) {
            continue;
        }
        int64_t limit = (facts.urgent & ~batch) != 0 ? facts.due - 1 : facts.due;
        limit = facts.absent < limit ? facts.absent : limit;
        int64_t from = first + time, end = last + time < limit ? last + time : limit;
        int64_t rest = c - gs_pbs_lazy_moves_step(&engine->moves, batch) - p->arrived[k];
        while (p->start[to + 1] <= from) {
            to++;
        }
        for (; from <= end && status == GS_OK; to++) {
            int64_t upper = p->start[to + 1] - 1 < end ? p->start[to + 1] - 1 : end;
            status = need_dead(self, to, rest + p->arrived[to], from, upper, spans);
            from = upper + 1;
            work += 50;
        }
    }
    return status == GS_OK ? gs_poll(self->ctx, work) : status;
}

/* Follows what the next item holds beyond what was followed. */
static int follow_next(collection_t *self)
{
    int64_t id = self->queue.entry[0].item;
    gs_heap_pop(&self->queue);
    item_t item = self->items[id];
    self->items[id].queued = false;
    self->items[id].followed = item.span;
    if (item.followed.last < item.followed.first) {
        return follow(self, &item, item.span.first, item.span.last);
    }
    int status = GS_OK;
    if (item.span.first < item.followed.first) {
        status = follow(self, &item, item.span.first, item.followed.first - 1);
    }
    if (status == GS_OK && item.span.last > item.followed.last) {
        status = follow(self, &item, item.followed.last + 1, item.span.last);
    }
    return status;
}

static int compare(const void *a, const void *b)
{
    const item_t *x = a, *y = b;
    if (x->entry != y->entry) {
        return x->entry < y->entry ? -1 : 1;
    }
    return (x->span.first > y->span.first) - (x->span.first < y->span.first);
}

/* Allocates the arrays of a proof. */
static int allocate(gs_pbs_refutation_t *proof, gs_context_t *ctx, const gs_pbs_windows_t *windows,
                    int64_t entries, int64_t spans)
{
    size_t n = (size_t)proof->n, e = (size_t)entries;
    size_t w = windows == NULL ? 0 : (size_t)windows->count;
    proof->deadline = gs_alloc(ctx, w, sizeof *proof->deadline);
    proof->price = gs_alloc(ctx, w * n, sizeof *proof->price);
    proof->start = gs_alloc(ctx, e, sizeof *proof->start);
    proof->pending = gs_alloc(ctx, e * n, sizeof *proof->pending);
    proof->latest = gs_alloc(ctx, e, sizeof *proof->latest);
    proof->span_begin = gs_alloc(ctx, e + 1, sizeof *proof->span_begin);
    proof->spans = gs_alloc(ctx, (size_t)spans, sizeof *proof->spans);
    bool fine = proof->deadline != NULL && proof->price != NULL && proof->start != NULL &&
                proof->pending != NULL && proof->latest != NULL && proof->span_begin != NULL &&
                proof->spans != NULL;
    return fine ? GS_OK : ctx->status;
}

static bool is_needed(const class_t *self)
{
    return self->latest != INT64_MAX || self->spans > 0;
}

static int write_proof(collection_t *self, gs_pbs_refutation_t *proof)
{
    const gs_pbs_problem_t *p = self->problem;
    const gs_pbs_windows_t *windows = self->engine->store.windows;
    int64_t spans = 0, entries = 0, span = 0, item = 0;
    for (int64_t e = 0; e < self->count; e++) {
        spans += self->classes[e].spans;
        entries += is_needed(&self->classes[e]);
    }
    proof->n = p->n;
    int status = allocate(proof, self->ctx, windows, entries, spans);
    if (status != GS_OK) {
        return status;
    }
    proof->kind = GS_PBS_REFUTATION_CLOSED;
    proof->windows = windows == NULL ? 0 : windows->count;
    proof->scale = windows == NULL ? 1 : windows->scale;
    if (proof->windows > 0) {
        size_t count = (size_t)proof->windows;
        memcpy(proof->deadline, windows->deadline, count * sizeof *proof->deadline);
        memcpy(proof->price, windows->price, count * (size_t)p->n * sizeof *proof->price);
    }
    if (self->item_count > 0) {
        qsort(self->items, (size_t)self->item_count, sizeof *self->items, compare);
    }
    for (int64_t e = 0; e < self->count; e++) {
        const class_t *c = &self->classes[e];
        if (!is_needed(c)) {
            continue;
        }
        int64_t entry = proof->entries++;
        proof->start[entry] = p->start[c->k];
        proof->latest[entry] = c->latest;
        for (int32_t i = 0; i < p->n; i++) {
            proof->pending[entry * p->n + i] = c->class_index / p->stride[i] % p->radix[i];
        }
        proof->span_begin[entry] = span;
        for (; item < self->item_count && self->items[item].entry == e; item++) {
            if (!is_latest(&self->items[item])) {
                proof->spans[span++] = self->items[item].span;
            }
        }
    }
    proof->span_begin[entries] = span;
    proof->span_count = span;
    return GS_OK;
}

int gs_pbs_lazy_closed_set(gs_pbs_lazy_engine_t *engine, bool idling, gs_pbs_refutation_t *proof)
{
    const gs_pbs_problem_t *p = engine->moves.problem;
    collection_t self = {.engine = engine, .ctx = engine->ctx, .problem = p, .complete = true};
    gs_hash_index_init(&self.index);
    gs_hash_index_init(&self.item_index);
    int64_t ranks;
    self.ranked = gs_mul(p->intervals, p->classes, &ranks) && ranks < GS_NEVER;
    int status = need_dead(&self, 0, p->arrived[0], 0, 0, !idling);
    while (status == GS_OK && self.complete && self.queue.count > 0) {
        status = follow_next(&self);
    }
    if (status == GS_OK && self.complete) {
        status = write_proof(&self, proof);
    }
    gs_free(self.ctx, self.classes);
    gs_free(self.ctx, self.items);
    gs_heap_free(&self.queue, self.ctx);
    gs_hash_index_free(&self.index, self.ctx);
    gs_hash_index_free(&self.item_index, self.ctx);
    return status;
}
