/* Response-time test for time slices, the default way in which processes share a GPU.
 *
 * One context per task. A kernel is launched when its task is scheduled and has done the CPU work
 * before it. The GPU serves the contexts with launched kernels in turn (first in, first out, back
 * to the tail after a slice; or in a fixed cyclic order), each for at most a slice L. A kernel that
 * ends ends its slice; a context alone goes on at no cost. Serving another context than the last
 * one served costs a switch theta before it. Nothing is boosted.
 *
 * Q_i = sum of ceil(e_ij / L); y_k = G^e_k + Q_k theta; v_k = theta + min(L, max e_kj); theta = 0
 * with one user of the GPU.
 *
 *     suspend: f = C_i + G_i + Q_i theta
 *                  + sum over more urgent h of the core of min(N(w, R_h, x_h), n_h) x_h
 *                  + sum over k != i with GPU segments of min(Q_i v_k, N(w, R_k, y_k) y_k)
 *              x_h = C_h + G^m_h; n_h: how many jobs of h the ready intervals of a job of i meet,
 *              one after the other (gs_analysis_contexts_test_piece)
 *     busy:    f = C_i + G_i + Q_i theta + sum over h of n_h (C_h + G_h + Q_h theta)
 *                  + sum over k on other cores of min(QQ v_k, N(w, R_k, y_k) y_k)
 *                  + sum over less urgent l of the core of min(QQ v_l, E_l + ceil(E_l / L) theta)
 *              n_h = ceil((w + J_h) / T_h), QQ = Q_i + sum over h of n_h Q_h, E_l = max e_lj
 *
 * Proof. While a kernel s waits or is served, each other context gets at most one slice between two
 * consecutive slices of s: it is requeued behind s, or the pointer must pass s. So at most
 * ceil(e_s / L) slices of k delay s, each of at most v_k with its switch; and a job of k has at
 * most Q_k slices, y_k in all. Suspend: while i is ready its core runs more urgent tasks, and its
 * ready intervals are the CPU pieces. Busy: from the last instant up to the release before which
 * no job of i or more urgent on the core was pending, one is, and none suspends: no less urgent
 * task of the core launches a kernel, each has at most one in the ring, and no job is carried in.
 * By w such an instant comes again, and the next job of i is released no sooner, T_i - J_i >= w
 * after this one could be: so this is the only one of i. What is served while a job spins belongs
 * to it, or to another one of the core (charged there), or is a slice of k, at most one for each
 * slice of the job that spins.
 *
 * The printed form ([ECRTS24], Eqs. (3), (5)-(8)) leaves out the switch back to i, is unsound for
 * theta > 0, and has no jitter.
 */
#ifndef GS_ANALYSIS_CONTEXTS_TIME_SLICES_H
#define GS_ANALYSIS_CONTEXTS_TIME_SLICES_H

#include "analysis/contexts/context_test.h"

/* gs_analysis_contexts_run_t; also refuses slices outside 1..GS_ANALYSIS_COMMON_LIMIT - 1. */
int gs_analysis_contexts_time_slices(gs_analysis_contexts_test_t *self, gs_context_t *ctx,
                                     const gs_host_tasks_t *hosts, const int64_t *core,
                                     const gs_analysis_contexts_options_t *options,
                                     gs_analysis_common_answer_t *answer);

extern const gs_method_t gs_analysis_contexts_time_slices_method;

#endif
