/* Sporadic tasks with CPU and GPU segments, a structure of arrays.
 *
 * [RTCSA19], section III: a job runs CPU segments and GPU segments alternately; a GPU segment is a
 * copy in, a kernel and a copy out. [RTNS10], section 3, is the case of at most one GPU segment. A
 * job of task i with k = segments[i] GPU segments runs
 *
 *     cpu[0], gpu[0], cpu[1], ..., gpu[k - 1], cpu[k]
 *
 * where a CPU segment of length 0 is omitted. Copies need the copy engine and the task's CPU,
 * kernels need SMs; the time of a kernel depends on their number. The arrays belong to the caller.
 */
#ifndef GS_MODEL_HOST_TASKS_H
#define GS_MODEL_HOST_TASKS_H

#include "core/context.h"

typedef struct {
    int64_t n;
    int64_t width; /* maximum number of GPU segments of a task */
    int64_t
        columns; /* kernel times are given for 1 .. columns SMs; with more SMs the last one holds */
    const int64_t *period;   /* minimum time between two releases (T) */
    const int64_t *deadline; /* relative (D) */
    const int64_t *priority; /* smaller is more urgent */
    const int64_t *segments; /* GPU segments of a job (eta) */
    const int64_t *cpu;      /* n rows of width + 1 */
    const int64_t *copy_in;  /* n rows of width (mhd) */
    const int64_t *kernel;   /* n rows of width rows of columns (e) */
    const int64_t *copy_out; /* n rows of width (mdh) */
    /* n, or NULL: none. Arrivals are a period apart, releases up to so much later; deadlines count
     * from arrivals. */
    const int64_t *jitter;
} gs_host_tasks_t;

/* Refuses n outside 1..INT32_MAX, a width outside 0..INT32_MAX, columns outside 1..INT32_MAX,
 * periods and deadlines outside 1..GS_NEVER / 2 - 1, a number of GPU segments outside 0..width,
 * negative times, kernels that take longer on more SMs, jobs of length 0, and sets whose jobs (one
 * of every task, on one SM) take GS_NEVER / 2 or more together. Rows are tasks; entries beyond
 * segments[i] are ignored. _check also refuses release jitter, _check_jitter one outside 0 ..
 * deadline - 1. */
int gs_host_tasks_check(gs_context_t *ctx, const gs_host_tasks_t *hosts);
int gs_host_tasks_check_jitter(gs_context_t *ctx, const gs_host_tasks_t *hosts);

static inline int64_t gs_host_tasks_jitter(const gs_host_tasks_t *hosts, int64_t i)
{
    return hosts->jitter == NULL ? 0 : hosts->jitter[i];
}

/* The time from the latest release of a job to its deadline. */
static inline int64_t gs_host_tasks_window(const gs_host_tasks_t *hosts, int64_t i)
{
    return hosts->deadline[i] - gs_host_tasks_jitter(hosts, i);
}

static inline const int64_t *gs_host_tasks_cpu(const gs_host_tasks_t *hosts, int64_t i)
{
    return hosts->cpu + i * (hosts->width + 1);
}

static inline int64_t gs_host_tasks_copy_in(const gs_host_tasks_t *hosts, int64_t i,
                                            int64_t segment)
{
    return hosts->copy_in[i * hosts->width + segment];
}

static inline int64_t gs_host_tasks_copy_out(const gs_host_tasks_t *hosts, int64_t i,
                                             int64_t segment)
{
    return hosts->copy_out[i * hosts->width + segment];
}

/* Kernel time on sms >= 1 SMs. */
static inline int64_t gs_host_tasks_kernel(const gs_host_tasks_t *hosts, int64_t i, int64_t segment,
                                           int64_t sms)
{
    int64_t column = sms < hosts->columns ? sms : hosts->columns;
    return hosts->kernel[(i * hosts->width + segment) * hosts->columns + column - 1];
}

#endif
