/* Runs of kernels and copies in streams, with their records: the basis of probes and measurements.
 *
 * The operations of a plan are launched one after the other, each into its stream, and awaited with
 * one cuCtxSynchronize, as in [RTNS24], section 4.2. Host and device times have separate clocks,
 * both in ns.
 */
#ifndef GS_CUDA_RUN_H
#define GS_CUDA_RUN_H

#include "cuda/device.h"

enum {
    GS_CUDA_KERNEL = 0,
    GS_CUDA_COPY_IN = 1,
    GS_CUDA_COPY_OUT = 2,
    GS_CUDA_MEMSET = 3,
    GS_CUDA_GRAPH = 4
};
enum { GS_CUDA_BLOCKING = 0, GS_CUDA_NON_BLOCKING = 1, GS_CUDA_NULL_STREAM = 2 };

#define GS_CUDA_MAX_STREAMS 1024
#define GS_CUDA_MAX_PARTITIONS 64
#define GS_CUDA_MAX_CLUSTER 16
#define GS_CUDA_MAX_OPERATIONS 100000
#define GS_CUDA_MAX_BLOCKS 10000000
/* Maximum time of a block, which cannot be stopped. */
#define GS_CUDA_MAX_NS 10000000000
#define GS_CUDA_MAX_ITERATIONS 100000000000

/* Columns of one row per operation. */
typedef struct {
    int64_t count;
    const int64_t *kind, *stream;
    const int64_t *at;                      /* earliest launch, in ns after the beginning */
    const int64_t *variant;                 /* of the spin kernel */
    const int64_t *blocks, *threads, *smem; /* of kernels */
    const int64_t *ns, *iterations;         /* time and work of each block; see device.h */
    const int64_t *bytes;                   /* footprint of a kernel, or bytes copied or set */
    const int64_t *graph;                   /* the CUgraphExec of a graph */
    const int64_t *cluster;                 /* blocks of a cluster; 1: no clusters */
    const int64_t *trigger;                 /* see gs_cuda_spin_t */
    const int64_t *programmatic; /* whether it starts at the triggers of the one before it */
    int64_t streams;
    const int64_t *stream_kind, *stream_priority;
    /* Green contexts of at least so many SMs each, without common SMs; 0: the whole device. */
    int64_t sms, partitions;
    const int64_t *stream_partition; /* of each stream; 0 without green contexts */
    int64_t repeats;
} gs_cuda_plan_t;

/* Times of a run, in arrays of the caller: per repetition (repeats entries), per operation (repeats
 * times count) and per block (repeats times blocks, kernel after kernel). */
typedef struct {
    int64_t *begin, *end;                        /* host: before the first launch, after the wait */
    int64_t *called, *returned;                  /* host: before and after an operation's launch */
    int64_t *block_start, *block_end, *block_sm; /* device */
    int64_t sms;                                 /* number of SMs of a green context; 0 without */
} gs_cuda_record_t;

/* Checks a plan and counts its blocks. */
int gs_cuda_plan_check(gs_context_t *ctx, const gs_cuda_device_t *device,
                       const gs_cuda_plan_t *plan, int64_t *blocks);

/* Runs a plan. Resources are released on every path; polls between repetitions. */
int gs_cuda_run(gs_cuda_device_t *device, gs_context_t *ctx, const gs_cuda_plan_t *plan,
                gs_cuda_record_t *record);

/* Waits on the host until an instant: sleeps until `awake` ns before it, then busy-waits. */
void gs_cuda_wait_until(const gs_cuda_driver_t *driver, int64_t instant, int64_t awake);

#endif
