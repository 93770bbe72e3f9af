/* Feasible instants of every class: exact schedulability by intervals.
 *
 * For each class (k, pending jobs), F is the set of instants of I_k from which some continuation
 * meets every deadline, a union of spans. It is computed backwards, exactly at any time resolution:
 * the spans of the classes that a batch leads to, shifted back by its length. A work-conserving
 * schedule exists iff instant 0 lies in F of the first class. F is also a run-time policy
 * (pbs/policy.h).
 */
#ifndef GS_PBS_FEASIBLE_H
#define GS_PBS_FEASIBLE_H

#include "pbs/problem.h"

/* The instants first..last, inclusive. */
typedef struct {
    int64_t first;
    int64_t last;
} gs_pbs_span_t;

/* Index of the first of sorted spans that ends at or after an instant. */
static inline int64_t gs_pbs_span_first_reaching(const gs_pbs_span_t *spans, int64_t count,
                                                 int64_t instant)
{
    int64_t low = 0, high = count;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (spans[middle].last < instant) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Some sets have 10^4 spans in a class, nearly all very short. With a limit on the spans of a
 * class, F is approximated from one side: INNER drops the shortest spans (what remains is feasible
 * and still a policy), OUTER fills the shortest gaps (what is outside is infeasible).
 * Infinite-horizon problems are computed exactly: an approximation need not reach its fixed
 * point. */
enum { GS_PBS_FEASIBLE_EXACT = 0, GS_PBS_FEASIBLE_INNER = 1, GS_PBS_FEASIBLE_OUTER = 2 };

typedef struct {
    const gs_pbs_problem_t *problem;
    int mode;
    int64_t limit; /* most spans of a class, where mode is not exact */
    bool exact;    /* nothing was dropped or filled: F is exact */
    int64_t
        *begin; /* [rank of the class + 1]: index of its first span; see gs_pbs_feasible_spans */
    gs_pbs_span_t *spans; /* sorted and disjoint within a class, never adjacent */
    int64_t count;
    int64_t capacity;
} gs_pbs_feasible_t;

void gs_pbs_feasible_free(gs_pbs_feasible_t *self, gs_context_t *ctx);

#endif
