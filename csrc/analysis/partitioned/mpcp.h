/* MPCP: response-time test with one lock for the GPU, granted by priority.
 *
 * Rajkumar, Sha, Lehoczky, RTSS 1988; Lakshmanan, de Niz, Rajkumar, RTSS 2009. Proved in notebook
 * 06, with the jitter W - x in place of the refuted W + B^r. There is one lock, so only its holder
 * is boosted on any core, and a GPU segment takes no longer than its own length.
 */
#ifndef GS_ANALYSIS_PARTITIONED_MPCP_H
#define GS_ANALYSIS_PARTITIONED_MPCP_H

#include "analysis/partitioned/lock_test.h"
#include "core/method.h"

/* gs_analysis_partitioned_lock_run_t for MPCP; mode: GS_ANALYSIS_PARTITIONED_LOCK_SUSPEND,
 * GS_ANALYSIS_PARTITIONED_LOCK_BUSY or GS_ANALYSIS_PARTITIONED_LOCK_SPIN. */
int gs_analysis_partitioned_mpcp(gs_analysis_partitioned_lock_test_t *self, gs_context_t *ctx,
                                 const gs_host_tasks_t *hosts, const int64_t *core,
                                 const gs_analysis_partitioned_lock_options_t *options,
                                 gs_analysis_common_answer_t *answer);

extern const gs_method_t gs_analysis_partitioned_mpcp_method;

#endif
