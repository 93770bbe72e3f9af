/* Assignment of tasks to cores for the tests of placed tasks: worst fit by load.
 *
 * Tasks by descending utilization go to the core with the least load ([RTCSA19], Algorithm 1,
 * without the choice of SMs). The utilization is the time of a job on its core divided by its
 * period: (C + G^m) / T, or (C + G) / T where kernels keep the core. With a server it is C / T, and
 * the server is one more task, of utilization sum (G^m + 2 eta overhead) / T (see gpu_server.h),
 * placed after tasks of equal utilization. No core rejects a task: a load above 1 fails the test,
 * which gives the reason.
 */
#ifndef GS_ANALYSIS_ALLOCATION_PARTITION_H
#define GS_ANALYSIS_ALLOCATION_PARTITION_H

#include "analysis/placed_test.h"
#include "core/method.h"

/* Memory for sets of at most as many tasks as it was made for. The arrays are owned. */
typedef struct {
    int64_t *order; /* n + 1: tasks, and the server, by descending utilization */
    double *share;  /* n + 1: utilization of every task, and of the server */
    double *load;   /* n + 1: load of every core */
} gs_analysis_allocation_partition_t;

int gs_analysis_allocation_partition_init(gs_analysis_allocation_partition_t *self,
                                          gs_context_t *ctx, int64_t n);
void gs_analysis_allocation_partition_free(gs_analysis_allocation_partition_t *self,
                                           gs_context_t *ctx);

/* Assigns the tasks of one set to cores. place: the SMs of the tasks are read (stgm), its cores and
 * its server are not. core: n entries of the caller; *server: the core of the server, -1 without
 * one. Errors: GS_ERR_VALUE for a malformed set, numbers of CPUs or SMs, or the cost of a request;
 * GS_ERR_INTERRUPTED. */
int gs_analysis_allocation_partition(gs_analysis_allocation_partition_t *self, gs_context_t *ctx,
                                     const gs_analysis_placed_test_t *test,
                                     const gs_host_tasks_t *hosts,
                                     const gs_analysis_placed_place_t *place, int64_t *core,
                                     int64_t *server);

extern const gs_method_t gs_analysis_allocation_partition_method;

#endif
