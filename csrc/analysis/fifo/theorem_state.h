/* State of the theorems of fifo_bound.h for one set; internal to analysis/fifo/theorem_*.c and
 * fifo_bound.c.
 *
 * Symbols as in the notebook: g, b, c, T of a task (blocks, threads, block_time, period), C = g b c
 * its work, SC the sum of all C, u = C / T, U the sum of all u, m threads of which at least beta
 * are busy while a block waits.
 *
 * The bounds that refer to each other are kept as whole numbers of 1/beta ticks, rounded up. That
 * loses nothing: they are only used in the number of releases within (x + R) / T, where x is such a
 * number too and T is whole.
 */
#ifndef GS_ANALYSIS_FIFO_THEOREM_STATE_H
#define GS_ANALYSIS_FIFO_THEOREM_STATE_H

#include "analysis/fifo/theorem_bound.h"
#include "core/int128.h"
#include "model/fifo_order.h"
#include "model/kernel_tasks.h"

/* The best bound of a task so far. */
typedef struct {
    gs_int128_t parts; /* in units of 1/beta, rounded up; GS_ANALYSIS_FIFO_NO_BOUND: none */
    int64_t whole;     /* exact bound: whole + numerator / denominator ticks */
    gs_int128_t numerator;
    gs_int128_t denominator;
    bool fits; /* hardware: case 1 of Theorem V1 applies and was selected */
    bool sc1;
    bool single; /* release: it never has two pending jobs, by the greatest such set of Theorem A */
    gs_int128_t utilization; /* u in units of 1/scale, rounded up */
    int64_t changed;         /* time of the last change, in changes of any bound */
    int64_t refined;         /* time of its last refinement */
} gs_analysis_fifo_task_t;

#define GS_ANALYSIS_FIFO_NO_BOUND (-1)

typedef struct {
    const gs_kernel_tasks_t *kernels;
    int64_t m;
    int64_t sms;
    int64_t beta;
    int order;
    int64_t theorems;
    int64_t work;                   /* SC */
    gs_analysis_fifo_task_t *tasks; /* owned */
    gs_analysis_fifo_bound_t *out;  /* the caller's; holds theorem, status and reasons */
    gs_int128_t scale;              /* the denominator of the utilizations; 0: not computed yet */
    bool coarse;             /* it is not a multiple of all periods: utilizations are rounded up */
    int64_t pass;            /* the theorems to try in this pass */
    int64_t overflow;        /* theorems whose numbers overflowed: try them with a coarse scale */
    gs_int128_t utilization; /* U */
    int64_t changes;         /* counts changes of bounds */
} gs_analysis_fifo_state_t;

/* Whether a theorem is about this order, selected by the caller (else sets the reason of all tasks)
 * and to be tried in this pass. */
bool gs_analysis_fifo_is_selected(gs_analysis_fifo_state_t *self, int theorem, bool order);

void gs_analysis_fifo_set_reason(gs_analysis_fifo_state_t *self, int64_t k, int theorem, int why);
void gs_analysis_fifo_set_reason_all(gs_analysis_fifo_state_t *self, int theorem, int why);

/* Records a bound of whole + numerator / denominator ticks for task k if it is the least so far.
 * False, with the reason set, if it exceeds 2**61 - 2 ticks. */
bool gs_analysis_fifo_record_bound(gs_analysis_fifo_state_t *self, int64_t k, int theorem,
                                   int64_t whole, gs_int128_t numerator, gs_int128_t denominator);

/* Computes the scale and the utilizations, once. */
void gs_analysis_fifo_set_utilizations(gs_analysis_fifo_state_t *self);

/* The work of a job of task k before its last block; then the time of a block and the period in
 * 1/beta ticks. */
static inline int64_t gs_analysis_fifo_work_before_last_block(const gs_analysis_fifo_state_t *self,
                                                              int64_t k)
{
    const gs_kernel_tasks_t *t = self->kernels;
    return gs_kernel_tasks_work(t, k) - t->threads[k] * t->block_time[k];
}

static inline gs_int128_t gs_analysis_fifo_scaled_block_time(const gs_analysis_fifo_state_t *self,
                                                             int64_t k)
{
    return (gs_int128_t)self->beta * self->kernels->block_time[k];
}

static inline gs_int128_t gs_analysis_fifo_scaled_period(const gs_analysis_fifo_state_t *self,
                                                         int64_t k)
{
    return (gs_int128_t)self->beta * self->kernels->period[k];
}

/* The number of further jobs of a backlogged interval, after `jobs` of them, that each add one step
 * and nothing else: until another job interferes, `gap` ahead, or the interval ends, which it
 * misses by `late` > 0. All in 1/beta ticks. */
