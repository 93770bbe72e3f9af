/* Response-time test for GCAPS: the GPU belongs to the most urgent task with an open GPU segment.
 *
 * For each GPU segment a task updates the list of open segments, copies in, runs its kernel, copies
 * out, and updates the list again. An update takes eps on the task's core, is not preempted, and
 * holds a mutex, which goes to the waiting task of the highest GPU priority; it is requested when
 * the task is scheduled at its own priority. A segment is open from the end of its first update to
 * the end of its second. The owner is the open task of the highest GPU priority and changes at the
 * end of an update only. A kernel proceeds while its task is the owner, except during the first
 * update of a task of higher GPU priority (with `stall`: during every update). Suspend: a task
 * leaves its core while it waits for the mutex and during its kernel. Busy: it spins, preemptible.
 *
 * Before the kernel of another context than the last one proceeds the GPU switches for theta, as
 * soon as the kernel is launched, its task is the owner, and no task of higher GPU priority is in
 * its first update. Such an update, or the loss of ownership, ends a switch in vain; then the next
 * one, to whichever context, takes the whole of theta. Other updates do not delay a switch.
 *
 * x_k = C_k + G^m_k + 2 eta_k eps; g_k = G^e_k + eta_k eps + 2 eta_k theta for eta_k > 0; u_l = 2
 * eta_l ceil((w + R_l) / T_l); GH(i): the tasks of higher GPU priority; lpG(i): less urgent users
 * of the GPU on the core; r_i = 1 + 2 eta_i + the number of copies in, how often a job of i becomes
 * ready; S_k = R_k + theta; theta = 0 with one user of the GPU.
 *
 *     H_h = min(S_h - J_h, G_h + 3 eta_h eps + 2 eta_h theta + sum over copies of (piece - copy)),
 * with piece the longest ready interval, in which |lpG(h)| updates of less urgent tasks can come
 * first suspend: f = C_i + G_i + 4 eta_i eps + eta_i theta + min(A, B)
 *                  + [eta_i > 0] sum over other cores of REM
 *     A = sum over h of N(w, R_h, x_h) x_h + [eta_i > 0] N(w, S_h, g_h) g_h
 *         + sum over lpG(i) of min(eps min(r_i + [eta_i > 0] sum over h of 2 eta_h ceil((w + R_h) /
 *           T_h), u_l), N(w, R_l, x_l) x_l)
 *     B = sum over h of min(N(w, R_h, x_h), n_h) x_h + [eta_i, eta_h > 0] N(w, S_h, H_h) H_h
 *         + sum over lpG(i) of min(eps min(r_i, u_l), N(w, R_l, x_l) x_l)
 *     REM = min(sum over U of N(w, S_h, H_h) H_h,
 *               sum over U of N(w, S_h, z_h) z_h
 *               + sum over tasks k of the core above low, not in U, of N(w, R_k, x_k) x_k
 *               + sum over tasks l below low, eta_l > 0, of eps min(sum over U of 2 eta_h ceil((w +
 *                 R_h) / T_h), u_l))
 *           U = GH(i) on that core, low = the least urgent of U, z_h = [h != low] C_h + G_h + 3
 *           eta_h eps + 2 eta_h theta
 *     busy: f = C_i + G_i + 4 eta_i eps + eta_i theta + |lpG(i)| eps + [U and h use the GPU] theta
 *               + sum over h of ceil((w + J_h) / T_h) (C_h + G_h + 4 eta_h eps + 2 eta_h theta)
 *               + sum over cores of REM
 *           REM as above with U = tasks above the lowest GPU priority among those of h and i that
 *           use the GPU, H_h = S_h - J_h, and z_h = C_h + G_h + 4 eta_h eps + 2 eta_h theta
 *
 * Proof of the suspend form. Take an instant between release and end of a job of i at which neither
 * its work nor its updates proceed. (1) i is ready: its core runs a more urgent task (x) or an
 * update of a less urgent one, of which each has at most one pending when a ready interval begins.
 * (2) i waits for the mutex: its holder has a higher GPU priority (charged to it), or held it at
 * the request, eps each. (3) i is open and its kernel does not proceed: a first update of a task of
 * higher GPU priority runs, or such a task h is the owner. It proceeds (G_h), updates, waits for an
 * update of a less urgent task with its second one (eps per segment) or for more urgent ones, or
 * for its core: at most piece - copy per copy, or as the core runs tasks above h or updates of
 * tasks below. A local h leaves the core to its own more urgent tasks, which are in the first term
 * of A, and to updates of less urgent ones, one per ready interval of h. B charges the whole hold
 * of a local owner; more urgent tasks then matter in the ready intervals of i only. Busy: as in
 * time_slices.h, from an instant on at which no job of i or more urgent is pending, so nothing is
 * carried in on the core of i.
 *
 * Proof of the switches. They matter in (3) only, while i is open and its kernel is launched. The
 * GPU then switches to the owner c, which is i or in GH(i): less urgent tasks are not owners. Count
 * the switches, whole or in vain, to a segment s of c. The first one is charged to s. Before each
 * further one c has lost the GPU: if the switch before it ended, another context was served; if it
 * was in vain, a first update of a task of higher GPU priority was in progress, after which c is
 * not the owner. Ownership comes back to c when a segment of GH(c) is closed, and to c alone; c has
 * a launched kernel then, so that the switch begins at this instant or (a more urgent first update
 * is in progress) not before c has lost the GPU again. It is charged to the segment that is closed.
 * So a segment of GH(i) is charged two switches at most, its own one and the one back, whatever was
 * interrupted, and a segment of i one. A gap in which the GPU idles is no switch: where the last
 * context goes on there is none, and where another one goes on it was counted.
 *     All that a job of h is charged lies between its release and theta after its end, at distinct
 * instants: the switch back begins as its segment is closed. Lemma 0 holds with S_h in place of R_h
 * for it, and a hold is at most S_h - J_h. CPU work and updates remain between release and end;
 * what keeps a task from its core, and so piece, r, x and u, has no switches. Busy: the same for
 * every job that spins. The segments of h that are charged were closed in the window, but for one:
 * the GPU may be switching back to a task of U when the window begins, which takes theta at most.
 * (A segment of i or h that spins in the window begins in it, so the segments that preempt it are
 * closed in it.)
 *
 * ORDER_FREE: R = D, H = D - J + theta; U and low are all users of the GPU and the least urgent
 * task of the core above i, and z_h has all C_h; for one order of CPU and GPU priorities. Then the
 * test fits Audsley's algorithm.
 *
 * Lemma M (sensitivity) holds: with theta, or any other time, S_h - x falls by no more than x
 * grows.
 *
 * The printed form is in gcaps_paper.h; it has no switches and no jitter, and refuses theta > 0.
 */
#ifndef GS_ANALYSIS_CONTEXTS_GCAPS_H
#define GS_ANALYSIS_CONTEXTS_GCAPS_H

#include "analysis/contexts/context_test.h"

/* gs_analysis_contexts_run_t; also refuses GPU priorities that tie or disagree with the CPU
 * priorities of a core, other GPU priorities than the CPU priorities with ORDER_FREE, and switches
 * with the printed equations. */
int gs_analysis_contexts_gcaps(gs_analysis_contexts_test_t *self, gs_context_t *ctx,
                               const gs_host_tasks_t *hosts, const int64_t *core,
                               const gs_analysis_contexts_options_t *options,
                               gs_analysis_common_answer_t *answer);

extern const gs_method_t gs_analysis_contexts_gcaps_method;

#endif
