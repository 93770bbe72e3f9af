/* Completion times of batches under slowdown, and eligibility by utilization. */
#include "pbs/oracle/oracle.h"

#include <string.h>

#define MOST_SLOWDOWN (INT64_C(1000000) * GS_PBS_ORACLE_SLOWDOWN_ONE)

__extension__ typedef unsigned __int128 wide_t;

static int check_wcet(gs_context_t *ctx, int32_t n, const int64_t *wcet)
{
    if (n < 1 || n > GS_PERIODIC_TASKS_MAX) {
        return gs_fail(ctx, GS_ERR_VALUE, "tasks", -1, n, "1 to 24 tasks");
    }
    for (int32_t i = 0; i < n; i++) {
        if (wcet[i] < 1) {
            return gs_fail(ctx, GS_ERR_VALUE, "wcet", i, wcet[i], "a positive number of ticks");
        }
        if (wcet[i] >= GS_NEVER / 2) {
            return gs_fail(ctx, GS_ERR_OVERFLOW, "wcet", i, wcet[i], "at most 2**60 - 2 ticks");
        }
    }
    return GS_OK;
}

int gs_pbs_oracle_times(gs_context_t *ctx, int32_t n, const int64_t *wcet,
                        gs_pbs_oracle_slowdown_t slowdown, gs_rng_t *rng, int64_t *times)
{
    int status = check_wcet(ctx, n, wcet);
    if (status != GS_OK) {
        return status;
    }
    if (slowdown.least < GS_PBS_ORACLE_SLOWDOWN_ONE || slowdown.most < slowdown.least ||
        slowdown.most > MOST_SLOWDOWN) {
        return gs_fail(ctx, GS_ERR_VALUE, "slowdown", -1, slowdown.least,
                       "factors of 1 to 1000000, in billionths, the lesser first");
    }
    int64_t size = INT64_C(1) << n, choices = slowdown.most - slowdown.least + 1;
    times[0] = 0;
    for (int64_t mask = 1; mask < size; mask++) {
        int64_t first = wcet[__builtin_ctzll((uint64_t)mask)], rest = times[mask & (mask - 1)];
        times[mask] = first > rest ? first : rest;
    }
    /* In a second pass: the time of a set is not that of its subset times a factor. */
    for (int64_t mask = 1; mask < size; mask++) {
        if ((mask & (mask - 1)) == 0) {
            continue;
        }
        int64_t factor = slowdown.least;
        if (choices > 1) {
            factor += (int64_t)gs_rng_below(rng, (uint64_t)choices);
        }
        wide_t product = (wide_t)factor * (wide_t)times[mask];
        wide_t time = (product + GS_PBS_ORACLE_SLOWDOWN_ONE - 1) / GS_PBS_ORACLE_SLOWDOWN_ONE;
        if (time >= GS_NEVER / 2) {
            return gs_fail(ctx, GS_ERR_OVERFLOW, "batch", mask, times[mask],
                           "a longest wcet that, slowed down, is at most 2**60 - 2 ticks");
        }
        times[mask] = (int64_t)time;
    }
    return gs_poll(ctx, 2 * size);
}

int gs_pbs_oracle_by_utilization(gs_context_t *ctx, const gs_periodic_tasks_t *tasks,
                                 const int64_t *wcet, int64_t *completion)
{
    int64_t hyperperiod;
    int status = gs_periodic_tasks_check(ctx, tasks);
    if (status == GS_OK) {
        status = check_wcet(ctx, tasks->n, wcet);
    }
    if (status == GS_OK) {
        status = gs_periodic_tasks_hyperperiod(ctx, tasks, &hyperperiod);
    }
    if (status != GS_OK) {
        return status;
    }
    /* Work in a hyperperiod, limited to one more than the hyperperiod: sums up to the first that is
     * longer fit 64 bits. */
    uint64_t work[GS_PERIODIC_TASKS_MAX];
    for (int32_t i = 0; i < tasks->n; i++) {
        wide_t exact = (wide_t)wcet[i] * (wide_t)(hyperperiod / tasks->period[i]);
        work[i] = exact > (wide_t)hyperperiod ? (uint64_t)hyperperiod + 1 : (uint64_t)exact;
    }
    int64_t size = INT64_C(1) << tasks->n;
    for (int64_t mask = 1; mask < size; mask++) {
        uint64_t sum = 0;
        for (int64_t rest = mask; rest != 0 && sum <= (uint64_t)hyperperiod; rest &= rest - 1) {
            sum += work[__builtin_ctzll((uint64_t)rest)];
        }
        if ((mask & (mask - 1)) != 0 && sum > (uint64_t)hyperperiod) {
            completion[mask] = 0;
        }
        status = gs_poll(ctx, tasks->n);
        if (status != GS_OK) {
            return status;
        }
    }
    return GS_OK;
}

