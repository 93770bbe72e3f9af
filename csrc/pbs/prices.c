/* The linear program with its rounding, overload in the long run, windows. */
#include "pbs/prices.h"

#include "core/int128.h"
#include "core/simplex.h"
#include "core/vector.h"
#include "model/periodic_tasks_internal.h"

#include <math.h>
#include <stdlib.h>

enum {
    LOW_BITS = 12, /* worths are sums of two parts: tasks 0..11, and the others */
    BUCKETS = 64,  /* most batches that one pass over the table adds to the pool */
    POOL_MOST = 4096
};

/* The program is min sum x_b C_b subject to sum over b with i in b of x_b >= w_i (= w_i for a free
 * task). A basis has one column per task: a batch, or the surplus of a task. It starts with the
 * singletons. */
static bool enter_batch(gs_simplex_t *self, const int64_t *completion, uint32_t batch)
{
    double column[GS_PERIODIC_TASKS_MAX];
    for (int32_t i = 0; i < self->n; i++) {
        column[i] = (double)(batch >> i & 1);
    }
    return gs_simplex_enter(self, column, (double)completion[batch]);
}

/* Solves over the batches of the pool. */
static int solve_pool(const gs_pbs_prices_t *self, gs_context_t *ctx, gs_simplex_t *simplex,
                      uint32_t free_tasks)
{
    /* More steps than are needed; stopping early gives weaker prices, not wrong ones. */
    for (int32_t step = 0; step < 50 * self->n; step++) {
        int32_t negative = -1;
        for (int32_t i = 0; i < self->n; i++) {
            if ((free_tasks >> i & 1) == 0 && simplex->price[i] < -1e-9 &&
                (negative < 0 || simplex->price[i] < simplex->price[negative])) {
                negative = i;
            }
        }
        if (negative >= 0) {
            double column[GS_PERIODIC_TASKS_MAX] = {0};
            column[negative] = -1;
            if (!gs_simplex_enter(simplex, column, 0)) {
                return GS_OK;
            }
            continue;
        }
        double most = gs_simplex_tolerance(simplex);
        uint32_t worst = 0;
        for (int64_t p = 0; p < self->pooled; p++) {
            double worth = 0;
            for (uint32_t rest = self->pool[p]; rest != 0; rest &= rest - 1) {
                worth += simplex->price[__builtin_ctz(rest)];
            }
            double excess = worth - (double)self->completion[self->pool[p]];
            if (excess > most) {
                most = excess;
                worst = self->pool[p];
            }
        }
        int status = gs_poll(ctx, 8 * self->pooled + self->n * self->n);
        if (status != GS_OK || worst == 0 || !enter_batch(simplex, self->completion, worst)) {
            return status;
        }
    }
    return GS_OK;
}

/* The batches whose worths exceed their times most, the worst of each bucket. */
typedef struct {
    uint32_t batch[BUCKETS]; /* 0: none */
    double excess[BUCKETS];
} worst_t;

static inline void consider(worst_t *self, uint32_t batch, double over)
{
    uint32_t bucket = (batch * UINT32_C(0x9e3779b9)) >> 26;
    if (over > self->excess[bucket]) {
        self->excess[bucket] = over;
        self->batch[bucket] = batch;
    }
}

static int32_t low_tasks(const gs_pbs_prices_t *self)
{
    return self->n < LOW_BITS ? self->n : LOW_BITS;
}

/* Sets self->worth by the prices of a program. */
static void fill_worths(gs_pbs_prices_t *self, const gs_simplex_t *simplex)
{
    int32_t low = low_tasks(self);
    double *high = self->worth + ((size_t)1 << low);
    self->worth[0] = high[0] = 0;
    for (uint32_t b = 1; b < UINT32_C(1) << low; b++) {
        self->worth[b] = self->worth[b & (b - 1)] + simplex->price[__builtin_ctz(b)];
    }
    for (uint32_t b = 1; b < UINT32_C(1) << (self->n - low); b++) {
        high[b] = high[b & (b - 1)] + simplex->price[low + __builtin_ctz(b)];
    }
}

