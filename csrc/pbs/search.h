/* Exact schedulability test for the Parallel Batch Scheduler.
 *
 * The question of [RTNS24] (its graph is in pbs/graph/graph.h), answered exactly at any time
 * resolution. Fast tests come first: the two EDF schedulers, a short depth-first search, overload
 * in the long run, a dead interval. Then, up to twelve tasks, the latest starts with inserted idle
 * time, which decide the idling variant and reject nearly all remaining sets; a second depth-first
 * search pruned by them; and an outer approximation of the feasible instants. With more tasks,
 * smaller problems that decide the whole (pbs/reductions.h) and the lazy search (pbs/lazy/lazy.h)
 * come before all this. What is left goes to the lazy search.
 */
#ifndef GS_PBS_SEARCH_H
#define GS_PBS_SEARCH_H

#include "core/method.h"
#include "pbs/search_state.h"

/* Decides one task set. self is all zero before. A spent budget is an answer (-1), not an error.
 * tasks and table must outlive self. Errors: those of gs_pbs_problem_check and gs_pbs_problem_init,
 * GS_ERR_MEMORY, GS_ERR_INTERRUPTED. */
int gs_pbs_search_run(gs_pbs_search_t *self, gs_context_t *ctx, const gs_periodic_tasks_t *tasks,
                      const gs_batch_table_t *table, const gs_pbs_search_options_t *options);

extern const gs_method_t gs_pbs_search_method;

#endif
