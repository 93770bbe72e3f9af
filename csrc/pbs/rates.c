/* Prices by the rates of the tasks, and the window that turns them into a proof. */
#include "pbs/rates.h"

#include "core/int128.h"

#include <math.h>

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
