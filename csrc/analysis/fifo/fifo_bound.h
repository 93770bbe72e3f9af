/* Response-time bounds of kernel tasks whose blocks start in FIFO order.
 *
 * [ECRTS17] asks whether response times are bounded when the utilization is at most m - b_max + 1.
 * They are when jobs of a task may overlap, and need not be when they may not. The theorems here
 * give the conditions and the bounds, one for each reading of "FIFO" (model/fifo_order.h). The
 * notebook on FIFO scheduling states and proves them.
 *
 * All arithmetic is in integers. Bounds are rational numbers; where an exact denominator would not
 * fit, utilizations are rounded up, which can only make a bound larger or unavailable.
 */
#ifndef GS_ANALYSIS_FIFO_FIFO_BOUND_H
#define GS_ANALYSIS_FIFO_FIFO_BOUND_H

#include "analysis/fifo/theorem_bound.h"
#include "core/method.h"
#include "model/fifo_order.h"
#include "model/kernel_tasks.h"

/* Bounds for one set on sms SMs with m / sms threads each (sms = 1: m threads, any of which a block
 * may use, the model of [ECRTS17]). beta: the saturation level for that order (0: no block ever
 * waits). theorems: a set of bits 1 << GS_ANALYSIS_FIFO_THEOREM_*, those to try. bound: n entries
 * of the caller. The set must have passed gs_kernel_tasks_check. Errors: GS_ERR_VALUE for an
 * unknown order, sms that do not divide m, beta outside 0..m, and a block wider than an SM;
 * GS_ERR_MEMORY; GS_ERR_INTERRUPTED. */
int gs_analysis_fifo_bound(gs_context_t *ctx, const gs_kernel_tasks_t *kernels, int64_t m,
                           int64_t sms, int64_t beta, int order, int64_t theorems,
                           gs_analysis_fifo_bound_t *bound);

extern const gs_method_t gs_analysis_fifo_bound_method;
extern const gs_method_t gs_analysis_fifo_limit_method;

#endif
