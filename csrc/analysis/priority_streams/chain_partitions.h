/* Partitions of the SMs for kernel chains in priority streams: green contexts and clients of MPS.
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
#ifndef GS_ANALYSIS_PRIORITY_STREAMS_CHAIN_PARTITIONS_H
#define GS_ANALYSIS_PRIORITY_STREAMS_CHAIN_PARTITIONS_H

#include "analysis/priority_streams/chain_bound.h"
#include "analysis/priority_streams/chain_saturation.h"
#include "analysis/priority_streams/stream_partitions.h"

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

#endif
