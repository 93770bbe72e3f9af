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
 */
#ifndef GS_ANALYSIS_PRIORITY_STREAMS_PRIORITY_STREAMS_H
#define GS_ANALYSIS_PRIORITY_STREAMS_PRIORITY_STREAMS_H

#include "analysis/priority_streams/chain_bound.h"
#include "analysis/priority_streams/chain_saturation.h"
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

extern const gs_method_t gs_analysis_priority_streams_method;

#endif
