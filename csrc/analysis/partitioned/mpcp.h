/* MPCP: one lock for the GPU, the most urgent waiting task gets it next.
 *
 * Rajkumar, Sha, Lehoczky, RTSS 1988; Lakshmanan, de Niz, Rajkumar, RTSS 2009. Proved in notebook
 * 06, with the jitter W - x that replaces the refuted W + B^r. There is one lock, so only its
 * holder is boosted anywhere, and a GPU segment takes no longer than itself.
 */
#ifndef GS_ANALYSIS_PARTITIONED_MPCP_H
#define GS_ANALYSIS_PARTITIONED_MPCP_H

#include "analysis/partitioned/lock_test.h"
#include "core/method.h"

/* The test for one set of self->n tasks on cores 0..cpus-1, kernels on sms SMs. mode:
 * GS_ANALYSIS_PARTITIONED_LOCK_SUSPEND, GS_ANALYSIS_PARTITIONED_LOCK_BUSY,
 * GS_ANALYSIS_PARTITIONED_LOCK_SPIN. Refuses what gs_analysis_partitioned_lock_test_start refuses.
 */
int gs_analysis_partitioned_mpcp(gs_analysis_partitioned_lock_test_t *self, gs_context_t *ctx,
                                 const gs_host_tasks_t *hosts, const int64_t *core, int64_t cpus,
                                 int64_t sms, int mode, gs_analysis_common_answer_t *answer);

extern const gs_method_t gs_analysis_partitioned_mpcp_method;

#endif
