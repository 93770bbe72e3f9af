/* How many threads are busy, at least, whenever the block at the head of the queue has to wait?
 *
 * That number, the saturation level beta, is what the response-time bounds of
 * analysis/fifo/fifo_bound.h divide by. A block of task i waits when fewer than b_i threads are
 * free, so at least m - b_i + 1 are busy; and the busy threads are those of running blocks, a sum
 * of k_j b_j. Where a task has one job at a time, k_j <= g_j, and k_i <= g_i - 1 as one of its
 * blocks waits; where its jobs overlap, k_j has no limit.
 */
#ifndef GS_ANALYSIS_FIFO_SATURATION_H
#define GS_ANALYSIS_FIFO_SATURATION_H

#include "model/gpu.h"
#include "model/kernel_tasks.h"

/* The widest set of sums that is searched: m divided by the greatest common divisor of the block
 * sizes. (2 MiB of bits.) */
#define GS_ANALYSIS_FIFO_SATURATION_BITS ((int64_t)1 << 24)

/* beta: the least sum v with m - b_i + 1 <= v <= m over all tasks i, or 0 when there is none: then
 * no block ever waits for threads. Bit sets, shifted by machine words. Refuses m / gcd(b) above
 * GS_ANALYSIS_FIFO_SATURATION_BITS. The set must have passed gs_kernel_tasks_check. */
int gs_analysis_fifo_saturation(gs_context_t *ctx, const gs_kernel_tasks_t *kernels, int64_t m,
                                bool overlap, int64_t *beta);

/* The weaker m - b_max + 1 of the paper (Theorem 1), which needs no search. */
int64_t gs_analysis_fifo_saturation_paper(const gs_kernel_tasks_t *kernels, int64_t m);

/* beta for a real GPU, whose blocks need room on one SM: the sum over its SMs of the least number
 * of busy threads with which a block of some task fits none. Threads count by whole warps;
 * registers, shared memory and block slots are short at no fewer busy threads than a fractional
 * knapsack says (the sums of gs_analysis_fifo_saturation for the threads themselves). regs (per
 * thread) and smem (bytes per block) have one entry per task. A task waits only if the blocks of
 * one job of every task, its own block excepted, fill all SMs that far; 0 when none ever does.
 * Blocks fit as model/placement.h places them. Refuses a block that does not fit an empty SM. */
int gs_analysis_fifo_saturation_gpu(gs_context_t *ctx, const gs_kernel_tasks_t *kernels,
                                    const gs_gpu_t *gpu, const int64_t *regs, const int64_t *smem,
                                    bool overlap, int64_t *beta);

#endif
