/* Check of sporadic kernel task sets. */
#include "model/kernel_tasks.h"

#include "core/checks.h"

int gs_kernel_tasks_check(gs_context_t *ctx, const gs_kernel_tasks_t *kernels, int64_t m)
{
    int64_t n = kernels->n;
    if (n < 1 || n > INT32_MAX) {
        return gs_fail(ctx, GS_ERR_VALUE, "tasks", -1, n, "a positive number below 2**31");
    }
    if (m < 1 || m > INT32_MAX) {
        return gs_fail(ctx, GS_ERR_VALUE, "m", -1, m, "a positive number of threads below 2**31");
    }
    int status;
    if ((status = gs_check_numbers(ctx, "period", kernels->period, n, 1)) != GS_OK ||
        (status = gs_check_numbers(ctx, "block_time", kernels->block_time, n, 1)) != GS_OK ||
        (status = gs_check_numbers(ctx, "blocks", kernels->blocks, n, 1)) != GS_OK ||
        (status = gs_check_numbers(ctx, "threads", kernels->threads, n, 1)) != GS_OK) {
        return status;
    }
    int64_t sum = 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t width, work;
        if (kernels->threads[i] > m) {
            return gs_fail(ctx, GS_ERR_VALUE, "threads", i, kernels->threads[i],
                           "at most the number of threads of the GPU");
        }
        if (!gs_mul(kernels->blocks[i], kernels->threads[i], &width) ||
            !gs_mul(width, kernels->block_time[i], &work) || !gs_add(sum, work, &sum) ||
            sum >= GS_NEVER) {
            return gs_fail(ctx, GS_ERR_OVERFLOW, "blocks", i, kernels->blocks[i],
                           "a sum of blocks * threads * block_time below 2**61 - 1");
        }
    }
    return GS_OK;
}
