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

int gs_pbs_oracle_times(gs_context_t *ctx, int32_t n, const int64_t *wcet,
                        gs_pbs_oracle_slowdown_t slowdown, gs_rng_t *rng, int64_t *times)
{
    int status = check_wcet(ctx, n, wcet);
    if (status != GS_OK) {
        return status;
    }
    if (slowdown.least < GS_PBS_ORACLE_SLOWDOWN_ONE || slowdown.most < slowdown.least ||
        slowdown.most > MOST_SLOWDOWN) {
        return gs_fail(ctx, GS_ERR_VALUE, "slowdown", -1, slowdown.least,
                       "factors of 1 to 1000000, in billionths, the lesser first");
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
        wide_t product = (wide_t)factor * (wide_t)times[mask];
        wide_t time = (product + GS_PBS_ORACLE_SLOWDOWN_ONE - 1) / GS_PBS_ORACLE_SLOWDOWN_ONE;
        if (time >= GS_NEVER / 2) {
            return gs_fail(ctx, GS_ERR_OVERFLOW, "batch", mask, times[mask],
                           "a longest wcet that, slowed down, is at most 2**60 - 2 ticks");
        }
        times[mask] = (int64_t)time;
    }
    return gs_poll(ctx, 2 * size);
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
