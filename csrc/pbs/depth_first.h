/* Depth-first search for a schedule, the highest-ranked batch first.
 *
 * From each state at most eight batches are followed, ranked by whether they contain the most
 * urgent job and by how much time they save over running their members one after the other. This
 * finds most feasible sets. Pruned by the latest starts it finds nearly all the rest; guided by F
 * it never backtracks and reads off a schedule.
 */
#ifndef GS_PBS_DEPTH_FIRST_H
#define GS_PBS_DEPTH_FIRST_H

#include "model/schedule.h"
#include "pbs/feasible.h"
#include "pbs/latest_start.h"

typedef struct {
    const gs_pbs_latest_start_t *bound; /* NULL, or prune states after their latest start */
    const gs_pbs_feasible_t *feasible;  /* NULL, or prune states outside F */
    bool idling;                        /* waiting for the next arrival is a transition too */
    int64_t states_limit;               /* most states to expand; 0: no limit */
} gs_pbs_depth_first_options_t;

/* Searches for a schedule. found: whether there is one; complete: whether a failure proves that
 * there is none (no transition was left out for its rank, no limit was reached). schedule receives
 * the frames when found. Errors: GS_ERR_MEMORY, GS_ERR_INTERRUPTED; GS_SPENT_* when a budget
 * ends. */
int gs_pbs_depth_first(gs_context_t *ctx, const gs_pbs_problem_t *problem,
                       const gs_pbs_depth_first_options_t *options, gs_schedule_t *schedule,
                       bool *found, bool *complete);

#endif
