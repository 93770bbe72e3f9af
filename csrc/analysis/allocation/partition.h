/* Cores for the tests with one GPU at a time: worst fit, by load alone.
 *
 * Tasks by falling utilization go to the core with the least load each (paper 002, Algorithm 1,
 * without SMs). The utilization is what a job takes of its core by its period: (C + G^m) / T, or
 * (C + G) / T where kernels keep the core; with a server C / T, and the server is one more task, of
 * utilization sum (G^m + 2 eta overhead) / T (see gpu_server.h), placed after tasks of the same. No
 * core is refused to a task: a load beyond 1 fails the test, which says why.
 */
#ifndef GS_ANALYSIS_ALLOCATION_PARTITION_H
#define GS_ANALYSIS_ALLOCATION_PARTITION_H

#include "analysis/partitioned/lock_methods.h"
#include "core/method.h"

/* Places the tasks of one set and tests them with the method, in its sound form. options: the
 * server's core is chosen and not read. core: n entries of the caller; *server: the server's core,
 * -1 without one. Refuses what the tests refuse. */
int gs_analysis_allocation_partition(gs_analysis_partitioned_lock_test_t *self, gs_context_t *ctx,
                                     const gs_host_tasks_t *hosts,
                                     const gs_analysis_partitioned_lock_method_t *method,
                                     const gs_analysis_partitioned_lock_options_t *options,
                                     int64_t *core, int64_t *server,
                                     gs_analysis_common_answer_t *answer);

extern const gs_method_t gs_analysis_allocation_partition_method;

#endif
