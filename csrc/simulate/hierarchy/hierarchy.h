/* Simulator of the NVIDIA scheduling hierarchy: applications (contexts) that share the GPU by time
 * slices, streams, copies, and blocks on SMs.
 *
 * [RTAS20], section III; the queue rules are those of [RTSS17] (Amert et al.), the false
 * dependencies between channels those of [RTAS24] (Bakita and Anderson).
 *
 * Stages of an operation (a kernel or a copy):
 *
 *   launched    it enters the FIFO queue of its stream;
 *   head        all earlier operations of its stream have ended; or, for a programmatic kernel
 *               behind a kernel, its primary: all blocks of that one have started, and triggered
 *               or ended;
 *   joined      it enters the queue of its engine, as soon as
 *               - the operations it depends on (`after`) have ended;
 *               - the legacy NULL stream permits: a head of the NULL stream waits for every
 *                 operation of the partition's blocking streams that was launched before it,
 *                 and a head of a blocking stream for every such one of the NULL stream;
 *               - a kernel is the oldest one in its channel that is not fully dispatched;
 *   dispatched  all its blocks have started: it leaves the queue and its channel;
 *   ended       all its blocks have ended, or the copy is done.
 *
 * A graph is one operation of its stream: its nodes are launched together, become heads together,
 * and the operation behind it becomes a head when all of them have ended. Among each other they are
 * ordered by `after` alone. In its channel the graph is one kernel as well: its kernels wait for
 * those launched before it, not for each other, and later ones wait until all of them are fully
 * dispatched. (Assumed, for a GPU to settle: the launch and the end of a graph go through its
 * stream's channel.) So a graph of one node, and one whose nodes form a chain, run as the same
 * operations do in the stream. A programmatic node needs one entry in `after`, a kernel of its
 * graph, which is its primary.
 *
 * A block triggers `trigger` ticks after its start, on its own clock: while it is frozen or slowed
 * down, so is the time up to the trigger. A block that is not longer triggers at its end. What
 * follows a programmatic kernel waits for it and for all operations before it.
 *
 * Only the kernel at the head of the most urgent queue starts blocks, as long as the placement
 * policy finds room; a block that does not fit delays all later and less urgent ones. Running
 * blocks are preempted only at the end of the time slice of their context, which freezes all of
 * them. A copy engine serves the copies of all contexts one at a time, in the order in which they
 * entered its queue.
 *
 * Streams belong to partitions of their context: clients of MPS or green contexts. The blocks of a
 * partition may start on the SMs of its set, if it has one, and on no more of them at once than its
 * limit, if it has one. The rules of the NULL stream and of channels hold within a partition.
 * Partitions with queues of their own form a group each, the other ones of a context form one;
 * every group starts blocks as above, beside the others. Of the heads of several groups the more
 * urgent one is served first, then that of the group with the smallest partition.
 *
 * A GPU runs at most `resident_grids` kernels at once (CUDA C++ Programming Guide, technical
 * specifications per compute capability: "Maximum number of resident grids per device (Concurrent
 * Kernel Execution)"). The rest of this rule is inferred. A kernel is resident from the start of
 * its first block to the end of its last one, also while its context has no time slice; copies do
 * not count. The limit holds for the resident kernels of each context, as the GPU is one context's
 * at a time, and for all partitions of a context together. While it is reached, a kernel at the
 * head of its queue that is not resident starts no block and holds up its queue, as one without
 * room does. It does not hold up a less urgent kernel that is resident: that one is needed for a
 * place to become free. A place that becomes free is taken by the kernel that starts blocks next,
 * in the order above; one without room on the SMs takes none.
 *
 * A cooperative kernel starts all its blocks at one instant. If its partition has a limit, they
 * take the SMs that hold blocks of the partition and as many others as may be added: those with
 * most room; with clusters, GPC by GPC, the one that can host most clusters first. The blocks of a
 * cluster start at one instant on SMs of one GPC: the one that can host most clusters of the kernel
 * now (an assumption), then the first in the SM order.
 *
 * Interference, if enabled: a block is slowed down by the first of these factors that applies,
 * while it applies: blocks of another kernel run on its SM; on another SM of its GPC; on another
 * GPC. A fourth factor applies in addition while a copy engine is busy. ([RTAS20], section V.)
 *
 * Order of the events of one instant: blocks and copies end; operations are launched; those that
 * may enter their queues do so in the order of launch; contexts change; blocks start. A kernel that
 * is fully dispatched lets the next one of its channel, and a secondary that waits for no triggers
 * any more, enter at the same instant.
 */
#ifndef GS_SIMULATE_HIERARCHY_HIERARCHY_H
#define GS_SIMULATE_HIERARCHY_HIERARCHY_H

#include "core/heap.h"
#include "core/method.h"
#include "core/rng.h"
#include "model/placement.h"

/* Most blocks of a cluster: portable are 8, hardware of today has 16. */
#define GS_SIMULATE_HIERARCHY_CLUSTER_BLOCKS 16

/* All launches are before it. */
#define GS_SIMULATE_HIERARCHY_LATEST (GS_NEVER / 4)

