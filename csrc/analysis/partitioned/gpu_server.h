/* GPU server: response-time test with a server task that runs all GPU segments, one at a time, by
 * priority of the clients.
 *
 * Kim, Patel, Wang, Rajkumar, RTCSA 2017 (JSA 2018, arXiv 1709.06613); notebook 06. The server has
 * the highest priority on its core, executes the copies and suspends during kernels. It has an
 * overhead at the start of a request, between requests and to notify the client. Clients are
 * suspended from their request to the notification.
 */
#ifndef GS_ANALYSIS_PARTITIONED_GPU_SERVER_H
#define GS_ANALYSIS_PARTITIONED_GPU_SERVER_H

#include "analysis/partitioned/lock_test.h"
#include "core/method.h"

/* gs_analysis_partitioned_lock_run_t for the GPU server. Errors beside those of every test:
 * GS_ERR_VALUE for a server outside 0..cpus and an overhead outside 0..GS_ANALYSIS_COMMON_LIMIT
 * - 1.
 */
int gs_analysis_partitioned_gpu_server(gs_analysis_partitioned_lock_test_t *self, gs_context_t *ctx,
                                       const gs_host_tasks_t *hosts, const int64_t *core,
                                       const gs_analysis_partitioned_lock_options_t *options,
                                       gs_analysis_common_answer_t *answer);

int gs_analysis_partitioned_gpu_server_check_overhead(gs_context_t *ctx, int64_t overhead);

extern const gs_method_t gs_analysis_partitioned_gpu_server_method;

#endif
