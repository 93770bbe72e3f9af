/* MPCP: response-time test with one lock for the GPU, granted by priority.
 *
 * Rajkumar, Sha, Lehoczky, RTSS 1988; Lakshmanan, de Niz, Rajkumar, RTSS 2009. Proved in notebook
 * 06, with the jitter W - x in place of the refuted W + B^r. There is one lock, so only its holder
 * is boosted on any core, and a GPU segment takes no longer than its own length.
 */
#ifndef GS_ANALYSIS_PARTITIONED_MPCP_H
#define GS_ANALYSIS_PARTITIONED_MPCP_H

#include "analysis/partitioned/lock_test.h"

/* The test for one set of self->n tasks on cores 0..cpus-1, kernels on sms SMs. mode:
 * GS_ANALYSIS_PARTITIONED_LOCK_SUSPEND, _BUSY or _SPIN. Errors: those of
 * gs_analysis_partitioned_lock_test_start; GS_ERR_INTERRUPTED. */
int gs_analysis_partitioned_mpcp(gs_analysis_partitioned_lock_test_t *self, gs_context_t *ctx,
                                 const gs_host_tasks_t *hosts, const int64_t *core, int64_t cpus,
                                 int64_t sms, int mode, gs_analysis_common_answer_t *answer);

#endif
