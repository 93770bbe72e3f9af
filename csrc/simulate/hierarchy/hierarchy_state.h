/* State of the hierarchy simulator, with its logs; the rules are those of hierarchy.h. */
#ifndef GS_SIMULATE_HIERARCHY_HIERARCHY_STATE_H
#define GS_SIMULATE_HIERARCHY_HIERARCHY_STATE_H

#include "simulate/hierarchy/hierarchy_model.h"

/* Times and places of a launch; -1 for times not reached. */
typedef struct {
    int64_t head;
    int64_t joined;
    int64_t first; /* start of its first block, or of the copy */
    int64_t dispatched;
    int64_t end;
    int64_t why; /* reason of its current wait, GS_SIMULATE_GPU_WAIT_*; -1: none */
    int64_t since;
    int64_t blocker; /* launch for which it waits, -1: none */
    int64_t engine;  /* copy engine that serves it, -1: none so far, or a kernel */
} gs_simulate_hierarchy_op_t;

/* Interval in which a context had the GPU. */
typedef struct {
    int64_t context;
    int64_t from;
    int64_t to;
} gs_simulate_hierarchy_slice_t;

typedef struct {
    gs_simulate_hierarchy_model_t model;
    int64_t now;
    bool done;     /* no event is left */
    int64_t ended; /* ended operations; fewer than all when done: a deadlock */
    int64_t *time[GS_SIMULATE_GPU_TIME_COLUMNS]; /* per launch */
    gs_simulate_gpu_block_log_t block_log;       /* with log_blocks */
    gs_simulate_gpu_wait_log_t wait_log;
    gs_simulate_hierarchy_slice_t *slice;
    int64_t slice_count, slice_room;
    gs_simulate_gpu_t gpu;
    /* Internal state. */
    int32_t *order; /* launches in order */
    int64_t launched;
    int32_t *op;     /* per launch: its operation while it is in flight, else -1 */
    int8_t *engine;  /* per launch that has ended */
    int32_t *graph;  /* per launch: its graph, -1: none; NULL: there are none */
    int32_t *waiter; /* per launch: the first of those that wait for it by `after`, -1: none; NULL:
                        none does */
    int32_t *next_waiter;
    int64_t shape_room;
    int64_t slice_end;
    int64_t turn;       /* position of the last slice in the runlist */
    int64_t all_blocks; /* of all kernels, INT64_MAX: or more */
    uint64_t time_seed;
} gs_simulate_hierarchy_t;

#endif
