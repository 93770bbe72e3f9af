/* Depth first, the most promising batch first: a quick way to a schedule, if there is one.
 *
 * Most feasible sets are found feasible by following, from each state, a few batches only: those
 * that contain the most urgent job and save the most time against running their members one after
 * the other. Guided by what is known to be infeasible (the latest starts) the same search finds
 * nearly all the rest; guided by F it never turns back and reads off a schedule.
 */
#ifndef GS_PBS_DEPTH_FIRST_H
#define GS_PBS_DEPTH_FIRST_H

#include "pbs/feasible.h"
#include "model/schedule.h"

typedef struct {
    const gs_pbs_latest_start_t
        *bound;                        /* NULL, or turn back from states after their latest start */
    const gs_pbs_feasible_t *feasible; /* NULL, or turn back from states outside F */
    bool idling;                       /* waiting for the next arrival is a move too */
    int64_t states_limit;              /* give up after looking at this many states; 0: never */
} gs_pbs_depth_first_options_t;

/* Looks for a schedule. found: whether it did; complete: whether not finding it is a proof that
 * there is none (no move was left out for its rank, no limit reached). schedule receives the
 * frames when found. */
int gs_pbs_depth_first(gs_context_t *ctx, const gs_pbs_problem_t *problem,
                       const gs_pbs_depth_first_options_t *options, gs_schedule_t *schedule,
                       bool *found, bool *complete);

#endif
