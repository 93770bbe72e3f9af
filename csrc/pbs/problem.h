/* One task set and its table, cut at the arrivals: the intervals and classes that all exact
 * searches walk over.
 *
 * [0, H) is cut at every arrival into intervals I_k = [start[k], start[k+1]); the last one has no
 * end. Within an interval the pending jobs, their deadlines and so the eligible batches of a state
 * depend only on its *class*: how many jobs of each task are pending. With deadlines up to the
 * periods at most one job of a task is pending and the class is the bit mask of pending tasks; with
 * longer deadlines it is a number in mixed radix, one digit per task. Either way
 *
 *     class after = class before - step(batch) + arrived[k'] - arrived[k]
 *
 * when a batch that starts in I_k ends in I_k'.
 *
 * An *infinite-horizon* problem asks about all jobs, not only those of [0, H). From the greatest
 * offset on the arrivals repeat, so that one hyperperiod of intervals stands for all later ones;
 * the intervals after it, the tail, are long enough for any batch to end in and copies of it.
 */
#ifndef GS_PBS_PROBLEM_H
#define GS_PBS_PROBLEM_H

#include "core/context.h"
#include "model/periodic_tasks.h"
#include "model/batch_table.h"

typedef struct {
    gs_periodic_tasks_t tasks; /* borrowed */
    const int64_t *completion; /* borrowed */
    int32_t n;
    uint32_t all; /* the mask of all tasks */
    int64_t hyperperiod;
    int64_t
        limit; /* jobs released before it count: H, or GS_NEVER in an infinite-horizon problem */
    int64_t intervals;
    int64_t before_tail; /* intervals before the tail */
    int64_t cycle;    /* the last so many of them are one hyperperiod; 0 unless infinite-horizon */
    int64_t *start;   /* intervals + 1 entries; the last is GS_NEVER, or the end of the tail */
    int64_t *arrived; /* intervals entries: the classes of all arrivals up to start[k], added up */
    int64_t classes;  /* per interval */
    int64_t stride[GS_PERIODIC_TASKS_MAX];
    int64_t
        radix[GS_PERIODIC_TASKS_MAX]; /* 1 + the most jobs of a task that can be pending in time */
    bool simple;                      /* every radix is 2: class and mask are the same number */
} gs_pbs_problem_t;

/* Checks tasks and table and cuts the hyperperiod. Both must outlive the problem. */
int gs_pbs_problem_init(gs_pbs_problem_t *self, gs_context_t *ctx, const gs_periodic_tasks_t *tasks,
                        const gs_batch_table_t *table, bool infinite);
void gs_pbs_problem_free(gs_pbs_problem_t *self, gs_context_t *ctx);

/* The interval that holds an instant >= 0. */
int64_t gs_pbs_problem_interval(const gs_pbs_problem_t *self, int64_t instant);

/* What a batch takes from the class. */
int64_t gs_pbs_problem_step(const gs_pbs_problem_t *self, uint32_t batch);

/* The tasks with pending jobs in a class. */
uint32_t gs_pbs_problem_pending(const gs_pbs_problem_t *self, int64_t class_index);

/* The absolute deadline of a task's oldest pending job in I_k, given the class; of its next job in
 * [0, H) when none is pending; GS_NEVER without such a job. */
int64_t gs_pbs_problem_deadline(const gs_pbs_problem_t *self, int64_t k, int64_t class_index,
                                int32_t i);

#endif
