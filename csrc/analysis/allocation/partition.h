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

#include "analysis/partitioned/fmlp_plus.h"
#include "analysis/partitioned/gpu_server.h"
#include "analysis/partitioned/mpcp.h"
#include "core/method.h"

enum {
    GS_ANALYSIS_ALLOCATION_PARTITION_MPCP = 0,
    GS_ANALYSIS_ALLOCATION_PARTITION_FMLP_PLUS = 1,
    GS_ANALYSIS_ALLOCATION_PARTITION_GPU_SERVER = 2
};

/* Places the tasks of one set and tests them. test: GS_ANALYSIS_ALLOCATION_PARTITION_*; mode:
 * GS_ANALYSIS_PARTITIONED_LOCK_* (of the server: GS_ANALYSIS_PARTITIONED_LOCK_SUSPEND); overhead:
 * the server's. core: n entries of the caller; *server: the server's core, -1 without one. Refuses
 * what the tests refuse, and numbers that name no test or mode. */
int gs_analysis_allocation_partition(gs_analysis_partitioned_lock_test_t *self, gs_context_t *ctx,
                                     const gs_host_tasks_t *hosts, int64_t cpus, int64_t sms,
                                     int test, int mode, int64_t overhead, int64_t *core,
                                     int64_t *server, gs_analysis_common_answer_t *answer);

extern const gs_method_t gs_analysis_allocation_partition_method;

#endif
