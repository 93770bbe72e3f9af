/* Feasible instants while they are computed and read. */
#ifndef GS_PBS_FEASIBLE_INTERNAL_H
#define GS_PBS_FEASIBLE_INTERNAL_H

#include "pbs/feasible.h"

/* pbs/transitions.h, pbs/latest_start.h */
struct gs_pbs_transitions;
struct gs_pbs_latest_start;

/* Computes F for every class; in an infinite-horizon problem repeatedly, until the last hyperperiod
 * no longer changes. bound: the latest starts of the same problem. With idling, F of a class is one
 * span, from the start of the interval to the latest start. Returns GS_SPENT_* when a budget ends.
 * Errors: GS_ERR_MEMORY, GS_ERR_INTERRUPTED. Free self in every case. */
int gs_pbs_feasible_init(gs_pbs_feasible_t *self, gs_context_t *ctx,
                         const gs_pbs_problem_t *problem, struct gs_pbs_transitions *transitions,
                         const struct gs_pbs_latest_start *bound, bool idling, int mode,
                         int64_t limit);

/* Sets *spans to the spans of a class (owned by self); returns their number. */
int64_t gs_pbs_feasible_spans(const gs_pbs_feasible_t *self, int64_t k, int64_t class_index,
                              const gs_pbs_span_t **spans);

/* Whether an instant of I_k lies in F of the class. */
bool gs_pbs_feasible_holds(const gs_pbs_feasible_t *self, int64_t k, int64_t class_index,
                           int64_t instant);

#endif
