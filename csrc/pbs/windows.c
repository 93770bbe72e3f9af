/* Choice of the windows, their programs, and the bound. */
#include "pbs/windows.h"

#include "core/vector.h"

#include <math.h>
#include <stdlib.h>

/* Most jobs of [0, H) whose deadlines are all listed. */
#define LISTED 4096

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int64_t jobs_of(const gs_pbs_problem_t *p, int32_t i)
{
    return gs_periodic_tasks_jobs_before(&p->tasks, i, p->hyperperiod);
}

/* Writes at most `most` deadlines (sorted, distinct, the last one among them) to deadline, which
 * has room for LISTED; returns their number. */
static int64_t choose(const gs_pbs_problem_t *p, int64_t most, int64_t *deadline)
{
    int64_t jobs = 0, count = 0, last = 0;
    for (int32_t i = 0; i < p->n; i++) {
        int64_t own = jobs_of(p, i);
        jobs = own < LISTED ? jobs + own : LISTED + 1;
        if (own > 0) {
            int64_t end = gs_periodic_tasks_release(&p->tasks, i, own - 1) + p->tasks.deadline[i];
            last = end > last ? end : last;
        }
    }
    if (jobs <= LISTED) {
        for (int32_t i = 0; i < p->n; i++) {
            for (int64_t job = 0; job < jobs_of(p, i); job++) {
                deadline[count++] =
                    gs_periodic_tasks_release(&p->tasks, i, job) + p->tasks.deadline[i];
            }
        }
    } else {
        /* The last deadlines before instants that divide the time evenly. */
        for (int64_t w = 1; w <= most; w++) {
            int64_t before = w == most ? last : last / most * w, best = last;
            for (int32_t i = 0; i < p->n; i++) {
                int64_t job =
                    gs_periodic_tasks_jobs_before(&p->tasks, i, before - p->tasks.deadline[i] + 1);
                job = job < jobs_of(p, i) ? job : jobs_of(p, i);
                if (job > 0) {
                    int64_t end =
                        gs_periodic_tasks_release(&p->tasks, i, job - 1) + p->tasks.deadline[i];
                    best = best == last || end > best ? end : best;
                }
            }
            deadline[count++] = w == most ? last : best;
        }
    }
    qsort(deadline, (size_t)count, sizeof *deadline, compare);
    int64_t distinct = 0;
    for (int64_t i = 0; i < count; i++) {
        if (distinct == 0 || deadline[distinct - 1] != deadline[i]) {
            deadline[distinct++] = deadline[i];
        }
    }
    if (distinct <= most) {
        return distinct;
    }
    for (int64_t w = 0; w < most; w++) {
        deadline[w] = deadline[(w + 1) * distinct / most - 1];
    }
    return most;
}

/* Solves the program of each window; *largest: of the prices. */
static int solve(gs_pbs_windows_t *self, gs_context_t *ctx, gs_pbs_prices_t *program, double *price,
                 double *largest)
{
    const gs_pbs_problem_t *p = self->problem;
    int status = GS_OK;
    for (int64_t w = 0; w < self->count && status == GS_OK; w++) {
        double weight[GS_PERIODIC_TASKS_MAX], value;
        uint32_t free_tasks = 0;
        for (int32_t i = 0; i < p->n; i++) {
            gs_pbs_rates_count_t jobs =
                gs_pbs_rates_count(&p->tasks, i, self->deadline[w], p->hyperperiod);
            self->jobs[w * p->n + i] = jobs;
            weight[i] = (double)jobs.must;
            free_tasks |= jobs.must == jobs.may ? UINT32_C(1) << i : 0;
        }
        status = gs_pbs_prices_solve(program, ctx, weight, free_tasks, price + w * p->n, &value);
        for (int32_t i = 0; i < p->n; i++) {
            double size = fabs(price[w * p->n + i]);
            *largest = size > *largest ? size : *largest;
        }
    }
    return status;
}

