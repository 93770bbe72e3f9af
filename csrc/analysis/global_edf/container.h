/* The Container Method: all GPU-using tasks inside one server, in FIFO order.
 *
 * Paper 004, section 4.2. The container G has the bandwidth w = sum of its tasks' (e + s) / p,
 * which must not exceed 1; it and the CPU-only tasks are scheduled by global EDF on m CPUs, which
 * takes a total of at most m and, though the paper does not say so, at most 1 for every CPU-only
 * task.
 *
 * The bound: the container is a periodic server with period P and budget w P among the CPU-only
 * tasks; Theta is its tardiness there. An interval of length D holds more than (D - Theta) / P - 2
 * of its jobs, a supply of at least w (D - Theta - 2 P), and what arrives in a busy interval before
 * a job, with one job of every task, is at most w times its length plus the sum of all e + s:
 *
 *   response of a GPU-using task <= Theta + 2 P + (sum of e + s) / w.
 *
 * A server with a larger budget w' P has the same bound with w' in the place of w, and its own
 * Theta; but not that of w, neither for itself nor for the CPU-only tasks that it keeps waiting.
 */
#ifndef GS_ANALYSIS_GLOBAL_EDF_CONTAINER_H
#define GS_ANALYSIS_GLOBAL_EDF_CONTAINER_H

#include "analysis/global_edf/tardiness.h"
#include "core/method.h"

/* tasks->demand is e + s, inside[i] says whether task i is in the container, server_period is P.
 * *verdict is GS_ANALYSIS_GLOBAL_EDF_BOUNDED, GS_ANALYSIS_GLOBAL_EDF_LONG (a CPU-only task,
 * *failed, asks for more than 1; not looked at with `paper`), GS_ANALYSIS_GLOBAL_EDF_CONTAINER or
 * GS_ANALYSIS_GLOBAL_EDF_LOAD; bounds are given when it is the first, as in
 * gs_analysis_global_edf_response, by GS_ANALYSIS_GLOBAL_EDF_FIFO for tasks inside. The budget is w
 * P rounded up to a tick, at most P, if `whole` (that of simulate/host/host.h), and where w P is no
 * short fraction of a tick rounded up to some fraction of one; no bound is given if this is too
 * much for the CPUs. The verdict is that of w P itself. The set must have passed
 * gs_analysis_global_edf_check. Refuses a server period that is not positive or beyond the clock.
 */
int gs_analysis_global_edf_container(gs_context_t *ctx, const gs_analysis_global_edf_t *tasks,
                                     const int64_t *inside, int64_t m, int64_t server_period,
                                     bool whole, bool paper, int64_t methods, int *verdict,
                                     int64_t *failed, gs_analysis_global_edf_bound_t *bound);

extern const gs_method_t gs_analysis_global_edf_container_method;

#endif
