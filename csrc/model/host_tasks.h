/* Sporadic tasks that compute on CPUs and on a GPU: a set as a structure of arrays.
 *
 * Paper 002, section III: a job runs CPU segments and GPU segments one after the other, and a GPU
 * segment is a copy in, a kernel and a copy out. Paper 004, section 3, is the case of at most one
 * GPU segment. A job of task i with k = segments[i] GPU segments runs
 *
 *     cpu[0], gpu[0], cpu[1], ..., gpu[k - 1], cpu[k]
 *
 * where a CPU segment of length 0 is none. Copies need the copy engine and the task's CPU, kernels
 * need SMs; how long a kernel takes depends on how many it has. The arrays belong to the caller.
 */
#ifndef GS_MODEL_HOST_TASKS_H
#define GS_MODEL_HOST_TASKS_H

#include "core/context.h"

typedef struct {
    int64_t n;
    int64_t width; /* the most GPU segments a task can have here */
    int64_t
        columns; /* kernel times are given for 1 .. columns SMs; more take as long as the last */
    const int64_t *period;   /* least time between two releases (T) */
    const int64_t *deadline; /* relative (D) */
    const int64_t *priority; /* smaller is more urgent */
    const int64_t *segments; /* GPU segments of a job (eta) */
    const int64_t *cpu;      /* n rows of width + 1 */
    const int64_t *copy_in;  /* n rows of width (mhd) */
    const int64_t *kernel;   /* n rows of width rows of columns (e) */
    const int64_t *copy_out; /* n rows of width (mdh) */
} gs_host_tasks_t;

/* Refuses n outside 1..INT32_MAX, a width below 0, no columns, periods and deadlines that are not
 * positive or beyond the clock (GS_NEVER / 2), a number of GPU segments outside 0..width, negative
 * times, kernels that take longer on more SMs, jobs that do nothing, and sets whose jobs (one of
 * every task, on one SM) do not stay below GS_NEVER / 2 together. Rows of tasks; entries beyond
 * segments[i] are not looked at. */
int gs_host_tasks_check(gs_context_t *ctx, const gs_host_tasks_t *hosts);

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

/* The kernel's time on a positive number of SMs. */
static inline int64_t gs_host_tasks_kernel(const gs_host_tasks_t *hosts, int64_t i, int64_t segment,
                                           int64_t sms)
{
    int64_t column = sms < hosts->columns ? sms : hosts->columns;
    return hosts->kernel[(i * hosts->width + segment) * hosts->columns + column - 1];
}

#endif