static int fail_block(gs_context_t *ctx, const gs_gpu_kernel_t *kernel, int32_t i, int limit)
{
    switch (limit) {
    case GS_GPU_LIMIT_THREADS:
        return gs_fail(ctx, GS_ERR_VALUE, "threads", i, kernel->threads,
                       "at most 1024 threads per block");
    case GS_GPU_LIMIT_WARPS:
        return gs_fail(ctx, GS_ERR_VALUE, "threads", i, kernel->threads,
                       "at most as many warps per block as an SM holds");
    case GS_GPU_LIMIT_REGS:
        return gs_fail(ctx, GS_ERR_VALUE, "regs", i, kernel->regs,
                       "registers per thread with which a block fits an SM");
    default:
        return gs_fail(ctx, GS_ERR_VALUE, "smem", i, kernel->smem,
                       "shared memory per block that fits an SM");
    }
}

int gs_pbs_oracle_kernels_read(gs_context_t *ctx, const gs_gpu_t *gpu, int32_t n,
                               const gs_gpu_kernel_t *kernels, gs_gpu_footprint_t *take,
                               int64_t *per_sm)
{
    for (int32_t i = 0; i < n; i++) {
        int limit;
        int status = gs_gpu_footprint(ctx, gpu, &kernels[i], i, &take[i], &per_sm[i], &limit);
        if (status != GS_OK) {
            return status;
        }
        if (per_sm[i] == 0) {
            return fail_block(ctx, &kernels[i], i, limit);
        }
    }
    return GS_OK;
}

/* The largest fraction of an SM resource that a block takes, in units of 2^-20. */
static int64_t largest_share(const gs_gpu_t *gpu, const gs_gpu_footprint_t *take)
{
    const int64_t need[] = {take->warps, 1, take->regs, take->smem};
    const int64_t room[] = {gpu->warps_per_sm, gpu->blocks_per_sm, take->regs_usable,
                            gpu->smem_per_sm};
    int64_t largest = 0;
    for (int r = 0; r < 4; r++) {
        int64_t share = need[r] == 0 ? 0 : (need[r] << 20) / room[r];
        largest = share > largest ? share : largest;
    }
    return largest;
}

/* Sort keys of a kernel, descending; ties go by index. */
static void sort_keys(const gs_gpu_t *gpu, const gs_gpu_kernel_t *kernel,
                      const gs_gpu_footprint_t *take, int sort, int64_t key[3])
{
    int64_t share = largest_share(gpu, take);
    int64_t blocks = kernel->blocks; /* larger grids are never eligible with others */
    blocks = blocks > INT32_MAX ? INT32_MAX : blocks;
    const int64_t keys[GS_PBS_ORACLE_KERNELS_ORDERS][3] = {
        {take->warps, take->smem, take->regs},
        {0, 0, 0}, /* increasing index */
        {take->smem, take->warps, take->regs},
        {take->regs, take->warps, take->smem},
        {share, take->warps, 0},
        {share * blocks, 0, 0},
        {-take->warps, -take->smem, -take->regs},
    };
    memcpy(key, keys[sort], sizeof keys[sort]);
}

static bool before(const int64_t a[3], const int64_t b[3])
{
    for (int k = 0; k < 3; k++) {
        if (a[k] != b[k]) {
            return a[k] > b[k];
        }
    }
    return false;
}

void gs_pbs_oracle_kernels_sort(const gs_gpu_t *gpu, int32_t n, const gs_gpu_kernel_t *kernels,
                                const gs_gpu_footprint_t *take, int8_t *sorted)
{
    for (int sort = 0; sort < GS_PBS_ORACLE_KERNELS_ORDERS; sort++) {
        int8_t *order = sorted + sort * n;
        for (int32_t i = 0; i < n; i++) {
            int64_t key[3], other[3];
            sort_keys(gpu, &kernels[i], &take[i], sort, key);
            int32_t p = i;
            for (; p > 0; p--) {
                int8_t j = order[p - 1];
                sort_keys(gpu, &kernels[j], &take[j], sort, other);
                if (!before(key, other)) {
                    break;
                }
                order[p] = j;
            }
            order[p] = (int8_t)i;
        }
    }
}
