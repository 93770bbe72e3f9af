/* From which instants can a work-conserving schedule still be completed? The interval engine.
 *
 * For each class (k, pending jobs) the set F of instants of I_k from which some continuation meets
 * every deadline is a union of spans. It is computed backwards, exactly, whatever the resolution
 * of time: the spans of the classes a batch leads to, moved back by its length. Schedulable iff
 * instant 0 lies in F of the first class; and F is more than the answer, it is a policy for run
 * time (pbs/policy.h).
 */
#ifndef GS_PBS_FEASIBLE_H
#define GS_PBS_FEASIBLE_H

#include "pbs/latest_start.h"

/* The instants first..last, both included. */
typedef struct {
    int64_t first;
    int64_t last;
} gs_pbs_span_t;

/* Single sets can have 10^4 spans in a class, nearly all of them tiny. With a limit on the spans of
 * a class, F is approximated from one side: INNER drops the shortest spans (what remains is still
 * feasible, and still a policy), OUTER fills the shortest gaps (what is outside is still
 * infeasible). Endless problems are computed exactly: an approximation need not reach its fixed
 * point. */
enum { GS_PBS_FEASIBLE_EXACT = 0, GS_PBS_FEASIBLE_INNER = 1, GS_PBS_FEASIBLE_OUTER = 2 };

typedef struct {
    const gs_pbs_problem_t *problem;
    int mode;
    int64_t limit;  /* on the spans of a class, where mode is not exact */
    bool exact;     /* nothing was dropped or filled: F is exact after all */
    int64_t *begin; /* [rank of the class + 1]: where its spans begin; see gs_pbs_feasible_spans */
    gs_pbs_span_t *spans; /* sorted and disjoint within a class, never adjacent */
    int64_t count;
    int64_t capacity;
} gs_pbs_feasible_t;

/* Computes F for every class; in an infinite-horizon problem again and again, until the hyperperiod
 * that stands for all later ones no longer changes. bound: the latest starts of the same problem.
 * With idling, F is what the bound says: one span from the start of the interval. */
int gs_pbs_feasible_init(gs_pbs_feasible_t *self, gs_context_t *ctx,
                         const gs_pbs_problem_t *problem, gs_pbs_transitions_t *transitions,
                         const gs_pbs_latest_start_t *bound, bool idling, int mode, int64_t limit);
void gs_pbs_feasible_free(gs_pbs_feasible_t *self, gs_context_t *ctx);

/* The spans of a class; returns how many. */
int64_t gs_pbs_feasible_spans(const gs_pbs_feasible_t *self, int64_t k, int64_t class_index,
                              const gs_pbs_span_t **spans);

/* Whether an instant of I_k lies in F of the class. */
bool gs_pbs_feasible_holds(const gs_pbs_feasible_t *self, int64_t k, int64_t class_index,
                           int64_t instant);

#endif
