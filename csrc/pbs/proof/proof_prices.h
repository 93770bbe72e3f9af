/* Prices of jobs: a lower bound of the time that the jobs of a window need.
 *
 * A job of task i is worth price[i] / scale ticks, of either sign, such that no eligible batch is
 * worth more than its completion time. Cut a schedule after the last batch with a job due by the
 * end of the window: the cut ends by then, contains every job due by then, and otherwise only jobs
 * released before. The least worth of such jobs is therefore at most the length of the window. In
 * the long run, where no deadline is missed, the jobs of task i number 1 / period[i] per tick.
 *
 * All sums are exact: prices, scales and windows have to be below GS_NEVER in size.
 */
#ifndef GS_PBS_PROOF_PROOF_PRICES_H
#define GS_PBS_PROOF_PROOF_PRICES_H

#include "pbs/proof/proof_jobs.h"
#include "pbs/proof/proof_verdict.h"

typedef struct {
    int64_t window;       /* ticks from 0; GS_NEVER: in the long run */
    const int64_t *price; /* per task, in units of 1 / scale ticks */
    int64_t scale;
} gs_pbs_proof_prices_t;

/* Whether prices, scale and window can be summed up and no batch is worth more than its time, in
 * one pass over the table. row: number of the window in the verdict. */
int gs_pbs_proof_prices_batches(gs_pbs_proof_verdict_t *verdict, gs_context_t *ctx,
                                const gs_pbs_proof_jobs_t *jobs,
                                const gs_pbs_proof_prices_t *prices, int64_t row);

/* Checks prices as a proof of their own. all_jobs: the question is about all jobs, not only those
 * released before the horizon. */
int gs_pbs_proof_prices_check(gs_pbs_proof_verdict_t *verdict, gs_context_t *ctx,
                              const gs_pbs_proof_jobs_t *jobs, const gs_pbs_proof_prices_t *prices,
                              bool all_jobs);

#endif
