/* Container Method: all GPU-using tasks inside one server, in FIFO order.
 *
 * [RTNS10], section 4.2. The container G has the bandwidth w = sum of (e + s) / p of its tasks,
 * which must not exceed 1. It and the CPU-only tasks are scheduled by global EDF on m CPUs, which
 * requires a total of at most m and, which the paper does not state, at most 1 for every CPU-only
 * task.
 *
 * The bound: the container is a periodic server with period P and budget w P among the CPU-only
 * tasks; Theta is its tardiness there. An interval of length D holds more than (D - Theta) / P - 2
 * of its jobs, a supply of at least w (D - Theta - 2 P). The work that arrives in a busy interval
 * before a job, with one job of every task, is at most w times its length plus the sum of (e + s):
 *
 *   response of a GPU-using task <= Theta + 2 P + (sum of e + s) / w.
 *
 * A server with a larger budget w' P has the same bound with w' in place of w, and its own Theta;
 * not that of w, neither for itself nor for the CPU-only tasks that it delays.
 */
#ifndef GS_ANALYSIS_GLOBAL_EDF_CONTAINER_H
#define GS_ANALYSIS_GLOBAL_EDF_CONTAINER_H

#include "analysis/global_edf/tardiness.h"
#include "core/method.h"

/* tasks->demand is e + s, inside[i] whether task i is in the container, server_period is P, in
 * ticks. *verdict is GS_ANALYSIS_GLOBAL_EDF_BOUNDED, GS_ANALYSIS_GLOBAL_EDF_LONG (a CPU-only task,
 * *failed, has a utilization above 1; not checked with `paper`), GS_ANALYSIS_GLOBAL_EDF_CONTAINER
 * or GS_ANALYSIS_GLOBAL_EDF_LOAD; it is that of w P itself. Bounds are given in the first case, as
 * in gs_analysis_global_edf_response, by GS_ANALYSIS_GLOBAL_EDF_FIFO for tasks inside. The budget
 * is w P; if `whole`, rounded up to a tick, at most P (that of simulate/host/host.h); where w P is
 * no short fraction of a tick, rounded up to some fraction of one. No bound is given if that
 * overloads the CPUs. The set must have passed gs_analysis_global_edf_check. Errors: GS_ERR_VALUE
 * for a server period below 1, GS_ERR_OVERFLOW for one of 2**60 - 1 ticks or more; GS_ERR_MEMORY;
 * GS_ERR_INTERRUPTED. */
int gs_analysis_global_edf_container(gs_context_t *ctx, const gs_analysis_global_edf_t *tasks,
                                     const int64_t *inside, int64_t m, int64_t server_period,
                                     bool whole, bool paper, int64_t methods, int *verdict,
                                     int64_t *failed, gs_analysis_global_edf_bound_t *bound);

extern const gs_method_t gs_analysis_global_edf_container_method;

#endif
