/* Which block runs when, on which SM, and why does what waits wait?
 *
 * NVIDIA's scheduling hierarchy: applications (contexts) that share the GPU by time slices,
 * streams, copies, blocks to SMs. [RTAS20], section III; the queue rules are those of Amert et al.
 * (RTSS 2017), the false dependencies those of Bakita and Anderson (RTAS 2024).
 *
 * What happens to an operation (a kernel or a copy):
 *
 *   launched    it joins the FIFO of its stream;
 *   head        all operations before it in its stream have ended;
 *   joined      it joins its engine's queue, which takes that
 *               - what it was told to wait for (`after`) has ended;
 *               - the legacy NULL stream agrees: a head of the NULL stream waits for every
 *                 operation of the context's blocking streams that was launched before it,
 *                 and a head of a blocking stream for every such one of the NULL stream;
 *               - a kernel is the oldest one in its channel that is not fully dispatched;
 *   dispatched  all its blocks have started: it leaves the queue and its channel;
 *   ended       all its blocks have ended, or the copy is done.
 *
 * Blocks start from the kernel at the head of the most urgent queue alone, as long as the placement
 * policy finds room; what does not fit holds up everything behind it and everything less urgent.
 * Running blocks are not interrupted but by the end of their context's time slice, which freezes
 * all of them. A copy engine serves one copy after the other, of all contexts, in the order in
 * which they joined its queue.
 *
 * Interference, where it is asked for: a block runs slower by the first of these factors that
 * applies, while it applies: blocks of another kernel run on its SM; on another SM of its GPC; on
 * another GPC; and by a fourth one besides while a copy engine is busy. ([RTAS20], section V.)
 *
 * At one instant: blocks and copies end; operations are launched; those that may join their queues
 * do so in the order of launch; contexts change; blocks start. A kernel that is fully dispatched
 * lets the next one of its channel join at the same instant.
 */
#ifndef GS_SIMULATE_HIERARCHY_HIERARCHY_H
#define GS_SIMULATE_HIERARCHY_HIERARCHY_H

#include "core/heap.h"
#include "core/rng.h"
#include "model/placement.h"

/* No operation is launched at or after it. */
#define GS_SIMULATE_HIERARCHY_LATEST (GS_NEVER / 4)

enum {
    GS_SIMULATE_HIERARCHY_OP_KERNEL = 0,
    GS_SIMULATE_HIERARCHY_OP_COPY_IN = 1,
    GS_SIMULATE_HIERARCHY_OP_COPY_OUT = 2
};

/* blocking: kept in order with the NULL stream of its context. */
enum {
    GS_SIMULATE_HIERARCHY_STREAM_BLOCKING = 0,
    GS_SIMULATE_HIERARCHY_STREAM_NON_BLOCKING = 1,
    GS_SIMULATE_HIERARCHY_STREAM_NULL = 2
};

/* Why an operation waits. */
enum {
    GS_SIMULATE_HIERARCHY_WAIT_STREAM = 0, /* for the operation before it in its stream */
    GS_SIMULATE_HIERARCHY_WAIT_AFTER = 1,  /* for an operation that it was told to wait for */
    GS_SIMULATE_HIERARCHY_WAIT_NULL_STREAM =
        2, /* for an operation that the NULL stream keeps before it: the last one
in that stream, or in it the first one of some other stream */
    GS_SIMULATE_HIERARCHY_WAIT_CHANNEL =
        3, /* for the kernel before it in its channel to be fully dispatched */
    GS_SIMULATE_HIERARCHY_WAIT_SLICE = 4,    /* for a time slice of its context */
    GS_SIMULATE_HIERARCHY_WAIT_PRIORITY = 5, /* for a more urgent queue to become empty */
    GS_SIMULATE_HIERARCHY_WAIT_QUEUE = 6,    /* behind another kernel of its queue */
    GS_SIMULATE_HIERARCHY_WAIT_WARPS =
        7, /* at the head: an SM lacks warps (the order is that of GS_GPU_LIMIT_*) */
    GS_SIMULATE_HIERARCHY_WAIT_BLOCKS = 8,      /* ... block slots */
    GS_SIMULATE_HIERARCHY_WAIT_REGS = 9,        /* ... registers */
    GS_SIMULATE_HIERARCHY_WAIT_SMEM = 10,       /* ... shared memory */
    GS_SIMULATE_HIERARCHY_WAIT_COPY_ENGINE = 11 /* for other copies */
};

