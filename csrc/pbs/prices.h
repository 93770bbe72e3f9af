/* Prices of jobs: a linear program over all eligible batches, rounded to a proof in integers.
 *
 * max sum w_i y_i subject to sum over i in b of y_i <= C(b) for every eligible batch b. The y_i are
 * prices: no batch is worth more than its time, so jobs of weight w need at least the value of the
 * program. A task is *free* where each of its jobs counts exactly once; the price of a free task
 * may be negative. The program is solved in floating point, which proves nothing. The result is
 * rounded down to integers in units of 1/scale ticks and checked against every batch.
 */
#ifndef GS_PBS_PRICES_H
#define GS_PBS_PRICES_H

#include "core/context.h"
#include "model/batch_table.h"
#include "model/periodic_tasks.h"

/* The dual program: its batches met so far, which later programs of the same table start with. */
typedef struct {
    int32_t n;
    const int64_t *completion;         /* borrowed */
    const gs_batch_table_list_t *list; /* of the table, or NULL; borrowed */
    double *worth; /* scratch: worths of the sets of the first 12 tasks, then of the others */
    uint32_t *pool;
    int64_t pooled, capacity;
} gs_pbs_prices_t;

/* The table must outlive self. Free self in every case. Errors: GS_ERR_MEMORY. */
int gs_pbs_prices_init(gs_pbs_prices_t *self, gs_context_t *ctx, const gs_batch_table_t *table);
void gs_pbs_prices_free(gs_pbs_prices_t *self, gs_context_t *ctx);

/* Solves the program for weights >= 0 (n entries). price: n entries, not exact; *value: of the
 * program, in ticks. Errors: GS_ERR_MEMORY, GS_ERR_INTERRUPTED. */
int gs_pbs_prices_solve(gs_pbs_prices_t *self, gs_context_t *ctx, const double *weight,
                        uint32_t free_tasks, double *price, double *value);

/* The largest power of two up to 2^40 that, as a scale, keeps prices of at most `largest` ticks
 * below 2^bits units; 0 where even 1 does not. */
int64_t gs_pbs_prices_scale(double largest, int bits);

/* Rounds prices to integers such that every eligible batch is worth at most scale * C(b).
 * |price| * scale must be below 2^58. Errors: GS_ERR_MEMORY, GS_ERR_INTERRUPTED. */
int gs_pbs_prices_round(const gs_pbs_prices_t *self, gs_context_t *ctx, const double *price,
                        int64_t scale, int64_t *rounded);

#endif
