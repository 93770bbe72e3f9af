/* Response-time bounds of whole programs: CPUs, copy engines and the GPU in one fixed point.
 *
 * Model. Each task has a thread, which serves its jobs in order, one at a time. CPU work runs on
 * the task's core by fixed preemptive priorities; tasks of equal priority may delay each other. A
 * *section* is an operation (a copy or a kernel), of a task that launches synchronously, else a
 * longest sequence of operations without CPU work between. The thread calls a graph at an instant
 * at which it is scheduled, asynchronous operations one by one, each behind `launch_cpu` of CPU
 * work; the calls are the last part of the CPU work before the section. An operation reaches its
 * stream at most `latency` after its call; the thread goes on when all of the section has ended, or
 * `wake_latency` later. Until then it leaves its core, or with `busy` spins there at its own
 * priority. A kernel joins its queue `kernel_gap` after it became the head of its stream, or later.
 * A copy engine serves the copies at the heads of streams in the order in which they got there. All
 * times are upper bounds.
 *
 * Let a *run* of i be a longest time with a pending job of i, beginning at s. The rule of the GPU
 * gives F_i(q, w), a bound on the instants of [s, s + w) that belong to the first q jobs of a run,
 * while all jobs keep to bounds R of their responses; it does not fall as w or a bound grows, and
 * an instant that is left means that job q has ended. Let w_q be the least w >= F_i(q, w), q* the
 * least q with J_i + w_q <= q T_i. If for all i
 *
 *     R_i >= max over q <= q* of J_i + w_q - (q - 1) T_i,
 *
 * all jobs of all tasks respond within R, counted from their arrivals. Proof. Let t be the first
 * instant at which a job has been open for R_i since its arrival and goes on; until t all others
 * have kept R. If it is job q of its run, all instants of [s, s + w_q) belong to jobs 1 .. q, and
 * were it open at s + w_q, there would be fewer than w_q of them: so it ends by then. The first job
 * of the run arrived at s - J_i or later, job q at least (q - 1) T_i later: a contradiction. A run
 * has no job after q*. QED. The least such R is reached from below, by R := F(R); deadlines are
 * only compared with it. A task whose run does not end in a window of four times its period,
 * deadline and jitter has no bound, which counts as a response without end for all others.
 *
 * What F adds up, each an instant of a run at most once:
 *
 *     own CPU work, with calls, and own operations, with latencies and gaps;
 *     CPU_i, while the job is ready and does not run (cpu_terms.c);
 *     COPY_i, while an own copy waits for its engine (cpu_terms.c);
 *     GPU_i, while an own section waits for the GPU: queue_terms.c for one stream and for time
 *     slices, stream_terms.c for streams, process_terms.c for those of processes in turns. GCAPS
 *     has terms of its own (gcaps_terms.c).
 *
 * Operations that are called one by one are with the GPU while their thread still calls others;
 * such instants belong to the CPU. Since they enter their stream at several instants, each is a
 * request by itself, where those of a graph are one together; but what others may find in front of
 * them is the whole section, as for a graph: a task has one open section at most.
 *
 * Counts of jobs of k in a window of length w: arrivals, where each job counts as a whole
 * (n_k = ceil((w + R_k) / T_k)); and for a quantity of which a job does at most x, between its
 * arrival and its end, N = ceil((w + R_k - min(x, R_k)) / T_k) (analysis/contexts/context_test.h).
 * S(list, n, Q) is the sum of the Q largest entries of n copies of a list: if Q requests of i are
 * delayed by at most one item of k each, those items take no longer.
 *
 * busy: look at [t0, t0 + w), t0 the last instant at which neither a more urgent task of the core
 * nor i is pending. From then on one of them holds the core, so nothing less urgent there launches:
 * one section each is left. Charge each instant to the most urgent pending job: with G_h = GPU_h(1,
 * R_h) and, in GPU_s of any s, nothing of more urgent tasks of its core and one section of less
 * urgent ones,
 *
 *     w = q C_i + GPU_i(q, w) + sum of ceil((w + J_h) / T_h) (C_h + G_h) over more urgent h.
 */
#ifndef GS_ANALYSIS_HOLISTIC_HOLISTIC_H
#define GS_ANALYSIS_HOLISTIC_HOLISTIC_H

#include "analysis/holistic/holistic_rules.h"
#include "core/method.h"

/* With links: triggered_tasks.c, and edf_terms.c for one unit at a time; not for GCAPS.
 *
 * Errors: those of gs_programs_check; GS_ERR_VALUE for options out of range, for links that make no
 * groups, for blocks that fit no SM, and for block sizes of more than 2^24 combinations;
 * GS_ERR_MEMORY; GS_ERR_INTERRUPTED. */
int gs_analysis_holistic_bound(gs_context_t *ctx, const gs_programs_t *programs,
                               const gs_analysis_holistic_options_t *options,
                               gs_analysis_holistic_answer_t *answer);

extern const gs_method_t gs_analysis_holistic_method;

#endif
