/* Window prices: a bound on the latest start of every class.
 *
 * For a window [0, d], d a deadline, some jobs must run in it (due by d) and some may (released
 * before d). Prices such that no eligible batch is worth more than its time bound the time that is
 * needed from a state on: the worth of the jobs that are left, the least one that is possible. A
 * task whose jobs that must run are those that may gets a price of either sign. The bound holds
 * with and without inserted idle time.
 */
#ifndef GS_PBS_WINDOWS_H
#define GS_PBS_WINDOWS_H

#include "pbs/prices.h"
#include "pbs/problem.h"
#include "pbs/rates.h"

/* Windows of a search whose table is not too long. */
#define GS_PBS_WINDOWS_USUAL 48

typedef struct {
    const gs_pbs_problem_t *problem;
    int64_t count;
    int64_t scale;              /* prices are in units of 1/scale ticks; a power of two */
    int64_t *deadline;          /* [window]: increasing; the last is the last deadline of all */
    int64_t *price;             /* [window * n + task] */
    gs_pbs_rates_count_t *jobs; /* [window * n + task]: from instant 0 on */
} gs_pbs_windows_t;

/* Solves the programs of at most `most` windows, spread over the deadlines. Finds none where times
 * are so long that prices would exceed 62 bits. Free self in every case. Errors: GS_ERR_MEMORY,
 * GS_ERR_INTERRUPTED. */
int gs_pbs_windows_init(gs_pbs_windows_t *self, gs_context_t *ctx, const gs_pbs_problem_t *problem,
                        int64_t most);
void gs_pbs_windows_free(gs_pbs_windows_t *self, gs_context_t *ctx);

/* The last instant of a class of I_k from which the prices leave enough time: -1 where there is
 * none, INT64_MAX without a bound. */
int64_t gs_pbs_windows_latest(const gs_pbs_windows_t *self, int64_t k, int64_t class_index);

#endif
