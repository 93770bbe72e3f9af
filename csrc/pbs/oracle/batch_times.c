/* Completion times of batches under slowdown, and eligibility by utilization. */
#include "pbs/oracle/oracle.h"

#define MOST_SLOWDOWN (INT64_C(1000000) * GS_PBS_ORACLE_SLOWDOWN_ONE)

__extension__ typedef unsigned __int128 wide_t;

static int check_wcet(gs_context_t *ctx, int32_t n, const int64_t *wcet)
{
    if (n < 1 || n > GS_PERIODIC_TASKS_MAX) {
        return gs_fail(ctx, GS_ERR_VALUE, "tasks", -1, n, "1 to 24 tasks");
    }
    for (int32_t i = 0; i < n; i++) {
        if (wcet[i] < 1) {
            return gs_fail(ctx, GS_ERR_VALUE, "wcet", i, wcet[i], "a positive number of ticks");
        }
        if (wcet[i] >= GS_NEVER / 2) {
            return gs_fail(ctx, GS_ERR_OVERFLOW, "wcet", i, wcet[i], "at most 2**60 - 2 ticks");
        }
    }
    return GS_OK;
}

static int check_slowdown(gs_context_t *ctx, gs_pbs_oracle_slowdown_t slowdown)
{
    if (slowdown.least < GS_PBS_ORACLE_SLOWDOWN_ONE || slowdown.most < slowdown.least ||
        slowdown.most > MOST_SLOWDOWN) {
        return gs_fail(ctx, GS_ERR_VALUE, "slowdown", -1, slowdown.least,
                       "factors of 1 to 1000000, in billionths, the lesser first");
    }
    return GS_OK;
}

/* Multiplies the longest time of a batch by its factor. */
static int slow_down(gs_context_t *ctx, int64_t batch, int64_t factor, int64_t *time)
{
    wide_t product = (wide_t)factor * (wide_t)*time;
    wide_t slowed = (product + GS_PBS_ORACLE_SLOWDOWN_ONE - 1) / GS_PBS_ORACLE_SLOWDOWN_ONE;
    if (slowed >= GS_NEVER / 2) {
        return gs_fail(ctx, GS_ERR_OVERFLOW, "batch", batch, *time,
                       "a longest wcet that, slowed down, is at most 2**60 - 2 ticks");
    }
    *time = (int64_t)slowed;
    return GS_OK;
}

int gs_pbs_oracle_times(gs_context_t *ctx, int32_t n, const int64_t *wcet,
                        gs_pbs_oracle_slowdown_t slowdown, gs_rng_t *rng, int64_t *times)
{
    int status = check_wcet(ctx, n, wcet);
    if (status != GS_OK) {
        return status;
    }
    status = check_slowdown(ctx, slowdown);
    if (status != GS_OK) {
        return status;
    }
    int64_t size = INT64_C(1) << n, choices = slowdown.most - slowdown.least + 1;
    times[0] = 0;
    for (int64_t mask = 1; mask < size; mask++) {
        int64_t first = wcet[__builtin_ctzll((uint64_t)mask)], rest = times[mask & (mask - 1)];
        times[mask] = first > rest ? first : rest;
    }
    /* In a second pass: the time of a set is not that of its subset times a factor. */
    for (int64_t mask = 1; mask < size; mask++) {
        if ((mask & (mask - 1)) == 0) {
            continue;
        }
        int64_t factor = slowdown.least;
        if (choices > 1) {
            factor += (int64_t)gs_rng_below(rng, (uint64_t)choices);
        }
        status = slow_down(ctx, mask, factor, &times[mask]);
        if (status != GS_OK) {
            return status;
        }
    }
    return gs_poll(ctx, 2 * size);
}

int gs_pbs_oracle_times_of(gs_context_t *ctx, const gs_pbs_oracle_batches_t *batches,
                           const int64_t *wcet, int64_t factor, int64_t *times, int64_t *open)
{
    int status = check_wcet(ctx, batches->n, wcet);
    if (status == GS_OK) {
        status = check_slowdown(ctx, (gs_pbs_oracle_slowdown_t){factor, factor});
    }
    for (int64_t k = 0; status == GS_OK && k < batches->count; k++) {
        uint32_t batch = batches->mask[k];
        int64_t longest = 0;
        for (uint32_t rest = batch; rest != 0; rest &= rest - 1) {
            int64_t time = wcet[__builtin_ctz(rest)];
            longest = time > longest ? time : longest;
        }
        if (batches->submission[k] == GS_PBS_ORACLE_BATCHES_NONE) {
            continue;
        }
        status = (batch & (batch - 1)) == 0 ? GS_OK : slow_down(ctx, batch, factor, &longest);
        if (status == GS_OK) {
            *(batches->submission[k] == GS_PBS_ORACLE_BATCHES_OPEN ? &open[batch] : &times[batch]) =
                longest;
            status = gs_poll(ctx, 4);
        }
    }
    return status;
}

void gs_pbs_oracle_keep_eligible(const gs_pbs_oracle_batches_t *batches, int64_t *times,
                                 int64_t *open)
{
    int64_t k = 0, size = INT64_C(1) << batches->n;
    for (int64_t mask = 1; mask < size; mask++) {
        bool listed = k < batches->count && batches->mask[k] == mask;
        int32_t submission = listed ? batches->submission[k++] : GS_PBS_ORACLE_BATCHES_NONE;
        if (submission == GS_PBS_ORACLE_BATCHES_OPEN) {
            open[mask] = times[mask];
        }
        if (submission < GS_PBS_ORACLE_BATCHES_ASCENDING) {
            times[mask] = 0;
        }
    }
}

int gs_pbs_oracle_by_utilization(gs_context_t *ctx, const gs_periodic_tasks_t *tasks,
                                 const int64_t *wcet, int64_t *completion)
{
    int64_t hyperperiod;
    int status = gs_periodic_tasks_check(ctx, tasks);
    if (status == GS_OK) {
        status = check_wcet(ctx, tasks->n, wcet);
    }
    if (status == GS_OK) {
        status = gs_periodic_tasks_hyperperiod(ctx, tasks, &hyperperiod);
    }
    if (status != GS_OK) {
        return status;
    }
    /* Work in a hyperperiod, limited to one more than the hyperperiod: sums up to the first that is
     * longer fit 64 bits. */
    uint64_t work[GS_PERIODIC_TASKS_MAX];
    for (int32_t i = 0; i < tasks->n; i++) {
        wide_t exact = (wide_t)wcet[i] * (wide_t)(hyperperiod / tasks->period[i]);
        work[i] = exact > (wide_t)hyperperiod ? (uint64_t)hyperperiod + 1 : (uint64_t)exact;
    }
    int64_t size = INT64_C(1) << tasks->n;
    for (int64_t mask = 1; mask < size; mask++) {
        uint64_t sum = 0;
        for (int64_t rest = mask; rest != 0 && sum <= (uint64_t)hyperperiod; rest &= rest - 1) {
            sum += work[__builtin_ctzll((uint64_t)rest)];
        }
        if ((mask & (mask - 1)) != 0 && sum > (uint64_t)hyperperiod) {
            completion[mask] = 0;
        }
        status = gs_poll(ctx, tasks->n);
        if (status != GS_OK) {
            return status;
        }
    }
    return GS_OK;
}
