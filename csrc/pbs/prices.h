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

#include "pbs/problem.h"
#include "pbs/rates.h"

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

/* Overload in the long run, with the prices of pbs/rates.h. */

/* Numbers of jobs of a task in a window [0, deadline]: those due in it, which must run in it, and
 * those released in it, which may. Only jobs released before limit count. */
typedef struct {
    int64_t must;
    int64_t may;
} gs_pbs_rates_count_t;
gs_pbs_rates_count_t gs_pbs_rates_count(const gs_periodic_tasks_t *tasks, int32_t i,
                                        int64_t deadline, int64_t limit);

/* Solves the program where the tasks overload the GPU one at a time. infinite: all jobs are asked
 * about, not only those of [0, H). Tasks and table must have been checked. Errors: GS_ERR_MEMORY,
 * GS_ERR_INTERRUPTED. */
int gs_pbs_rates_find(gs_pbs_rates_t *self, gs_context_t *ctx, const gs_periodic_tasks_t *tasks,
                      const gs_batch_table_t *table, bool infinite);

/* Whether the time of the tasks one at a time, per tick, exceeds 1: otherwise the rates prove
 * nothing. */
bool gs_pbs_rates_matter(const gs_periodic_tasks_t *tasks, const gs_batch_table_t *table);

/* Whether jobs at the prices and scale of self overload the long run and, unless infinite, some
 * window. Sets self->window and self->proven. */
bool gs_pbs_rates_prove(gs_pbs_rates_t *self, const gs_periodic_tasks_t *tasks, bool infinite);

/* Checks a certificate in integers. */
bool gs_pbs_rates_check(const gs_pbs_rates_t *self, const gs_periodic_tasks_t *tasks,
                        const gs_batch_table_t *table);

/* Window prices: a bound on the latest start of every class.
 *
 * For a window [0, d], d a deadline, some jobs must run in it (due by d) and some may (released
 * before d). Prices such that no eligible batch is worth more than its time bound the time that is
 * needed from a state on: the worth of the jobs that are left, the least one that is possible. A
 * task whose jobs that must run are those that may gets a price of either sign. The bound holds
 * with and without inserted idle time.
 */

/* Windows of a search whose table is not too long. */
#define GS_PBS_WINDOWS_USUAL 48

typedef struct {
    const gs_pbs_problem_t *problem;
    int64_t count;
    int64_t scale;              /* prices are in units of 1/scale ticks; a power of two */
    int64_t *deadline;          /* [window]: increasing; the last is the last deadline of all */
    int64_t *price;             /* [window * n + task] */
    gs_pbs_rates_count_t *jobs; /* [window * n + task]: from instant 0 on */
} gs_pbs_windows_t;

/* Solves the programs of at most `most` windows, spread over the deadlines. Finds none where times
 * are so long that prices would exceed 62 bits. Free self in every case. Errors: GS_ERR_MEMORY,
 * GS_ERR_INTERRUPTED. */
int gs_pbs_windows_init(gs_pbs_windows_t *self, gs_context_t *ctx, const gs_pbs_problem_t *problem,
                        int64_t most);
void gs_pbs_windows_free(gs_pbs_windows_t *self, gs_context_t *ctx);

/* The last instant of a class of I_k from which the prices leave enough time: -1 where there is
 * none, INT64_MAX without a bound. */
int64_t gs_pbs_windows_latest(const gs_pbs_windows_t *self, int64_t k, int64_t class_index);

#endif
