/* Check of sporadic tasks of kernel chains. */
#include "model/kernel_chains.h"

#include "core/checks.h"

static int check_offsets(gs_context_t *ctx, const gs_kernel_chains_t *chains)
{
    for (int64_t i = 0; i < chains->n; i++) {
        if (chains->begin[i] < 0 || chains->begin[i + 1] <= chains->begin[i] ||
            (i == 0 && chains->begin[0] != 0)) {
            return gs_fail(ctx, GS_ERR_VALUE, "begin", i, chains->begin[i],
                           "offsets that rise from 0, with at least one kernel for each task");
        }
    }
    return GS_OK;
}

/* The total work, and the total of block times and latencies, stay below GS_NEVER. */
static int check_sums(gs_context_t *ctx, const gs_kernel_chains_t *chains, int64_t most)
{
    int64_t work = 0, time = 0;
    for (int64_t j = 0; j < chains->begin[chains->n]; j++) {
        int64_t width, kernel;
        if (chains->threads[j] > most) {
            return gs_fail(ctx, GS_ERR_VALUE, "threads", j, chains->threads[j],
                           "at most the number of threads of an SM");
        }
        if (!gs_mul(chains->blocks[j], chains->threads[j], &width) ||
            !gs_mul(width, chains->block_time[j], &kernel) || !gs_add(work, kernel, &work) ||
            work >= GS_NEVER) {
            return gs_fail(ctx, GS_ERR_OVERFLOW, "blocks", j, chains->blocks[j],
                           "a sum of blocks * threads * block_time below 2**61 - 1");
        }
        if (!gs_add(time, chains->block_time[j], &time) ||
            !gs_add(time, chains->latency[j], &time) || time >= GS_NEVER) {
            return gs_fail(ctx, GS_ERR_OVERFLOW, "latency", j, chains->latency[j],
                           "a sum of block times and latencies below 2**61 - 1");
        }
    }
    return GS_OK;
}

int gs_kernel_chains_check(gs_context_t *ctx, const gs_kernel_chains_t *chains, int64_t most)
{
    if (chains->n < 1 || chains->n > INT32_MAX) {
        return gs_fail(ctx, GS_ERR_VALUE, "tasks", -1, chains->n, "a positive number below 2**31");
    }
    if (most < 1 || most > INT32_MAX) {
        return gs_fail(ctx, GS_ERR_VALUE, "threads", -1, most,
                       "a positive number of threads below 2**31");
    }
    int status = check_offsets(ctx, chains);
    int64_t kernels = status == GS_OK ? chains->begin[chains->n] : 0;
    if (status != GS_OK ||
        (status = gs_check_numbers(ctx, "period", chains->period, chains->n, 1)) != GS_OK ||
        (status = gs_check_numbers(ctx, "blocks", chains->blocks, kernels, 1)) != GS_OK ||
        (status = gs_check_numbers(ctx, "threads", chains->threads, kernels, 1)) != GS_OK ||
        (status = gs_check_numbers(ctx, "block_time", chains->block_time, kernels, 1)) != GS_OK ||
        (status = gs_check_numbers(ctx, "latency", chains->latency, kernels, 0)) != GS_OK) {
        return status;
    }
    return check_sums(ctx, chains, most);
}
