/* Cutting at the arrivals, and the transitions of one interval. */
#include "pbs/problem.h"

#include "core/vector.h"

/* Cuts [0, end) at the arrivals; steady: start of the repeating part. */
static int cut(gs_pbs_problem_t *self, gs_context_t *ctx, int64_t steady, int64_t end)
{
    int64_t next[GS_PERIODIC_TASKS_MAX], capacity = 0, total = 0;
    for (int32_t i = 0; i < self->n; i++) {
        next[i] = gs_periodic_tasks_offset(&self->tasks, i);
    }
    for (;;) {
        int64_t now = end;
        for (int32_t i = 0; i < self->n; i++) {
            now = next[i] < now ? next[i] : now;
        }
        if (self->intervals == 0 && now > 0) {
            now = 0; /* the first interval starts at 0 even without an arrival */
        }
        if (self->intervals + 1 >= capacity) {
            int64_t needed = self->intervals + 2, before = capacity;
            int64_t *start = gs_vector_reserve(ctx, self->start, &capacity, needed, sizeof *start);
            if (start == NULL) {
                return ctx->status;
            }
            self->start = start;
            capacity = before;
            int64_t *arrived =
                gs_vector_reserve(ctx, self->arrived, &capacity, needed, sizeof *arrived);
            if (arrived == NULL) {
                return ctx->status;
            }
            self->arrived = arrived;
        }
        if (now == end) {
            bool infinite = self->limit == GS_NEVER;
            self->start[self->intervals] = infinite ? end : GS_NEVER;
            self->before_tail = infinite ? self->before_tail : self->intervals;
            return GS_OK;
        }
        if (self->intervals == INT32_MAX - 1) {
            return gs_fail(ctx, GS_ERR_OVERFLOW, "hyperperiod", -1, self->hyperperiod,
                           "a hyperperiod with at most 2**31 - 2 arrival times");
        }
        self->cycle += now >= steady && now < steady + self->hyperperiod;
        self->before_tail += now < steady + self->hyperperiod;
        for (int32_t i = 0; i < self->n; i++) {
            if (next[i] == now) {
                next[i] += self->tasks.period[i];
                if (!gs_add(total, self->stride[i], &total)) {
                    return gs_fail(
                        ctx, GS_ERR_OVERFLOW, "period", i, self->tasks.period[i],
                        "a period that keeps the job counts of the hyperperiod below 2**63");
                }
            }
        }
        self->start[self->intervals] = now;
        self->arrived[self->intervals++] = total;
        int status = gs_poll(ctx, self->n);
        if (status != GS_OK) {
            return status;
        }
    }
}

/* Whether as many sets have a time as do without two kernels of a task. */
static int check_count(gs_context_t *ctx, const gs_periodic_tasks_t *tasks,
                       const gs_batch_table_t *table, bool *fine)
{
    gs_batch_table_list_t list;
    int64_t count = 0;
    int status = gs_batch_table_list_init(&list, ctx, table, tasks->chained, fine);
    for (int64_t b = 0; *fine && b < INT64_C(1) << table->n; b++) {
        count += table->completion[b] != 0;
    }
    *fine = *fine && count == list.count && table->undecided == NULL;
    gs_batch_table_list_free(&list, ctx);
    return status;
}

/* Refuses batches with two kernels of a task. */
static int check_chains(gs_context_t *ctx, const gs_periodic_tasks_t *tasks,
                        const gs_batch_table_t *table)
{
    bool fine;
    int checked = check_count(ctx, tasks, table, &fine);
    if (checked != GS_OK || fine) {
        return checked;
    }
    uint32_t chain[GS_PERIODIC_TASKS_MAX];
    int32_t chains = 0;
    for (int32_t i = 0; i < tasks->n; i++) {
        int32_t last = gs_periodic_tasks_last_kernel(tasks, i);
        chain[chains++] = (UINT32_C(2) << last) - (UINT32_C(1) << i);
        i = last;
    }
    for (uint32_t b = 1; b < UINT32_C(1) << tasks->n; b++) {
        bool possible =
            table->completion[b] != 0 || (table->undecided != NULL && table->undecided[b] != 0);
        for (int32_t c = 0; c < chains && possible; c++) {
            uint32_t kernels = b & chain[c];
            if ((kernels & (kernels - 1)) != 0) {
                return gs_fail(ctx, GS_ERR_VALUE, "completion", b, table->completion[b],
                               "0 for a batch with two kernels of a task");
            }
        }
        int status = b % 4096 == 0 ? gs_poll(ctx, 4096) : GS_OK;
        if (status != GS_OK) {
            return status;
        }
    }
    return GS_OK;
}

