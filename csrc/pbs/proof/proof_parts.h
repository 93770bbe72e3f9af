/* Parts of the check of proofs: the jobs that it works out, one check per kind of proof, claims. */
#ifndef GS_PBS_PROOF_PROOF_PARTS_H
#define GS_PBS_PROOF_PROOF_PARTS_H

#include "pbs/proof/proof.h"

/* Jobs and batches that a proof of unschedulability is about, with a cut of time of its own.
 *
 * Kernels of chains are rows like tasks. Prices and intervals do not ask for their order, nor for
 * what rows need: what is proven of rows that may run in any order holds all the more for others.
 *
 * The check of proofs shares no code with the search that makes them: releases, intervals between
 * arrivals, deadlines and batches are worked out here from the tasks and the table alone.
 */

/* Most tasks of a proof; the model may allow fewer. */
#define GS_PBS_PROOF_TASKS_MAX 24

typedef struct {
    int32_t n;
    int64_t period[GS_PBS_PROOF_TASKS_MAX];
    int64_t deadline[GS_PBS_PROOF_TASKS_MAX];
    int64_t offset[GS_PBS_PROOF_TASKS_MAX];
    uint32_t chained;          /* bit i: row i + 1 is the next kernel of the jobs of row i */
    const int64_t *needs;      /* masks of the rows whose job of the same number has to end before
                                  that of each row starts, borrowed; NULL: none */
    int64_t horizon;           /* only jobs released before it count; GS_NEVER: all jobs */
    const int64_t *completion; /* 2^n, borrowed; 0: not eligible */
} gs_pbs_proof_jobs_t;

/* Reads tasks and table, which must outlive self; the horizon is the hyperperiod, or GS_NEVER where
 * that is no smaller. Errors: GS_ERR_VALUE and GS_ERR_OVERFLOW for tasks and tables that
 * gs_periodic_tasks_check and gs_batch_table_check refuse, apart from their number of tasks, and
 * for periods of GS_NEVER or more. */
int gs_pbs_proof_jobs_init(gs_pbs_proof_jobs_t *self, gs_context_t *ctx,
                           const gs_periodic_tasks_t *tasks, const gs_batch_table_t *table);

/* The same for some tasks alone, given by rising index: a batch of them takes the least time of all
 * batches with the same of these tasks. Restricted to the tasks, a schedule has batches that take
 * no longer, and idle time. completion: 2^count entries that are overwritten and must outlive part.
 * The tasks are taken not to wait for each other. The horizon is their own
 * hyperperiod where all jobs end in time by that, else the horizon of self
 * (a job beyond the end could not be left out of a batch, which might take longer without it). */
int gs_pbs_proof_jobs_restrict(const gs_pbs_proof_jobs_t *self, gs_context_t *ctx,
                               const int64_t *chosen, int32_t count, int64_t *completion,
                               gs_pbs_proof_jobs_t *part);

/* Whether every job released in a hyperperiod is due by its end: a schedule of all jobs then begins
 * with one of these. */
bool gs_pbs_proof_jobs_end_in_time(const gs_pbs_proof_jobs_t *self);

/* The rows that may start, given the jobs that each row has run and the rows with jobs left: those
 * whose needs have run more, of a chain the first kernel that the oldest job has not run. */
uint32_t gs_pbs_proof_jobs_current(const gs_pbs_proof_jobs_t *self, const int64_t *done,
                                   uint32_t left);

/* Number of jobs of a task that count and are released by an instant, below 2^62. */
int64_t gs_pbs_proof_jobs_released(const gs_pbs_proof_jobs_t *self, int32_t i, int64_t instant);

/* Release and deadline of job number job (from 0); GS_NEVER for a job that does not count. */
int64_t gs_pbs_proof_jobs_release(const gs_pbs_proof_jobs_t *self, int32_t i, int64_t job);
int64_t gs_pbs_proof_jobs_due(const gs_pbs_proof_jobs_t *self, int32_t i, int64_t job);

/* The interval between two consecutive arrivals that holds an instant >= 0: its first instant, and
 * the first one of the next interval (GS_NEVER for the last). The first interval starts at 0. */
typedef struct {
    int64_t start;
    int64_t stop;
} gs_pbs_proof_interval_t;

gs_pbs_proof_interval_t gs_pbs_proof_jobs_interval(const gs_pbs_proof_jobs_t *self,
                                                   int64_t instant);

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

/* Work: 3^count / 2. */
int gs_pbs_proof_cover_check(gs_pbs_proof_verdict_t *verdict, gs_context_t *ctx,
                             const gs_pbs_proof_jobs_t *jobs, const gs_pbs_proof_cover_t *cover,
                             bool all_jobs);

/* Whether tasks are numbers below n in rising order, at least one; else the verdict says which is
 * not. */
bool gs_pbs_proof_cover_tasks(gs_pbs_proof_verdict_t *verdict, int32_t n, const int64_t *task,
                              int32_t count);

#endif
