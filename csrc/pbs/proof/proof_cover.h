/* Dead interval: the least time of batches that cover some tasks exceeds the interval in which a
 * job of each has to run.
 */
#ifndef GS_PBS_PROOF_PROOF_COVER_H
#define GS_PBS_PROOF_PROOF_COVER_H

#include "pbs/proof/proof_jobs.h"
#include "pbs/proof/proof_verdict.h"

typedef struct {
    int64_t start; /* each task has a job released at start or later ... */
    int64_t end;   /* ... and due by end */
    const int64_t *task;
    int32_t count;
    int64_t least; /* least total time of batches that cover the tasks */
} gs_pbs_proof_cover_t;

/* Work: 3^count / 2. */
int gs_pbs_proof_cover_check(gs_pbs_proof_verdict_t *verdict, gs_context_t *ctx,
                             const gs_pbs_proof_jobs_t *jobs, const gs_pbs_proof_cover_t *cover,
                             bool all_jobs);

/* Whether tasks are numbers below n in rising order, at least one; else the verdict says which is
 * not. */
bool gs_pbs_proof_cover_tasks(gs_pbs_proof_verdict_t *verdict, int32_t n, const int64_t *task,
                              int32_t count);

#endif
