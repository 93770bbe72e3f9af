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

#include "core/method.h"
#include "analysis/priority_streams/chain_saturation.h"

/* The theorem that a bound comes from. */
enum {
    GS_ANALYSIS_PRIORITY_STREAMS_NONE = 0,
    GS_ANALYSIS_PRIORITY_STREAMS_FITS = 1, /* no kernel of its level ever waits */
    GS_ANALYSIS_PRIORITY_STREAMS_M = 2,
    GS_ANALYSIS_PRIORITY_STREAMS_A = 3,
    GS_ANALYSIS_PRIORITY_STREAMS_O = 4,
    GS_ANALYSIS_PRIORITY_STREAMS_ALONE = 5 /* the task has the SMs to itself: chain_alone.c */
};

/* Most jobs of a run that Theorem M follows. */
#define GS_ANALYSIS_PRIORITY_STREAMS_MOST_JOBS 300

/* Bound of a task. With Theorem M its terms are those of the job with the largest response: the
 * kernels of the run up to its last one wait for `waiting` in all, in which
 *
 *     own + same + more_urgent + less_urgent + residue = waiting * busy
 *
 * thread-ticks of other work are done; the rest of the response is latency and tail, less the time
 * from the start of the run to the release of that job. */
typedef struct {
    int64_t numerator; /* of the bound in ticks; 0 without one */
    int64_t denominator;
    int64_t theorem;
    int64_t jobs;        /* of the run, up to the one with the largest response */
    int64_t latency;     /* ticks: of all kernels up to then */
    int64_t tail;        /* ticks: the last blocks of these kernels; of a task alone, all blocks */
    int64_t own;         /* thread-ticks: of these kernels, without their last blocks */
    int64_t same;        /* thread-ticks: kernels of its level */
    int64_t more_urgent; /* thread-ticks: jobs of more urgent levels */
    int64_t
        less_urgent; /* thread-ticks: jobs of less urgent levels that are counted by their work */
    int64_t residue; /* thread-ticks, rounded up: blocks of less urgent levels that run when a
                        kernel joins, and threads that more urgent tasks counted by their
                        threads occupy */
    int64_t busy;    /* threads that are busy, at least, while a kernel waits */
} gs_analysis_priority_streams_bound_t;

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
