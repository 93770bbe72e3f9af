/* How late may each class of states start, if the GPU may even wait?
 *
 * With inserted idle time the earlier state always wins, so the feasible instants of a class are
 * all up to one latest start. That number decides the idling question exactly (a table-driven
 * dispatcher may wait although work is ready) and bounds the work-conserving one: no state that
 * starts later can be completed.
 */
#ifndef GS_PBS_LATEST_START_H
#define GS_PBS_LATEST_START_H

#include "pbs/transitions.h"

/* The latest start of a class from which nothing can be completed in time. */
#define GS_PBS_DEAD (-1)

typedef struct {
    const gs_pbs_problem_t *problem;
    int64_t
        *latest; /* [k * classes + class], GS_PBS_DEAD or an instant of I_k; GS_NEVER for ever */
} gs_pbs_latest_start_t;

/* Computes all of them, backwards; in an infinite-horizon problem again and again, until the
 * hyperperiod that stands for all later ones no longer changes. */
int gs_pbs_latest_start_init(gs_pbs_latest_start_t *self, gs_context_t *ctx,
                             const gs_pbs_problem_t *problem, gs_pbs_transitions_t *transitions);
void gs_pbs_latest_start_free(gs_pbs_latest_start_t *self, gs_context_t *ctx);

static inline int64_t gs_pbs_latest_start_at(const gs_pbs_latest_start_t *self, int64_t k,
                                             int64_t class_index)
{
    return self->latest[k * self->problem->classes + class_index];
}

#endif