/* Looks through the table, or its list, for batches that are worth more than their time. */
static int find_worst(gs_pbs_prices_t *self, gs_context_t *ctx, double least, worst_t *worst)
{
    int32_t low = low_tasks(self);
    uint32_t size = UINT32_C(1) << low;
    const double *worth = self->worth, *high_worth = worth + size;
    if (self->list != NULL) {
        for (int64_t j = 0; j < self->list->count; j++) {
            uint32_t b = self->list->batch[j];
            double over =
                high_worth[b >> low] + worth[b & (size - 1)] - (double)self->list->time[j];
            if (over > least) {
                consider(worst, b, over);
            }
        }
        return gs_poll(ctx, self->list->count);
    }
    int status = GS_OK;
    for (uint32_t high = 0; high < UINT32_C(1) << (self->n - low) && status == GS_OK; high++) {
        const int64_t *completion = self->completion + ((size_t)high << low);
        double base = high_worth[high];
        for (uint32_t b = 0; b < size; b++) {
            double over = base + worth[b] - (double)completion[b];
            if (over > least && completion[b] != 0) {
                consider(worst, high << low | b, over);
            }
        }
        status = gs_poll(ctx, size);
    }
    return status;
}

/* Adds to the pool batches that are worth more than their time; *added: how many. */
static int grow_pool(gs_pbs_prices_t *self, gs_context_t *ctx, const gs_simplex_t *simplex,
                     int64_t *added)
{
    worst_t worst = {.batch = {0}};
    double least = gs_simplex_tolerance(simplex);
    for (int i = 0; i < BUCKETS; i++) {
        worst.excess[i] = least;
    }
    fill_worths(self, simplex);
    int status = find_worst(self, ctx, least, &worst);
    if (status != GS_OK) {
        return status;
    }
    self->pooled = self->pooled > POOL_MOST ? 0 : self->pooled;
    uint32_t *pool =
        gs_vector_reserve(ctx, self->pool, &self->capacity, self->pooled + BUCKETS, sizeof *pool);
    if (pool == NULL) {
        return ctx->status;
    }
    self->pool = pool;
    *added = 0;
    for (int i = 0; i < BUCKETS; i++) {
        if (worst.batch[i] != 0) {
            pool[self->pooled++] = worst.batch[i];
            ++*added;
        }
    }
    return GS_OK;
}

int gs_pbs_prices_init(gs_pbs_prices_t *self, gs_context_t *ctx, const gs_batch_table_t *table)
{
    *self = (gs_pbs_prices_t){.n = table->n, .completion = table->completion, .list = table->list};
    int32_t low = low_tasks(self);
    size_t size = ((size_t)1 << low) + ((size_t)1 << (self->n - low));
    self->worth = gs_alloc(ctx, size, sizeof *self->worth);
    return self->worth == NULL ? ctx->status : GS_OK;
}

void gs_pbs_prices_free(gs_pbs_prices_t *self, gs_context_t *ctx)
{
    gs_free(ctx, self->worth);
    gs_free(ctx, self->pool);
    self->worth = NULL;
    self->pool = NULL;
}

int gs_pbs_prices_solve(gs_pbs_prices_t *self, gs_context_t *ctx, const double *weight,
                        uint32_t free_tasks, double *price, double *value)
{
    gs_simplex_t simplex;
    double cost[GS_PERIODIC_TASKS_MAX];
    for (int32_t i = 0; i < self->n; i++) {
        cost[i] = (double)self->completion[UINT32_C(1) << i];
    }
    int64_t added = 1;
    int status = gs_simplex_init(&simplex, ctx, self->n, weight, cost);
    for (int32_t pass = 0; pass < 50 + self->n && added > 0 && status == GS_OK; pass++) {
        status = solve_pool(self, ctx, &simplex, free_tasks);
        if (status == GS_OK) {
            status = grow_pool(self, ctx, &simplex, &added);
        }
    }
    *value = 0;
    if (simplex.inverse != NULL) {
        for (int32_t i = 0; i < self->n; i++) {
            price[i] = simplex.price[i];
        }
        *value = gs_simplex_value(&simplex);
    }
    gs_simplex_free(&simplex, ctx);
    return status;
}

int64_t gs_pbs_prices_scale(double largest, int bits)
{
    double most = ldexp(1, bits);
    int64_t scale = INT64_C(1) << 40;
    while (scale > 0 && !(largest * (double)scale < most)) {
        scale /= 2;
    }
    return scale;
}

/* The most by which the worth of a batch at the rounded prices exceeds its time, at least 0. worth:
 * of the sets of the first tasks, then of the others. */
