/* Max-min shares of bandwidth: the level of the shares, and the slowdown of kernels and batches. */
#include "model/bandwidth.h"

#include <stdlib.h>

#include "core/int128.h"
#include "model/periodic_tasks.h"

/* The level is rest / left: what those that are satisfied leave, over the number of others. left
 * is 0 where all are satisfied. */
typedef struct {
    int64_t rest, left;
} level_t;

static int check(gs_context_t *ctx, int64_t n, int64_t most, const int64_t *demand,
                 int64_t capacity)
{
    if (n < 1 || n > most) {
        return gs_fail(ctx, GS_ERR_VALUE, "demand", -1, n, "at least one kernel, not too many");
    }
    if (capacity < 1 || capacity > GS_BANDWIDTH_MOST) {
        return gs_fail(ctx, GS_ERR_VALUE, "capacity", -1, capacity, "1 to 2**50 bytes per second");
    }
    for (int64_t i = 0; i < n; i++) {
        if (demand[i] < 0 || demand[i] > capacity) {
            return gs_fail(ctx, GS_ERR_VALUE, "demand", i, demand[i], "0 to the capacity");
        }
    }
    return GS_OK;
}

static int ascending(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Factor of a kernel at a level: 1 if its demand is satisfied. */
static void factor_of(level_t level, int64_t demand, int64_t *numerator, int64_t *denominator)
{
    bool slowed = level.left > 0 && demand * level.left > level.rest;
    *numerator = slowed ? demand * level.left : 1;
    *denominator = slowed ? level.rest : 1;
}

int gs_bandwidth_slowdowns(gs_context_t *ctx, int64_t n, const int64_t *demand, int64_t capacity,
                           int64_t *order, int64_t *numerator, int64_t *denominator)
{
    int status = check(ctx, n, GS_BANDWIDTH_KERNELS, demand, capacity);
    if (status != GS_OK) {
        return status;
    }
    for (int64_t i = 0; i < n; i++) {
        order[i] = demand[i];
    }
    qsort(order, (size_t)n, sizeof *order, ascending);
    level_t level = {capacity, n};
    for (int64_t i = 0; i < n && order[i] * level.left <= level.rest; i++) {
        level.rest -= order[i];
        level.left--;
    }
    for (int64_t i = 0; i < n; i++) {
        factor_of(level, demand[i], &numerator[i], &denominator[i]);
    }
    return gs_poll(ctx, 8 * n);
}

/* The slowest member of a batch is the one with the largest demand, the last of `order`. */
static int slow_down(gs_context_t *ctx, int64_t n, const int64_t *demand, const int64_t *order,
                     int64_t capacity, int64_t batch, int64_t *time)
{
    level_t level = {capacity, 0};
    int64_t numerator, denominator, largest = 0;
    for (int64_t i = 0; i < n; i++) {
        level.left += batch >> i & 1;
    }
    bool satisfied = true;
    for (int64_t i = 0; i < n; i++) {
        if ((batch >> order[i] & 1) != 0) {
            largest = demand[order[i]];
            satisfied = satisfied && largest * level.left <= level.rest;
            level.rest -= satisfied ? largest : 0;
            level.left -= satisfied ? 1 : 0;
        }
    }
    factor_of(level, largest, &numerator, &denominator);
    gs_int128_t slowed = gs_int128_ceil_div((gs_int128_t)numerator * *time, denominator);
    if (slowed >= GS_NEVER / 2) {
        return gs_fail(ctx, GS_ERR_OVERFLOW, "batch", batch, *time,
                       "a time that, slowed down, is at most 2**60 - 2 ticks");
    }
    *time = (int64_t)slowed;
    return gs_poll(ctx, 2 * n);
}

int gs_bandwidth_batches(gs_context_t *ctx, int64_t n, const int64_t *demand, int64_t capacity,
                         int64_t *times)
{
    int status = check(ctx, n, GS_PERIODIC_TASKS_MAX, demand, capacity);
    if (status != GS_OK) {
        return status;
    }
    int64_t order[GS_PERIODIC_TASKS_MAX];
    for (int64_t i = 0; i < n; i++) {
        int64_t at = i;
        for (; at > 0 && demand[order[at - 1]] > demand[i]; at--) {
            order[at] = order[at - 1];
        }
        order[at] = i;
    }
    for (int64_t batch = 1; batch < INT64_C(1) << n; batch++) {
        if (times[batch] < 0 || times[batch] >= GS_NEVER / 2) {
            return gs_fail(ctx, GS_ERR_VALUE, "times", batch, times[batch], "0 to 2**60 - 2 ticks");
        }
        if (times[batch] > 0 && (batch & (batch - 1)) != 0) {
            status = slow_down(ctx, n, demand, order, capacity, batch, &times[batch]);
            if (status != GS_OK) {
                return status;
            }
        }
    }
    return gs_poll(ctx, INT64_C(1) << n);
}
