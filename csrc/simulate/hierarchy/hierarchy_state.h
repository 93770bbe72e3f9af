/* State of the hierarchy simulator, with its logs; the rules are those of hierarchy.h. */
#ifndef GS_SIMULATE_HIERARCHY_HIERARCHY_STATE_H
#define GS_SIMULATE_HIERARCHY_HIERARCHY_STATE_H

#include "core/heap.h"
#include "model/block_placement.h"
#include "simulate/hierarchy/hierarchy_model.h"

/* Reason for which an operation waits. */
enum {
    GS_SIMULATE_HIERARCHY_WAIT_STREAM = 0, /* for the previous operation of its stream */
    GS_SIMULATE_HIERARCHY_WAIT_AFTER = 1,  /* for an operation listed in `after` */
    GS_SIMULATE_HIERARCHY_WAIT_NULL_STREAM =
        2, /* for the NULL stream (blocker: its last operation), or in the NULL stream for the first
              operation of another stream */
    GS_SIMULATE_HIERARCHY_WAIT_CHANNEL =
        3, /* for the previous kernel of its channel to be fully dispatched */
    GS_SIMULATE_HIERARCHY_WAIT_SLICE = 4,    /* for a time slice of its context */
    GS_SIMULATE_HIERARCHY_WAIT_PRIORITY = 5, /* for a more urgent queue to become empty */
    GS_SIMULATE_HIERARCHY_WAIT_QUEUE = 6,    /* for an earlier kernel of its queue */
    GS_SIMULATE_HIERARCHY_WAIT_WARPS =
        7, /* at the head of the queue, for warps of an SM (order of GS_OCCUPANCY_LIMIT_*) */
    GS_SIMULATE_HIERARCHY_WAIT_BLOCKS = 8,       /* for block slots */
    GS_SIMULATE_HIERARCHY_WAIT_REGS = 9,         /* for registers */
    GS_SIMULATE_HIERARCHY_WAIT_SMEM = 10,        /* for shared memory */
    GS_SIMULATE_HIERARCHY_WAIT_COPY_ENGINE = 11, /* for other copies */
    GS_SIMULATE_HIERARCHY_WAIT_CARVEOUT = 12,  /* at the head of the queue, for an SM without blocks
                                                  of kernels with another carve-out */
    GS_SIMULATE_HIERARCHY_WAIT_PARTITION = 13, /* for SMs of its partition: others have room */
    GS_SIMULATE_HIERARCHY_WAIT_COOPERATIVE = 14, /* for room for all its blocks at once */
    GS_SIMULATE_HIERARCHY_WAIT_CLUSTER = 15,     /* for room for a cluster on one GPC */
    GS_SIMULATE_HIERARCHY_WAIT_GRIDS = 16        /* at the head of the queue, for a resident kernel
                                                    to end */
};

/* State of an operation; -1 for times not reached. */
typedef struct {
    int64_t head;
    int64_t joined;
    int64_t first; /* start of its first block, or of the copy */
    int64_t dispatched;
    int64_t end;
    int64_t waiting;           /* blocks that have not started */
    int64_t running;           /* blocks that have not ended */
    int64_t triggered;         /* blocks that have triggered and not ended */
    int64_t next;              /* next operation of its stream that has not ended, -1: none */
    int64_t previous;          /* previous one; once it has ended: the one when it did */
    int64_t graph;             /* index of its graph, -1: none */
    int64_t rank;              /* position in the order of launch */
    int64_t before_in_channel; /* previous kernel of its channel, -1: none */
    int64_t before_in_null; /* in a blocking stream: at the launch, the last unfinished operation of
                               the NULL stream, -1: none */
    int64_t waiter;         /* first of the heads that wait for it by `after`, -1: none */
    int64_t next_waiter;    /* next one of those that wait for the same operation, -1: none */
    gs_occupancy_footprint_t take;
    bool is_confined; /* hierarchy_starts.c finds its SMs: it is cooperative or has clusters, or its
                         partition has a set or a limit */
    int32_t why;      /* reason of its current wait, GS_SIMULATE_HIERARCHY_WAIT_*; -1: none */
    int32_t engine;   /* copy engine that serves it, -1: none so far, or a kernel */
    int64_t since;
    int64_t blocker;
} gs_simulate_hierarchy_op_t;

