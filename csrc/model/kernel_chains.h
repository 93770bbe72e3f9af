/* Sporadic tasks whose jobs are chains of kernels, a structure of arrays.
 *
 * A job of task i runs its kernels begin[i] .. begin[i + 1] - 1 one after the other. Kernel j has
 * blocks[j] blocks, each of which occupies threads[j] threads for at most block_time[j] ticks, and
 * joins its queue at most latency[j] ticks after it may: after the release of the job, or the end
 * of the kernel before it. With g, b, c for blocks, threads and block_time the work of a kernel is
 * g b c thread-ticks. The arrays belong to the caller.
 */
#ifndef GS_MODEL_KERNEL_CHAINS_H
#define GS_MODEL_KERNEL_CHAINS_H

#include "core/context.h"

typedef struct {
    int64_t n;
    const int64_t *period;
    const int64_t *level; /* priority of the task's stream; smaller is more urgent */
    const int64_t *begin; /* n + 1 offsets into the kernels */
    const int64_t *blocks;
    const int64_t *threads; /* per block */
    const int64_t *block_time;
    const int64_t *latency;
} gs_kernel_chains_t;

/* Refuses n outside 1..INT32_MAX, tasks without a kernel, latencies below 0, other entries outside
 * 1..GS_NEVER / 2 - 1, blocks of more than `most` threads, and sets whose total work, or the total
 * of whose block times and latencies, is GS_NEVER or more. The functions below expect a checked
 * set. */
int gs_kernel_chains_check(gs_context_t *ctx, const gs_kernel_chains_t *chains, int64_t most);

/* Thread-ticks of a kernel. */
static inline int64_t gs_kernel_chains_kernel_work(const gs_kernel_chains_t *chains, int64_t j)
{
    return chains->blocks[j] * chains->threads[j] * chains->block_time[j];
}

/* Thread-ticks of a job of task i. */
static inline int64_t gs_kernel_chains_work(const gs_kernel_chains_t *chains, int64_t i)
{
    int64_t sum = 0;
    for (int64_t j = chains->begin[i]; j < chains->begin[i + 1]; j++) {
        sum += gs_kernel_chains_kernel_work(chains, j);
    }
    return sum;
}

#endif
