/* Store of classes, with their dead spans, in a hash index. */
#include "pbs/lazy/lazy.h"

#include "core/vector.h"
#include "pbs/feasible_internal.h"

#include <string.h>

void gs_pbs_lazy_store_init(gs_pbs_lazy_store_t *self, const gs_pbs_problem_t *problem,
                            const gs_pbs_windows_t *windows, const gs_pbs_latest_start_t *bound,
                            const gs_pbs_feasible_t *outer)
{
    *self = (gs_pbs_lazy_store_t){
        .problem = problem, .windows = windows, .bound = bound, .outer = outer};
    gs_hash_index_init(&self->index);
}

void gs_pbs_lazy_store_free(gs_pbs_lazy_store_t *self, gs_context_t *ctx)
{
    for (int64_t i = 0; i < self->count; i++) {
        gs_free(ctx, self->entries[i].dead);
    }
    gs_free(ctx, self->entries);
    gs_hash_index_free(&self->index, ctx);
    self->entries = NULL;
    self->count = self->capacity = 0;
}

static int64_t find(const gs_pbs_lazy_store_t *self, int64_t k, int64_t class_index, uint64_t hash)
{
    int64_t cursor = 0, id;
    while ((id = gs_hash_index_next(&self->index, hash, &cursor)) >= 0) {
        if (self->entries[id].k == k && self->entries[id].class_index == class_index) {
            return id;
        }
    }
    return -1;
}

static uint64_t hash_of(int64_t k, int64_t class_index)
{
    return gs_hash_index_mix((uint64_t)k, (uint64_t)class_index);
}

int64_t gs_pbs_lazy_store_bound(const gs_pbs_lazy_store_t *self, int64_t k, int64_t class_index)
{
    const gs_pbs_problem_t *p = self->problem;
    int64_t latest = p->start[k + 1] - 1;
    for (uint32_t rest = gs_pbs_problem_pending(p, class_index); rest != 0; rest &= rest - 1) {
        int64_t d = gs_pbs_problem_deadline(p, k, class_index, __builtin_ctz(rest)) - 1;
        latest = d < latest ? d : latest;
    }
    if (self->windows != NULL && latest >= p->start[k]) {
        int64_t priced = gs_pbs_windows_latest(self->windows, k, class_index);
        latest = priced < latest ? priced : latest;
    }
    return latest;
}

int64_t gs_pbs_lazy_store_entry(gs_pbs_lazy_store_t *self, gs_context_t *ctx, int64_t k,
                                int64_t class_index)
{
    uint64_t hash = hash_of(k, class_index);
    int64_t id = find(self, k, class_index, hash);
    if (id >= 0) {
        return id;
    }
    if (self->count == self->capacity) {
        gs_pbs_lazy_entry_t *entries = gs_vector_reserve(ctx, self->entries, &self->capacity,
                                                         self->count + 1, sizeof *entries);
        if (entries == NULL) {
            return -1;
        }
        self->entries = entries;
    }
    int status = gs_hash_index_add(&self->index, ctx, hash, self->count);
    if (status != GS_OK) {
        ctx->status = status;
        return -1;
    }
    gs_pbs_lazy_entry_t *entry = &self->entries[self->count];
    int64_t first = self->problem->start[k], bound = gs_pbs_lazy_store_bound(self, k, class_index);
    *entry = (gs_pbs_lazy_entry_t){
        .k = k, .class_index = class_index, .low = first - 1, .latest = bound};
    if (self->bound != NULL) {
        int64_t latest = gs_pbs_latest_start_at(self->bound, k, class_index);
        entry->latest = latest < bound ? latest : bound;
        entry->low = entry->latest;
    }
    return self->count++;
}

int gs_pbs_lazy_store_add(gs_pbs_lazy_store_t *self, gs_context_t *ctx, int64_t id, int64_t first,
                          int64_t last)
{
    gs_pbs_lazy_entry_t *entry = &self->entries[id];
    int64_t from = gs_pbs_span_first_reaching(entry->dead, entry->count, first - 1), to = from;
    while (to < entry->count && entry->dead[to].first <= last + 1) {
        first = entry->dead[to].first < first ? entry->dead[to].first : first;
        last = entry->dead[to].last > last ? entry->dead[to].last : last;
        to++;
    }
    if (to == from && entry->count == entry->capacity) {
        int32_t capacity = entry->capacity == 0 ? 2 : 2 * entry->capacity;
        gs_pbs_span_t *dead = gs_grow(ctx, entry->dead, (size_t)capacity, sizeof *dead);
        if (dead == NULL) {
            return ctx->status;
        }
        entry->dead = dead;
        entry->capacity = capacity;
    }
    memmove(entry->dead + from + 1, entry->dead + to,
            (size_t)(entry->count - to) * sizeof *entry->dead);
    entry->dead[from] = (gs_pbs_span_t){first, last};
    entry->count += (int32_t)(1 - (to - from));
    return GS_OK;
}