static int find_most(const gs_pbs_prices_t *self, gs_context_t *ctx, int64_t scale,
                     const int64_t *worth, int64_t *most)
{
    int32_t low = low_tasks(self);
    uint32_t size = UINT32_C(1) << low;
    *most = 0;
    if (self->list != NULL) {
        for (int64_t j = 0; j < self->list->count; j++) {
            uint32_t b = self->list->batch[j];
            int64_t over = worth[size + (b >> low)] + worth[b & (size - 1)];
            if (over > 0) {
                gs_int128_t rest = over - (gs_int128_t)scale * self->list->time[j];
                *most = rest > *most ? (int64_t)rest : *most;
            }
        }
        return gs_poll(ctx, 2 * self->list->count);
    }
    int status = GS_OK;
    for (uint32_t high = 0; high < UINT32_C(1) << (self->n - low) && status == GS_OK; high++) {
        const int64_t *completion = self->completion + ((size_t)high << low);
        int64_t base = worth[size + high];
        for (uint32_t b = 0; b < size; b++) {
            int64_t over = base + worth[b];
            if (completion[b] != 0 && over > 0) {
                gs_int128_t rest = over - (gs_int128_t)scale * completion[b];
                *most = rest > *most ? (int64_t)rest : *most;
            }
        }
        status = gs_poll(ctx, 2 * (int64_t)size);
    }
    return status;
}

int gs_pbs_prices_round(const gs_pbs_prices_t *self, gs_context_t *ctx, const double *price,
                        int64_t scale, int64_t *rounded)
{
    int32_t low = low_tasks(self);
    uint32_t size = UINT32_C(1) << low, high = UINT32_C(1) << (self->n - low);
    int64_t *worth = gs_alloc(ctx, (size_t)size + high, sizeof *worth);
    if (worth == NULL) {
        return ctx->status;
    }
    for (int32_t i = 0; i < self->n; i++) {
        rounded[i] = (int64_t)floor((double)scale * price[i]);
    }
    for (uint32_t b = 1; b < size; b++) {
        worth[b] = worth[b & (b - 1)] + rounded[__builtin_ctz(b)];
    }
    for (uint32_t b = 1; b < high; b++) {
        worth[size + b] = worth[size + (b & (b - 1))] + rounded[low + __builtin_ctz(b)];
    }
    int64_t most;
    int status = find_most(self, ctx, scale, worth, &most);
    /* A batch holds at least one task, so this takes at least `most` from each. */
    for (int32_t i = 0; i < self->n; i++) {
        rounded[i] -= most;
    }
    gs_free(ctx, worth);
    return status;
}

gs_pbs_rates_count_t gs_pbs_rates_count(const gs_periodic_tasks_t *tasks, int32_t i,
                                        int64_t deadline, int64_t limit)
{
    int64_t last = deadline - tasks->deadline[i]; /* the last release that is due */
    int64_t due = gs_periodic_tasks_jobs_before(tasks, i, last < limit ? last + 1 : limit);
    int64_t released = gs_periodic_tasks_jobs_before(tasks, i, deadline < limit ? deadline : limit);
    return (gs_pbs_rates_count_t){due, released};
}

/* Whether the jobs that must run in a window are worth more than its time. */
static bool overloaded(const gs_pbs_rates_t *self, const gs_periodic_tasks_t *tasks)
{
    gs_int128_t worth = 0;
    if (self->window == GS_PBS_RATES_LONG_RUN) {
        /* Rounded down, in units of 2^-60 of a price. */
        for (int32_t i = 0; i < tasks->n; i++) {
            gs_int128_t price = self->price[i] * ((gs_int128_t)1 << 60), t = tasks->period[i];
            worth += price >= 0 ? price / t : -((-price + t - 1) / t);
        }
        return worth > self->scale * ((gs_int128_t)1 << 60);
    }
    int64_t limit = gs_periodic_tasks_hyperperiod_or_never(tasks);
    for (int32_t i = 0; i < tasks->n; i++) {
        gs_pbs_rates_count_t count = gs_pbs_rates_count(tasks, i, self->window, limit);
        worth += (gs_int128_t)self->price[i] * (self->price[i] > 0 ? count.must : count.may);
    }
    return worth > (gs_int128_t)self->scale * self->window;
}

