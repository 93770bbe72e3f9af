/* Latest starts of the classes of one interval, by what is left when a sequence of batches ends.
 *
 * Where at most one job of a task is pending and tasks are not chains. In the interval I_k the
 * deadlines of the pending jobs do not depend on the class, and nothing arrives. So batches that
 * end within the interval and by all these deadlines may run in any order, and those that run the
 * tasks of a set S take at least P(S), the time of its cheapest partition (partition_times.h). Let
 * e be the earliest deadline of a class m, U the tasks of m with that deadline, and s the start of
 * the next interval.
 *
 * e < s: the tasks of U are done by e. When the last of them is, some F that holds none of them is
 * left, and latest(m) is the maximum of min(latest(F), e) - P(m \ F).
 *
 * e >= s: Let last(F) be s if e > s for the class F and it is alive in the next interval at s
 * together with the arrivals, else the latest start of F with a batch that ends after s. Then
 * latest(m) is the maximum of last(F) - P(m \ F) over the F within m, itself included. An F with
 * last(F) below latest(F) can be left out: to the set F' that gives latest(F) lead sequences from
 * m that start later. No F with e = s has a last(F). A class with last(m) = s waits.
 */
#ifndef GS_PBS_LATEST_LATEST_START_ROW_H
#define GS_PBS_LATEST_LATEST_START_ROW_H

#include "pbs/transitions.h"

/* Some of the sets of tasks. */
typedef struct {
    uint64_t *bits;   /* [mask / 64]: one for each set */
    uint64_t *blocks; /* [mask / 4096]: one for each word of bits that is not zero */
} gs_pbs_latest_start_sets_t;

typedef struct {
    const gs_pbs_problem_t *problem;
    int64_t longest;    /* completion time of a batch */
    int64_t *partition; /* [mask]: P */
    int64_t *beyond;    /* [mask]: the latest end, after s, of a batch that leaves the set and after
                           which some class of it and the arrivals is alive, or a later instant */
    gs_pbs_latest_start_sets_t runs;   /* sets whose P fits into the interval */
    gs_pbs_latest_start_sets_t leaves; /* sets with beyond > s */
} gs_pbs_latest_start_row_t;

/* Whether a problem is of the kind that this file is about. */
static inline bool gs_pbs_latest_start_row_applies(const gs_pbs_problem_t *problem)
{
    return problem->simple && problem->tasks.chained == 0;
}

/* The problem must outlive self. Free self in every case. Errors: GS_ERR_MEMORY, budgets. */
int gs_pbs_latest_start_row_init(gs_pbs_latest_start_row_t *self, gs_context_t *ctx,
                                 const gs_pbs_problem_t *problem);
void gs_pbs_latest_start_row_free(gs_pbs_latest_start_row_t *self, gs_context_t *ctx);

/* Fills latest[k * classes ...] for the interval that the transitions are prepared for, from the
 * values of later intervals: GS_PBS_LATEST_DEAD for the classes without a task of `left` or with
 * one of `done`. Polls. */
int gs_pbs_latest_start_row_fill(gs_pbs_latest_start_row_t *self, gs_context_t *ctx,
                                 const gs_pbs_transitions_t *transitions, int64_t *latest,
                                 uint32_t left, uint32_t done);

#endif