/* The view of a class with no pending job: all of it is dead if the start of the next one is. */
static int view_empty(gs_pbs_lazy_store_t *self, gs_context_t *ctx, int64_t k, bool spans,
                      gs_pbs_lazy_view_t *view)
{
    const gs_pbs_problem_t *p = self->problem;
    int status = GS_OK;
    bool dead = false;
    if (k + 1 < p->intervals) {
        gs_pbs_lazy_view_t next;
        status = gs_pbs_lazy_store_view(self, ctx, k + 1, p->arrived[k + 1] - p->arrived[k], spans,
                                        &next);
        dead = status == GS_OK && gs_pbs_lazy_view_is_dead(&next, p->start[k + 1]);
    }
    int64_t first = p->start[k], last = p->start[k + 1] - 1;
    *view = (gs_pbs_lazy_view_t){.first = first, .last = last, .latest = dead ? first - 1 : last};
    return status;
}

int gs_pbs_lazy_store_view(gs_pbs_lazy_store_t *self, gs_context_t *ctx, int64_t k,
                           int64_t class_index, bool spans, gs_pbs_lazy_view_t *view)
{
    if (class_index == 0) {
        return view_empty(self, ctx, k, spans, view);
    }
    const gs_pbs_problem_t *p = self->problem;
    *view = (gs_pbs_lazy_view_t){.first = p->start[k], .last = p->start[k + 1] - 1};
    int64_t id;
    if (self->bound != NULL) {
        /* Most classes need no entry. */
        view->latest = gs_pbs_latest_start_at(self->bound, k, class_index);
        if (view->latest < view->first) {
            return GS_OK;
        }
        id = find(self, k, class_index, hash_of(k, class_index));
    } else {
        id = gs_pbs_lazy_store_entry(self, ctx, k, class_index);
        if (id < 0) {
            return ctx->status;
        }
    }
    if (id >= 0) {
        const gs_pbs_lazy_entry_t *entry = &self->entries[id];
        view->latest = entry->latest;
        view->dead = spans ? entry->dead : NULL;
        view->dead_count = spans ? entry->count : 0;
    }
    if (spans && self->outer != NULL) {
        view->bounded = true;
        view->alive_count = gs_pbs_feasible_spans(self->outer, k, class_index, &view->alive);
    }
    return GS_OK;
}

int64_t gs_pbs_lazy_view_dead_until(const gs_pbs_lazy_view_t *view, int64_t instant)
{
    int64_t at = instant;
    while (at <= view->latest) {
        int64_t before = at, i = gs_pbs_span_first_reaching(view->dead, view->dead_count, at);
        if (i < view->dead_count && view->dead[i].first <= at) {
            at = view->dead[i].last + 1;
        }
        if (view->bounded) {
            i = gs_pbs_span_first_reaching(view->alive, view->alive_count, at);
            if (i == view->alive_count) {
                return view->last;
            }
            at = view->alive[i].first > at ? view->alive[i].first : at;
        }
        if (at == before) {
            return at - 1;
        }
    }
    return view->last;
}

int64_t gs_pbs_lazy_view_dead_from(const gs_pbs_lazy_view_t *view, int64_t instant)
{
    int64_t at = instant > view->latest ? view->latest : instant;
    at = at < view->first ? view->first - 1 : at;
    while (at >= view->first) {
        int64_t before = at, i = gs_pbs_span_first_reaching(view->dead, view->dead_count, at);
        if (i < view->dead_count && view->dead[i].first <= at) {
            at = view->dead[i].first - 1;
        }
        if (view->bounded) {
            i = gs_pbs_span_first_reaching(view->alive, view->alive_count, at);
            if (i == view->alive_count || view->alive[i].first > at) {
                at = i == 0 ? view->first - 1 : view->alive[i - 1].last;
            }
        }
        if (at == before) {
            break;
        }
    }
    return at + 1;
}
