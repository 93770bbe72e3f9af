/* Cutting the hyperperiod at the arrivals: intervals and classes. */
#include "pbs/problem.h"

#include "core/vector.h"
#include "model/batch_table_internal.h"

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
