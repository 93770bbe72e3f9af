/* The Shared Resource Method: one lock around the GPU, and what waiting for it costs.
 *
 * Paper 004, section 4.1. A job waits for the lock once per GPU segment, and holds it through both
 * copies and the kernel (its critical section cs). Waiting counts as execution, suspension-
 * obliviously: a task's demand is e + s + b, with which gedf_tardiness.h decides. CPU-only tasks do
 * not wait (b = 0): priority inheritance does not block them in this accounting.
 */
#ifndef GS_ANALYSIS_GLOBAL_EDF_SRM_H
#define GS_ANALYSIS_GLOBAL_EDF_SRM_H

#include "core/method.h"
#include "model/host_tasks.h"

enum {
    GS_ANALYSIS_GLOBAL_EDF_SRM_FMLP = 0, /* "long": a FIFO queue */
    GS_ANALYSIS_GLOBAL_EDF_SRM_OMLP =
        1 /* global: a FIFO queue of m jobs, and a priority queue before it */
};

/* b of each task, in ticks, kernels on `sms` SMs. With one critical section per other task, its
 * longest, a request waits for
 *
 *   FMLP: all others' (Eq. 1): tasks have one request at a time;
 *   OMLP: all others', where no more than m + 1 tasks use the GPU: at most one job is ever outside
 *     the FIFO queue. Otherwise the 2m - 1 longest, each task's at most twice: m jobs of the FIFO
 *     queue while it waits for a place there, m - 1 once it is in. Eq. 2 has 2 (m - 1), which is
 *     one too few; with `paper` this is computed, and two requests from each task;
 *
 * and a job waits as often as it has GPU segments. The set must have passed gs_host_tasks_check.
 * Refuses m and sms outside 1..INT32_MAX; GS_ERR_OVERFLOW for what is beyond the clock. */
int gs_analysis_global_edf_srm_blocking(gs_context_t *ctx, const gs_host_tasks_t *hosts, int64_t m,
                                        int64_t sms, int lock, bool paper, int64_t *blocking);

extern const gs_method_t gs_analysis_global_edf_srm_method;

#endif
