/* Parts of the scheduler with a batch function: what a round consists of. */
#ifndef GS_PBS_LARGE_LARGE_PARTS_H
#define GS_PBS_LARGE_LARGE_PARTS_H

#include "core/rng.h"
#include "pbs/large/large.h"
#include "pbs/prices.h"
#include "pbs/reductions.h"

/* n is 1 to GS_PBS_LARGE_TASKS; gpu and kernels must outlive self. Free self in every case. Errors:
 * those of gs_gpu_check and gs_pbs_oracle_kernels_read. */
int gs_pbs_large_placement_init(gs_pbs_large_placement_t *self, gs_context_t *ctx,
                                const gs_gpu_t *gpu, int32_t n, const gs_gpu_kernel_t *kernels);
void gs_pbs_large_placement_free(gs_pbs_large_placement_t *self, gs_context_t *ctx);

/* Decides a batch of two or more kernels, none of which needs several waves. Cost: one placement of
 * its kernels where they fit at once, at most about 2,000 of single kernels. */
int gs_pbs_large_placement_decide(gs_pbs_large_placement_t *self, gs_context_t *ctx, uint64_t batch,
                                  int *verdict);

/* The tasks of an eligible batch in an order of submission that makes it eligible, as many as there
 * are; other batches: by increasing index. */
int gs_pbs_large_function_order(gs_pbs_large_function_t *self, gs_context_t *ctx, uint64_t batch,
                                int8_t *order);

/* Tables of some of the tasks, at most GS_PERIODIC_TASKS_MAX, renumbered: of the function itself
 * (completion, undecided: 2^q entries as in gs_batch_table_t; order: 2^q rows of q entries, an
 * order of submission of each eligible batch, padded with -1), and of the least times. */
int gs_pbs_large_function_table(gs_pbs_large_function_t *self, gs_context_t *ctx, uint64_t tasks,
                                int64_t *completion, int64_t *undecided, int8_t *order);
int gs_pbs_large_function_least_table(const gs_pbs_large_function_t *self, gs_context_t *ctx,
                                      uint64_t tasks, int64_t *completion);

/* As gs_pbs_large_function_time, with what is not known to be eligible taken as not eligible. */
int gs_pbs_large_function_known(gs_pbs_large_function_t *self, gs_context_t *ctx, uint64_t batch,
                                int64_t *time);

/* Schedules that grow frame by frame. Errors: GS_ERR_MEMORY. */
int gs_pbs_large_schedule_append(gs_pbs_large_schedule_t *self, gs_context_t *ctx, int64_t start,
                                 int64_t end, uint64_t batch);
void gs_pbs_large_schedule_free(gs_pbs_large_schedule_t *self, gs_context_t *ctx);

/* Schedules by dispatch rules: EDFserial, EDFParallel, and a search over batches of what is
 * pending.
 *
 * A state is an instant and the next job of each task. The batches considered in it, instead of all
 * subsets of what is pending:
 *
 *   serial, parallel: the one batch of EDFserial or EDFParallel (pbs/edf.h);
 *   searched: each pending task alone, and for each pending task m the batch that begins with m and
 *   takes the others that are no longer, by deadline, as far as it stays eligible: a batch takes as
 *   long as its longest task.
 *
 * A batch is followed where it ends by the deadlines of its jobs and before those of all others. Of
 * these, the `width` best go in turn, depth first. So a schedule that is found meets every deadline
 * and never idles while work is ready (with idling, waiting for the next release is a move, too); a
 * failure proves nothing.
 */

enum {
    GS_PBS_LARGE_DISPATCH_SERIAL = 0,
    GS_PBS_LARGE_DISPATCH_PARALLEL = 1,
    GS_PBS_LARGE_DISPATCH_SEARCHED = 2
};

/* Ranks of batches: those with the most urgent job first, or not; then by what their jobs are worth
 * beyond their time, or relative to it. */
enum {
    GS_PBS_LARGE_DISPATCH_URGENT_BEYOND = 0,
    GS_PBS_LARGE_DISPATCH_URGENT_RATIO = 1,
    GS_PBS_LARGE_DISPATCH_BEYOND = 2,
    GS_PBS_LARGE_DISPATCH_RATIO = 3,
    GS_PBS_LARGE_DISPATCH_RANKS = 4
};

/* Most batches followed from a state. */
#define GS_PBS_LARGE_DISPATCH_WIDTH 8

typedef struct {
    int rule;
    int rank;
    const double *worth; /* of a job of each task: prices, or its wcet, where NULL */
    int32_t width;       /* 1 to GS_PBS_LARGE_DISPATCH_WIDTH */
    bool idling;         /* waiting is a move */
    int64_t states;      /* give up after so many */
    gs_rng_t *rng;       /* NULL, or multiplies ranks by random factors */
} gs_pbs_large_dispatch_options_t;

/* Looks for a schedule of the jobs released in [0, hyperperiod). *found: schedule has the frames.
 * Errors and spent budgets as usual. */
int gs_pbs_large_dispatch(gs_context_t *ctx, const gs_periodic_tasks_t *tasks, int64_t hyperperiod,
                          gs_pbs_large_function_t *function,
                          const gs_pbs_large_dispatch_options_t *options,
                          gs_pbs_large_schedule_t *schedule, bool *found);

/* Overload of a batch function: prices such that no batch is worth more than its least time.
 *
 * The program of pbs/prices.h with a batch of two or more replaced by a fractional one. Let m be
 * the longest task of a batch b. Then b takes at least the least time of a batch with m in it, and
 * by one row of demand, sum over i in b of need_i <= room. So it is worth at most
 *
 *     y_m + max sum y_i x_i over the tasks i that are no longer than m, where
 *     0 <= x_i <= 1 and sum need_i x_i <= room - need_m,
 *
 * a fractional knapsack, which takes items by decreasing y_i / need_i (Dantzig 1957). A column of
 * the program is such an x; the knapsack finds the one that is worth most. With integer prices the
 * bound is exact in integers, rounded down, and the least of the bounds by all rows holds.
 */

/* Looks for prices with which the jobs overload some window; rates->proven: found. rates->load has
 * the largest load by any row, price (n entries) its prices, not exact, or each wcet where the
 * tasks do not overload the GPU one at a time. Tasks and function must have been checked. Errors:
 * GS_ERR_MEMORY, GS_ERR_INTERRUPTED; spent budgets. */
int gs_pbs_large_prices_find(gs_pbs_rates_t *rates, gs_context_t *ctx,
                             const gs_periodic_tasks_t *tasks,
                             const gs_pbs_large_function_t *function, double *price);

/* The problem whose groups and cores a round tries. A core has the least times that the function
 * allows for batches that contain its tasks, at most those of the batches of a table. */
gs_pbs_reductions_problem_t gs_pbs_large_problem(const gs_periodic_tasks_t *tasks,
                                                 gs_pbs_large_function_t *function,
                                                 gs_pbs_large_schedule_t *schedule);

#endif
