/* Worst fit, decreasing: tasks by descending utilization go to the core with the least load. */
#ifndef GS_ANALYSIS_ALLOCATION_WORST_FIT_H
#define GS_ANALYSIS_ALLOCATION_WORST_FIT_H

#include "model/host_tasks.h"

/* Unit of utilizations: they are kept as multiples of 1 / unit, where unit is a common multiple of
 * all periods if that keeps the sum of n of them exact in floating point, and 1 otherwise. Equal
 * loads then compare equal wherever that can be decided. */
double gs_analysis_allocation_worst_fit_unit(const gs_host_tasks_t *hosts);

static inline double gs_analysis_allocation_worst_fit_share(double unit, int64_t work,
                                                            int64_t period)
{
    return unit > 1 ? (double)work * (unit / (double)period) : (double)work / (double)period;
}

/* order: the indices 0 .. n-1 by descending share, ties by index. */
void gs_analysis_allocation_worst_fit_order(const double *share, int64_t n, int64_t *order);

/* Updates the order after the share of index i has changed. */
void gs_analysis_allocation_worst_fit_move(const double *share, int64_t n, int64_t i,
                                           int64_t *order);

/* The core with the least load; the first of equal ones. */
static inline int64_t gs_analysis_allocation_worst_fit_core(const double *load, int64_t cpus)
{
    int64_t core = 0;
    for (int64_t p = 1; p < cpus; p++) {
        core = load[p] < load[core] ? p : core;
    }
    return core;
}

#endif
