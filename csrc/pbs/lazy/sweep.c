/* Backward computation of dead spans over the classes that are reached. */
#include "pbs/lazy/lazy.h"

#include "core/vector.h"

#include <string.h>

/* A class in progress. Its spans are the last ones of the arena while it is on top. */
typedef struct {
    gs_pbs_lazy_class_t facts;
    int64_t entry;  /* -1: the empty class */
    uint32_t batch; /* the next one to look at; 0: none is left */
    int64_t begin;  /* of its spans: not known to be alive */
} frame_t;

typedef struct {
    gs_pbs_lazy_engine_t *engine;
    gs_context_t *ctx;
    frame_t *frames;
    int64_t length, capacity;
    gs_pbs_span_t *spans;
    int64_t count, span_capacity;
    gs_pbs_span_t *scratch;
    int64_t scratch_capacity;
    int64_t limit;
} sweep_t;

static int append(sweep_t *self, gs_pbs_span_t **spans, int64_t *count, int64_t *capacity,
                  int64_t begin, int64_t first, int64_t last)
{
    if (*count > begin && (*spans)[*count - 1].last + 1 == first) {
        (*spans)[*count - 1].last = last;
        return GS_OK;
    }
    if (*count == *capacity) {
        gs_pbs_span_t *grown =
            gs_vector_reserve(self->ctx, *spans, capacity, *count + 1, sizeof *grown);
        if (grown == NULL) {
            return self->ctx->status;
        }
        *spans = grown;
    }
    (*spans)[(*count)++] = (gs_pbs_span_t){first, last};
    return GS_OK;
}

/* Puts a class on the stack unless nothing is to be done; *pushed: whether it was. */
static int push(sweep_t *self, int64_t k, int64_t class_index, bool *pushed)
{
    gs_pbs_lazy_store_t *store = &self->engine->store;
    *pushed = false;
    if (class_index == 0) {
        if (k + 1 == store->problem->intervals) {
            return GS_OK;
        }
        class_index = store->problem->arrived[k + 1] - store->problem->arrived[k];
        k++;
    }
    if (store->bound != NULL &&
        gs_pbs_latest_start_at(store->bound, k, class_index) < store->problem->start[k]) {
        return GS_OK;
    }
    int64_t id = gs_pbs_lazy_store_entry(store, self->ctx, k, class_index);
    if (id < 0) {
        return self->ctx->status;
    }
    gs_pbs_lazy_entry_t *entry = &store->entries[id];
    if (entry->swept >= self->limit) {
        return GS_OK;
    }
    int64_t first = store->problem->start[k], last = store->problem->start[k + 1] - 1;
    last = entry->latest < last ? entry->latest : last;
    if (last < first) {
        entry->swept = self->limit;
        return GS_OK;
    }
    if (self->length == self->capacity) {
        frame_t *frames = gs_vector_reserve(self->ctx, self->frames, &self->capacity,
                                            self->length + 1, sizeof *frames);
        if (frames == NULL) {
            return self->ctx->status;
        }
        self->frames = frames;
    }
    frame_t *frame = &self->frames[self->length++];
    gs_pbs_lazy_moves_class(&self->engine->moves, k, class_index, &frame->facts);
    frame->entry = id;
    frame->batch = frame->facts.pending;
    frame->begin = self->count;
    *pushed = true;
    return append(self, &self->spans, &self->count, &self->span_capacity, self->count, first, last);
}

/* Pushes the next class that the batch of a frame leads to and that is not swept; *pushed: there
 * was one. */
static int descend(sweep_t *self, bool *pushed)
{
    gs_pbs_lazy_engine_t *engine = self->engine;
    const gs_pbs_problem_t *p = engine->moves.problem;
    frame_t *frame = &self->frames[self->length - 1];
    uint32_t batch = frame->batch;
    int64_t c = p->completion[batch], k = frame->facts.k;
    int64_t limit = gs_pbs_lazy_moves_limit(&engine->moves, &frame->facts, batch);
    int64_t from = self->spans[frame->begin].first + c, to = self->spans[self->count - 1].last + c;
    int64_t rest =
        frame->facts.class_index - gs_pbs_lazy_moves_step(&engine->moves, batch) - p->arrived[k];
    to = to < limit ? to : limit;
    *pushed = false;
    while (p->start[k + 1] <= from) {
        k++;
    }
    int status = GS_OK;
    for (; p->start[k] <= to && status == GS_OK && !*pushed; k++) {
        engine->work += 8;
        status = push(self, k, rest + p->arrived[k], pushed);
        if (k + 1 == p->intervals) {
            break;
        }
    }
    return status;
}

