/* Is there a schedule that meets every deadline for ever, and repeats?
 *
 * With offsets, or with deadlines beyond the periods, a schedule of the jobs of one hyperperiod
 * need not go on: it may end in a state from which no further one is possible. Asked for ever, the
 * question is a game without an opponent on finitely many states (instant within the hyperperiod,
 * pending jobs): F is the greatest set of states each of which has a move that stays inside, and a
 * player that chooses by the state alone comes back to one.
 */
#ifndef GS_PBS_INFINITE_HORIZON_H
#define GS_PBS_INFINITE_HORIZON_H

#include "pbs/overload.h"
#include "model/schedule.h"

typedef struct {
    int answer; /* 1 yes, 0 no, -1 not decided */
    int spent;  /* when not decided: GS_SPENT_*, or GS_UNDECIDED */
    gs_pbs_overload_t overload;
    gs_schedule_t schedule; /* when yes: up to the end of its first cycle */
    int64_t cycle_from;     /* the frames from this instant on repeat ... */
    int64_t cycle_length;   /* ... every so many ticks, a multiple of the hyperperiod */
} gs_pbs_infinite_horizon_t;

void gs_pbs_infinite_horizon_init(gs_pbs_infinite_horizon_t *self);
void gs_pbs_infinite_horizon_free(gs_pbs_infinite_horizon_t *self, gs_context_t *ctx);

/* Decides one task set; conventions of gs_pbs_search_run. */
int gs_pbs_infinite_horizon_run(gs_pbs_infinite_horizon_t *self, gs_context_t *ctx,
                                const gs_periodic_tasks_t *tasks, const gs_batch_table_t *table,
                                bool idling);

#endif
