/* FMLP+: response-time test with one lock for the GPU, first come, first served.
 *
 * Block, Leontyev, Brandenburg, Anderson, RTCSA 2007; Brandenburg, ECRTS 2014. Proofs are in
 * notebook 06. Waiting tasks are suspended; the lock holder is boosted.
 */
#ifndef GS_ANALYSIS_PARTITIONED_FMLP_PLUS_H
#define GS_ANALYSIS_PARTITIONED_FMLP_PLUS_H

#include "analysis/partitioned/lock_test.h"
#include "core/method.h"

/* gs_analysis_partitioned_lock_run_t for FMLP+; mode: GS_ANALYSIS_PARTITIONED_LOCK_SUSPEND or
 * GS_ANALYSIS_PARTITIONED_LOCK_BUSY.
 *
 * paper: the form of the public code of GCAPS (RTAS 2024), analysis/fmlp.py. It leaves out the
 * requests of higher-priority tasks on the same core, which is valid where a lock holder keeps its
 * core, also where the holder suspends for its kernel: unsound there (a counterexample is in
 * notebook 06, section 6). It counts the jobs of every other task with its period as jitter, and
 * the segments of a lower-priority one up to 1 + z times, z being the requests of i that requests
 * from other cores can delay. */
int gs_analysis_partitioned_fmlp_plus(gs_analysis_partitioned_lock_test_t *self, gs_context_t *ctx,
                                      const gs_host_tasks_t *hosts, const int64_t *core,
                                      const gs_analysis_partitioned_lock_options_t *options,
                                      gs_analysis_common_answer_t *answer);

extern const gs_method_t gs_analysis_partitioned_fmlp_plus_method;

#endif
