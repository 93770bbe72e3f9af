/* Steps in a problem: instants and classes, and until when each batch may start and end. */
#ifndef GS_PBS_TRANSITIONS_H
#define GS_PBS_TRANSITIONS_H

#include "pbs/problem.h"

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

typedef struct gs_pbs_transitions {
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
