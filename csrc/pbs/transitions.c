/* Steps in a problem, and tables of the transitions of an interval. */
#include "pbs/transitions.h"
#include "model/periodic_tasks_internal.h"

int64_t gs_pbs_problem_interval(const gs_pbs_problem_t *self, int64_t instant)
{
    int64_t low = 0, high = self->intervals;
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        if (self->start[middle] <= instant) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

int64_t gs_pbs_problem_step(const gs_pbs_problem_t *self, uint32_t batch)
{
    if (self->simple) {
        return batch;
    }
    int64_t step = 0;
    for (int32_t i = 0; i < self->n; i++) {
        step += (batch >> i & 1) != 0 ? self->stride[i] : 0;
    }
    return step;
}

uint32_t gs_pbs_problem_digits(const gs_pbs_problem_t *self, int64_t class_index)
{
    uint32_t left = 0;
    for (int32_t i = 0; i < self->n; i++) {
        left |= class_index / self->stride[i] % self->radix[i] != 0 ? UINT32_C(1) << i : 0;
    }
    return left;
}

/* The jobs that each row has run, up to a constant per task. */
static void count_done(const gs_pbs_problem_t *self, int64_t class_index, int64_t *done)
{
    for (int32_t i = 0; i < self->n; i++) {
        done[i] = -(class_index / self->stride[i] % self->radix[i]);
    }
}

uint32_t gs_pbs_problem_current(const gs_pbs_problem_t *self, int64_t class_index)
{
    uint32_t left = gs_pbs_problem_left(self, class_index);
    if (self->simple && self->tasks.needs == NULL) {
        /* a kernel is not current while the one before it is left */
        return left & ~((left & self->tasks.chained) << 1);
    }
    int64_t done[GS_PERIODIC_TASKS_MAX];
    count_done(self, class_index, done);
    return left & ~gs_periodic_tasks_held_back(&self->tasks, done);
}

bool gs_pbs_problem_is_ordered(const gs_pbs_problem_t *self, int64_t class_index)
{
    int64_t done[GS_PERIODIC_TASKS_MAX];
    count_done(self, class_index, done);
    return gs_periodic_tasks_is_ordered(&self->tasks, done);
}

int64_t gs_pbs_problem_deadline(const gs_pbs_problem_t *self, int64_t k, int64_t class_index,
                                int32_t i)
{
    int64_t pending = class_index / self->stride[i] % self->radix[i];
    int64_t arrived = gs_periodic_tasks_jobs_before(&self->tasks, i, self->start[k] + 1);
    /* A class with more pending jobs than arrivals belongs to no state of this interval, but to one
     * a hyperperiod later. */
    int64_t release = gs_periodic_tasks_release(&self->tasks, i, arrived - pending);
    return release < self->limit ? release + self->tasks.deadline[i] : GS_NEVER;
}

int gs_pbs_transitions_init(gs_pbs_transitions_t *self, gs_context_t *ctx,
                            const gs_pbs_problem_t *problem)
{
    size_t masks = (size_t)1 << problem->n;
    *self = (gs_pbs_transitions_t){.problem = problem, .k = -1};
    self->latest = gs_alloc(ctx, masks, sizeof *self->latest);
    self->top = self->latest == NULL ? NULL : gs_alloc(ctx, masks, sizeof *self->top);
    self->wait = self->top == NULL ? NULL : gs_alloc(ctx, masks, sizeof *self->wait);
    self->absent = self->wait == NULL ? NULL : gs_alloc(ctx, masks, sizeof *self->absent);
    self->useful =
        self->absent == NULL ? NULL : gs_alloc(ctx, masks / 64 + 1, sizeof *self->useful);
    return self->useful == NULL ? ctx->status : GS_OK;
}

void gs_pbs_transitions_free(gs_pbs_transitions_t *self, gs_context_t *ctx)
{
    gs_free(ctx, self->latest);
    gs_free(ctx, self->top);
    gs_free(ctx, self->wait);
    gs_free(ctx, self->absent);
    gs_free(ctx, self->useful);
    self->latest = self->wait = self->absent = NULL;
    self->top = NULL;
    self->useful = NULL;
}

void gs_pbs_transitions_prepare(gs_pbs_transitions_t *self, int64_t k, int64_t class_index)
{
    const gs_pbs_problem_t *p = self->problem;
    int64_t pending[GS_PERIODIC_TASKS_MAX], next[GS_PERIODIC_TASKS_MAX];
    self->k = k;
    self->first = p->start[k];
    self->last = p->start[k + 1] - 1;
    uint32_t support = p->simple ? p->all : gs_pbs_problem_left(p, class_index);
    for (int32_t i = 0; i < p->n; i++) {
        int64_t some = p->simple ? p->stride[i] : class_index;
        bool is_pending = (support >> i & 1) != 0;
        pending[i] = is_pending ? gs_pbs_problem_deadline(p, k, some, i) : GS_NEVER;
        next[i] = gs_pbs_problem_deadline(p, k, p->simple ? 0 : class_index, i);
    }
    int64_t *due = self->latest; /* first the deadlines, then the latest starts */
    due[0] = GS_NEVER;
    self->wait[0] = GS_NEVER;
    if (p->simple) {
        self->absent[p->all] = GS_NEVER;
        for (uint32_t mask = p->all; mask-- > 0;) {
            int32_t i = __builtin_ctz(~mask);
            int64_t rest = self->absent[mask | (UINT32_C(1) << i)];
            self->absent[mask] = next[i] - 1 < rest ? next[i] - 1 : rest;
        }
    } else {
        int64_t least = GS_NEVER;
        for (int32_t i = 0; i < p->n; i++) {
            if ((support >> i & 1) == 0 && next[i] - 1 < least) {
                least = next[i] - 1;
            }
        }
        self->absent[support] = least;
    }
    /* Submasks of the support in increasing order. */
    for (uint32_t mask = -support & support; mask != 0; mask = (mask - support) & support) {
        int32_t i = __builtin_ctz(mask);
        int64_t rest = due[mask & (mask - 1)];
        due[mask] = pending[i] < rest ? pending[i] : rest;
        self->wait[mask] = due[mask] == GS_NEVER ? GS_NEVER : due[mask] - 1;
    }
    for (uint32_t mask = -support & support; mask != 0; mask = (mask - support) & support) {
        int64_t c = p->completion[mask];
        uint64_t bit = UINT64_C(1) << mask % 64;
        self->useful[mask / 64] &= ~bit;
        if (c == 0) {
            self->latest[mask] = -GS_NEVER;
            continue;
        }
        int64_t latest = due[mask] - c;
        int64_t end = (self->last < latest ? self->last : latest) + c;
        self->latest[mask] = latest;
        self->useful[mask / 64] |= latest >= self->first ? bit : 0;
        self->top[mask] = end < 0 ? 0 : (int32_t)gs_pbs_problem_interval(p, end);
    }
    due[0] = -GS_NEVER; /* the empty batch is not eligible */
}
