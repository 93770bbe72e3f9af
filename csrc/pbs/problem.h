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

/* Checks tasks and table and cuts the hyperperiod. Both must outlive the problem. Free self in
 * every case. Errors: those of gs_pbs_problem_check and gs_periodic_tasks_hyperperiod;
 * GS_ERR_OVERFLOW for more than 2**31 - 2 arrival times, 2**63 classes or, with an infinite
 * horizon, times of 2**60 - 1 ticks. */
int gs_pbs_problem_init(gs_pbs_problem_t *self, gs_context_t *ctx, const gs_periodic_tasks_t *tasks,
                        const gs_batch_table_t *table, bool infinite);

/* The same for tasks and table that were checked. */
int gs_pbs_problem_cut(gs_pbs_problem_t *self, gs_context_t *ctx, const gs_periodic_tasks_t *tasks,
                       const gs_batch_table_t *table, bool infinite);

void gs_pbs_problem_free(gs_pbs_problem_t *self, gs_context_t *ctx);

/* The interval that holds an instant >= 0. */
int64_t gs_pbs_problem_interval(const gs_pbs_problem_t *self, int64_t instant);

/* The difference of classes that a batch makes. */
int64_t gs_pbs_problem_step(const gs_pbs_problem_t *self, uint32_t batch);

/* The rows with jobs left in a class, by its digits, and the current kernels among them. For
 * classes that are not simple, or of chains; see the functions below. */
uint32_t gs_pbs_problem_digits(const gs_pbs_problem_t *self, int64_t class_index);
uint32_t gs_pbs_problem_current(const gs_pbs_problem_t *self, int64_t class_index);

/* The tasks with pending jobs in a class, of chains all kernels that are left. */
static inline uint32_t gs_pbs_problem_left(const gs_pbs_problem_t *self, int64_t class_index)
{
    return self->simple ? (uint32_t)class_index : gs_pbs_problem_digits(self, class_index);
}

/* The same, of chains only the current kernels: the members of any batch. */
static inline uint32_t gs_pbs_problem_pending(const gs_pbs_problem_t *self, int64_t class_index)
{
    return gs_periodic_tasks_has_precedence(&self->tasks)
               ? gs_pbs_problem_current(self, class_index)
               : gs_pbs_problem_left(self, class_index);
}

/* Whether the jobs left in a class are those of rows that ran in order. */
bool gs_pbs_problem_is_ordered(const gs_pbs_problem_t *self, int64_t class_index);

/* The absolute deadline of the oldest pending job of a task in I_k, given the class; of its next
 * job in [0, H) when none is pending; GS_NEVER without such a job. */
int64_t gs_pbs_problem_deadline(const gs_pbs_problem_t *self, int64_t k, int64_t class_index,
                                int32_t i);

/* Transition tables of one interval: until when each batch may start and end.
 *
 * Precomputed for an interval I_k, and with deadlines that exceed the periods for one class in it.
 * A job of the batch must end by its deadline; a job that waits or arrives meanwhile must end after
 * the batch, so its deadline lies strictly later ([RTNS24], section 3).
 */

typedef struct {
    const gs_pbs_problem_t *problem;
    int64_t k;
    int64_t first; /* the first instant of the interval */
    int64_t last;  /* its last one */
    int64_t *
        latest; /* [batch]: the latest start that meets its deadlines; negative when not eligible */
    int32_t *top;     /* [batch]: the interval of its latest end */
    int64_t *wait;    /* [mask]: the latest end of a batch that leaves these tasks pending */
    int64_t *absent;  /* [mask of pending tasks]: the latest end that the next jobs of the other
                         tasks allow */
    uint64_t *useful; /* [batch / 64]: bit batch % 64, whether latest >= first */
} gs_pbs_transitions_t;

int gs_pbs_transitions_init(gs_pbs_transitions_t *self, gs_context_t *ctx,
                            const gs_pbs_problem_t *problem);
void gs_pbs_transitions_free(gs_pbs_transitions_t *self, gs_context_t *ctx);

/* Fills the tables for interval k; class_index matters only where deadlines exceed periods. */
void gs_pbs_transitions_prepare(gs_pbs_transitions_t *self, int64_t k, int64_t class_index);

/* One bit for each of the 64 batches from 0 on: whether it consists of pending tasks. */
static inline uint64_t gs_pbs_transitions_low_batches(uint32_t pending)
{
    static const uint64_t without[6] = {UINT64_C(0x5555555555555555), UINT64_C(0x3333333333333333),
                                        UINT64_C(0x0f0f0f0f0f0f0f0f), UINT64_C(0x00ff00ff00ff00ff),
                                        UINT64_C(0x0000ffff0000ffff), UINT64_C(0x00000000ffffffff)};
    uint64_t found = UINT64_MAX;
    for (uint32_t rest = ~pending & 63; rest != 0; rest &= rest - 1) {
        found &= without[__builtin_ctz(rest)];
    }
    return found;
}

/* Prepares for a class of the interval; does nothing when the tables serve all classes. */
static inline void gs_pbs_transitions_prepare_class(gs_pbs_transitions_t *self, int64_t class_index)
{
    if (!self->problem->simple) {
        gs_pbs_transitions_prepare(self, self->k, class_index);
    }
}

/* The latest end of a batch that starts with these tasks (kernels of chains) left and makes no
 * other job late. */
static inline int64_t gs_pbs_transitions_latest_end(const gs_pbs_transitions_t *self, uint32_t left,
                                                    uint32_t batch)
{
    int64_t wait = self->wait[left ^ batch], absent = self->absent[left];
    int64_t own = self->latest[batch] + self->problem->completion[batch];
    int64_t end = wait < absent ? wait : absent;
    return own < end ? own : end;
}

#endif
