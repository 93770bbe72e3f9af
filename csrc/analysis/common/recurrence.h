/* Least solutions of response-time recurrences.
 *
 *     W = sum over terms of (constant + sum over its demands of work(jobs(W)))
 *     jobs(W) = min(most, each * ceil((W + jitter) / period))
 *
 * where work(k) is k * work, but the last of the `most` may have work of its own. One term may have
 * a most of its own: min(most, constant + demands). All numbers are in 0..GS_ANALYSIS_COMMON_LIMIT
 * and stop there; a deadline is below it.
 */
#ifndef GS_ANALYSIS_COMMON_RECURRENCE_H
#define GS_ANALYSIS_COMMON_RECURRENCE_H

#include "analysis/common/host_test.h"

/* No limit to the number of jobs. */
#define GS_ANALYSIS_COMMON_DEMAND_UNLIMITED INT64_MAX

/* The work of one task (or of its requests) in a window that grows. */
typedef struct {
    int64_t until; /* jobs changes in windows longer than this */
    int64_t period;
    int64_t each;
    int64_t jobs;
    int64_t most;
    int64_t work;
    int64_t last; /* the work of number `most` */
    int64_t term; /* GS_ANALYSIS_COMMON_COPY, ... */
} gs_analysis_common_demand_t;

typedef struct {
    int64_t constant[GS_ANALYSIS_COMMON_TERMS];
    int64_t varying[GS_ANALYSIS_COMMON_TERMS]; /* of the demands, at the last window */
    int64_t
        request_most; /* of the term GS_ANALYSIS_COMMON_REQUEST; GS_ANALYSIS_COMMON_LIMIT: none */
    gs_analysis_common_demand_t *demands; /* room of the caller */
    int64_t count;
} gs_analysis_common_recurrence_t;

/* No demands yet, all constants 0. */
void gs_analysis_common_recurrence_init(gs_analysis_common_recurrence_t *self,
                                        gs_analysis_common_demand_t *room);

/* Adds a demand at the window 1; each and most >= 1, period >= 1, 0 <= jitter <=
 * GS_ANALYSIS_COMMON_LIMIT (a jitter below 0, which only sets have that fail, counts as 0: more
 * jobs, not fewer). Returns it for the caller to change the work of the last one or to limit it. */
gs_analysis_common_demand_t *
gs_analysis_common_recurrence_add(gs_analysis_common_recurrence_t *self, int term, int64_t jitter,
                                  int64_t period, int64_t each, int64_t most, int64_t work,
                                  int64_t last);

/* Demands move to a longer window. */
void gs_analysis_common_recurrence_advance(gs_analysis_common_recurrence_t *self, int64_t window);

/* At most so many jobs of a demand from now on: no fewer than it has, the last as long as others.
 */
void gs_analysis_common_recurrence_limit(gs_analysis_common_demand_t *demand, int64_t most);

/* The right-hand side at the last window. */
int64_t gs_analysis_common_recurrence_value(const gs_analysis_common_recurrence_t *self);

/* The least W >= start (at most the least solution, and no less than the last window) with
 * W = f(W), or -1 when it exceeds the deadline. The demands are at that window then. Polls. */
int gs_analysis_common_recurrence_solve(gs_analysis_common_recurrence_t *self, gs_context_t *ctx,
                                        int64_t start, int64_t deadline, int64_t *least);

/* The terms at the last window. */
void gs_analysis_common_recurrence_terms(const gs_analysis_common_recurrence_t *self,
                                         int64_t *terms);

/* Solves and writes the row of task i: response and terms. Notes a failure. */
int gs_analysis_common_recurrence_solve_task(gs_analysis_common_recurrence_t *self,
                                             gs_context_t *ctx, int64_t start, int64_t deadline,
                                             int64_t i, gs_analysis_common_answer_t *answer);

#endif
