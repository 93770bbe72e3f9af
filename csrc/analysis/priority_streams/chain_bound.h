/* Bound of a task of kernel chains in priority streams, with its terms; and what it depends on
 * besides the chains: the device, and partitions of its SMs. */
#ifndef GS_ANALYSIS_PRIORITY_STREAMS_CHAIN_BOUND_H
#define GS_ANALYSIS_PRIORITY_STREAMS_CHAIN_BOUND_H

#include "model/gpu.h"
#include "model/kernel_chains.h"

/* SMs of a GPU, and what the kernels need of them besides threads, which are in whole warps. */
typedef struct {
    const gs_gpu_t *gpu;
    const int64_t *regs; /* per kernel, per thread */
    const int64_t *smem; /* per kernel, bytes per block */
} gs_analysis_priority_streams_device_t;

/* Partitions of the SMs: what each kind means is in priority_streams.h. */
enum {
    GS_ANALYSIS_PRIORITY_STREAMS_OWN = 0,
    GS_ANALYSIS_PRIORITY_STREAMS_SHARED = 1,
    GS_ANALYSIS_PRIORITY_STREAMS_LIMITS = 2
};

typedef struct {
    int64_t kind;
    int64_t count;
    const int64_t *of;  /* per task: its partition */
    const int64_t *sms; /* per partition: its SMs, or the most SMs that hold its blocks at once */
} gs_analysis_priority_streams_partitions_t;

/* The theorem that a bound comes from. */
enum {
    GS_ANALYSIS_PRIORITY_STREAMS_NONE = 0,
    GS_ANALYSIS_PRIORITY_STREAMS_FITS = 1, /* no kernel of its level ever waits */
    GS_ANALYSIS_PRIORITY_STREAMS_M = 2,
    GS_ANALYSIS_PRIORITY_STREAMS_A = 3,
    GS_ANALYSIS_PRIORITY_STREAMS_O = 4,
    GS_ANALYSIS_PRIORITY_STREAMS_ALONE = 5 /* the task has the SMs to itself */
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

#endif
