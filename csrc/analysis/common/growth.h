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
#ifndef GS_ANALYSIS_COMMON_GROWTH_H
#define GS_ANALYSIS_COMMON_GROWTH_H

#include "core/int128.h"

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

#endif
