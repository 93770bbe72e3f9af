/* Stages that need no classes: the EDF schedulers, overload in the long run, a short depth-first
 * search, a dead interval. Each decides the search or leaves it open; errors and spent budgets as
 * usual. */
#ifndef GS_PBS_STAGES_QUICK_H
#define GS_PBS_STAGES_QUICK_H

#include "pbs/search_state.h"

/* The tests before the hyperperiod is cut; *rated: overload was tested, which comes first where
 * there are many jobs. */
int gs_pbs_stages_quick_before_cut(gs_pbs_search_t *self, gs_context_t *ctx,
                                   const gs_periodic_tasks_t *tasks, const gs_batch_table_t *table,
                                   const gs_pbs_search_options_t *options, bool *rated);

/* Depth-first search. bound and feasible may be NULL; states: limit beyond one per job, 0: no
 * limit. */
int gs_pbs_stages_quick_depth_first(gs_pbs_search_t *self, gs_context_t *ctx,
                                    const gs_pbs_latest_start_t *bound,
                                    const gs_pbs_feasible_t *feasible, bool idling, int64_t states,
                                    int stage);

/* Rejects a set that overloads the GPU in the long run, with the proof. */
int gs_pbs_stages_quick_rates(gs_pbs_search_t *self, gs_context_t *ctx,
                              const gs_periodic_tasks_t *tasks, const gs_batch_table_t *table);

/* Rejects a set with a dead interval, with the proof. */
int gs_pbs_stages_quick_interval(gs_pbs_search_t *self, gs_context_t *ctx);

#endif
