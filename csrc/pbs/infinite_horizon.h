/* Schedulability over an infinite horizon, with a periodic schedule.
 *
 * With offsets, or with deadlines that exceed the periods, a schedule of the jobs of one
 * hyperperiod may end in a state from which no further one is possible. Over an infinite horizon
 * the question is a reachability game without an opponent on finitely many states (instant within
 * the hyperperiod, pending jobs): F is the greatest set of states each of which has a transition
 * that stays inside it, and a choice that depends on the state alone repeats a state.
 */
#ifndef GS_PBS_INFINITE_HORIZON_H
#define GS_PBS_INFINITE_HORIZON_H

#include "model/schedule.h"
#include "pbs/rates.h"

typedef struct {
    int answer;             /* 1: schedulable, 0: not, -1: undecided */
    int spent;              /* when undecided: GS_SPENT_*, or GS_UNDECIDED */
    gs_pbs_rates_t rates;   /* proven: the reason of a negative answer */
    gs_schedule_t schedule; /* when schedulable: up to the end of its first cycle */
    int64_t cycle_from;     /* the frames from this instant on repeat ... */
    int64_t cycle_length;   /* ... with this period in ticks, a multiple of the hyperperiod */
} gs_pbs_infinite_horizon_t;

void gs_pbs_infinite_horizon_free(gs_pbs_infinite_horizon_t *self, gs_context_t *ctx);

/* Decides one task set. self is all zero before; tasks and table must outlive it. Errors and spent
 * budgets as for gs_pbs_search_run. */
int gs_pbs_infinite_horizon_run(gs_pbs_infinite_horizon_t *self, gs_context_t *ctx,
                                const gs_periodic_tasks_t *tasks, const gs_batch_table_t *table,
                                bool idling);

#endif
