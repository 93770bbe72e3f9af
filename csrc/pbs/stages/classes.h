/* Stages that look at classes of states, all of them or those that are reached. Each decides the
 * search or leaves it open; errors and spent budgets as usual. */
#ifndef GS_PBS_STAGES_CLASSES_H
#define GS_PBS_STAGES_CLASSES_H

#include "pbs/search_state.h"

/* Whether to look at all classes. */
bool gs_pbs_stages_classes_are_few(const gs_pbs_problem_t *p,
                                   const gs_pbs_search_options_t *options);

/* The stages that need the latest starts of all classes; the policy, and the proof of a negative
 * answer, where they are asked for. */
int gs_pbs_stages_classes_run(gs_pbs_search_t *self, gs_context_t *ctx,
                              const gs_pbs_search_options_t *options);

/* Groups and cores, and the lazy search; in the end all classes. */
int gs_pbs_stages_classes_reached(gs_pbs_search_t *self, gs_context_t *ctx,
                                  const gs_periodic_tasks_t *tasks, const gs_batch_table_t *table,
                                  const gs_pbs_search_options_t *options);

/* The proof of a negative answer by the lazy search. */
int gs_pbs_stages_classes_prove(gs_pbs_search_t *self, gs_context_t *ctx,
                                const gs_pbs_search_options_t *options);

#endif
