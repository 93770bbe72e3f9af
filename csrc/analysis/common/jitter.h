/* Jitter of more urgent tasks of a core where jobs suspend themselves.
 *
 * A task h on the core of i, more urgent than i, whose jobs take at most x_h of the core, each
 * within R_h <= T_h of its release, takes at most ceil((w + R_h - x_h) / T_h) x_h of any window of
 * length w: R_h - x_h is its jitter (notebook 06, Lemma 2).
 *
 * Claim. Where i has no GPU segment, the jitter of each h without a GPU segment is 0.
 *
 * Proof. Take a job of i that is released at r, and go back from r: as long as a job of such a task
 * h was released before the instant reached and has not ended by then, go on to its release. Let u
 * <= r be where that ends. At each instant of [u, r) such a job is pending, and it never suspends
 * itself. So no less urgent task runs on the core at its own priority there, nor from r to the end
 * of the job of i. Look at [u, u + W) in place of [r, r + W), W being the solution of the
 * recurrence.
 *
 * - No job of h was released before u and ends after it, so at most ceil(W / T_h) count.
 * - The bounds for more urgent tasks with GPU segments, and for the work of a server, hold for any
 *   window.
 * - Less urgent tasks begin no GPU segment, so one of each at most takes part, begun before u, as
 * in the recurrence.
 * - Earlier jobs of i have ended by r, and do not run in [u, r): they have no GPU segment.
 *
 * If the job of i had not ended by u + W, the core would have been busy until then, with less than
 * all of the job, so for less than the right-hand side at W, which is W. So it ends by u + W <= r +
 * W. With release jitter J_h, the jobs released in [u, u + W) arrived in [u - J_h, u + W), so the
 * jitter is J_h in place of 0. QED. Where i has a GPU segment, the last one of its previous job may
 * run in [u, r), so the claim does not hold as it stands. A set without GPU segments gets the
 * bounds of response-time analysis for periodic tasks.
 */
#ifndef GS_ANALYSIS_COMMON_JITTER_H
#define GS_ANALYSIS_COMMON_JITTER_H

#include <stdint.h>

/* The jitter of a more urgent task with a bound and a demand on the core, and a jitter of its
 * releases, as a task with `own_segments` GPU segments sees it. */
static inline int64_t gs_analysis_common_jitter(int64_t own_segments, int64_t segments,
                                                int64_t bound, int64_t demand, int64_t release)
{
    return own_segments == 0 && segments == 0 ? release : bound - demand;
}

#endif