/* What is simulated; all arrays belong to the caller and must outlive the simulation. */
typedef struct {
    gs_gpu_t gpu;
    int policy;           /* GS_PLACEMENT_* */
    int64_t copy_engines; /* 1: both directions share it; 2: one for each */
    int64_t channels;     /* of each context for kernels; its streams take turns; 0: no limit */
    int64_t switch_time;  /* ticks between the time slices of two contexts */

    int64_t contexts;
    const int64_t *timeslice; /* ticks, per context */
    const int64_t *runlist;   /* a round of time slices, as contexts; NULL: each one once */
    int64_t runlist_length;

    int64_t streams;
    const int64_t *context;     /* per stream */
    const int64_t *priority;    /* per stream, smaller is more urgent */
    const int64_t *stream_kind; /* per stream, GS_SIMULATE_HIERARCHY_STREAM_* */

    int64_t ops;
    const int64_t *time; /* of the launch; equal times: in the order of the rows */
    const int64_t *kind; /* GS_SIMULATE_HIERARCHY_OP_* */
    const int64_t *stream;
    const int64_t *blocks, *threads, *regs, *smem; /* ignored for copies */
    const int64_t *least, *most; /* ticks of a block or copy: uniform between them */
    const int64_t *given_begin;  /* ops + 1 offsets into given; NULL: no block times are given */
    const int64_t *given;        /* block times of the kernels that have some, one per block */
    const int64_t *interference; /* ops rows of four factors in thousandths, at least 1000 (see
                                    above); NULL: none */
    int64_t sms_per_gpc;         /* SMs with neighbouring ids form a GPC; for the interference */
    const int64_t *after_begin;  /* ops + 1 offsets into after; NULL: none */
    const int64_t *after;        /* operations that must have ended */

    uint64_t key[4]; /* of the random numbers */
    uint64_t index;
    bool log_blocks;
} gs_simulate_hierarchy_model_t;

/* What became of an operation; -1 for what has not happened. */
typedef struct {
    int64_t head;
    int64_t joined;
    int64_t first; /* its first block, or the copy, has started */
    int64_t dispatched;
    int64_t end;
    int64_t waiting;           /* blocks that have not started */
    int64_t running;           /* blocks that have not ended */
    int64_t next;              /* in its stream, -1: none */
    int64_t rank;              /* its place in the order of launch */
    int64_t before_in_channel; /* the kernel launched before it in its channel, -1: none */
    int64_t before_in_null;    /* in a blocking stream: the last operation launched before it in
                                  the NULL stream that had not ended then, -1: none */
    gs_gpu_footprint_t take;
    int32_t why; /* it waits now: GS_SIMULATE_HIERARCHY_WAIT_*, -1 when it does not */
    int64_t since;
    int64_t blocker;
} gs_simulate_hierarchy_op_t;

typedef struct {
    int64_t op;
    int64_t block;
    int64_t sm;
    int64_t start;
    int64_t end; /* -1: it has not ended */
} gs_simulate_hierarchy_block_t;

/* op waited from .. to, for blocker (an operation, or -1), or for room on sm (else -1). Of the
 * waits for room one is logged before the first block and one from there to the last. */
typedef struct {
    int64_t op;
    int64_t why;
    int64_t blocker;
    int64_t sm;
    int64_t from;
    int64_t to;
} gs_simulate_hierarchy_wait_t;

/* A context had the GPU. */
typedef struct {
    int64_t context;
    int64_t from;
    int64_t to;
} gs_simulate_hierarchy_slice_t;

/* A first-in first-out queue of operations. */
typedef struct {
    int64_t *op; /* a ring of room (a power of two) */
    int64_t head, count, room;
} gs_simulate_hierarchy_queue_t;

/* Blocks of one kernel on one SM that end together. */
typedef struct {
    int64_t op;
    int64_t blocks;
    int64_t log;     /* the first one's place in the block log */
    int64_t left;    /* with interference: thousandths of ticks of undisturbed time to go */
    int64_t factor;  /* by which it is slower now, in thousandths */
    int64_t updated; /* when left was true, in the context's own time */
    int32_t sm;
} gs_simulate_hierarchy_flight_t;

