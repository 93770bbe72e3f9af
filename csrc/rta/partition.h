/* Cores for the tests with one GPU at a time: worst fit, by load alone.
 *
 * Tasks by falling utilization go to the core with the least load each (paper 002, Algorithm 1,
 * without SMs). The utilization is what a job takes of its core by its period: (C + G^m) / T, or
 * (C + G) / T where kernels keep the core; with a server C / T, and the server is one more task, of
 * utilization sum (G^m + 2 eta overhead) / T (see gpu_server.h), placed after tasks of the same. No
 * core is refused to a task: a load beyond 1 fails the test, which says why.
 */
#ifndef GS_RTA_PARTITION_H
#define GS_RTA_PARTITION_H

#include "rta/fmlp_plus.h"
#include "rta/gpu_server.h"
#include "rta/mpcp.h"

enum { GS_PARTITION_MPCP = 0, GS_PARTITION_FMLP_PLUS = 1, GS_PARTITION_GPU_SERVER = 2 };

/* Places the tasks of one set and tests them. test: GS_PARTITION_*; mode: GS_LOCK_* (of the server:
 * GS_LOCK_SUSPEND); overhead: the server's. core: n entries of the caller; *server: the server's
 * core, -1 without one. Refuses what the tests refuse, and numbers that name no test or mode. */
int gs_partition(gs_host_lock_t *self, gs_env_t *env, const gs_hosts_t *hosts, int64_t cpus,
                 int64_t sms, int test, int mode, int64_t overhead, int64_t *core, int64_t *server,
                 gs_host_answer_t *answer);

#endif
