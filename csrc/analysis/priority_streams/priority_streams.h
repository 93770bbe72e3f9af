/* Response-time bounds of kernel chains in priority streams.
 *
 * Each task has a stream with a priority; its jobs are chains of kernels (model/kernel_chains.h).
 * A kernel joins the queue of its level some latency after the job is released and the kernel
 * before it has ended. Within a level kernels start blocks in the order in which they joined, and
 * only while all more urgent queues are empty; running blocks are not preempted. So each kernel of
 * a job may wait for the blocks of less urgent kernels that run when it joins: once per kernel, not
 * once per job.
 *
 * The theorems, with their proofs, are in notebooks/11_priority_streams.ipynb: M bounds a run of
 * successive jobs kernel by kernel, A is a start for levels in which M needs one, O is for jobs of
 * one kernel that may overlap. A task without others has an exact bound. Bounds are rational
 * numbers.
 *
 * Partitions of the SMs: green contexts and clients of MPS.
 *
 * m threads per SM, S SMs. A head is the kernel at the front of the most urgent queue that is not
 * empty; it alone starts blocks. l(h) is the least load of one SM that keeps out a block of kernel
 * h (chain_saturation.h). Theorem M uses the SMs in one way only: while a kernel of level p or a
 * more urgent one waits, at least beta threads are busy, of levels up to p except for the residue
 * and for tasks counted by their threads (Phi, at most H threads). Three kinds of partitions:
 *
 * Own queues. A partition has SMs and queues of its own: it is a GPU by itself, with its tasks.
 *
 * Shared queues. Each partition has SMs of its own, all of them one set of queues: a head that has
 * no room in its partition keeps waiting all others, too. Let beta_P be S_P times the least l(h)
 * over the heads h of partition P and levels up to p, with blocks of tasks of P alone. At an
 * instant at which a head of P waits, at least beta_P threads of P are busy, with blocks of tasks
 * of P. Let w be the waiting time of the run, w_P the part in which the head is one of P. Work that
 * is counted and belongs to P is at most Y_P in all of w; so
 *
 *     beta_P w_P <= E_P + Y_P + (threads of P's tasks in Phi) w,
 *
 * where E_P adds up, for each kernel of the run, the integral of min(beta_P, threads of P's lower
 * blocks that may still run). Summing up over P: w <= sum (E_P + Y_P) / beta_P + w sum h_i /
 * beta_P(i), from which w follows if the last sum is below 1. If all counted work is done while a
 * kernel still waits, nothing but residue and Phi holds the beta_P threads, and the residue's part
 * of the integral grows with the waiting: the contradiction is that of Theorem M. Theorems A and O
 * are not used. Partitions none of whose kernels ever waits drop out.
 *
 * Limits. All SMs and queues are shared, but blocks of the tasks of partition P (a client of MPS)
 * are on at most S_P SMs at once, whichever these are. Suppose that a head h of P waits, and let x
 * SMs hold blocks of P. Either x < S_P: a block of h may start on any SM, so none has room, and at
 * least S l(h) threads are busy. Or x = S_P: none of these S_P SMs has room for a block of h, so
 * S_P l(h) threads are busy on them (blocks of any task), and each of them holds a block of P. So
 * beta = min over P of S_P times the least l(h) over heads h of P is a saturation level, with which
 * Theorems M, A and O hold as they stand. This alone would let a small client slow down all others
 * without end. But a time in which the limit of P keeps heads waiting (the second case) has an end:
 * every instant of it executes S_P b_P threads of P at least, where b_P are the threads of the
 * smallest block of P. After the residue of a kernel has ended, blocks of levels up to p and of B
 * alone run; if no task of P is in Phi, all those of P are counted work, and there is no more of
 * that than Y_P: the second case lasts at most Y_P / (S_P b_P) in all waiting of the run. The
 * longest waiting is then a linear programme: as much time as possible at the lowest rates, each
 * for no longer than it may last, the rest at the rate of all SMs. While residue is left, the
 * lowest rate counts. If all counted work were done while a kernel still waits, nothing but residue
 * and Phi would run, which hold less than any of these rates requires: as for Theorem M.
 */
#ifndef GS_ANALYSIS_PRIORITY_STREAMS_PRIORITY_STREAMS_H
#define GS_ANALYSIS_PRIORITY_STREAMS_PRIORITY_STREAMS_H

#include "analysis/priority_streams/chain_bound.h"
#include "core/method.h"

/* Bounds for one set on sms SMs with `threads` threads each (sms = 1: one pool of threads). device:
 * the SMs, of which these are the numbers, and the other needs of the kernels; NULL: kernels need
 * threads alone. overlap: jobs are single kernels without latency, each in a stream of its own, so
 * that those of one task may overlap. bound: n entries, beta: one entry per task, the saturation
 * level of its level (0: no kernel of it waits), both of the caller. The set must have passed
 * gs_kernel_chains_check with `threads`. Errors: GS_ERR_VALUE for overlapping jobs of several
 * kernels or with a latency, block sizes of more than 2^24 combinations, and blocks that fit no SM
 * of the device; GS_ERR_OVERFLOW for more than 2^31 - 1 threads in all; GS_ERR_MEMORY;
 * GS_ERR_INTERRUPTED. */
int gs_analysis_priority_streams_bound(gs_context_t *ctx, const gs_kernel_chains_t *chains,
                                       int64_t sms, int64_t threads,
                                       const gs_analysis_priority_streams_device_t *device,
                                       bool overlap, gs_analysis_priority_streams_bound_t *bound,
                                       int64_t *beta);

/* As gs_analysis_priority_streams_bound, in partitions. beta: with own queues the saturation level
 * in the task's partition, with shared queues the threads that are busy there while a kernel of the
 * partition waits, with limits the lowest of all clients. Further errors: GS_ERR_VALUE for
 * partitions and SMs out of range, partitions that have more SMs together than there are (but for
 * limits), and jobs that overlap with shared queues. */
int gs_analysis_priority_streams_partitioned(
    gs_context_t *ctx, const gs_kernel_chains_t *chains,
    const gs_analysis_priority_streams_partitions_t *partitions, int64_t sms, int64_t threads,
    const gs_analysis_priority_streams_device_t *device, bool overlap,
    gs_analysis_priority_streams_bound_t *bound, int64_t *beta);

extern const gs_method_t gs_analysis_priority_streams_method;

#endif