/* Columns of the log of blocks. */
enum {
    GS_SIMULATE_HIERARCHY_BLOCK_OP,
    GS_SIMULATE_HIERARCHY_BLOCK_NUMBER, /* in its grid */
    GS_SIMULATE_HIERARCHY_BLOCK_SM,
    GS_SIMULATE_HIERARCHY_BLOCK_START,
    GS_SIMULATE_HIERARCHY_BLOCK_END, /* -1: it has not ended */
    GS_SIMULATE_HIERARCHY_BLOCK_COLUMNS
};

/* An operation waited from .. to, for blocker (an operation, or -1), or for room on sm (else -1).
 * Waits for room: one entry up to the first block, one from there to the last. */
typedef struct {
    int64_t op;
    int64_t why;
    int64_t blocker;
    int64_t sm;
    int64_t from;
    int64_t to;
} gs_simulate_hierarchy_wait_t;

/* Interval in which a context had the GPU. */
typedef struct {
    int64_t context;
    int64_t from;
    int64_t to;
} gs_simulate_hierarchy_slice_t;

/* Nodes of a graph follow each other in the order of launch. */
typedef struct {
    int64_t first;        /* node */
    int64_t first_kernel; /* in its channel, -1: none so far */
} gs_simulate_hierarchy_graph_t;

/* FIFO queue of operations. */
typedef struct {
    int64_t *op; /* ring of room (a power of two) entries */
    int64_t head, count, room;
} gs_simulate_hierarchy_queue_t;

/* Copy engines; copies wait by direction: 0 for those in, 1 for those out. */
typedef struct {
    gs_simulate_hierarchy_queue_t joined; /* at this instant */
    gs_simulate_hierarchy_queue_t waiting[2];
    int64_t op[GS_SIMULATE_HIERARCHY_ENGINES]; /* copy that the engine serves, -1: it is idle */
    int64_t end[GS_SIMULATE_HIERARCHY_ENGINES];
    int64_t busy;   /* engines that are not idle */
    bool is_shared; /* an engine serves both directions */
} gs_simulate_hierarchy_engines_t;

/* Blocks of one kernel on one SM that end together. */
typedef struct {
    int64_t op;
    int64_t blocks;
    int64_t log; /* position of the first one in the block log */
    int64_t
        left; /* with interference: remaining time without interference, in thousandths of ticks */
    int64_t factor;  /* current slowdown, in thousandths */
    int64_t updated; /* time of `left`, on the clock of the context */
    int64_t later; /* ticks without interference from its trigger, its entry among the ends, to its
                      end; 0: it triggers at its end; -1: it has triggered */
    int32_t sm;
} gs_simulate_hierarchy_flight_t;

/* Streams of a context whose kernels share queues. */
typedef struct {
    int64_t level, level_end; /* its queues: level .. level_end - 1 of the context */
    int64_t head;             /* blocked kernel to which `freed` belongs, -1: none */
    int32_t *freed; /* positions of SMs with blocks that ended since the kernel was blocked */
    int32_t freed_count;
    bool *is_freed; /* per position */
} gs_simulate_hierarchy_group_t;

/* Client of MPS, green context, or all streams of a context. */
typedef struct {
    int64_t context;     /* -1: it has no streams */
    int64_t group;       /* of its context */
    int64_t streams;     /* channels are assigned in turn */
    int64_t null_stream; /* -1: none */
    bool *is_in_set;     /* per position in the SM order; NULL: all */
    int32_t limit;       /* SMs that may hold its blocks; 0: no limit */
    int32_t held;        /* with a limit: SMs that do */
    int64_t *blocks;     /* with a limit: its blocks, per SM */
} gs_simulate_hierarchy_partition_t;

