/* Backward computation of the feasible instants of every class. */
#include "pbs/feasible_internal.h"

#include "core/vector.h"
#include "pbs/latest_start.h"

#include <string.h>

/* The instants of a class not yet known to be feasible: sorted, disjoint spans, and scratch to
 * rewrite them. */
typedef struct {
    gs_pbs_span_t *gaps;
    int64_t count;
    int64_t capacity;
    gs_pbs_span_t *scratch;
    int64_t scratch_capacity;
} gaps_t;

static int reserve(gs_context_t *ctx, gs_pbs_span_t **spans, int64_t *capacity, int64_t count)
{
    gs_pbs_span_t *grown = gs_vector_reserve(ctx, *spans, capacity, count, sizeof *grown);
    if (grown == NULL) {
        return ctx->status;
    }
    *spans = grown;
    return GS_OK;
}

/* Removes from the gaps the spans shifted back by c and cut at last. The affected gaps are
 * rewritten in one pass over both. */
static int close_gaps(gaps_t *self, gs_context_t *ctx, const gs_pbs_span_t *spans, int64_t count,
                      int64_t c, int64_t last)
{
    int64_t g = gs_pbs_span_first_reaching(self->gaps, self->count, spans[0].first - c);
    int64_t begin = g, n = 0;
    int status = reserve(ctx, &self->scratch, &self->scratch_capacity, self->count + count);
    for (int64_t i = 0; i < count && g < self->count && status == GS_OK;) {
        int64_t from = spans[i].first - c;
        int64_t to = (spans[i].last - c < last) ? spans[i].last - c : last;
        gs_pbs_span_t *gap = &self->gaps[g];
        if (to < gap->first) {
            i++;
        } else if (gap->last < from) {
            self->scratch[n++] = *gap;
            g++;
        } else {
            if (gap->first < from) {
                self->scratch[n++] = (gs_pbs_span_t){gap->first, from - 1};
            }
            gap->first = to + 1;
            if (gap->first > gap->last) {
                g++;
            } else {
                i++;
            }
        }
    }
    if (status == GS_OK) {
        status = reserve(ctx, &self->gaps, &self->capacity, begin + n + self->count - g);
    }
    if (status == GS_OK) {
        memmove(self->gaps + begin + n, self->gaps + g,
                (size_t)(self->count - g) * sizeof *self->gaps);
        memcpy(self->gaps + begin, self->scratch, (size_t)n * sizeof *self->gaps);
        self->count = begin + n + self->count - g;
    }
    return status;
}

static int64_t rank(const gs_pbs_feasible_t *self, int64_t k, int64_t class_index)
{
    return (self->problem->intervals - 1 - k) * self->problem->classes + class_index;
}

int64_t gs_pbs_feasible_spans(const gs_pbs_feasible_t *self, int64_t k, int64_t class_index,
                              const gs_pbs_span_t **spans)
{
    int64_t r = rank(self, k, class_index);
    int64_t count = self->begin[r + 1] - self->begin[r];
    *spans = count == 0 ? NULL : self->spans + self->begin[r];
    return count;
}

bool gs_pbs_feasible_holds(const gs_pbs_feasible_t *self, int64_t k, int64_t class_index,
                           int64_t instant)
{
    const gs_pbs_span_t *spans;
    int64_t count = gs_pbs_feasible_spans(self, k, class_index, &spans);
    int64_t i = gs_pbs_span_first_reaching(spans, count, instant);
    return i < count && spans[i].first <= instant;
}

/* Removes from the gaps what one batch makes feasible. */
static int close_by_batch(const gs_pbs_feasible_t *self, gs_context_t *ctx,
                          const gs_pbs_transitions_t *transitions, int64_t class_index,
                          uint32_t left, uint32_t batch, gaps_t *gaps, int64_t *work)
{
    const gs_pbs_problem_t *p = self->problem;
    int64_t c = p->completion[batch];
    int64_t end = gs_pbs_transitions_latest_end(transitions, left, batch);
    int64_t last_gap = gaps->gaps[gaps->count - 1].last + c;
    end = last_gap < end ? last_gap : end;
    int64_t from = gaps->gaps[0].first + c;
    if (end < from) {
        return GS_OK;
    }
    int64_t k = transitions->top[batch];
    int64_t rest = class_index - gs_pbs_problem_step(p, batch) - p->arrived[transitions->k];
    while (p->start[k] > end) {
        k--;
    }
    for (;;) {
        const gs_pbs_span_t *spans;
        int64_t count = gs_pbs_feasible_spans(self, k, rest + p->arrived[k], &spans);
        int64_t i = gs_pbs_span_first_reaching(spans, count, from), touching = 0;
        while (i + touching < count && spans[i + touching].first <= end) {
            touching++;
        }
        if (touching > 0) {
            *work += touching;
            int status = close_gaps(gaps, ctx, spans + i, touching, c, end - c);
            if (status != GS_OK || gaps->count == 0) {
                return status;
            }
        }
        if (p->start[k] <= from) {
            return GS_OK;
        }
        k--;
    }
}