/* A scale for which the sums of gs_pbs_windows_latest stay below 2^62; 0 if there is none. */
static int64_t scale_for(const gs_pbs_windows_t *self, double largest)
{
    const gs_pbs_problem_t *p = self->problem;
    double jobs = 1, sum = (double)self->deadline[self->count - 1];
    for (int32_t i = 0; i < p->n; i++) {
        jobs = (double)jobs_of(p, i) > jobs ? (double)jobs_of(p, i) : jobs;
    }
    sum += (double)p->n * jobs * largest;
    sum += (double)p->n * largest;
    int64_t scale = gs_pbs_prices_scale(largest, 50), other = gs_pbs_prices_scale(sum, 60);
    return scale < other ? scale : other;
}

int gs_pbs_windows_init(gs_pbs_windows_t *self, gs_context_t *ctx, const gs_pbs_problem_t *problem,
                        int64_t most)
{
    *self = (gs_pbs_windows_t){.problem = problem, .scale = 1};
    gs_pbs_prices_t program = {0};
    gs_batch_table_t table = {problem->n, problem->completion, NULL, problem->list};
    size_t n = (size_t)problem->n;
    double *price = NULL, largest = 1;
    int64_t *listed = gs_alloc(ctx, LISTED, sizeof *listed), count = 0;
    int status = listed == NULL ? ctx->status : gs_pbs_prices_init(&program, ctx, &table);
    if (status == GS_OK) {
        count = choose(problem, most, listed);
        size_t size = (size_t)count;
        self->deadline = gs_alloc(ctx, size, sizeof *self->deadline);
        self->price = self->deadline == NULL ? NULL : gs_alloc(ctx, size * n, sizeof *self->price);
        self->jobs = self->price == NULL ? NULL : gs_alloc(ctx, size * n, sizeof *self->jobs);
        price = self->jobs == NULL ? NULL : gs_alloc(ctx, size * n, sizeof *price);
        status = price == NULL ? ctx->status : GS_OK;
    }
    if (status == GS_OK && count > 0) {
        self->count = count;
        for (int64_t w = 0; w < count; w++) {
            self->deadline[w] = listed[w];
        }
        status = solve(self, ctx, &program, price, &largest);
        self->scale = scale_for(self, largest);
        for (int64_t w = 0; w < count && status == GS_OK && self->scale > 0; w++) {
            status = gs_pbs_prices_round(&program, ctx, price + w * problem->n, self->scale,
                                         self->price + w * problem->n);
        }
        if (self->scale == 0) {
            self->count = 0;
            self->scale = 1;
        }
    }
    gs_free(ctx, listed);
    gs_free(ctx, price);
    gs_pbs_prices_free(&program, ctx);
    return status;
}

void gs_pbs_windows_free(gs_pbs_windows_t *self, gs_context_t *ctx)
{
    gs_free(ctx, self->deadline);
    gs_free(ctx, self->price);
    gs_free(ctx, self->jobs);
    self->deadline = self->price = NULL;
    self->jobs = NULL;
    self->count = 0;
}

int64_t gs_pbs_windows_latest(const gs_pbs_windows_t *self, int64_t k, int64_t class_index)
{
    const gs_pbs_problem_t *p = self->problem;
    int64_t executed[GS_PERIODIC_TASKS_MAX], least = INT64_MAX;
    for (int32_t i = 0; i < p->n; i++) {
        executed[i] = gs_periodic_tasks_jobs_before(&p->tasks, i, p->start[k] + 1) -
                      class_index / p->stride[i] % p->radix[i];
    }
    for (int64_t w = self->count - 1; w >= 0 && self->deadline[w] > p->start[k]; w--) {
        const gs_pbs_rates_count_t *jobs = self->jobs + w * p->n;
        const int64_t *price = self->price + w * p->n;
        int64_t units = self->scale * self->deadline[w];
        bool due = false;
        for (int32_t i = 0; i < p->n; i++) {
            int64_t must = jobs[i].must - executed[i], may = jobs[i].may - executed[i];
            due = due || must > 0;
            int64_t counted = price[i] > 0 ? must : may;
            units -= counted > 0 ? price[i] * counted : 0;
        }
        least = due && units < least ? units : least;
    }
    if (least == INT64_MAX) {
        return INT64_MAX;
    }
    return least >= 0 ? least / self->scale : -1;
}
