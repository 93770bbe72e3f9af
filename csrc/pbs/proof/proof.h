/* Check of a proof that no schedule of batches meets every deadline.
 *
 * A proof is one of: prices (proof_prices.h), a dead interval (proof_cover.h), dead states
 * (proof_states.h), or one of these for some of the tasks alone. Nothing of the search that found
 * it is used or trusted.
 */
#ifndef GS_PBS_PROOF_PROOF_H
#define GS_PBS_PROOF_PROOF_H

#include "pbs/proof/proof_cover.h"
#include "pbs/proof/proof_prices.h"
#include "pbs/proof/proof_states.h"

/* One of prices, interval and states is given, the others are NULL. */
typedef struct {
    const gs_pbs_proof_prices_t *prices;
    const gs_pbs_proof_cover_t *interval;
    const gs_pbs_proof_states_t *states;
    const int64_t *subset; /* the tasks that the proof is about; NULL: all. Its indices are
                              positions in this array. */
    int32_t subset_count;
} gs_pbs_proof_t;

/* The statement that is proven: no schedule of the jobs released in one hyperperiod, or, repeating,
 * of all jobs, on a GPU that does not wait while work is ready, or may wait. */
typedef struct {
    bool idling;
    bool repeating;
} gs_pbs_proof_question_t;

/* Any numbers in the arrays of a proof give a verdict or an error. The time is polled. Errors:
 * those of gs_pbs_proof_jobs_init and gs_pbs_proof_states_check, GS_ERR_MEMORY, budgets. */
int gs_pbs_proof_check(gs_pbs_proof_verdict_t *verdict, gs_context_t *ctx,
                       const gs_periodic_tasks_t *tasks, const gs_batch_table_t *table,
                       const gs_pbs_proof_t *proof, const gs_pbs_proof_question_t *question);

#endif
