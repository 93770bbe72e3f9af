/* Overload of a batch function: prices such that no batch is worth more than its least time.
 *
 * The program of pbs/rates.h with a batch of two or more replaced by a fractional one. Let m be the
 * longest task of a batch b. Then b takes at least the least time of a batch with m in it, and by
 * one row of demand, sum over i in b of need_i <= room. So it is worth at most
 *
 *     y_m + max sum y_i x_i over the tasks i that are no longer than m, where
 *     0 <= x_i <= 1 and sum need_i x_i <= room - need_m,
 *
 * a fractional knapsack, which takes items by decreasing y_i / need_i (Dantzig 1957). A column of
 * the program is such an x; the knapsack finds the one that is worth most. With integer prices the
 * bound is exact in integers, rounded down, and the least of the bounds by all rows holds.
 */
#ifndef GS_PBS_LARGE_FUNCTION_PRICES_H
#define GS_PBS_LARGE_FUNCTION_PRICES_H

#include "pbs/large/batch_function.h"
#include "pbs/rates.h"

/* Looks for prices with which the jobs overload some window; rates->proven: found. rates->load has
 * the largest load by any row, price (n entries) its prices, not exact, or each wcet where the
 * tasks do not overload the GPU one at a time. Tasks and function must have been checked. Errors:
 * GS_ERR_MEMORY, GS_ERR_INTERRUPTED; spent budgets. */
int gs_pbs_large_prices_find(gs_pbs_rates_t *rates, gs_context_t *ctx,
                             const gs_periodic_tasks_t *tasks,
                             const gs_pbs_large_function_t *function, double *price);

#endif
