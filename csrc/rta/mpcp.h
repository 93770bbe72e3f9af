/* MPCP: one lock for the GPU, the most urgent waiting task gets it next.
 *
 * Rajkumar, Sha, Lehoczky, RTSS 1988; Lakshmanan, de Niz, Rajkumar, RTSS 2009. Proved in notebook
 * 06, with the jitter W - x that replaces the refuted W + B^r. There is one lock, so only its
 * holder is boosted anywhere, and a GPU segment takes no longer than itself.
 */
#ifndef GS_RTA_MPCP_H
#define GS_RTA_MPCP_H

#include "rta/host_lock.h"

/* The test for one set of self->n tasks on cores 0..cpus-1, kernels on sms SMs. mode:
 * GS_LOCK_SUSPEND, GS_LOCK_BUSY, GS_LOCK_SPIN. Refuses what gs_host_lock_start refuses. */
int gs_mpcp(gs_host_lock_t *self, gs_env_t *env, const gs_hosts_t *hosts, const int64_t *core,
            int64_t cpus, int64_t sms, int mode, gs_host_answer_t *answer);

#endif
