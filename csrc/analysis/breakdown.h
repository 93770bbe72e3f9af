/* Breakdown factor: the largest factor on times at which a test accepts a set.
 *
 * A time t becomes ceil(x t), so what a test says of the factor x changes at fractions k / t alone,
 * and from one to the next it is the same. The sound tests accept every smaller factor when they
 * accept one:
 *
 * - Every W is the least solution of w = f(w), and f grows with each time but for the jitter R - x
 *   of a term N(w) x, N(w) = ceil((w + R - x) / T). Let w' be the solution for x' >= x, with the
 *   terms k that grow by d_k = x'_k - x_k, and w = w' - sum of d_k. Then w + R_k - x_k <= w' + R_k
 *   - x'_k, so no count is larger at w than at w'; every count is at least 1, so f(w) <= w' - sum
 *   of d_k = w for the smaller times. Of a minimum the branch that is the least one at w' serves.
 * - The bounds R that are assumed grow with the times by the same argument, task by task in the
 *   order of priorities, and from below in a joint fixed point.
 *
 * So the largest accepted factor is one of the fractions and a bisection finds it. With g the
 * longest of the times, it first looks among k / g, where k <= g (D - own) / grown for every task
 * (no bound is below a job's own length), and then among the other fractions in the gap above the
 * k / g that was found: at most one for each different time. That takes log2(g (D - own) / grown)
 * tests and the logarithm of the number of different times.
 *
 * Deadlines, the length of a slice and the number of SMs are not among the parameters, as tests may
 * accept a worse value of them and reject a better one.
 */
#ifndef GS_ANALYSIS_BREAKDOWN_H
#define GS_ANALYSIS_BREAKDOWN_H

#include "analysis/placed_test.h"
#include "core/method.h"

/* Times that are multiplied. */
enum {
    GS_ANALYSIS_SENSITIVITY_ALL = 0,
    GS_ANALYSIS_SENSITIVITY_KERNELS = 1,
    GS_ANALYSIS_SENSITIVITY_COPIES = 2,
    GS_ANALYSIS_SENSITIVITY_CPU = 3
};

/* A positive factor; both numbers are below GS_NEVER / 2. */
typedef struct {
    int64_t numerator;
    int64_t denominator;
} gs_analysis_sensitivity_factor_t;

/* A time that is multiplied. */
typedef struct {
    int64_t cell; /* of the arrays of the copy, which lie one after the other */
    int64_t task;
    int64_t time; /* as it is in the set, above 0 */
} gs_analysis_sensitivity_time_t;

/* Copy of a set in which some times are multiplied by a factor, with memory for sets of at most the
 * size that it was made for. Kernels have one time in the copy, that on the SMs of their task. The
 * arrays are owned. */
typedef struct {
    gs_host_tasks_t hosts; /* the copy; rows of the set belong to the caller */
    int64_t *cells;        /* cpu, copy_in, kernel, copy_out */
    int64_t *own;          /* n: times of a job that are not multiplied */
    int64_t *grown;        /* n: sum of a job's times that are, as they are in the set */
    gs_analysis_sensitivity_time_t *times;
    int64_t count; /* of the times */
} gs_analysis_sensitivity_scaled_hosts_t;

/* Answer for one set. */
typedef struct {
    gs_analysis_sensitivity_factor_t factor; /* in lowest terms; 0 / 1: no positive factor; 1 / 1
                                                where `unlimited` */
    int64_t limiting; /* the task that fails at the next larger factor; -1: none */
    int64_t tests;    /* that were run */
    bool unlimited;   /* nothing is multiplied, and the test accepts the set */
    double load;      /* sum of (C + G) / T at the factor; 0 for a factor of 0 */
} gs_analysis_sensitivity_answer_t;

/* Memory for sets of at most the size that it was made for. The arrays are owned. */
typedef struct {
    gs_analysis_sensitivity_scaled_hosts_t scaled;
    int64_t *sms; /* n: of each task */
    gs_analysis_sensitivity_factor_t *fractions;
    gs_analysis_common_answer_t answer; /* of the last test */
} gs_analysis_sensitivity_breakdown_t;

int gs_analysis_sensitivity_breakdown_init(gs_analysis_sensitivity_breakdown_t *self,
                                           gs_context_t *ctx, int64_t n, int64_t width);
void gs_analysis_sensitivity_breakdown_free(gs_analysis_sensitivity_breakdown_t *self,
                                            gs_context_t *ctx);

/* The breakdown factor of one set. scale: GS_ANALYSIS_SENSITIVITY_*; task: the only one whose times
 * are multiplied, -1 for all. Errors: those of the test, and GS_ERR_VALUE for an unknown scale. */
int gs_analysis_sensitivity_breakdown(gs_analysis_sensitivity_breakdown_t *self, gs_context_t *ctx,
                                      gs_analysis_placed_test_t *test, const gs_host_tasks_t *hosts,
                                      const gs_analysis_placed_place_t *place, int scale,
                                      int64_t task, gs_analysis_sensitivity_answer_t *found);

extern const gs_method_t gs_analysis_sensitivity_breakdown_method;

#endif
