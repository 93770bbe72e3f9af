/* Least solutions of response-time recurrences.
 *
 *     W = sum over terms of (constant + sum over its demands of work(jobs(W)))
 *     jobs(W) = min(most, each * ceil((W + jitter) / period))
 *
 * where work(k) is k * work, but the last of `most` jobs may have different work. The term
 * GS_ANALYSIS_COMMON_REQUEST may have an upper limit: min(most, constant + demands). All numbers
 * are in 0..GS_ANALYSIS_COMMON_LIMIT and saturate there; a deadline is below it. Calls advance a
 * window, the current value of W, which only grows.
 */
#ifndef GS_ANALYSIS_COMMON_RECURRENCE_H
#define GS_ANALYSIS_COMMON_RECURRENCE_H

#include "analysis/common/host_test.h"
#include "core/int128.h"

/* Lower bounds of fixed points W = f(W) from the rate at which f grows.
 *
 * f is `value` at some window and grows with the jobs of some tasks: task k adds at least c_k (W -
 * until_k), with c_k = work_k / period_k, when the window grows to W. So a fixed point W = value +
 * x with x >= 0 has
 *
 *     x >= sum of c_k (x + value - until_k), or
 *     (1 - rate) x >= behind - ahead,  rate = sum of c_k,
 *
 * where `behind` and `ahead` sum up c_k |value - until_k| of the tasks with until_k below and above
 * value. In particular there is none where rate >= 1 and behind > ahead. All sums are in multiples
 * of 2^-60, and every rounding and saturation makes the bound smaller.
 */

/* An iteration looks for a bound once in so many steps. */
enum { GS_ANALYSIS_COMMON_GROWTH_STEPS = 32 };

typedef struct {
    int64_t value;
    gs_int128_t rate, behind, ahead;
} gs_analysis_common_growth_t;

/* Starts with f = value >= 0 and no tasks. */
void gs_analysis_common_growth_start(gs_analysis_common_growth_t *self, int64_t value);

/* Adds a task: `each` jobs per period, each with `work`; until >= 0. */
void gs_analysis_common_growth_add(gs_analysis_common_growth_t *self, int64_t each, int64_t work,
                                   int64_t period, int64_t until);

/* A lower bound, at least the value, of every fixed point from the value on; deadline + 1 where
 * there is none up to the deadline. */
int64_t gs_analysis_common_growth_least(const gs_analysis_common_growth_t *self, int64_t deadline);

/* Number of jobs without a limit. */
#define GS_ANALYSIS_COMMON_DEMAND_UNLIMITED INT64_MAX

/* Demand of one task (or of its requests) in a growing window. */
typedef struct {
    int64_t until; /* jobs changes in windows longer than this */
    int64_t period;
    int64_t each;
    int64_t jobs;
    int64_t most;
    int64_t work;
    int64_t last; /* work of job number `most` */
    int64_t term; /* GS_ANALYSIS_COMMON_COPY, ... */
} gs_analysis_common_demand_t;

typedef struct {
    int64_t constant[GS_ANALYSIS_COMMON_TERMS];
    int64_t varying[GS_ANALYSIS_COMMON_TERMS]; /* of the demands, at the current window */
    int64_t request_most; /* limit of the term GS_ANALYSIS_COMMON_REQUEST; GS_ANALYSIS_COMMON_LIMIT:
                             none */
    gs_analysis_common_demand_t *demands; /* memory of the caller */
    int64_t count;
} gs_analysis_common_recurrence_t;

/* Initialises: no demands, all constants 0. */
void gs_analysis_common_recurrence_init(gs_analysis_common_recurrence_t *self,
                                        gs_analysis_common_demand_t *room);

/* Adds a demand at window 1; each, most, period >= 1, 0 <= jitter <= GS_ANALYSIS_COMMON_LIMIT (a
 * negative jitter, which only occurs in sets that fail, counts as 0: more jobs, not fewer). Returns
 * it so that the caller can change its last work or its limit. */
gs_analysis_common_demand_t *
gs_analysis_common_recurrence_add(gs_analysis_common_recurrence_t *self, int term, int64_t jitter,
                                  int64_t period, int64_t each, int64_t most, int64_t work,
                                  int64_t last);

/* The jobs of a demand with these numbers in a window of at least 1. */
static inline int64_t gs_analysis_common_recurrence_jobs(int64_t window, int64_t jitter,
                                                         int64_t period, int64_t each, int64_t most)
{
    int64_t last = window - 1 + (jitter > 0 ? jitter : 0); /* both at most 2^60 */
    int64_t jobs = gs_analysis_common_saturating_mul(last / period + 1, each);
    return jobs < most ? jobs : most;
}

/* Advances the demands to a longer window. */
void gs_analysis_common_recurrence_advance(gs_analysis_common_recurrence_t *self, int64_t window);

/* Limits a demand to `most` jobs, no fewer than it has now, the last one with the work of the
 * others. */
void gs_analysis_common_recurrence_limit(gs_analysis_common_demand_t *demand, int64_t most);

/* Limits the work of a demand at window 1, no less than it is there. A total of
 * GS_ANALYSIS_COMMON_LIMIT is none. */
void gs_analysis_common_recurrence_limit_work(gs_analysis_common_demand_t *demand, int64_t total);

/* The least W >= start with W = f(W), or -1 when it exceeds the deadline; start is at most the
 * least solution. The window is W on return. Returns GS_OK or the status of gs_poll. */
int gs_analysis_common_recurrence_solve(gs_analysis_common_recurrence_t *self, gs_context_t *ctx,
                                        int64_t start, int64_t deadline, int64_t *least);

/* Solves the recurrence of a job of task i from its release on, and writes the response time, which
 * counts from the arrival, and the terms; records a failure. */
int gs_analysis_common_recurrence_solve_task(gs_analysis_common_recurrence_t *self,
                                             gs_context_t *ctx, int64_t start,
                                             const gs_host_tasks_t *hosts, int64_t i,
                                             gs_analysis_common_answer_t *answer);

#endif
