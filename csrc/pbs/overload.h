/* Is the GPU overloaded in the long run? A linear program, and a proof in integers.
 *
 * Over a hyperperiod each task runs H / T times, in batches; the least time for that, in fractions
 * of batches, is a linear program over all eligible batches. Above H no schedule exists that goes
 * on for ever, and none of one hyperperiod where it must end by H (deadlines up to the periods, no
 * offsets). The program is solved in
 * floating point, which finds the answer but does not prove it; the proof is its dual solution in
 * integers: a price for each task such that no eligible batch is worth more than its completion
 * time, while the jobs of a hyperperiod are worth more than H.
 */
#ifndef GS_PBS_OVERLOAD_H
#define GS_PBS_OVERLOAD_H

#include "pbs/problem.h"

typedef struct {
    bool proven;
    int64_t scale; /* prices are in units of 1/scale ticks */
    int64_t price[GS_PERIODIC_TASKS_MAX];
    double load; /* the value of the linear program, relative to H */
} gs_pbs_overload_t;

/* Solves the program and checks the proof. proven is false where deadlines exceed periods or
 * offsets exist, unless the problem has an infinite horizon. */
int gs_pbs_overload_find(gs_pbs_overload_t *self, gs_context_t *ctx,
                         const gs_pbs_problem_t *problem);

/* Checks a proof in integers: prices not negative, sum over a batch at most scale * completion for
 * every eligible batch, and the sum of price * H / T above scale * H. */
bool gs_pbs_overload_check(const gs_pbs_overload_t *self, const gs_pbs_problem_t *problem);

#endif
