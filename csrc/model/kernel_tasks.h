/* Sporadic kernels of the block-level models, a structure of arrays.
 *
 * [ECRTS17], section IV: a job of task i is one kernel of blocks[i] blocks, each of which occupies
 * threads[i] threads for at most block_time[i] ticks. With g, b, c, T for blocks, threads,
 * block_time, period, the work of a job is C = g b c thread-ticks. The arrays belong to the caller.
 */
#ifndef GS_MODEL_KERNEL_TASKS_H
#define GS_MODEL_KERNEL_TASKS_H

#include "core/context.h"

typedef struct {
    int64_t n;
    const int64_t *period;
    const int64_t *block_time;
    const int64_t *blocks;
    const int64_t *threads; /* per block */
} gs_kernel_tasks_t;

/* Refuses n or m outside 1..INT32_MAX, entries outside 1..GS_NEVER / 2 - 1, blocks of more than
 * m threads, and sets whose total work is GS_NEVER or more. The functions below expect a checked
 * set. */
int gs_kernel_tasks_check(gs_context_t *ctx, const gs_kernel_tasks_t *kernels, int64_t m);

/* Thread-ticks of one job. */
static inline int64_t gs_kernel_tasks_work(const gs_kernel_tasks_t *kernels, int64_t i)
{
    return kernels->blocks[i] * kernels->threads[i] * kernels->block_time[i];
}

/* Thread-ticks of one job of every task (SC in the theorems). */
static inline int64_t gs_kernel_tasks_work_sum(const gs_kernel_tasks_t *kernels)
{
    int64_t sum = 0;
    for (int64_t i = 0; i < kernels->n; i++) {
        sum += gs_kernel_tasks_work(kernels, i);
    }
    return sum;
}

#endif
