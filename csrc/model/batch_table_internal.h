/* Batches of a table: those that may be eligible, and a list of those that are. */
#ifndef GS_MODEL_BATCH_TABLE_INTERNAL_H
#define GS_MODEL_BATCH_TABLE_INTERNAL_H

#include "model/batch_table.h"

/* Whether the table leaves a batch undecided. */
bool gs_batch_table_is_open(const gs_batch_table_t *table);

/* Completion times with the undecided batches counted as eligible: 2^n entries from gs_alloc, freed
 * by the caller, or NULL with ctx->status set. A set that is infeasible with these is infeasible
 * whatever the undecided batches are. */
int64_t *gs_batch_table_hopeful(gs_context_t *ctx, const gs_batch_table_t *table);

/* Lists the batches of a checked table unless they are more than one in 16. chained: bit i: rows i
 * and i + 1 are never in one batch, nor are any two of a run of such rows. *listed: whether the
 * list holds all batches; else it is empty. Free self in every case. Errors: GS_ERR_MEMORY,
 * GS_ERR_INTERRUPTED. */
int gs_batch_table_list_init(gs_batch_table_list_t *self, gs_context_t *ctx,
                             const gs_batch_table_t *table, uint32_t chained, bool *listed);
void gs_batch_table_list_free(gs_batch_table_list_t *self, gs_context_t *ctx);

#endif
