/* Check of a proof, for all tasks or for some of them. */
#include "pbs/proof/proof.h"

static int check_kind(gs_pbs_proof_verdict_t *verdict, gs_context_t *ctx,
                      const gs_pbs_proof_jobs_t *jobs, const gs_pbs_proof_t *proof, bool idling,
                      bool repeating)
{
    if (proof->prices != NULL) {
        return gs_pbs_proof_prices_check(verdict, ctx, jobs, proof->prices, repeating);
    }
    if (proof->interval != NULL) {
        return gs_pbs_proof_cover_check(verdict, ctx, jobs, proof->interval, repeating);
    }
    return gs_pbs_proof_states_check(verdict, ctx, jobs, proof->states, idling, repeating);
}

int gs_pbs_proof_check(gs_pbs_proof_verdict_t *verdict, gs_context_t *ctx,
                       const gs_periodic_tasks_t *tasks, const gs_batch_table_t *table,
                       const gs_pbs_proof_t *proof, const gs_pbs_proof_question_t *question)
{
    gs_pbs_proof_jobs_t jobs, part;
    *verdict = (gs_pbs_proof_verdict_t){GS_PBS_PROOF_HOLDS, -1, 0, 0};
    int status = gs_pbs_proof_jobs_init(&jobs, ctx, tasks, table);
    if (status != GS_OK) {
        return status;
    }
    if (proof->subset == NULL) {
        return check_kind(verdict, ctx, &jobs, proof, question->idling, question->repeating);
    }
    if (!gs_pbs_proof_cover_tasks(verdict, jobs.n, proof->subset, proof->subset_count)) {
        return GS_OK;
    }
    int64_t *completion = gs_alloc(ctx, (size_t)1 << proof->subset_count, sizeof *completion);
    if (completion == NULL) {
        return ctx->status;
    }
    status = gs_pbs_proof_jobs_restrict(&jobs, ctx, proof->subset, proof->subset_count, completion,
                                        &part);
    if (status == GS_OK) {
        status = check_kind(verdict, ctx, &part, proof, true, question->repeating);
    }
    gs_free(ctx, completion);
    return status;
}
