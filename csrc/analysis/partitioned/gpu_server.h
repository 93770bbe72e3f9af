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

/* The test for one set of self->n tasks on cores 0..cpus-1, kernels on sms SMs. server: the core of
 * the server, or cpus for a core of its own; overhead: in ticks. Errors: those of
 * gs_analysis_partitioned_lock_test_start; GS_ERR_VALUE for a server outside 0..cpus and an
 * overhead outside 0..GS_ANALYSIS_COMMON_LIMIT - 1; GS_ERR_INTERRUPTED. */
int gs_analysis_partitioned_gpu_server(gs_analysis_partitioned_lock_test_t *self, gs_context_t *ctx,
                                       const gs_host_tasks_t *hosts, const int64_t *core,
                                       int64_t server, int64_t cpus, int64_t sms, int64_t overhead,
                                       gs_analysis_common_answer_t *answer);

int gs_analysis_partitioned_gpu_server_check_overhead(gs_context_t *ctx, int64_t overhead);

#endif