static int push(gs_pbs_feasible_t *self, gs_context_t *ctx, int64_t first, int64_t last)
{
    if (self->count == self->capacity) {
        gs_pbs_span_t *spans =
            gs_vector_reserve(ctx, self->spans, &self->capacity, self->count + 1, sizeof *spans);
        if (spans == NULL) {
            return ctx->status;
        }
        self->spans = spans;
    }
    self->spans[self->count++] = (gs_pbs_span_t){first, last};
    return GS_OK;
}

/* Appends first..last without the gaps. */
static int push_rest(gs_pbs_feasible_t *self, gs_context_t *ctx, const gaps_t *gaps, int64_t first,
                     int64_t last)
{
    int status = GS_OK;
    for (int64_t i = 0; i < gaps->count && status == GS_OK; i++) {
        if (gaps->gaps[i].first > first) {
            status = push(self, ctx, first, gaps->gaps[i].first - 1);
        }
        first = gaps->gaps[i].last + 1;
    }
    return status == GS_OK && first <= last ? push(self, ctx, first, last) : status;
}

/* Drops the shortest of sorted spans until limit are left; of equally long ones the first stay. */
static void drop_shortest(gs_pbs_span_t *spans, int64_t *count, int64_t limit)
{
    if (*count <= limit) {
        return;
    }
    /* Bisection for the length of the limit-th longest span. */
    int64_t low = 0, high = GS_NEVER;
    while (low < high) {
        int64_t middle = low + (high - low) / 2, longer = 0;
        for (int64_t i = 0; i < *count; i++) {
            longer += spans[i].last - spans[i].first > middle;
        }
        if (longer > limit) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    int64_t longer = 0, kept = 0;
    for (int64_t i = 0; i < *count; i++) {
        longer += spans[i].last - spans[i].first > low;
    }
    int64_t ties = limit - longer;
    for (int64_t i = 0; i < *count; i++) {
        int64_t length = spans[i].last - spans[i].first;
        if (length > low || (length == low && ties-- > 0)) {
            spans[kept++] = spans[i];
        }
    }
    *count = kept;
}

/* Computes the spans of one class with pending jobs. */
static int add_class(gs_pbs_feasible_t *self, gs_context_t *ctx, gs_pbs_transitions_t *transitions,
                     int64_t class_index, int64_t latest, gaps_t *gaps)
{
    uint32_t pending = gs_pbs_problem_pending(self->problem, class_index);
    uint32_t left = gs_pbs_problem_left(self->problem, class_index);
    int64_t work = 1;
    gs_pbs_transitions_prepare_class(transitions, class_index);
    gaps->gaps[0] = (gs_pbs_span_t){transitions->first, latest};
    gaps->count = 1;
    for (uint32_t batch = pending; batch != 0 && gaps->count > 0; batch = (batch - 1) & pending) {
        work++;
        if (transitions->latest[batch] >= gaps->gaps[0].first) {
            int status =
                close_by_batch(self, ctx, transitions, class_index, left, batch, gaps, &work);
            if (status != GS_OK) {
                return status;
            }
            if (self->mode == GS_PBS_FEASIBLE_OUTER && gaps->count > 4 * self->limit) {
                drop_shortest(gaps->gaps, &gaps->count, self->limit);
                self->exact = false;
            }
        }
    }
    int status = gs_poll(ctx, work);
    if (status != GS_OK) {
        return status;
    }
    if (self->mode == GS_PBS_FEASIBLE_OUTER && gaps->count > self->limit) {
        drop_shortest(gaps->gaps, &gaps->count, self->limit);
        self->exact = false;
    }
    int64_t begin = self->count;
    status = push_rest(self, ctx, gaps, transitions->first, latest);
    int64_t count = self->count - begin;
    if (status == GS_OK && self->mode == GS_PBS_FEASIBLE_INNER && count > self->limit) {
        drop_shortest(self->spans + begin, &count, self->limit);
        self->count = begin + count;
        self->exact = false;
    }
    return status;
}

/* The spans of a class of the tail: those of the previous computation one hyperperiod earlier, or
 * at first everything up to the latest start. */
static int add_tail(gs_pbs_feasible_t *self, gs_context_t *ctx, const gs_pbs_latest_start_t *bound,
                    const gs_pbs_feasible_t *before, int64_t k, int64_t class_index)
{
    const gs_pbs_problem_t *p = self->problem;
    if (before == NULL) {
        int64_t latest = gs_pbs_latest_start_at(bound, k, class_index);
        return latest == GS_PBS_LATEST_DEAD ? GS_OK : push(self, ctx, p->start[k], latest);
    }
    const gs_pbs_span_t *spans;
    int64_t count = gs_pbs_feasible_spans(before, k - p->cycle, class_index, &spans);
    int status = GS_OK;
    for (int64_t i = 0; i < count && status == GS_OK; i++) {
        status = push(self, ctx, spans[i].first + p->hyperperiod, spans[i].last + p->hyperperiod);
    }
    return status;
}

/* Computes the spans of a class before the tail. */
static int add_before_tail(gs_pbs_feasible_t *self, gs_context_t *ctx,
                           gs_pbs_transitions_t *transitions, const gs_pbs_latest_start_t *bound,
                           bool idling, int64_t k, int64_t class_index, gaps_t *gaps)
{
    const gs_pbs_problem_t *p = self->problem;
    int64_t latest = gs_pbs_latest_start_at(bound, k, class_index);
    if (latest == GS_PBS_LATEST_DEAD) {
        return GS_OK;
    }
    if (idling || (class_index == 0 && latest == GS_NEVER)) {
        return push(self, ctx, transitions->first, latest);
    }
    if (class_index > 0) {
        return add_class(self, ctx, transitions, class_index, latest, gaps);
    }
    /* No pending job: the whole interval if the start of the next one is feasible. */
    int64_t next = p->arrived[k + 1] - p->arrived[k];
    bool feasible = gs_pbs_feasible_holds(self, k + 1, next, p->start[k + 1]);
    return feasible ? push(self, ctx, transitions->first, transitions->last) : GS_OK;
}

static int compute(gs_pbs_feasible_t *self, gs_context_t *ctx, gs_pbs_transitions_t *transitions,
                   const gs_pbs_latest_start_t *bound, bool idling, const gs_pbs_feasible_t *before)
{
    const gs_pbs_problem_t *p = self->problem;
    gaps_t gaps = {NULL, 0, 0, NULL, 0};
    int64_t size;
    if (!gs_mul(p->intervals, p->classes, &size)) {
        return GS_SPENT_BYTES;
    }
    self->begin = gs_alloc(ctx, (size_t)size + 1, sizeof *self->begin);
    if (self->begin == NULL) {
        return ctx->status;
    }
    int status = reserve(ctx, &gaps.gaps, &gaps.capacity, 16);
    for (int64_t k = p->intervals - 1; k >= 0 && status == GS_OK; k--) {
        gs_pbs_transitions_prepare(transitions, k, 0);
        status = gs_count_states(ctx, p->classes);
        for (int64_t c = 0; c < p->classes && status == GS_OK; c++) {
            self->begin[rank(self, k, c)] = self->count;
            status = k >= p->before_tail
                         ? add_tail(self, ctx, bound, before, k, c)
                         : add_before_tail(self, ctx, transitions, bound, idling, k, c, &gaps);
        }
    }
    self->begin[size] = self->count;
    gs_free(ctx, gaps.gaps);
    gs_free(ctx, gaps.scratch);
    return status;
}

/* Whether the tail is a copy of the last hyperperiod. */
static int compare(const gs_pbs_feasible_t *self, gs_context_t *ctx, bool *same)
{
    const gs_pbs_problem_t *p = self->problem;
    *same = false;
    for (int64_t k = p->before_tail; k < p->intervals; k++) {
        int status = gs_poll(ctx, p->classes);
        if (status != GS_OK) {
            return status;
        }
        for (int64_t c = 0; c < p->classes; c++) {
            const gs_pbs_span_t *tail, *last;
            int64_t count = gs_pbs_feasible_spans(self, k, c, &tail);
            if (gs_pbs_feasible_spans(self, k - p->cycle, c, &last) != count) {
                return GS_OK;
            }
            for (int64_t i = 0; i < count; i++) {
                if (tail[i].first != last[i].first + p->hyperperiod ||
                    tail[i].last != last[i].last + p->hyperperiod) {
                    return GS_OK;
                }
            }
        }
    }
    *same = true;
    return GS_OK;
}

int gs_pbs_feasible_init(gs_pbs_feasible_t *self, gs_context_t *ctx,
                         const gs_pbs_problem_t *problem, gs_pbs_transitions_t *transitions,
                         const gs_pbs_latest_start_t *bound, bool idling, int mode, int64_t limit)
{
    const gs_pbs_feasible_t fresh = {
        .problem = problem, .mode = mode, .limit = limit, .exact = true};
    *self = fresh;
    int status = compute(self, ctx, transitions, bound, idling, NULL);
    bool same = false;
    while (status == GS_OK && (status = compare(self, ctx, &same)) == GS_OK && !same) {
        gs_pbs_feasible_t before = *self;
        *self = fresh;
        status = compute(self, ctx, transitions, bound, idling, &before);
        gs_pbs_feasible_free(&before, ctx);
    }
    return status;
}

void gs_pbs_feasible_free(gs_pbs_feasible_t *self, gs_context_t *ctx)
{
    gs_free(ctx, self->begin);
    gs_free(ctx, self->spans);
    self->begin = NULL;
    self->spans = NULL;
}