/* Looks for a window. */
static bool find_window(gs_pbs_rates_t *self, const gs_periodic_tasks_t *tasks)
{
    int64_t h = gs_periodic_tasks_hyperperiod_or_never(tasks), last = 0;
    bool simple = true;
    double slack = 0, excess = -(double)self->scale;
    for (int32_t i = 0; i < tasks->n; i++) {
        double t = (double)tasks->period[i], d = (double)tasks->deadline[i];
        double o = (double)gs_periodic_tasks_offset(tasks, i), price = (double)self->price[i];
        simple = simple && tasks->deadline[i] <= tasks->period[i] && o == 0;
        slack += fabs(price) * (1 + (o + (price > 0 ? d : 0)) / t);
        excess += price / t;
        int64_t jobs = gs_periodic_tasks_jobs_before(tasks, i, h);
        int64_t end = gs_periodic_tasks_release(tasks, i, jobs - 1) + tasks->deadline[i];
        last = jobs > 0 && h < GS_NEVER && end > last ? end : last;
    }
    if (simple && h < GS_NEVER) {
        self->window = h;
        return overloaded(self, tasks);
    }
    double needed = slack / excess * (1 + 1e-6) + 1; /* an excess near 0 may be rounded below it */
    if (needed > 0 && needed < (double)(h < GS_NEVER ? h : GS_NEVER)) { /* windows are times */
        self->window = (int64_t)needed;
        if (overloaded(self, tasks)) {
            return true;
        }
    }
    self->window = last;
    return last > 0 && last < GS_NEVER && overloaded(self, tasks);
}

bool gs_pbs_rates_prove(gs_pbs_rates_t *self, const gs_periodic_tasks_t *tasks, bool infinite)
{
    self->window = GS_PBS_RATES_LONG_RUN;
    self->proven = overloaded(self, tasks) && (infinite || find_window(self, tasks));
    return self->proven;
}

bool gs_pbs_rates_matter(const gs_periodic_tasks_t *tasks, const gs_batch_table_t *table)
{
    double load = 0;
    for (int32_t i = 0; i < tasks->n; i++) {
        load += (double)table->completion[UINT32_C(1) << i] / (double)tasks->period[i];
    }
    return load > 1;
}

int gs_pbs_rates_find(gs_pbs_rates_t *self, gs_context_t *ctx, const gs_periodic_tasks_t *tasks,
                      const gs_batch_table_t *table, bool infinite)
{
    *self = (gs_pbs_rates_t){.scale = 1};
    if (!gs_pbs_rates_matter(tasks, table)) {
        return GS_OK;
    }
    double weight[GS_PERIODIC_TASKS_MAX], price[GS_PERIODIC_TASKS_MAX], longest = 1, value = 0;
    for (int32_t i = 0; i < tasks->n; i++) {
        longest = (double)tasks->period[i] > longest ? (double)tasks->period[i] : longest;
    }
    for (int32_t i = 0; i < tasks->n; i++) {
        weight[i] = longest / (double)tasks->period[i];
    }
    gs_pbs_prices_t program;
    uint32_t all = (uint32_t)((UINT64_C(1) << tasks->n) - 1);
    int status = gs_pbs_prices_init(&program, ctx, table);
    if (status == GS_OK) {
        status = gs_pbs_prices_solve(&program, ctx, weight, all, price, &value);
    }
    self->load = value / longest;
    if (status == GS_OK && self->load > 1) {
        double largest = 1;
        for (int32_t i = 0; i < tasks->n; i++) {
            largest = fabs(price[i]) > largest ? fabs(price[i]) : largest;
        }
        self->scale = gs_pbs_prices_scale(largest, 50);
        self->scale = self->scale == 0 && largest < 0x1p58 ? 1 : self->scale;
        if (self->scale > 0) {
            status = gs_pbs_prices_round(&program, ctx, price, self->scale, self->price);
            if (status == GS_OK) {
                gs_pbs_rates_prove(self, tasks, infinite);
            }
        }
    }
    gs_pbs_prices_free(&program, ctx);
    return status;
}

bool gs_pbs_rates_check(const gs_pbs_rates_t *self, const gs_periodic_tasks_t *tasks,
                        const gs_batch_table_t *table)
{
    for (uint32_t b = 1; b < UINT32_C(1) << table->n; b++) {
        gs_int128_t worth = 0;
        for (uint32_t rest = b; rest != 0; rest &= rest - 1) {
            worth += self->price[__builtin_ctz(rest)];
        }
        if (table->completion[b] != 0 && worth > (gs_int128_t)self->scale * table->completion[b]) {
            return false;
        }
    }
    return self->scale > 0 && overloaded(self, tasks);
}

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
