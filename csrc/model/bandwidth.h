/* Slowdown of kernels that share the bandwidth of the memory: max-min shares.
 *
 * Each kernel alone moves `demand` bytes per second, at most the capacity. Together, those that
 * demand least get what they demand, and the others equal shares of the rest, the largest level
 * such that all fits the capacity. A kernel that gets less than it demands takes longer by
 * demand / level. A model, not a bound: caches, rows of DRAM and traffic in bursts are not in it.
 *
 * The factor of a kernel does not fall when the demand of any kernel grows, or when one is added,
 * and does not grow with the capacity.
 */
#ifndef GS_MODEL_BANDWIDTH_H
#define GS_MODEL_BANDWIDTH_H

#include "core/context.h"

/* Largest demand and capacity, in bytes per second, and most kernels together. */
#define GS_BANDWIDTH_MOST (INT64_C(1) << 50)
#define GS_BANDWIDTH_KERNELS 4096

/* The factors of n kernels that run together, numerator[i] / denominator[i] >= 1, not reduced.
 * order: n entries of the caller, overwritten. GS_ERR_VALUE for a capacity below 1, for demands
 * below 0 or above the capacity, and for too many kernels. */
int gs_bandwidth_slowdowns(gs_context_t *ctx, int64_t n, const int64_t *demand, int64_t capacity,
                           int64_t *order, int64_t *numerator, int64_t *denominator);

/* Multiplies the times of all batches of two or more of n kernels by the largest factor of their
 * members, rounded up; index: bit mask of kernels. Entries of 0 remain. Errors as above, and for
 * n above 24; GS_ERR_OVERFLOW for a time of 2^60 - 1 ticks or more. */
int gs_bandwidth_batches(gs_context_t *ctx, int64_t n, const int64_t *demand, int64_t capacity,
                         int64_t *times);

#endif