enum {
    GS_SIMULATE_HIERARCHY_OP_KERNEL = 0,
    GS_SIMULATE_HIERARCHY_OP_COPY_IN = 1,
    GS_SIMULATE_HIERARCHY_OP_COPY_OUT = 2
};

/* Blocking streams are synchronised with the NULL stream of their partition. */
enum {
    GS_SIMULATE_HIERARCHY_STREAM_BLOCKING = 0,
    GS_SIMULATE_HIERARCHY_STREAM_NON_BLOCKING = 1,
    GS_SIMULATE_HIERARCHY_STREAM_NULL = 2
};

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
        7, /* at the head of the queue, for warps of an SM (order of GS_GPU_LIMIT_*) */
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

/* System to simulate. All arrays belong to the caller and must outlive the simulation. */
typedef struct {
    gs_gpu_t gpu;
    int policy;           /* GS_PLACEMENT_* */
    int64_t copy_engines; /* 1: shared by both directions; 2: one for each */
    /* Channels for the kernels of a partition, assigned to its streams in turn; 0: no limit. */
    int64_t channels;
    int64_t resident_grids; /* kernels of a context that run at once; 0: no limit */
    int64_t switch_time;    /* ticks of a switch between two contexts */

    int64_t contexts;
    const int64_t *timeslice; /* ticks, per context */
    const int64_t *runlist;   /* contexts of one round of time slices; NULL: each one once */
    int64_t runlist_length;

    int64_t streams;
    const int64_t *context;     /* per stream */
    const int64_t *priority;    /* per stream, smaller is more urgent */
    const int64_t *stream_kind; /* per stream, GS_SIMULATE_HIERARCHY_STREAM_* */

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
    const int64_t *kind; /* GS_SIMULATE_HIERARCHY_OP_* */
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
                                    above); NULL: off */
    int64_t sms_per_gpc;        /* number of SMs with consecutive ids in a GPC, for interference and
                                   clusters */
    const int64_t *after_begin; /* ops + 1 offsets into after; NULL: none */
    const int64_t *after;       /* operations that must have ended before */
    /* Number of the graph of which it is a node; negative: none; NULL: there are no graphs. Nodes
     * of a graph have the same time and stream; it is launched where its first node stands. */
    const int64_t *graph;
    const int64_t *programmatic; /* not 0: see above; NULL: none is; ignored for copies, and for
                                    kernels in a stream that do not follow a kernel */
    const int64_t *trigger;      /* ticks from a block's start to its trigger; negative: at its end;
                                    NULL: all at their ends; ignored for copies */

    uint64_t key[4]; /* of the random numbers */
    uint64_t index;
    bool log_blocks;
} gs_simulate_hierarchy_model_t;

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
    gs_gpu_footprint_t take;
    bool is_confined; /* hierarchy_starts.c finds its SMs: it is cooperative or has clusters, or its
                         partition has a set or a limit */
    int32_t why;      /* reason of its current wait, GS_SIMULATE_HIERARCHY_WAIT_*; -1: none */
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
    gs_placement_t placer;
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
    gs_simulate_hierarchy_queue_t copies[2];
    int64_t copying[2]; /* -1: the engine is idle */
    int64_t copy_end[2];
    gs_simulate_hierarchy_flight_t *flight;
    int64_t *flight_free;
    int64_t flight_room, flight_free_count, flights;
    int32_t *position; /* position of each SM in the SM order */
    int32_t *sm;       /* scratch: SMs of the blocks that start */
    int64_t *on_sm;    /* scratch: their number per SM; 0 between uses */
    int32_t *used_sm;  /* scratch: SMs on which blocks start */
    int64_t *sm_op;    /* scratch, with interference: kernel on each SM, -1: none, -2: several */
    int64_t *gpc_op;   /* the same for each GPC */
    int64_t sm_room, block_room, wait_room, slice_room;
    int64_t all_blocks; /* of all kernels, INT64_MAX: or more */
    uint64_t time_seed;
} gs_simulate_hierarchy_t;

/* Prepares a simulation; after an error nothing is left to free. Refuses indices out of range and
 * unknown enumerators, times that are negative, zero (durations) or at least
 * GS_SIMULATE_HIERARCHY_LATEST, a block that fits no SM, two NULL streams in one partition, a
 * runlist without one of the contexts, a graph with several times or streams, a programmatic node
 * whose `after` is not one kernel of its graph, a cooperative kernel that the empty SMs of its
 * partition do not hold, and a cluster that no empty GPC holds. */
int gs_simulate_hierarchy_init(gs_simulate_hierarchy_t *self, gs_context_t *ctx,
                               const gs_simulate_hierarchy_model_t *model);

/* Runs until done or until `blocks` more blocks have started. If not all operations have ended when
 * it is done, the others are in a deadlock, given by op[].why and op[].blocker. GS_ERR_OVERFLOW
 * when a block, a copy or a time slice would end at GS_NEVER or later. After an error the logs hold
 * what happened up to then, and the simulation cannot continue. */
int gs_simulate_hierarchy_run(gs_simulate_hierarchy_t *self, gs_context_t *ctx, int64_t blocks);

void gs_simulate_hierarchy_free(gs_simulate_hierarchy_t *self, gs_context_t *ctx);

extern const gs_method_t gs_simulate_hierarchy_hierarchy_method;

#endif