static inline int64_t gs_analysis_fifo_uniform_jobs(gs_int128_t gap, gs_int128_t step,
                                                    gs_int128_t late, gs_int128_t period,
                                                    int64_t jobs)
{
    if (gap < 4 * step) { /* two divisions would cost more */
        return 0;
    }
    gs_int128_t steps = gs_int128_ceil_div(gap + 1, step) - 1;
    if (step < period) {
        gs_int128_t left = gs_int128_ceil_div(late, period - step);
        steps = left - 1 < steps ? left - 1 : steps;
    }
    return (int64_t)(steps < GS_ANALYSIS_FIFO_MOST_JOBS - jobs ? steps
                                                               : GS_ANALYSIS_FIFO_MOST_JOBS - jobs);
}

/* Whether no later job in a backlogged interval of task k, after `jobs` of them, can have a
 * response time above worst, so that the interval need not be followed to its end. Called rarely,
 * as it is expensive. counted: whether the jobs of task i are counted by its bound and period;
 * those of the other tasks are part of step. */
bool gs_analysis_fifo_is_worst_final(gs_analysis_fifo_state_t *self, int64_t k, gs_int128_t step,
                                     int64_t jobs, gs_int128_t worst,
                                     bool (*counted)(const gs_analysis_fifo_state_t *, int64_t k,
                                                     int64_t i));
#define GS_ANALYSIS_FIFO_FIRST_CHECK 8 /* jobs; the next check after four times as many */

/* The theorems; each sets its reasons. */
void gs_analysis_fifo_theorem_v1_first(gs_analysis_fifo_state_t *self);
int gs_analysis_fifo_theorem_v1_chain(gs_analysis_fifo_state_t *self, gs_context_t *ctx);
void gs_analysis_fifo_theorem_a(gs_analysis_fifo_state_t *self);
int gs_analysis_fifo_theorem_a_single(gs_analysis_fifo_state_t *self, gs_context_t *ctx);
int gs_analysis_fifo_theorem_a_refined(gs_analysis_fifo_state_t *self, gs_context_t *ctx);
int gs_analysis_fifo_theorem_v2(gs_analysis_fifo_state_t *self, gs_context_t *ctx);

/* Work of interfering jobs of other tasks in a backlogged interval, counted incrementally. All
 * times are in 1/beta ticks from the start of the interval, work is in thread-ticks. A task with
 * period T and response bound R has at most ceil((x + R) / T) jobs that interfere up to x.
 */

/* An interfering task. Its n jobs counted so far interfere up to reach = n T - R. */
typedef struct {
    int64_t reach;
    int64_t period;
    int64_t work; /* of a job */
    int64_t jobs; /* number counted so far */
} gs_analysis_fifo_interfering_task_t;

typedef struct {
    gs_int128_t reach;
    gs_int128_t period;
    int64_t work;
    int64_t jobs;
} gs_analysis_fifo_interfering_wide_task_t;

typedef struct {
    gs_analysis_fifo_interfering_task_t *narrow;    /* owned; 64 bits suffice for nearly all sets */
    gs_analysis_fifo_interfering_wide_task_t *wide; /* owned; used where they do not */
    int64_t count;
    bool is_wide;
    gs_int128_t next; /* the least reach: later instants may have more jobs */
} gs_analysis_fifo_interfering_t;

/* Adds a task with no job counted. */
void gs_analysis_fifo_interfering_add(gs_analysis_fifo_interfering_t *self, gs_int128_t response,
                                      gs_int128_t period, int64_t work);

/* Counts the jobs that interfere up to an instant, at most `most` of each task in total (INT64_MAX:
 * no limit). Returns the work of the jobs newly counted. */
gs_int128_t gs_analysis_fifo_interfering_count(gs_analysis_fifo_interfering_t *self, int64_t most,
                                               gs_int128_t instant);

/* Refines the bounds of all unsettled tasks in rounds until no bound changes, at most
 * GS_ANALYSIS_FIFO_ROUNDS rounds; the bounds are valid after each. refine: refines the bound of
 * task k; interfering is cleared scratch for it. */
#define GS_ANALYSIS_FIFO_ROUNDS 1024
typedef int (*gs_analysis_fifo_refine_t)(gs_analysis_fifo_state_t *self, gs_context_t *ctx,
                                         int64_t k, gs_analysis_fifo_interfering_t *interfering);
int gs_analysis_fifo_refine_bounds(gs_analysis_fifo_state_t *self, gs_context_t *ctx,
                                   gs_analysis_fifo_refine_t refine);

#endif
