/* Limits on the jobs of more urgent tasks by the ready intervals of a job: the split treatment of
 * suspension.
 *
 * For tests in which a GPU segment begins at an instant at which its task runs at its own priority
 * (rule B of notebook 06), and in which neither the wait nor the segment is delayed by what other
 * tasks do on its core at their own priorities. So work of the core counts only while the job is
 * ready: once for each CPU segment c_0 .. c_eta, the last one only if it is not empty.
 *
 * At any instant of a ready interval the core runs the job, or a demand k of the recurrence (more
 * urgent tasks, the server), or a segment that a less urgent task began before the interval, at
 * most `blocks` in all. Let jobs of k take at most x_k each within R_k of their release.
 *
 * Claim. The interval of c_p is no longer than the least L with
 *
 *     L = c_p + blocks + sum of n_k(L) x_k,
 *     n_k(L) = floor((L + R_k - x_k) / T_k) + 1 before a GPU segment, ceil((L + R_k - x_k) / T_k)
 *              for c_eta,
 *
 * and k takes at most n_k(L) x_k in it. Proof. If the job was ready in [u, u + L + d) for a small d
 * > 0, the others would have taken at most blocks + sum of ceil((L + d + R_k - x_k) / T_k) x_k of
 * it (notebook 06, Lemma 2), which is L - c_p by the first form of n_k. So the job would have done
 * c_p and run at an instant after that or at the same one, and its GPU segment would have begun. At
 * the end of c_eta the job ends, which comes before releases at the same instant: [u, u + L) will
 * do. The interval may be shorter than L, and n_k does not fall. QED.
 *
 * Before a GPU segment the second form is not enough: a job that is released at the instant at
 * which c_p ends is chosen before the segment begins. On one core, with tasks of period 3 [1] and
 * period 40 [2, (0, 5, 0), 1], it would give 10 for the latter, which takes 11 when both are
 * released at 0.
 *
 * So a demand k delays the job by at most the smaller of its bound over the whole response time and
 * x_k times the sum of n_k over the intervals. Where L exceeds the deadline, so that no limit is
 * set, the bound over the response time is the smaller one anyway. The limits grow with all times,
 * R_k - x_k included, by the argument of analysis/breakdown.h, applied to L - x_k.
 */
#ifndef GS_ANALYSIS_COMMON_READY_INTERVALS_H
#define GS_ANALYSIS_COMMON_READY_INTERVALS_H

#include "analysis/common/recurrence.h"

/* The job whose ready intervals count. */
typedef struct {
    const int64_t *cpu; /* segments + 1: its CPU segments */
    int64_t segments;   /* its GPU segments */
    int64_t blocks;     /* of less urgent tasks in one ready interval, at most */
    int64_t deadline;
} gs_analysis_common_ready_job_t;

/* Limits the demands `first` .. count - 1 of a recurrence, which must have been added without a
 * limit, one job per period, and stand at window 1. extra: for each of them what it may take
 * outside of the ready intervals, or NULL. limits: memory for count - first numbers; the
 * recurrence has room for as many more demands. Returns GS_OK or the status of gs_poll. */
int gs_analysis_common_ready_intervals(gs_analysis_common_recurrence_t *recurrence,
                                       gs_context_t *ctx, int64_t first,
                                       const gs_analysis_common_ready_job_t *job,
                                       const int64_t *extra, int64_t *limits);

#endif
