/* All response-time tests for partitioned tasks that share the GPU by contexts. */
#ifndef GS_ANALYSIS_CONTEXTS_CONTEXT_METHODS_H
#define GS_ANALYSIS_CONTEXTS_CONTEXT_METHODS_H

#include "analysis/contexts/context_test.h"

/* A test for one set of tasks on cores 0..cpus-1. Refuses what gs_analysis_contexts_test_start
 * refuses, and options out of range. */
typedef int (*gs_analysis_contexts_run_t)(gs_analysis_contexts_test_t *self, gs_context_t *ctx,
                                          const gs_host_tasks_t *hosts, const int64_t *core,
                                          const gs_analysis_contexts_options_t *options,
                                          gs_analysis_common_answer_t *answer);

/* The test of a method's name, NULL where there is none. */
gs_analysis_contexts_run_t gs_analysis_contexts_method_find(const char *name);

#endif