/* Keeps of the spans of a frame what its batch leads into dead time. */
static int intersect(sweep_t *self)
{
    gs_pbs_lazy_engine_t *engine = self->engine;
    const gs_pbs_problem_t *p = engine->moves.problem;
    const frame_t *frame = &self->frames[self->length - 1];
    int64_t c = p->completion[frame->batch], k = frame->facts.k, count = 0, seen = -1;
    int64_t limit = gs_pbs_lazy_moves_limit(&engine->moves, &frame->facts, frame->batch);
    int64_t rest = frame->facts.class_index - gs_pbs_lazy_moves_step(&engine->moves, frame->batch) -
                   p->arrived[k];
    gs_pbs_lazy_view_t view;
    int status = GS_OK;
    for (int64_t i = frame->begin; i < self->count && status == GS_OK; i++) {
        int64_t at = self->spans[i].first + c, to = self->spans[i].last + c;
        while (at <= to && status == GS_OK) {
            int64_t until = to;
            if (at <= limit) {
                while (p->start[k + 1] <= at) {
                    k++;
                }
                if (k != seen) {
                    status = gs_pbs_lazy_store_view(&engine->store, self->ctx, k,
                                                    rest + p->arrived[k], true, &view);
                    if (status != GS_OK) {
                        break;
                    }
                    seen = k;
                }
                engine->work += 16;
                until = gs_pbs_lazy_view_dead_until(&view, at);
                if (until < at) {
                    at = gs_pbs_lazy_view_next_dead(&view, at);
                    at = at > limit ? limit + 1 : at;
                    continue;
                }
                until = until < to ? until : to;
            }
            status =
                append(self, &self->scratch, &count, &self->scratch_capacity, 0, at - c, until - c);
            at = until + 1;
        }
    }
    if (status == GS_OK && self->span_capacity < frame->begin + count) {
        gs_pbs_span_t *spans = gs_vector_reserve(self->ctx, self->spans, &self->span_capacity,
                                                 frame->begin + count, sizeof *spans);
        status = spans == NULL ? self->ctx->status : GS_OK;
        self->spans = spans == NULL ? self->spans : spans;
    }
    if (status == GS_OK && count > 0) {
        memcpy(self->spans + frame->begin, self->scratch, (size_t)count * sizeof *self->spans);
    }
    self->count = status == GS_OK ? frame->begin + count : self->count;
    return status;
}

/* Stores the longest spans of the last frame and pops it. */
static int finish(sweep_t *self)
{
    const frame_t *frame = &self->frames[--self->length];
    gs_pbs_span_t *spans = self->spans + frame->begin;
    int64_t count = self->count - frame->begin;
    gs_pbs_feasible_drop_shortest(spans, &count, self->limit);
    int status = GS_OK;
    for (int64_t i = 0; i < count && status == GS_OK; i++) {
        status = gs_pbs_lazy_store_add(&self->engine->store, self->ctx, frame->entry,
                                       spans[i].first, spans[i].last);
    }
    self->engine->store.entries[frame->entry].swept = self->limit;
    self->count = frame->begin;
    return status;
}

/* One step of the class on top. */
static int step(sweep_t *self)
{
    frame_t *frame = &self->frames[self->length - 1];
    const gs_pbs_problem_t *p = self->engine->moves.problem;
    while (frame->batch != 0 && p->completion[frame->batch] == 0) {
        frame->batch = (frame->batch - 1) & frame->facts.pending;
        self->engine->work++;
    }
    if (frame->batch == 0 || self->count == frame->begin) {
        return finish(self);
    }
    bool pushed;
    int status = descend(self, &pushed);
    if (status != GS_OK || pushed) {
        return status;
    }
    status = intersect(self);
    frame->batch = (frame->batch - 1) & frame->facts.pending;
    int64_t count = self->count - frame->begin;
    if (status == GS_OK && (count - 1) / 4 >= self->limit) { /* count > 4 limit */
        gs_pbs_feasible_drop_shortest(self->spans + frame->begin, &count, self->limit);
        self->count = frame->begin + count;
    }
    return status;
}

int gs_pbs_lazy_sweep(gs_pbs_lazy_engine_t *engine, int64_t spans, bool *complete)
{
    const gs_pbs_problem_t *p = engine->moves.problem;
    sweep_t self = {.engine = engine, .ctx = engine->ctx, .limit = spans};
    bool pushed;
    int64_t before = engine->work;
    int status = push(&self, 0, p->arrived[0], &pushed);
    while (status == GS_OK && self.length > 0 && engine->work < engine->work_limit) {
        int64_t length = self.length;
        engine->work += 4;
        status = step(&self);
        if (status == GS_OK && self.length > length) {
            status = gs_count_states(engine->ctx, 1);
        }
        if (status == GS_OK) {
            status = gs_poll(engine->ctx, engine->work - before);
            before = engine->work;
        }
    }
    *complete = status == GS_OK && self.length == 0;
    gs_free(self.ctx, self.frames);
    gs_free(self.ctx, self.spans);
    gs_free(self.ctx, self.scratch);
    return status;
}
