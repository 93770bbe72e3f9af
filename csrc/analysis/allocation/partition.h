/* Assignment of tasks to cores for the tests with one GPU user at a time: worst fit by load.
 *
 * Tasks by descending utilization go to the core with the least load ([RTCSA19], Algorithm 1,
 * without SMs). The utilization is the time of a job on its core divided by its period: (C + G^m) /
 * T, or (C + G) / T where kernels keep the core. With a server it is C / T, and the server is one
 * more task, of utilization sum (G^m + 2 eta overhead) / T (see gpu_server.h), placed after tasks
 * of equal utilization. No core rejects a task: a load above 1 fails the test, which gives the
 * reason.
 */
#ifndef GS_ANALYSIS_ALLOCATION_PARTITION_H
#define GS_ANALYSIS_ALLOCATION_PARTITION_H

#include "analysis/partitioned/lock_methods.h"
#include "core/method.h"

/* Assigns the tasks of one set to cores and tests them with the method, in its sound form. options:
 * the core of the server is chosen and not read. core: n entries of the caller; *server: the core
 * of the server, -1 without one. Errors: those of the tests. */
int gs_analysis_allocation_partition(gs_analysis_partitioned_lock_test_t *self, gs_context_t *ctx,
                                     const gs_host_tasks_t *hosts,
                                     const gs_analysis_partitioned_lock_method_t *method,
                                     const gs_analysis_partitioned_lock_options_t *options,
                                     int64_t *core, int64_t *server,
                                     gs_analysis_common_answer_t *answer);

extern const gs_method_t gs_analysis_allocation_partition_method;

#endif
