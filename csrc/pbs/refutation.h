/* Proofs of "not schedulable", in terms that need no knowledge of the search.
 *
 * WINDOW: prices such that no eligible batch is worth more than its time, and a window whose jobs
 * are worth more than it is long (pbs/rates.h).
 *
 * INTERVAL: tasks that have jobs between two instants which no batches cover in that time
 * (pbs/dead_interval.h).
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

#include "pbs/dead_interval.h"
#include "pbs/feasible.h"
#include "pbs/rates.h"

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

void gs_pbs_refutation_init(gs_pbs_refutation_t *self);
void gs_pbs_refutation_free(gs_pbs_refutation_t *self, gs_context_t *ctx);

#endif
