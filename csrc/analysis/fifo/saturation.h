/* Saturation level beta: the least number of busy threads whenever the block at the head of the
 * queue has to wait.
 *
 * The response-time bounds of analysis/fifo/fifo_bound.h divide by it. A block of task i waits when
 * fewer than b_i threads are free, so at least m - b_i + 1 are busy; and the busy threads are those
 * of running blocks, a sum of k_j b_j. Where a task has one job at a time, k_j <= g_j, and k_i <=
 * g_i - 1 as one of its blocks waits; where its jobs overlap, k_j has no limit.
 */
#ifndef GS_ANALYSIS_FIFO_SATURATION_H
#define GS_ANALYSIS_FIFO_SATURATION_H

#include "model/occupancy.h"
#include "model/kernel_tasks.h"

/* Largest m / gcd(block sizes) that is searched (2 MiB of bits). */
#define GS_ANALYSIS_FIFO_SATURATION_BITS ((int64_t)1 << 24)

/* beta: the least sum v with m - b_i + 1 <= v <= m over all tasks i, or 0 when there is none: then
 * no block ever waits for threads. Method: subset sums in bit sets. The set must have passed
 * gs_kernel_tasks_check. Errors: GS_ERR_VALUE for m / gcd(b) above
 * GS_ANALYSIS_FIFO_SATURATION_BITS; GS_ERR_MEMORY; GS_ERR_INTERRUPTED. */
int gs_analysis_fifo_saturation(gs_context_t *ctx, const gs_kernel_tasks_t *kernels, int64_t m,
                                bool overlap, int64_t *beta);

/* The weaker m - b_max + 1 of [ECRTS17], Theorem 1. */
int64_t gs_analysis_fifo_saturation_paper(const gs_kernel_tasks_t *kernels, int64_t m);

/* beta for a GPU whose blocks need room on one SM: the sum over its SMs of the least number of busy
 * threads at which a block of some task does not fit. Threads count by whole warps. For registers,
 * shared memory and block slots the number of busy threads at a shortage is bounded from below by a
 * fractional knapsack, for the threads themselves by the subset sums of
 * gs_analysis_fifo_saturation. regs (per thread) and smem (bytes per block) have one entry per
 * task. A task waits only if the blocks of one job of every task, without one of its own blocks,
 * occupy all SMs to that extent; 0 when no task ever waits. Blocks fit as in
 * model/block_placement.h. Errors: those of gs_gpu_check and gs_occupancy_footprint; GS_ERR_VALUE
 * for a block that does not fit an idle SM. */
int gs_analysis_fifo_saturation_gpu(gs_context_t *ctx, const gs_kernel_tasks_t *kernels,
                                    const gs_gpu_t *gpu, const int64_t *regs, const int64_t *smem,
                                    bool overlap, int64_t *beta);

/* Per task, the fewest busy warps of an SM at which a block of it may not fit, with blocks of the
 * tasks running and for want of any resource: from[i] is at most the warps of the SM. The set must
 * have passed gs_kernel_tasks_check. Errors: as gs_analysis_fifo_saturation_gpu. */
int gs_analysis_fifo_saturation_shortages(gs_context_t *ctx, const gs_kernel_tasks_t *kernels,
                                          const gs_gpu_t *gpu, const int64_t *regs,
                                          const int64_t *smem, bool overlap, int64_t *from);

#endif
