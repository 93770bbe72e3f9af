/* Proofs of "not schedulable", in terms that need no knowledge of the search.
 *
 * WINDOW: prices such that no eligible batch is worth more than its time, and a window whose jobs
 * are worth more than it is long (pbs/prices.h).
 *
 * INTERVAL: tasks that have jobs between two instants which no batches cover in that time.
 *
 * CLOSED: windows with prices, and dead instants of classes, such that every move from a dead
 * instant misses a deadline or leads to a dead instant, and instant 0 is dead. An entry is a class:
 * the arrival that starts its interval, and the pending jobs of each task. Instants after `latest`
 * are dead also with inserted idle time, those in its spans without it.
 *
 * Each may be about a *core*: some of the tasks, with the least time of any eligible batch for each
 * of their subsets, and inserted idle time allowed.
 */
#ifndef GS_PBS_REFUTATION_H
#define GS_PBS_REFUTATION_H

#include "pbs/feasible.h"
#include "pbs/problem.h"
#include "pbs/rates.h"

/* Dead interval: an interval too short for the jobs that must run inside it.
 *
 * Jobs released at or after an instant, with deadlines at or before another, must run between the
 * two, at most one job of each task per batch. The least total time of batches that cover them is a
 * lower bound, whatever else the batches contain. Where it exceeds the length of the interval, no
 * schedule exists, with or without inserted idle time.
 */

typedef struct {
    bool found;
    int64_t from;   /* an arrival */
    int64_t to;     /* a deadline */
    uint32_t tasks; /* each has a job released at or after from and due at or before to */
    int64_t least;  /* least total time of batches that cover these tasks; exceeds to - from */
} gs_pbs_dead_interval_t;

/* Searches the intervals that start at an arrival and contain at most one job of each task. Work:
 * 3^n / 2. Errors: GS_ERR_MEMORY, GS_ERR_INTERRUPTED. */
int gs_pbs_dead_interval_find(gs_pbs_dead_interval_t *self, gs_context_t *ctx,
                              const gs_pbs_problem_t *problem);

enum {
    GS_PBS_REFUTATION_NONE = 0,
    GS_PBS_REFUTATION_WINDOW = 1,
    GS_PBS_REFUTATION_INTERVAL = 2,
    GS_PBS_REFUTATION_CLOSED = 3
};

typedef struct {
    int kind;
    int32_t n;     /* tasks that it is about */
    uint32_t core; /* mask of these tasks; 0: all */
    gs_pbs_rates_t rates;
    gs_pbs_dead_interval_t interval;
    int64_t windows;
    int64_t scale;     /* of the prices of all windows */
    int64_t *deadline; /* [window] */
    int64_t *price;    /* [window * n + task] */
    int64_t entries;
    int64_t *start;      /* [entry]: start of its interval */
    int64_t *pending;    /* [entry * n + task] */
    int64_t *latest;     /* [entry]; before start: all is dead; INT64_MAX: not used */
    int64_t *span_begin; /* [entry + 1] */
    gs_pbs_span_t *spans;
    int64_t span_count;
} gs_pbs_refutation_t;

void gs_pbs_refutation_free(gs_pbs_refutation_t *self, gs_context_t *ctx);

#endif
