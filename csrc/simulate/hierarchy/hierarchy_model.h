/* System that the hierarchy simulator takes: GPU, contexts, streams, partitions, operations. */
#ifndef GS_SIMULATE_HIERARCHY_HIERARCHY_MODEL_H
#define GS_SIMULATE_HIERARCHY_HIERARCHY_MODEL_H

#include "simulate/gpu/gpu_state.h"

/* System to simulate. All arrays belong to the caller and must outlive the simulation. */
typedef struct {
    gs_gpu_t gpu;
    int policy; /* GS_BLOCK_PLACEMENT_* */
    /* SMs of each GPC, which have consecutive ids, for interference and clusters; NULL: all SMs are
     * one GPC. */
    const int64_t *gpc_sms;
    int64_t gpcs;
    int64_t engines;                  /* copy engines */
    const int64_t *engine_directions; /* per engine, of GS_SIMULATE_GPU_ENGINE_* */
    /* Channels for the kernels of a partition, assigned to its streams in turn; 0: no limit. */
    int64_t channels;
    bool shared_channels; /* the partitions of a context have these channels together, not each */
    bool channels_until_end; /* a kernel leaves its channel at its end, not when fully dispatched */
    int64_t resident_grids;  /* kernels of a context that run at once; 0: no limit */
    int64_t context_switch;  /* ticks of a switch between two contexts */

    int64_t contexts;
    const int64_t *timeslice; /* ticks, per context */
    const int64_t *runlist;   /* contexts of one round of time slices; NULL: each one once */
    int64_t runlist_length;

    int64_t streams;
    const int64_t *context;     /* per stream */
    const int64_t *priority;    /* per stream, smaller is more urgent */
    const int64_t *stream_kind; /* per stream, GS_SIMULATE_GPU_STREAM_* */

    int64_t partitions; /* of all contexts; a partition without streams is unused */
    /* Per stream; all streams of a partition are of one context. NULL: each context is one. */
    const int64_t *partition;
    /* Per partition, the SMs of its set: partitions + 1 offsets into set; none: all SMs. NULL: all
     * SMs for all. */
    const int64_t *set_begin, *set;
    const int64_t *limit;      /* per partition: SMs that hold its blocks at once, 0: any number */
    const int64_t *own_queues; /* per partition: 1: it has queues of its own, 0: it shares them */

    int64_t ops;
    const int64_t *time; /* of the launch; ties in the order of the rows */
    const int64_t *kind; /* GS_SIMULATE_GPU_OP_* */
    const int64_t *stream;
    const int64_t *blocks, *threads, *regs, *smem; /* ignored for copies */
    /* Bytes, preferred to the carve-out of the footprint if a block fits; negative: not given;
     * NULL: none is given. Ignored for copies. */
    const int64_t *carveout;
    const int64_t *cooperative;  /* 0 or 1; NULL: none is. Ignored for copies. */
    const int64_t *cluster;      /* blocks of a cluster; NULL: 1. Ignored for copies. */
    const int64_t *least, *most; /* ticks of a block or copy: uniform in least .. most */
    const int64_t *given_begin;  /* ops + 1 offsets into given; NULL: no block times are given */
    const int64_t *given;        /* given block times, one per block of a kernel */
    const int64_t *interference; /* ops rows of four factors in thousandths, at least 1000 (see
                                    hierarchy.h); NULL: off */
    const int64_t *after_begin;  /* ops + 1 offsets into after; NULL: none */
    const int64_t *after;        /* operations that must have ended before */
    /* Number of the graph of which it is a node; negative: none; NULL: there are no graphs. Nodes
     * of a graph have the same time and stream; it is launched where its first node stands. */
    const int64_t *graph;
    const int64_t *programmatic; /* not 0: see hierarchy.h; NULL: none is; ignored for copies, and
                                    for kernels in a stream that do not follow a kernel */
    const int64_t *trigger;      /* ticks from a block's start to its trigger; negative: at its end;
                                    NULL: all at their ends; ignored for copies */

    uint64_t key[4]; /* of the random numbers */
    uint64_t index;
    bool log_blocks;
} gs_simulate_hierarchy_model_t;

#endif
