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

#include "analysis/partitioned/fmlp_plus.h"
#include "analysis/partitioned/gpu_server.h"
#include "analysis/partitioned/mpcp.h"

enum {
    GS_ANALYSIS_ALLOCATION_PARTITION_MPCP = 0,
    GS_ANALYSIS_ALLOCATION_PARTITION_FMLP_PLUS = 1,
    GS_ANALYSIS_ALLOCATION_PARTITION_GPU_SERVER = 2
};

/* Assigns the tasks of one set to cores and tests them. test: GS_ANALYSIS_ALLOCATION_PARTITION_*;
 * mode: GS_ANALYSIS_PARTITIONED_LOCK_* (of the server: _SUSPEND); overhead: that of the server, in
 * ticks. core: n entries of the caller; *server: the core of the server, -1 without one. Errors:
 * those of the tests; GS_ERR_VALUE for an unknown test or mode. */
int gs_analysis_allocation_partition(gs_analysis_partitioned_lock_test_t *self, gs_context_t *ctx,
                                     const gs_host_tasks_t *hosts, int64_t cpus, int64_t sms,
                                     int test, int mode, int64_t overhead, int64_t *core,
                                     int64_t *server, gs_analysis_common_answer_t *answer);

#endif
