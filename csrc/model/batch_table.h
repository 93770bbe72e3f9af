/* The oracle's answers: when does a batch end, and may it run at all?
 *
 * Paper 001, sections 2.3 and 4.2. completion[mask] is the time at which the last kernel of the
 * batch ends, 0 when no submission order runs the batch fully in parallel.
 */
#ifndef GS_MODEL_BATCH_TABLE_H
#define GS_MODEL_BATCH_TABLE_H

#include "core/context.h"

typedef struct {
    int32_t n;
    const int64_t *completion; /* 2^n, index = bit mask of tasks; [0] is 0 */
    /* 2^n or NULL: where completion is 0, the time the batch would take if some submission order,
     * which was not found, made it eligible; 0 where the batch is known to be ineligible. */
    const int64_t *undecided;
} gs_batch_table_t;

/* Refuses n outside 1..GS_PERIODIC_TASKS_MAX, a negative or overlarge entry (row: the mask), a time
 * for the empty batch, and a task whose singleton is not eligible (field "task", row: the task). */
int gs_batch_table_check(gs_context_t *ctx, const gs_batch_table_t *table);

/* Whether the table leaves a batch undecided. */
bool gs_batch_table_is_open(const gs_batch_table_t *table);

/* The completion times with the undecided batches counted as eligible: 2^n entries from gs_alloc,
 * which the caller frees, or NULL with ctx->status set. What is infeasible with these is infeasible
 * however the open batches turn out. */
int64_t *gs_batch_table_hopeful(gs_context_t *ctx, const gs_batch_table_t *table);

#endif
