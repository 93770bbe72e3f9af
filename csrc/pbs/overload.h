/* Long-run overload of the GPU: a linear program and a certificate in integers.
 *
 * Over a hyperperiod each task runs H / T times, in batches. The least time for that, in fractions
 * of batches, is a linear program over all eligible batches. If it exceeds H, no schedule exists
 * over an infinite horizon, nor of one hyperperiod where that must end by H (deadlines at most the
 * periods, no offsets). The program is solved in floating point, which is no proof. The certificate
 * is its dual solution in integers: a price for each task such that no eligible batch is worth more
 * than its completion time, while the jobs of a hyperperiod are worth more than H.
 */
#ifndef GS_PBS_OVERLOAD_H
#define GS_PBS_OVERLOAD_H

#include "pbs/problem.h"

typedef struct {
    bool proven;
    int64_t scale; /* prices are in units of 1/scale ticks */
    int64_t price[GS_PERIODIC_TASKS_MAX];
    double load; /* value of the linear program relative to H */
} gs_pbs_overload_t;

/* Solves the program and checks the certificate. proven is false where deadlines exceed periods or
 * offsets exist, unless the problem has an infinite horizon. Errors: GS_ERR_MEMORY,
 * GS_ERR_INTERRUPTED. */
int gs_pbs_overload_find(gs_pbs_overload_t *self, gs_context_t *ctx,
                         const gs_pbs_problem_t *problem);

/* Checks a certificate in integers: prices not negative, the sum over a batch at most scale *
 * completion for every eligible batch, and the sum of price * H / T above scale * H. */
bool gs_pbs_overload_check(const gs_pbs_overload_t *self, const gs_pbs_problem_t *problem);

#endif