typedef struct {
    gs_placement_t placer;
    gs_heap_t ends;                       /* in the context's own time; item: flight */
    gs_simulate_hierarchy_queue_t *queue; /* one per priority level, the most urgent first */
    int64_t levels;
    int64_t clock;       /* its own time when it was stopped */
    int64_t resumed;     /* when it gets or got the GPU */
    int64_t work;        /* kernels that have joined and not ended */
    int64_t null_stream; /* -1: none */
    int64_t head;        /* the kernel for which `freed` is kept, -1: none */
    int64_t placed_op;   /* whose blocks were placed last */
    int32_t *freed; /* positions of SMs on which blocks have ended since the head was blocked */
    int32_t freed_count;
    bool *is_freed;        /* per position */
    int64_t *channel_tail; /* the kernel launched last, per channel, -1: none */
} gs_simulate_hierarchy_context_t;

typedef struct {
    gs_simulate_hierarchy_model_t model;
    int64_t now;
    bool done;      /* nothing will happen any more */
    int64_t ended;  /* operations; fewer than there are when done: a deadlock */
    int64_t blocks; /* started so far */
    gs_simulate_hierarchy_op_t *op;
    gs_simulate_hierarchy_block_t *block; /* with log_blocks, in order of start */
    int64_t block_count;
    gs_simulate_hierarchy_wait_t *wait; /* in order of their ends */
    int64_t wait_count;
    gs_simulate_hierarchy_slice_t *slice;
    int64_t slice_count;
    /* The rest is the simulator's own. */
    int64_t *order; /* operations in order of launch */
    int64_t launched;
    gs_simulate_hierarchy_context_t *context;
    int64_t active; /* the context that has the GPU, -1: none */
    int64_t slice_end;
    int64_t last;    /* the context that had it before */
    int64_t turn;    /* the position in the runlist of the last slice */
    int64_t working; /* contexts with work */
    bool retry;      /* something happened that may let operations join */
    bool started;    /* a kernel was fully dispatched */
    int64_t *stream_head, *stream_tail, *stream_level;
    int64_t *stream_channel; /* -1: no limit */
    int64_t *heads;          /* of streams, that have not joined, in order of launch */
    int64_t head_count;
    gs_simulate_hierarchy_queue_t copies[2];
    int64_t copying[2]; /* -1: the engine is idle */
    int64_t copy_end[2];
    gs_simulate_hierarchy_flight_t *flight;
    int64_t *flight_free;
    int64_t flight_room, flight_free_count, flights;
    int32_t *position; /* of each SM in the SM order */
    int32_t *sm;       /* scratch: the SMs of blocks that start */
    int64_t *on_sm;    /* scratch: how many of them start on each SM; 0 between uses */
    int32_t *used_sm;  /* scratch: the SMs on which some start */
    int64_t *sm_op;  /* scratch, with interference: the kernel on each SM, -1: none, -2: several */
    int64_t *gpc_op; /* the same for each GPC */
    int64_t sm_room, block_room, wait_room, slice_room;
    uint64_t time_seed;
} gs_simulate_hierarchy_t;

/* Prepares a simulation; on an error it is freed already (freeing it again does no harm). Refuses
 * what does not describe a system: unknown numbers of any kind, times that are negative, zero
 * (durations) or beyond the clock, a block that fits no SM, two NULL streams in one context, a
 * round of time slices without one of the contexts. */
int gs_simulate_hierarchy_init(gs_simulate_hierarchy_t *self, gs_context_t *ctx,
                               const gs_simulate_hierarchy_model_t *model);

/* Goes on until done or until `blocks` more blocks have started. When it is done and not all
 * operations have ended, those that have not wait for each other: op[].why and op[].blocker say
 * how. After an error the logs hold what happened up to then, and the simulation cannot go on. */
int gs_simulate_hierarchy_run(gs_simulate_hierarchy_t *self, gs_context_t *ctx, int64_t blocks);

void gs_simulate_hierarchy_free(gs_simulate_hierarchy_t *self, gs_context_t *ctx);

#endif
