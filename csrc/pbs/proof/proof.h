/* Check of a proof that no schedule of batches meets every deadline.
 *
 * A proof is one of: prices, a dead interval, dead states, or one of these for some of the tasks
 * alone. Nothing of the search that found it is used or trusted.
 */
#ifndef GS_PBS_PROOF_PROOF_H
#define GS_PBS_PROOF_PROOF_H

#include "core/context.h"
#include "model/batch_table.h"
#include "model/periodic_tasks.h"

#include <stdint.h>

/* Outcome of the check of a proof: it holds, or what is wrong and where. */

/* Parts of a proof that do not hold. */
enum {
    GS_PBS_PROOF_HOLDS,
    GS_PBS_PROOF_TASKS,    /* tasks that are none, or not in rising order; row: their position */
    GS_PBS_PROOF_RANGE,    /* prices, scale or window of GS_NEVER or more in size; row: window */
    GS_PBS_PROOF_SCALE,    /* scale below 1; row: window */
    GS_PBS_PROOF_BATCH,    /* a batch is worth more than its completion time; row: window, batch */
    GS_PBS_PROOF_LOAD,     /* jobs that are not worth more than the time there is */
    GS_PBS_PROOF_QUESTION, /* jobs may end after the hyperperiod: long-run load says nothing about
                              one hyperperiod, and one hyperperiod nothing about all jobs */
    GS_PBS_PROOF_JOB,      /* no job of a task falls into the interval; row: task */
    GS_PBS_PROOF_COVER,    /* another least time of the tasks' batches; instant: that time */
    GS_PBS_PROOF_ROOM,     /* an interval as long as that time */
    GS_PBS_PROOF_CLASS,    /* no class of states has this start and these jobs; row: entry */
    GS_PBS_PROOF_TWICE,    /* a class that an earlier entry has; row: entry */
    GS_PBS_PROOF_SPAN,     /* spans outside the interval, or not in rising order; row: entry,
                              instant: the first of the span */
    GS_PBS_PROOF_FIRST,    /* no entry says that the first instant is dead */
    GS_PBS_PROOF_FINAL,    /* nothing is left to run; row: entry */
    GS_PBS_PROOF_WAIT,     /* waiting leads to a state that is not dead; row: entry, instant */
    GS_PBS_PROOF_MOVE, /* a batch leads to a state that is not dead; row: entry, batch, instant */
    GS_PBS_PROOF_FAULTS
};

typedef struct {
    int fault;       /* GS_PBS_PROOF_* */
    int64_t row;     /* entry, window or task, -1 where there is none */
    int64_t batch;   /* bit mask, 0 where there is none */
    int64_t instant; /* ticks, 0 where there is none */
} gs_pbs_proof_verdict_t;

/* Prices of jobs: a lower bound of the time that the jobs of a window need.
 *
 * A job of task i is worth price[i] / scale ticks, of either sign, such that no eligible batch is
 * worth more than its completion time. Cut a schedule after the last batch with a job due by the
 * end of the window: the cut ends by then, contains every job due by then, and otherwise only jobs
 * released before. The least worth of such jobs is therefore at most the length of the window. In
 * the long run, where no deadline is missed, the jobs of task i number 1 / period[i] per tick.
 *
 * All sums are exact: prices, scales and windows have to be below GS_NEVER in size.
 */

typedef struct {
    int64_t window;       /* ticks from 0; GS_NEVER: in the long run */
    const int64_t *price; /* per task, in units of 1 / scale ticks */
    int64_t scale;
} gs_pbs_proof_prices_t;

/* Dead interval: the least time of batches that cover some tasks exceeds the interval in which a
 * job of each has to run.
 */

typedef struct {
    int64_t start; /* each task has a job released at start or later ... */
    int64_t end;   /* ... and due by end */
    const int64_t *task;
    int32_t count;
    int64_t least; /* least total time of batches that cover the tasks */
} gs_pbs_proof_cover_t;

/* Entries, spans and windows of a proof by dead states; their meaning is at the check below. */

typedef struct {
    int64_t windows;
    const int64_t *window; /* ends */
    const int64_t *prices; /* (windows, n) */
    const int64_t *scale;
    int64_t entries;
    const int64_t *start;      /* of the interval */
    const int64_t *pending;    /* (entries, n) */
    const int64_t *latest;     /* GS_NEVER or more: nothing is said about later instants */
    const int64_t *span_begin; /* entries + 1 offsets, from 0 to spans */
    int64_t spans;
    const int64_t *span_first;
    const int64_t *span_last; /* included */
} gs_pbs_proof_states_t;

/* Dead states: a set of states that no batch leaves without a miss, and that holds the first one.
 *
 * A class of states is an interval between two consecutive arrivals and the number of pending jobs
 * of each task (of each kernel of a chain: those in which it is left); of a task the oldest pending
 * job runs first. An entry says of a class that all of
 * its instants after `latest` are dead although the GPU may wait, and that those in its spans are
 * dead for the question that is asked. Besides, windows with prices bound the instants from which
 * the jobs that are left can end in time; they apply while a job due by the end of the window is
 * left.
 *
 * The check begins with the first instant and asks for the entry that says that it is dead. Of each
 * entry that is used it takes every eligible batch, and waiting where that is allowed, and asks the
 * same of all instants that the whole claim leads to without a miss. What is said about the
 * instants after `latest` may rest on other such claims and on windows alone. A state with nothing
 * left to run is never dead. Entries that are not reached are not needed; their classes and spans
 * have to be well-formed.
 */

/* One of prices, interval and states is given, the others are NULL. */
typedef struct {
    const gs_pbs_proof_prices_t *prices;
    const gs_pbs_proof_cover_t *interval;
    const gs_pbs_proof_states_t *states;
    const int64_t *subset; /* the tasks that the proof is about; NULL: all. Its indices are
                              positions in this array. */
    int32_t subset_count;
} gs_pbs_proof_t;

/* The statement that is proven: no schedule of the jobs released in one hyperperiod, or, repeating,
 * of all jobs, on a GPU that does not wait while work is ready, or may wait. */
typedef struct {
    bool idling;
    bool repeating;
} gs_pbs_proof_question_t;

/* Any numbers in the arrays of a proof give a verdict or an error. The time is polled. Errors:
 * those of gs_pbs_proof_jobs_init; GS_ERR_VALUE for
 * span_begin that is not in order; GS_ERR_OVERFLOW for a hyperperiod of GS_NEVER / 2 or more;
 * GS_ERR_MEMORY, budgets. */
int gs_pbs_proof_check(gs_pbs_proof_verdict_t *verdict, gs_context_t *ctx,
                       const gs_periodic_tasks_t *tasks, const gs_batch_table_t *table,
                       const gs_pbs_proof_t *proof, const gs_pbs_proof_question_t *question);

#endif
