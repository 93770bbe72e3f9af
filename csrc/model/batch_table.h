/* Table of batch completion times, the answers of the oracle.
 *
 * [RTNS24], sections 2.3 and 4.2. completion[mask] is the time at which the last kernel of the
 * batch ends, 0 when no submission order runs the batch fully in parallel.
 */
#ifndef GS_MODEL_BATCH_TABLE_H
#define GS_MODEL_BATCH_TABLE_H

#include "core/context.h"

/* The eligible batches of a table, where they are few: of a chain at most one kernel is in a batch,
 * and with many tasks few sets may be eligible at all. A pass over the list then takes the place of
 * one over 2^n entries. */
typedef struct {
    int64_t count;
    int64_t capacity;
    uint32_t *batch; /* increasing */
    int64_t *time;
} gs_batch_table_list_t;

/* Most tasks of a table that is not listed: a pass over it is short. */
#define GS_BATCH_TABLE_UNLISTED 13

typedef struct {
    int32_t n;
    const int64_t *completion; /* 2^n, index = bit mask of tasks; [0] is 0 */
    /* 2^n or NULL. Where completion is 0: the time of the batch if some submission order, not found
     * so far, makes it eligible; 0 where the batch is known to be ineligible. */
    const int64_t *undecided;
    const gs_batch_table_list_t *list; /* NULL, or all batches whose completion is not 0 */
} gs_batch_table_t;

/* Refuses n outside 1..GS_PERIODIC_TASKS_MAX, an entry that is negative or at least GS_NEVER / 2
 * (row: the mask), a time for the empty batch, and a task whose singleton is not eligible (field
 * "task", row: the task). */
int gs_batch_table_check(gs_context_t *ctx, const gs_batch_table_t *table);

#endif
