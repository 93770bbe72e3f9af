/* Backward computation of the latest starts. */
#include "pbs/latest/latest_start.h"

#include "pbs/latest/latest_start_row.h"

/* The latest start of a batch if it exceeds best, else best. */
static int64_t latest_start_of_batch(const gs_pbs_latest_start_t *self,
                                     const gs_pbs_transitions_t *transitions, int64_t class_index,
                                     uint32_t left, uint32_t batch, int64_t best)
{
    const gs_pbs_problem_t *p = self->problem;
    int64_t c = p->completion[batch];
    int64_t end = gs_pbs_transitions_latest_end(transitions, left, batch);
    end = transitions->last + c < end ? transitions->last + c : end;
    int64_t from = best + 1 + c; /* an earlier end would not improve */
    if (end < from) {
        return best;
    }
    int64_t k = transitions->top[batch];
    int64_t step = p->simple ? (int64_t)batch : gs_pbs_problem_step(p, batch);
    int64_t rest = class_index - step - p->arrived[transitions->k];
    while (p->start[k] > end) {
        k--;
    }
    for (;;) {
        int64_t latest = self->latest[k * p->classes + rest + p->arrived[k]];
        int64_t when = latest < end ? latest : end;
        if (when >= p->start[k]) {
            return when >= from ? when - c : best;
        }
        end = p->start[k] - 1;
        if (end < from) {
            return best;
        }
        k--;
    }
}

static int64_t latest_start(const gs_pbs_latest_start_t *self, gs_pbs_transitions_t *transitions,
                            int64_t class_index, int64_t *work)
{
    const gs_pbs_problem_t *p = self->problem;
    int64_t k = transitions->k;
    uint32_t left = gs_pbs_problem_left(p, class_index);
    if (p->tasks.chained != 0 && !gs_pbs_problem_is_ordered(p, class_index)) {
        return GS_PBS_LATEST_DEAD; /* no state has this class */
    }
    if (k + 1 < p->intervals) {
        /* Waiting for the next arrival is allowed while nothing pending reaches its deadline. */
        gs_pbs_transitions_prepare_class(transitions, class_index);
        int64_t after = class_index + p->arrived[k + 1] - p->arrived[k];
        if (transitions->wait[left] > transitions->last &&
            self->latest[(k + 1) * p->classes + after] != GS_PBS_LATEST_DEAD) {
            return transitions->last;
        }
    } else if (left == 0) {
        return GS_NEVER;
    } else {
        gs_pbs_transitions_prepare_class(transitions, class_index);
    }
    int64_t best = transitions->first - 1;
    uint32_t pending = gs_pbs_problem_pending(p, class_index);
    uint64_t low = gs_pbs_transitions_low_batches(pending);
    for (uint32_t blocks = pending / 64, block = blocks;; block = (block - 1) & blocks) {
        ++*work;
        for (uint64_t bits = transitions->useful[block] & low; bits != 0; bits &= bits - 1) {
            uint32_t batch = block * 64 + (uint32_t)__builtin_ctzll(bits);
            ++*work;
            if (transitions->latest[batch] > best) {
                best = latest_start_of_batch(self, transitions, class_index, left, batch, best);
            }
        }
        if (block == 0 || best == transitions->last) {
            return best < transitions->first ? GS_PBS_LATEST_DEAD : best;
        }
    }
}

/* The least times from a release to the end of a row, wherever in an interval the rows before it
 * end, and from the start of a row to the end of its job. */
typedef struct {
    int64_t done[GS_PERIODIC_TASKS_MAX];
    int64_t left[GS_PERIODIC_TASKS_MAX];
} shortest_t;

static int find_shortest(shortest_t *self, gs_context_t *ctx, const gs_pbs_problem_t *p)
{
    int64_t least[GS_PERIODIC_TASKS_MAX];
    for (int32_t i = 0; i < p->n; i++) {
        least[i] = GS_NEVER;
    }
    for (uint32_t b = 1; b <= p->all; b++) {
        for (uint32_t rest = p->completion[b] == 0 ? 0 : b; rest != 0; rest &= rest - 1) {
            int64_t *own = &least[__builtin_ctz(rest)];
            *own = p->completion[b] < *own ? p->completion[b] : *own;
        }
    }
    for (int32_t i = 0; i < p->n; i++) {
        bool next = i > 0 && (p->tasks.chained >> (i - 1) & 1) != 0;
        self->done[i] = next && self->done[i - 1] > least[i] ? self->done[i - 1] : least[i];
    }
    for (int32_t i = p->n - 1; i >= 0; i--) {
        bool more = (p->tasks.chained >> i & 1) != 0;
        self->left[i] = least[i] + (more ? self->left[i + 1] : 0);
    }
    return gs_poll(ctx, 2 * (int64_t)p->all);
}

/* The rows that are left in every class of an interval that is met, and those that are done in
 * every class that is not dead. Only where at most one job of a task is pending. */
static void find_fixed(const gs_pbs_problem_t *p, const shortest_t *shortest, int64_t k,
                       uint32_t *left, uint32_t *done)
{
    *left = *done = 0;
    for (int32_t i = 0; i < p->n; i++) {
        int64_t jobs = gs_periodic_tasks_jobs_before(&p->tasks, i, p->start[k] + 1);
        if (jobs == 0) {
            *done |= UINT32_C(1) << i;
            continue;
        }
        int64_t release = gs_periodic_tasks_release(&p->tasks, i, jobs - 1);
        if (release + shortest->done[i] >= p->start[k + 1]) {
            *left |= UINT32_C(1) << i;
        }
        if (p->start[k] + shortest->left[i] > release + p->tasks.deadline[i]) {
            *done |= UINT32_C(1) << i;
        }
    }
}

