/* Claims of a proof by dead states: its entries and windows, read once, and what they say.
 *
 * A claim is an entry's statement about the instants after its latest start, or one of its spans
 * (proof_states.h). Claims that are used are queued, to be checked in turn.
 */
#ifndef GS_PBS_PROOF_PROOF_CLAIMS_H
#define GS_PBS_PROOF_PROOF_CLAIMS_H

#include "core/hash_index.h"
#include "pbs/proof/proof_entries.h"
#include "pbs/proof/proof_jobs.h"
#include "pbs/proof/proof_prices.h"
#include "pbs/proof/proof_verdict.h"

/* A class, as the search of the check reaches it: jobs done instead of jobs pending, which do not
 * change from one interval to the next. */
typedef struct {
    const int64_t *done; /* per task, before the batch */
    uint32_t batch;
    uint64_t hash; /* of done, with the batch */
} gs_pbs_proof_left_t;

typedef struct {
    gs_context_t *ctx;
    gs_pbs_proof_verdict_t *verdict;
    const gs_pbs_proof_jobs_t *jobs;
    const gs_pbs_proof_states_t *states;
    int64_t *done;          /* (entries, n): jobs done */
    int64_t *stop;          /* entries: end of the interval */
    uint64_t *hash;         /* entries: of the jobs done */
    gs_hash_index_t index;  /* entries by interval and jobs done */
    int64_t *entry_of_span; /* spans */
    bool *used;             /* entries + spans */
    int64_t *queue;         /* entries + spans: the numbers of claims; spans after entries */
    int64_t queued;
    int64_t *must, *may; /* (windows, n): jobs due by the end, jobs released before it */
    int64_t likely;      /* the window that decided last */
    uint64_t weight[GS_PBS_PROOF_TASKS_MAX]; /* of a job in the hash */
} gs_pbs_proof_claims_t;

/* Reads what a proof claims; the verdict says what is malformed. jobs and states must outlive self.
 * Free self in every case. Errors: GS_ERR_VALUE for span_begin that is not in order, GS_ERR_MEMORY,
 * budgets. */
int gs_pbs_proof_claims_init(gs_pbs_proof_claims_t *self, gs_context_t *ctx,
                             gs_pbs_proof_verdict_t *verdict, const gs_pbs_proof_jobs_t *jobs,
                             const gs_pbs_proof_states_t *states);
void gs_pbs_proof_claims_free(gs_pbs_proof_claims_t *self);

/* Whether the instants first..last of one interval are claimed to be dead; latest_only: by windows
 * and latest starts. */
bool gs_pbs_proof_claims_dead(gs_pbs_proof_claims_t *self, int64_t start, int64_t first,
                              int64_t last, const gs_pbs_proof_left_t *left, bool latest_only);

static inline void gs_pbs_proof_claims_fail(gs_pbs_proof_claims_t *self, int fault, int64_t row,
                                            uint32_t batch, int64_t instant)
{
    *self->verdict = (gs_pbs_proof_verdict_t){fault, row, batch, instant};
}

#endif
