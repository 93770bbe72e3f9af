/* What the theorems of fifo_bound.h share while one set is worked on: internal to rta/fifo_*.c.
 *
 * Symbols as in the notebook: g, b, c, T of a task (blocks, threads, block_time, period), C = g b c
 * its work, SC the sum of all C, u = C / T, U the sum of all u, m threads of which at least beta
 * are busy while a block waits.
 *
 * The bounds that refer to each other are kept as whole numbers of 1/beta ticks, rounded up. That
 * loses nothing: they are only asked how many releases lie within (x + R) / T, where x is such a
 * number too and T is whole.
 */
#ifndef GS_RTA_FIFO_WORK_H
#define GS_RTA_FIFO_WORK_H

#include "core/wide.h"
#include "rta/fifo_bound.h"

/* The best bound of a task so far. */
typedef struct {
    gs_wide_t parts; /* in units of 1/beta, rounded up; GS_FIFO_OPEN: none */
    int64_t whole;   /* exactly: whole + numerator / denominator ticks */
    gs_wide_t numerator;
    gs_wide_t denominator;
    bool fits; /* hardware: case 1 of Theorem V1 applies, and was asked for */
    bool sc1;
    gs_wide_t share; /* u in units of 1/scale, rounded up */
    int64_t changed; /* when, in refinements of any bound */
    int64_t refined; /* when its own recurrence was last looked at */
} gs_fifo_task_t;

#define GS_FIFO_OPEN (-1)

typedef struct {
    const gs_kernels_t *kernels;
    int64_t m;
    int64_t beta;
    int order;
    int64_t theorems;
    int64_t work;          /* SC */
    gs_fifo_task_t *tasks; /* owned */
    gs_fifo_bound_t *out;  /* the caller's; theorem, status and reasons are kept here */
    gs_wide_t scale;       /* the denominator of the utilizations; 0: not computed yet */
    bool coarse;           /* it is not a multiple of all periods: shares are rounded up */
    bool overflow;         /* something did not fit: try again with a coarse scale */
    gs_wide_t share;       /* U */
    int64_t changes;       /* the clock of changed and refined */
} gs_fifo_work_t;

/* Whether a theorem is about this order and asked for; sets the reason for all tasks if not. */
bool gs_fifo_try(gs_fifo_work_t *self, int theorem, bool order);

void gs_fifo_why(gs_fifo_work_t *self, int64_t k, int theorem, int why);
void gs_fifo_why_all(gs_fifo_work_t *self, int theorem, int why);

/* A bound of whole + numerator / denominator ticks for task k: kept if it is the least so far.
 * Whether it lies within the clock (the reason is set if not). */
bool gs_fifo_take(gs_fifo_work_t *self, int64_t k, int theorem, int64_t whole, gs_wide_t numerator,
                  gs_wide_t denominator);

/* Computes scale and shares, once. */
void gs_fifo_shares(gs_fifo_work_t *self);

/* The own work of task k that is not in its last block, and how long that one is in 1/beta. */
static inline int64_t gs_fifo_own(const gs_fifo_work_t *self, int64_t k)
{
    const gs_kernels_t *t = self->kernels;
    return gs_kernels_work(t, k) - t->threads[k] * t->block_time[k];
}

static inline gs_wide_t gs_fifo_tail(const gs_fifo_work_t *self, int64_t k)
{
    return (gs_wide_t)self->beta * self->kernels->block_time[k];
}

static inline gs_wide_t gs_fifo_period(const gs_fifo_work_t *self, int64_t k)
{
    return (gs_wide_t)self->beta * self->kernels->period[k];
}

/* The theorems, each with its reasons: fifo_v1.c, fifo_a.c, fifo_v2.c. */
void gs_fifo_v1_first(gs_fifo_work_t *self);
int gs_fifo_v1_chain(gs_fifo_work_t *self, gs_env_t *env);
void gs_fifo_a(gs_fifo_work_t *self);
int gs_fifo_a_refined(gs_fifo_work_t *self, gs_env_t *env);
int gs_fifo_v2(gs_fifo_work_t *self, gs_env_t *env);

/* Goes through the tasks whose bound is not settled and improves it, one by one and again, until
 * no bound changes: improve looks at task k. At most GS_FIFO_ROUNDS rounds; each is valid. */
#define GS_FIFO_ROUNDS 64
typedef int (*gs_fifo_improve_t)(gs_fifo_work_t *self, gs_env_t *env, int64_t k);
int gs_fifo_rounds(gs_fifo_work_t *self, gs_env_t *env, gs_fifo_improve_t improve);

#endif