int gs_pbs_problem_check(gs_context_t *ctx, const gs_periodic_tasks_t *tasks,
                         const gs_batch_table_t *table)
{
    int status = gs_periodic_tasks_check(ctx, tasks);
    if (status == GS_OK && table->n != tasks->n) {
        status = gs_fail(ctx, GS_ERR_VALUE, "table", -1, table->n,
                         "a table for as many tasks as the task set has");
    }
    if (status == GS_OK) {
        status = gs_batch_table_check(ctx, table);
    }
    return status == GS_OK && tasks->chained != 0 ? check_chains(ctx, tasks, table) : status;
}

int gs_pbs_problem_init(gs_pbs_problem_t *self, gs_context_t *ctx, const gs_periodic_tasks_t *tasks,
                        const gs_batch_table_t *table, bool infinite)
{
    *self = (gs_pbs_problem_t){.n = tasks->n};
    int status = gs_pbs_problem_check(ctx, tasks, table);
    return status == GS_OK ? gs_pbs_problem_cut(self, ctx, tasks, table, infinite) : status;
}

int gs_pbs_problem_cut(gs_pbs_problem_t *self, gs_context_t *ctx, const gs_periodic_tasks_t *tasks,
                       const gs_batch_table_t *table, bool infinite)
{
    *self = (gs_pbs_problem_t){
        .tasks = *tasks, .completion = table->completion, .list = table->list, .n = tasks->n};
    int status = gs_periodic_tasks_hyperperiod(ctx, tasks, &self->hyperperiod);
    if (status != GS_OK) {
        return status;
    }
    self->all = (uint32_t)((UINT64_C(1) << self->n) - 1);
    self->classes = 1;
    self->simple = true;
    for (int32_t i = 0; i < self->n; i++) {
        /* A job that is pending in time was released less than a deadline ago. */
        self->radix[i] = 1 + (tasks->deadline[i] - 1) / tasks->period[i] + 1;
        self->simple = self->simple && self->radix[i] == 2;
        self->stride[i] = self->classes;
        if (!gs_mul(self->classes, self->radix[i], &self->classes)) {
            return gs_fail(ctx, GS_ERR_OVERFLOW, "deadline", i, tasks->deadline[i],
                           "a deadline that keeps the classes of pending jobs below 2**63");
        }
    }
    if (!infinite) {
        self->limit = self->hyperperiod;
        status = cut(self, ctx, GS_NEVER, self->hyperperiod);
    } else {
        int64_t steady = 0, longest = 1, windows;
        for (int32_t i = 0; i < self->n; i++) {
            int64_t offset = gs_periodic_tasks_offset(tasks, i);
            steady = offset > steady ? offset : steady;
        }
        for (uint32_t b = 1; b <= self->all; b++) {
            longest = table->completion[b] > longest ? table->completion[b] : longest;
        }
        windows = 1 + (longest - 1) / self->hyperperiod + 1;
        int64_t end;
        if (!gs_mul(windows, self->hyperperiod, &end) || !gs_add(end, steady, &end) ||
            end >= GS_NEVER / 2) {
            return gs_fail(
                ctx, GS_ERR_OVERFLOW, "hyperperiod", -1, self->hyperperiod,
                "a hyperperiod that, with offsets and batches, ends before 2**60 - 1 ticks");
        }
        self->limit = GS_NEVER;
        status = cut(self, ctx, steady, end);
    }
    return status;
}

void gs_pbs_problem_free(gs_pbs_problem_t *self, gs_context_t *ctx)
{
    gs_free(ctx, self->start);
    gs_free(ctx, self->arrived);
    self->start = NULL;
    self->arrived = NULL;
}

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
