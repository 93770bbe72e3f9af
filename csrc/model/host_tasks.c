/* Check of task sets with CPU and GPU segments. */
#include "model/host_tasks.h"

static int check_time(gs_context_t *ctx, const char *field, int64_t i, int64_t value, int64_t least)
{
    if (value < least) {
        return gs_fail(ctx, GS_ERR_VALUE, field, i, value,
                       least > 0 ? "a positive number" : "a number of at least 0");
    }
    if (value >= GS_NEVER / 2) {
        return gs_fail(ctx, GS_ERR_OVERFLOW, field, i, value, "a time below 2**60 - 1 ticks");
    }
    return GS_OK;
}

/* Adds a checked length to the sum. It cannot overflow: both are below GS_NEVER / 2. */
static int add_time(gs_context_t *ctx, const char *field, int64_t i, int64_t value, int64_t *sum)
{
    int status = check_time(ctx, field, i, value, 0);
    if (status != GS_OK) {
        return status;
    }
    *sum += value;
    return *sum < GS_NEVER / 2
               ? GS_OK
               : gs_fail(ctx, GS_ERR_OVERFLOW, field, i, value,
                         "jobs, one of every task, of less than 2**60 - 1 ticks in all");
}

static int check_kernel(gs_context_t *ctx, const gs_host_tasks_t *hosts, int64_t i, int64_t segment)
{
    const int64_t *time = hosts->kernel + (i * hosts->width + segment) * hosts->columns;
    for (int64_t k = 0; k < hosts->columns; k++) {
        int status = check_time(ctx, "kernel", i, time[k], 0);
        if (status != GS_OK) {
            return status;
        }
        if (k > 0 && time[k] > time[k - 1]) {
            return gs_fail(ctx, GS_ERR_VALUE, "kernel", i, time[k],
                           "a time that does not grow with the number of SMs");
        }
    }
    return GS_OK;
}

/* Adds the length of a job to the sum over the set. */
static int check_job(gs_context_t *ctx, const gs_host_tasks_t *hosts, int64_t i, int64_t *sum)
{
    int64_t before = *sum;
    int status = add_time(ctx, "cpu", i, gs_host_tasks_cpu(hosts, i)[0], sum);
    for (int64_t j = 0; j < hosts->segments[i] && status == GS_OK; j++) {
        if ((status = check_kernel(ctx, hosts, i, j)) != GS_OK ||
            (status = add_time(ctx, "copy_in", i, gs_host_tasks_copy_in(hosts, i, j), sum)) !=
                GS_OK ||
            (status = add_time(ctx, "kernel", i, gs_host_tasks_kernel(hosts, i, j, 1), sum)) !=
                GS_OK ||
            (status = add_time(ctx, "copy_out", i, gs_host_tasks_copy_out(hosts, i, j), sum)) !=
                GS_OK) {
            return status;
        }
        status = add_time(ctx, "cpu", i, gs_host_tasks_cpu(hosts, i)[j + 1], sum);
    }
    if (status == GS_OK && *sum == before) {
        return gs_fail(ctx, GS_ERR_VALUE, "cpu", i, 0, "jobs of at least one tick");
    }
    return status;
}

static int check_jitter(gs_context_t *ctx, const gs_host_tasks_t *hosts, int64_t i, bool takes)
{
    int64_t jitter = gs_host_tasks_jitter(hosts, i);
    if (jitter != 0 && !takes) {
        return gs_fail(ctx, GS_ERR_VALUE, "jitter", i, jitter,
                       "0, since the model has no release jitter");
    }
    return jitter >= 0 && jitter < hosts->deadline[i]
               ? GS_OK
               : gs_fail(ctx, GS_ERR_VALUE, "jitter", i, jitter,
                         "a time of at least 0 and below the deadline");
}

static int check(gs_context_t *ctx, const gs_host_tasks_t *hosts, bool takes_jitter)
{
    int64_t n = hosts->n, sum = 0;
    if (n < 1 || n > INT32_MAX) {
        return gs_fail(ctx, GS_ERR_VALUE, "tasks", -1, n, "a positive number below 2**31");
    }
    if (hosts->width < 0 || hosts->width > INT32_MAX) {
        return gs_fail(ctx, GS_ERR_VALUE, "segments", -1, hosts->width,
                       "a width of at least 0, below 2**31");
    }
    if (hosts->columns < 1 || hosts->columns > INT32_MAX) {
        return gs_fail(ctx, GS_ERR_VALUE, "kernel", -1, hosts->columns,
                       "kernel times for at least one SM, below 2**31");
    }
    for (int64_t i = 0; i < n; i++) {
        int status;
        if ((status = check_time(ctx, "period", i, hosts->period[i], 1)) != GS_OK ||
            (status = check_time(ctx, "deadline", i, hosts->deadline[i], 1)) != GS_OK ||
            (status = check_jitter(ctx, hosts, i, takes_jitter)) != GS_OK) {
            return status;
        }
        if (hosts->segments[i] < 0 || hosts->segments[i] > hosts->width) {
            return gs_fail(ctx, GS_ERR_VALUE, "segments", i, hosts->segments[i],
                           "a number of at least 0, at most the width");
        }
        if ((status = check_job(ctx, hosts, i, &sum)) != GS_OK) {
            return status;
        }
    }
    return GS_OK;
}

int gs_host_tasks_check(gs_context_t *ctx, const gs_host_tasks_t *hosts)
{
    return check(ctx, hosts, false);
}

int gs_host_tasks_check_jitter(gs_context_t *ctx, const gs_host_tasks_t *hosts)
{
    return check(ctx, hosts, true);
}
