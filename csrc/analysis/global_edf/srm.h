/* Shared Resource Method: one lock for the GPU, and the blocking that it causes.
 *
 * [RTNS10], section 4.1. A job waits for the lock once per GPU segment and holds it through both
 * copies and the kernel (its critical section cs). Waiting counts as execution
 * (suspension-oblivious): the demand of a task is e + s + b, for the test of tardiness.h. CPU-only
 * tasks have b = 0: in this accounting priority inheritance does not block them.
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

/* Forms of OMLP's bound: corrected, or Eq. 2, whose set of jobs may have two requests of a task
 * (their number while one request waits), or one. */
enum {
    GS_ANALYSIS_GLOBAL_EDF_SRM_SOUND = 0,
    GS_ANALYSIS_GLOBAL_EDF_SRM_PAPER = 1,
    GS_ANALYSIS_GLOBAL_EDF_SRM_PAPER_ONCE = 2
};

/* Blocking b of each task, in ticks, with kernels on `sms` SMs. With the longest critical section
 * of each other task, a request waits for
 *
 *   FMLP: all of them (Eq. 1), as tasks have one request at a time;
 *   OMLP: all of them where at most m + 1 tasks use the GPU: at most one job is ever outside the
 *     FIFO queue. Otherwise the 2m - 1 longest, each task's at most twice: m jobs of the FIFO queue
 *     while it waits for a place there, m - 1 once it is in. Eq. 2 has 2 (m - 1), one too few; that
 *     is computed with a `paper` other than GS_ANALYSIS_GLOBAL_EDF_SRM_SOUND;
 *
 * and a job waits as often as it has GPU segments. The set must have passed gs_host_tasks_check.
 * Errors: GS_ERR_VALUE for m and sms outside 1..INT32_MAX, an unknown lock or form; GS_ERR_OVERFLOW
 * for blocking of 2**60 - 1 ticks or more. */
int gs_analysis_global_edf_srm_blocking(gs_context_t *ctx, const gs_host_tasks_t *hosts, int64_t m,
                                        int64_t sms, int lock, int paper, int64_t *blocking);

extern const gs_method_t gs_analysis_global_edf_srm_method;

#endif
