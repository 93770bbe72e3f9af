/* Latest start per class of states under inserted idle time: an upper bound for work-conserving
 * schedules.
 *
 * With inserted idle time an earlier state is never worse, so the feasible instants of a class are
 * all those up to one latest start. It decides schedulability with inserted idle time exactly (a
 * table-driven dispatcher may wait while jobs are ready), and without it no state that starts later
 * can be completed.
 */
#ifndef GS_PBS_LATEST_START_H
#define GS_PBS_LATEST_START_H

#include "pbs/transitions.h"

/* Latest start of a class from which no continuation meets every deadline. */
#define GS_PBS_LATEST_DEAD (-1)

typedef struct gs_pbs_latest_start {
    const gs_pbs_problem_t *problem;
    int64_t *latest; /* [k * classes + class]: GS_PBS_LATEST_DEAD, an instant of I_k, or GS_NEVER
                        (any instant) */
} gs_pbs_latest_start_t;

/* Computes all of them backwards; in an infinite-horizon problem repeatedly, until the last
 * hyperperiod no longer changes. Returns GS_SPENT_* when a budget ends. Errors: GS_ERR_MEMORY,
 * GS_ERR_INTERRUPTED. Free self in every case. Beside them, less than four words for each class are
 * needed meanwhile.
 *
 * all: also the classes in which a job was done sooner after its release than the shortest batch
 * with it. No schedule of full batches meets them, a dispatcher may when a batch ends early. Else
 * they count as GS_PBS_LATEST_DEAD; no move of another class leads to them. */
int gs_pbs_latest_start_init(gs_pbs_latest_start_t *self, gs_context_t *ctx,
                             const gs_pbs_problem_t *problem, gs_pbs_transitions_t *transitions,
                             bool all);
void gs_pbs_latest_start_free(gs_pbs_latest_start_t *self, gs_context_t *ctx);

static inline int64_t gs_pbs_latest_start_at(const gs_pbs_latest_start_t *self, int64_t k,
                                             int64_t class_index)
{
    return self->latest[k * self->problem->classes + class_index];
}

/* Whether the latest starts of a problem are found row by row, which takes less time and memory. */
static inline bool gs_pbs_latest_start_row_applies(const gs_pbs_problem_t *problem)
{
    return problem->simple && !gs_periodic_tasks_has_precedence(&problem->tasks);
}

#endif
