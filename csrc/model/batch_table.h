/* Table of batch completion times, the answers of the oracle.
 *
 * [RTNS24], sections 2.3 and 4.2. completion[mask] is the time at which the last kernel of the
 * batch ends, 0 when no submission order runs the batch fully in parallel.
 */
#ifndef GS_MODEL_BATCH_TABLE_H
#define GS_MODEL_BATCH_TABLE_H

#include "core/context.h"

typedef struct {
    int32_t n;
    const int64_t *completion; /* 2^n, index = bit mask of tasks; [0] is 0 */
    /* 2^n or NULL. Where completion is 0: the time of the batch if some submission order, not found
     * so far, makes it eligible; 0 where the batch is known to be ineligible. */
    const int64_t *undecided;
} gs_batch_table_t;

/* Refuses n outside 1..GS_PERIODIC_TASKS_MAX, an entry that is negative or at least GS_NEVER / 2
 * (row: the mask), a time for the empty batch, and a task whose singleton is not eligible (field
 * "task", row: the task). */
int gs_batch_table_check(gs_context_t *ctx, const gs_batch_table_t *table);

/* Whether the table leaves a batch undecided. */
bool gs_batch_table_is_open(const gs_batch_table_t *table);

/* Completion times with the undecided batches counted as eligible: 2^n entries from gs_alloc, freed
 * by the caller, or NULL with ctx->status set. A set that is infeasible with these is infeasible
 * whatever the undecided batches are. */
int64_t *gs_batch_table_hopeful(gs_context_t *ctx, const gs_batch_table_t *table);

#endif
