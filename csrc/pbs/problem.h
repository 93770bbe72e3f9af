/* Task set and batch table, cut at the arrivals: intervals and classes for the exact searches.
 *
 * [0, H) is cut at every arrival into intervals I_k = [start[k], start[k+1]); the last one is
 * unbounded. Within an interval the pending jobs, their deadlines and so the eligible batches of a
 * state depend only on its *class*: the number of pending jobs of each task. With deadlines up to
 * the periods at most one job of a task is pending and the class is the bit mask of pending tasks;
 * with longer deadlines it is a number in mixed radix, one digit per task. In both cases
 *
 *     class after = class before - step(batch) + arrived[k'] - arrived[k]
 *
 * when a batch that starts in I_k ends in I_k'.
 *
 * Of a chain (model/periodic_tasks.h) each kernel is a row, and a job that arrives is pending in
 * all of them: a class says which kernels are *left*. Only one of them is *current*, the first of
 * the oldest job of its task, and only current kernels start. All other rules are those of tasks of
 * one kernel: a kernel that is left and not in a batch must be able to end after it, so the batch
 * of any kernel but the last one ends before the job is due. Of rows that need others those are
 * current whose oldest job waits for none.
 *
 * An *infinite-horizon* problem is about all jobs, not only those of [0, H). From the greatest
 * offset on the arrivals repeat, so one hyperperiod of intervals represents all later ones. The
 * intervals after it, the *tail*, are copies of it, long enough for any batch to end in.
 */
#ifndef GS_PBS_PROBLEM_H
#define GS_PBS_PROBLEM_H

#include "core/context.h"
#include "model/batch_table.h"
#include "model/periodic_tasks.h"

typedef struct {
    gs_periodic_tasks_t tasks;         /* borrowed */
    const int64_t *completion;         /* borrowed */
    const gs_batch_table_list_t *list; /* of the table, or NULL; borrowed */
    int32_t n;
    uint32_t all; /* the mask of all tasks */
    int64_t hyperperiod;
    int64_t limit; /* only jobs released before it count: H, or GS_NEVER in an infinite-horizon
                      problem */
    int64_t intervals;
    int64_t before_tail; /* intervals before the tail */
    int64_t cycle; /* number of intervals, the last before the tail, that make up one hyperperiod; 0
                      unless infinite-horizon */
    int64_t *start;   /* intervals + 1 entries; the last is GS_NEVER, or the end of the tail */
    int64_t *arrived; /* intervals entries: sum of the classes of all arrivals up to start[k] */
    int64_t classes;  /* per interval */
    int64_t stride[GS_PERIODIC_TASKS_MAX];
    int64_t
        radix[GS_PERIODIC_TASKS_MAX]; /* 1 + the most jobs of a task that can be pending in time */
    bool simple;                      /* every radix is 2: class and mask are the same number */
} gs_pbs_problem_t;

/* Checks tasks and table. Errors: those of gs_periodic_tasks_check and gs_batch_table_check;
 * GS_ERR_VALUE for a table of another number of tasks, and for one with a batch of two kernels of a
 * task. */
int gs_pbs_problem_check(gs_context_t *ctx, const gs_periodic_tasks_t *tasks,
                         const gs_batch_table_t *table);

/* Cuts the hyperperiod of tasks and a table that have passed gs_pbs_problem_check and must outlive
 * the problem. Free self in every case. Errors: those of gs_periodic_tasks_hyperperiod;
 * GS_ERR_OVERFLOW for more than 2**31 - 2 arrival times, 2**63 classes or, with an infinite
 * horizon, times of 2**60 - 1 ticks. */
int gs_pbs_problem_init(gs_pbs_problem_t *self, gs_context_t *ctx, const gs_periodic_tasks_t *tasks,
                        const gs_batch_table_t *table, bool infinite);

void gs_pbs_problem_free(gs_pbs_problem_t *self, gs_context_t *ctx);

#endif