/* Computes the intervals before the tail, backwards. */
static int sweep(gs_pbs_latest_start_t *self, gs_context_t *ctx, gs_pbs_transitions_t *transitions,
                 gs_pbs_latest_start_row_t *row, const shortest_t *shortest)
{
    const gs_pbs_problem_t *p = self->problem;
    uint32_t left = 0, done = 0;
    int status = GS_OK;
    for (int64_t k = p->before_tail - 1; k >= 0 && status == GS_OK; k--) {
        gs_pbs_transitions_prepare(transitions, k, 0);
        status = gs_count_states(ctx, p->classes);
        if (shortest != NULL) {
            find_fixed(p, shortest, k, &left, &done);
        }
        if (row != NULL && status == GS_OK) {
            status = gs_pbs_latest_start_row_fill(row, ctx, transitions, self->latest, left, done);
            continue;
        }
        /* Batches lead to smaller classes of the same interval, or to later intervals. */
        for (int64_t c = 0; c < p->classes && status == GS_OK; c++) {
            int64_t work = 1, *latest = &self->latest[k * p->classes + c];
            bool fixed = (left & ~(uint32_t)c) == 0 && (done & (uint32_t)c) == 0;
            *latest = shortest == NULL || fixed ? latest_start(self, transitions, c, &work)
                                                : GS_PBS_LATEST_DEAD;
            status = gs_poll(ctx, work);
        }
    }
    return status;
}

/* Initial values of the tail: no pending job has missed its deadline. */
static int init_tail(gs_pbs_latest_start_t *self, gs_context_t *ctx)
{
    const gs_pbs_problem_t *p = self->problem;
    for (int64_t k = p->before_tail; k < p->intervals; k++) {
        int status = gs_poll(ctx, 8 * p->classes);
        if (status != GS_OK) {
            return status;
        }
        for (int64_t c = 0; c < p->classes; c++) {
            int64_t latest = p->start[k + 1] - 1;
            uint32_t pending = gs_pbs_problem_pending(p, c);
            for (uint32_t rest = pending; rest != 0; rest &= rest - 1) {
                int64_t d = gs_pbs_problem_deadline(p, k, c, __builtin_ctz(rest)) - 1;
                latest = d < latest ? d : latest;
            }
            self->latest[k * p->classes + c] = latest < p->start[k] ? GS_PBS_LATEST_DEAD : latest;
        }
    }
    return GS_OK;
}

/* Copies the last hyperperiod to the tail; *changed: whether that changed the tail. */
static int copy_to_tail(gs_pbs_latest_start_t *self, gs_context_t *ctx, bool *changed)
{
    const gs_pbs_problem_t *p = self->problem;
    *changed = false;
    for (int64_t k = p->before_tail; k < p->intervals; k++) {
        int status = gs_poll(ctx, p->classes);
        if (status != GS_OK) {
            return status;
        }
        for (int64_t c = 0; c < p->classes; c++) {
            int64_t *tail = &self->latest[k * p->classes + c];
            int64_t latest = self->latest[(k - p->cycle) * p->classes + c];
            latest += latest == GS_PBS_LATEST_DEAD ? 0 : p->hyperperiod;
            *changed = *changed || *tail != latest;
            *tail = latest;
        }
    }
    return GS_OK;
}

int gs_pbs_latest_start_init(gs_pbs_latest_start_t *self, gs_context_t *ctx,
                             const gs_pbs_problem_t *problem, gs_pbs_transitions_t *transitions,
                             bool all)
{
    *self = (gs_pbs_latest_start_t){.problem = problem};
    bool by_row = gs_pbs_latest_start_row_applies(problem);
    bool met = problem->simple && problem->limit != GS_NEVER && !all;
    gs_pbs_latest_start_row_t row = {.problem = problem};
    shortest_t shortest;
    int64_t size;
    if (!gs_mul(problem->intervals, problem->classes, &size)) {
        return GS_SPENT_BYTES;
    }
    self->latest = gs_alloc(ctx, (size_t)size, sizeof *self->latest);
    if (self->latest == NULL) {
        return ctx->status;
    }
    /* Infinite horizon: the greatest fixed point, from above. */
    int status = init_tail(self, ctx);
    if (status == GS_OK && met) {
        status = find_shortest(&shortest, ctx, problem);
    }
    if (status == GS_OK && by_row) {
        status = gs_pbs_latest_start_row_init(&row, ctx, problem);
    }
    bool changed = true;
    while (status == GS_OK && changed) {
        status = sweep(self, ctx, transitions, by_row ? &row : NULL, met ? &shortest : NULL);
        if (status == GS_OK) {
            status = copy_to_tail(self, ctx, &changed);
        }
    }
    gs_pbs_latest_start_row_free(&row, ctx);
    return status;
}

void gs_pbs_latest_start_free(gs_pbs_latest_start_t *self, gs_context_t *ctx)
{
    gs_free(ctx, self->latest);
    self->latest = NULL;
}