/* GPCs and scratch memory for kernels with is_confined. */
typedef struct {
    int32_t gpcs;       /* 0: no kernel has clusters */
    int32_t *gpc_at;    /* positions in the SM order by GPC, in ascending order in each */
    int32_t *gpc_begin; /* gpcs + 1 offsets into gpc_at; GPCs in the order of their first SM */
    int32_t *whole;     /* all positions */
    int32_t whole_begin[2];
    int64_t *room;       /* per position: further blocks of the kernel */
    bool *is_usable;     /* per position */
    int64_t *clusters;   /* per GPC: clusters that it can host */
    int32_t *at;         /* positions for the placement */
    gs_heap_t most_room; /* SMs that may be added, by room */
} gs_simulate_hierarchy_starts_t;

typedef struct {
    gs_block_placement_t placer;
    gs_heap_t ends;                       /* on the clock of the context; item: flight */
    gs_simulate_hierarchy_queue_t *queue; /* per group, per priority level, most urgent first */
    int64_t levels;
    bool *is_first;                       /* per queue: the most urgent of its group */
    gs_simulate_hierarchy_group_t *group; /* by their smallest partition */
    int64_t groups;
    int64_t *stuck;        /* scratch, per group: head without room at this instant, -1: none */
    int64_t places;        /* kernels that may become resident beside those that are */
    int64_t clock;         /* time it has had the GPU, when it was last stopped */
    int64_t resumed;       /* when it gets, or last got, the GPU */
    int64_t work;          /* kernels that have joined and not ended */
    int64_t placed_op;     /* kernel whose blocks were placed last */
    int64_t *channel_tail; /* per channel: the last kernel launched, -1: none */
    int64_t channels;
    int64_t streams; /* with shared channels, which are assigned to them in turn */
} gs_simulate_hierarchy_context_t;

typedef struct {
    gs_simulate_hierarchy_model_t model;
    int64_t now;
    bool done;      /* no event is left */
    int64_t ended;  /* ended operations; fewer than all when done: a deadlock */
    int64_t blocks; /* started so far */
    gs_simulate_hierarchy_op_t *op;
    int64_t *block[GS_SIMULATE_HIERARCHY_BLOCK_COLUMNS]; /* with log_blocks, in order of start */
    int64_t block_count;
    gs_simulate_hierarchy_wait_t *wait; /* in order of their ends */
    int64_t wait_count;
    gs_simulate_hierarchy_slice_t *slice;
    int64_t slice_count;
    /* Internal state. */
    int64_t *order; /* operations in order of launch */
    int64_t launched;
    gs_simulate_hierarchy_context_t *context;
    gs_simulate_hierarchy_partition_t *partition;
    gs_simulate_hierarchy_starts_t starts;
    int64_t active; /* context that has the GPU, -1: none */
    int64_t slice_end;
    int64_t last;         /* context that had it before */
    int64_t turn;         /* position of the last slice in the runlist */
    int64_t working;      /* contexts with work */
    bool retry;           /* an event may let operations join */
    bool started;         /* a kernel was fully dispatched */
    int64_t *stream_head; /* first operation that has not ended, -1: none */
    int64_t *stream_tail; /* last one launched, ended or not, -1: none */
    int64_t *stream_level;
    int64_t *stream_channel; /* among those of the context; -1: no limit */
    int64_t *heads;          /* heads of streams that have not joined, in order of launch; without
                                those that wait by `after` */
    int64_t head_count;
    gs_simulate_hierarchy_graph_t *graph; /* with graphs */
    gs_simulate_hierarchy_engines_t engines;
    gs_simulate_hierarchy_flight_t *flight;
    int64_t *flight_free;
    int64_t flight_room, flight_free_count, flights;
    int32_t *position; /* position of each SM in the SM order */
    int32_t *gpc;      /* index of the GPC of each SM */
    int32_t *sm;       /* scratch: SMs of the blocks that start */
    int64_t *on_sm;    /* scratch: their number per SM; 0 between uses */
    int32_t *used_sm;  /* scratch: SMs on which blocks start */
    int64_t *sm_op;    /* scratch, with interference: kernel on each SM, -1: none, -2: several */
    int64_t *gpc_op;   /* the same for each GPC */
    int64_t sm_room, block_room, wait_room, slice_room;
    int64_t all_blocks; /* of all kernels, INT64_MAX: or more */
    uint64_t time_seed;
} gs_simulate_hierarchy_t;

#endif
