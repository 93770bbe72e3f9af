/* State of a simulated GPU; the rules are those of gpu_device.h. */
#ifndef GS_SIMULATE_GPU_GPU_STATE_H
#define GS_SIMULATE_GPU_GPU_STATE_H

#include "core/heap.h"
#include "model/block_placement.h"

/* Most engines, those of DLAs included. */
#define GS_SIMULATE_GPU_ENGINES 64

/* Most DLAs beside a GPU. */
#define GS_SIMULATE_GPU_DLAS 4

/* Most blocks of a cluster: portable are 8, hardware of today has 16. */
#define GS_SIMULATE_GPU_CLUSTER_BLOCKS 16

/* Instant of an event that does not happen: later than any that does, which may be GS_NEVER or
 * later. */
#define GS_SIMULATE_GPU_NO_EVENT INT64_MAX

enum {
    GS_SIMULATE_GPU_OP_KERNEL = 0,
    GS_SIMULATE_GPU_OP_COPY_IN = 1,
    GS_SIMULATE_GPU_OP_COPY_OUT = 2,
    GS_SIMULATE_GPU_OP_DLA = 3, /* and the following ones: work on a DLA, by its number; it is like
                                   a copy of a direction of its own */
    GS_SIMULATE_GPU_OPS = GS_SIMULATE_GPU_OP_DLA + GS_SIMULATE_GPU_DLAS
};

/* Number of the directions of copies; that of an operation is its kind less 1. */
#define GS_SIMULATE_GPU_DIRECTIONS (GS_SIMULATE_GPU_OPS - 1)

/* Directions of the copies that an engine serves, a sum of powers of 2, by their numbers. */
enum { GS_SIMULATE_GPU_ENGINE_IN = 1, GS_SIMULATE_GPU_ENGINE_OUT = 2 };

/* Blocking streams are synchronised with the NULL stream of their partition. */
enum {
    GS_SIMULATE_GPU_STREAM_BLOCKING = 0,
    GS_SIMULATE_GPU_STREAM_NON_BLOCKING = 1,
    GS_SIMULATE_GPU_STREAM_NULL = 2
};

/* Reason for which an operation waits. */
enum {
    GS_SIMULATE_GPU_WAIT_STREAM = 0,       /* for the previous operation of its stream */
    GS_SIMULATE_GPU_WAIT_AFTER = 1,        /* for an operation that its owner named */
    GS_SIMULATE_GPU_WAIT_NULL_STREAM = 2,  /* for the NULL stream (blocker: its last operation), or
                                              in the NULL stream for the first operation of another
                                              stream */
    GS_SIMULATE_GPU_WAIT_CHANNEL = 3,      /* for the previous kernel of its channel to leave it */
    GS_SIMULATE_GPU_WAIT_SLICE = 4,        /* for a time slice of its context */
    GS_SIMULATE_GPU_WAIT_PRIORITY = 5,     /* for a more urgent queue to become empty */
    GS_SIMULATE_GPU_WAIT_QUEUE = 6,        /* for an earlier kernel of its queue */
    GS_SIMULATE_GPU_WAIT_WARPS = 7,        /* at the head of the queue, for warps of an SM (order of
                                              GS_OCCUPANCY_LIMIT_*) */
    GS_SIMULATE_GPU_WAIT_BLOCKS = 8,       /* for block slots */
    GS_SIMULATE_GPU_WAIT_REGS = 9,         /* for registers */
    GS_SIMULATE_GPU_WAIT_SMEM = 10,        /* for shared memory */
    GS_SIMULATE_GPU_WAIT_COPY_ENGINE = 11, /* for other copies */
    GS_SIMULATE_GPU_WAIT_CARVEOUT = 12,    /* at the head of the queue, for an SM without blocks of
                                              kernels with another carve-out */
    GS_SIMULATE_GPU_WAIT_PARTITION = 13,   /* for SMs of its partition: others have room */
    GS_SIMULATE_GPU_WAIT_COOPERATIVE = 14, /* for room for all its blocks at once */
    GS_SIMULATE_GPU_WAIT_CLUSTER = 15,     /* for room for a cluster on one GPC */
    GS_SIMULATE_GPU_WAIT_GRIDS = 16 /* at the head of the queue, for a resident kernel to end */
};

/* Destination of operations: their stream, and the context, queue, channel and partition that the
 * stream has for them. */
typedef struct {
    int64_t stream, context;
    int64_t group;    /* of queues in its context */
    int64_t priority; /* smaller is more urgent */
    int64_t channel;  /* -1: no limit */
    int64_t partition;
    int64_t level; /* of its queue in the context; found by gs_simulate_gpu_init */
} gs_simulate_gpu_room_t;

/* Client of MPS, green context, or all streams of a context. */
typedef struct {
    bool *is_in_set;     /* per position in the SM order; NULL: all */
    int32_t limit;       /* SMs that may hold the blocks of its client at once; 0: no limit */
    int64_t client;      /* partition of the same limit that counts them: itself, or an earlier one
                          */
    int32_t held;        /* of a client with a limit: SMs that hold its blocks */
    int64_t *blocks;     /* the same: its blocks, per SM */
    int64_t null_stream; /* -1: none */
} gs_simulate_gpu_partition_t;

/* Work of an operation; several may have the same shape. */
typedef struct {
    int32_t kind;
    bool cooperative, programmatic;
    bool is_constant; /* all blocks take the same time */
    bool is_confined; /* gpu_starts.c finds its SMs: it is cooperative or has clusters, or its
                         partition has a set or a limit; found by
                         gs_simulate_gpu_complete */
    int64_t blocks;   /* of a kernel */
    int64_t cluster;  /* blocks of one */
    int64_t whole;    /* > 0: its only block takes so many empty SMs, and has no footprint */
    int64_t trigger;  /* ticks from a block's start to its trigger; negative: at its end */
    int64_t most;     /* ticks of a block or of the copy */
    const int64_t *interference; /* four factors in thousandths; NULL: none */
    gs_occupancy_footprint_t take;
} gs_simulate_gpu_shape_t;

/* An operation between its launch and its end; -1 for times not reached, and for no operation. */
typedef struct {
    int64_t owner; /* what its owner knows it by */
    int64_t log;   /* row of its times, and what other logs call it by; -1: it has none */
    int64_t shape; /* index in `shape` */
    int64_t room;
    int64_t rank; /* position in the order of launch */
    int64_t called;
    int64_t head;
    int64_t joined;
    int64_t first;          /* start of its first block, or of the copy */
    int64_t waiting;        /* blocks that have not started */
    int64_t running;        /* blocks that have not ended */
    int64_t triggered;      /* blocks that have triggered and not ended */
    int64_t next, previous; /* in its stream */
    int64_t next_in_channel, previous_in_channel;
    int64_t next_in_queue;
    int64_t null_before; /* the last operation before it of the NULL stream, and its rank; to be
                            found again once that has ended */
    int64_t null_rank;
    int64_t graph;   /* -1: none */
    int64_t since;   /* of its current wait */
    int64_t blocker; /* row of an operation, -1: none */
    int32_t why;     /* GS_SIMULATE_GPU_WAIT_*; -1: it does not wait */
    int32_t engine;  /* copy engine that serves it, -1: none so far, or a kernel */
    bool in_channel;
    bool noted; /* for its owner */
} gs_simulate_gpu_op_t;

/* FIFO of operations. */
typedef struct {
    int64_t head, tail; /* -1: empty */
} gs_simulate_gpu_list_t;

typedef struct {
    gs_simulate_gpu_list_t op; /* those that have not ended */
    int64_t last;              /* the last one launched, -1: it has ended, or there is none */
    bool last_was_kernel;      /* if it has ended: a kernel, of no graph */
    int64_t kind;
    int64_t partition;
} gs_simulate_gpu_stream_t;

/* Operations that are launched together and become heads together. */
typedef struct {
    int64_t first;        /* node, until it has ended */
    int64_t first_kernel; /* in its channel, -1: none so far, or it has left that */
    bool is_head;
} gs_simulate_gpu_graph_t;

/* Columns of the log of blocks. */
enum {
    GS_SIMULATE_GPU_BLOCK_OP,     /* row of the operation */
    GS_SIMULATE_GPU_BLOCK_NUMBER, /* in its grid */
    GS_SIMULATE_GPU_BLOCK_SM,     /* of one that takes several: the first */
    GS_SIMULATE_GPU_BLOCK_START,
    GS_SIMULATE_GPU_BLOCK_END, /* -1: it has not ended */
    GS_SIMULATE_GPU_BLOCK_COLUMNS
};

/* Blocks in order of start. */
typedef struct {
    int64_t *column[GS_SIMULATE_GPU_BLOCK_COLUMNS];
    int64_t count, room;
    int64_t first; /* rows to make room for at first */
    int64_t most;  /* rows that are ever needed at most */
} gs_simulate_gpu_block_log_t;

/* An operation waited from .. to, for blocker (an operation, or -1), or for room on sm (else -1).
 * Waits for room: one entry up to the first block, one from there to the last. */
typedef struct {
    int64_t op;
    int64_t why;
    int64_t blocker;
    int64_t sm;
    int64_t from;
    int64_t to;
} gs_simulate_gpu_wait_t;

/* Waits in order of their ends. */
typedef struct {
    gs_simulate_gpu_wait_t *wait;
    int64_t count, room;
} gs_simulate_gpu_wait_log_t;

/* Columns of the times of operations. */
enum {
    GS_SIMULATE_GPU_TIME_HEAD,
    GS_SIMULATE_GPU_TIME_JOINED,
    GS_SIMULATE_GPU_TIME_FIRST,
    GS_SIMULATE_GPU_TIME_DISPATCHED,
    GS_SIMULATE_GPU_TIME_END,
    GS_SIMULATE_GPU_TIME_COLUMNS
};

/* Copy engines, and DLAs; copies wait by direction: 0 for those in, 1 for those out. */
typedef struct {
    gs_simulate_gpu_list_t joined; /* at this instant */
    gs_simulate_gpu_list_t waiting[GS_SIMULATE_GPU_DIRECTIONS];
    int64_t waits; /* copies that do */
    int64_t count;
    int64_t directions[GS_SIMULATE_GPU_ENGINES];
    int64_t op[GS_SIMULATE_GPU_ENGINES]; /* copy that the engine serves, -1: it is idle */
    int64_t end[GS_SIMULATE_GPU_ENGINES];
    int64_t busy;   /* engines that are not idle */
    bool is_shared; /* an engine serves both directions */
} gs_simulate_gpu_engines_t;

/* Blocks of one kernel on one SM that end together. */
typedef struct {
    int64_t op;
    int64_t blocks;
    int64_t log;     /* position of the first one in the block log, -1: none */
    int64_t left;    /* with interference: remaining time without it, in thousandths of ticks */
    int64_t factor;  /* current slowdown, in thousandths */
    int64_t updated; /* time of `left`, on the clock of the context */
    int64_t later; /* ticks without interference from its trigger, its entry among the ends, to its
                      end; 0: it triggers at its end; -1: it has triggered */
    int32_t sm;
} gs_simulate_gpu_flight_t;

/* Streams of a context whose kernels share queues. */
typedef struct {
    int64_t level, level_end; /* its queues: level .. level_end - 1 of the context */
    int64_t head;             /* blocked kernel to which `freed` belongs, -1: none */
    int32_t *freed; /* positions of SMs with blocks that ended since the kernel was blocked */
    int32_t freed_count;
    bool *is_freed; /* per position */
} gs_simulate_gpu_group_t;

typedef struct {
    gs_block_placement_t placer;
    gs_heap_t ends;                /* on the clock of the context; item: flight */
    gs_simulate_gpu_list_t *queue; /* per group, per priority level, most urgent first */
    int64_t levels;
    bool *is_first; /* per queue: the most urgent of its group */
    gs_simulate_gpu_group_t *group;
    int64_t groups;
    int64_t *stuck;      /* scratch, per group: head without room at this instant, -1: none */
    int64_t places;      /* kernels that may become resident beside those that are */
    int64_t clock;       /* time it has had the GPU, when it was last stopped */
    int64_t resumed;     /* when it gets, or last got, the GPU */
    int64_t work;        /* kernels that have joined and not ended */
    int64_t placed_rank; /* of the kernel whose blocks were placed last */
    bool retry;          /* blocks may start that could not before */
} gs_simulate_gpu_context_t;

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
} gs_simulate_gpu_starts_t;

typedef struct gs_simulate_gpu_device gs_simulate_gpu_t;

/* Answers of the owner of a GPU. */
typedef struct {
    /* Execution time of a block, or of a copy (block 0). */
    int64_t (*time)(const void *owner, const gs_simulate_gpu_op_t *op, int64_t block);
    /* Row of the operation for which the owner lets this head of a stream wait, -1: none; *aside:
     * it is put aside until gs_simulate_gpu_resume. NULL: it lets none wait. */
    int64_t (*before)(void *owner, int64_t op, bool *aside);
    /* Whether a kernel that may join otherwise may not yet; NULL: it may. */
    bool (*holds)(void *owner, int64_t device, int64_t op);
    /* An operation has ended; its record is still there. */
    int (*ended)(void *owner, gs_context_t *ctx, int64_t device, int64_t op);
    /* A kernel has started its last block, or triggered its last one; NULL: nothing to do. */
    int (*past_triggers)(void *owner, gs_context_t *ctx, int64_t op);
} gs_simulate_gpu_owner_t;

struct gs_simulate_gpu_device {
    /* Model: set before gs_simulate_gpu_init. */
    const gs_gpu_t *gpu;
    int policy; /* GS_BLOCK_PLACEMENT_* */
    /* SMs of each GPC, which have consecutive ids, for interference and clusters; NULL: all SMs are
     * one GPC. */
    const int64_t *gpc_sms;
    int64_t resident_grids; /* kernels of a context that run at once; 0: no limit */
    int64_t context_switch; /* ticks of a switch between two contexts */
    bool until_end;         /* a kernel leaves its channel at its end, not when fully dispatched */
    bool interferes, has_triggers, is_programmatic, has_clusters;
    int64_t contexts, streams, channels, partitions, rooms;
    gs_simulate_gpu_room_t *room; /* owned from gs_simulate_gpu_init on */
    const gs_simulate_gpu_owner_t *calls;
    void *owner;
    int64_t number;  /* of the device, for its owner */
    int64_t **times; /* columns of the times of operations with a row; NULL: none */
    gs_simulate_gpu_block_log_t *block_log; /* NULL: none */
    gs_simulate_gpu_wait_log_t *wait_log;   /* NULL: none */
    gs_simulate_gpu_shape_t *shape;
    gs_simulate_gpu_partition_t *partition; /* owned */
    gs_simulate_gpu_stream_t *stream;       /* owned */
    gs_simulate_gpu_graph_t *graph;         /* owned; NULL: there are none */
    gs_simulate_gpu_engines_t engines;      /* count and directions */
    /* State. */
    int64_t now;
    int64_t blocks; /* started so far */
    gs_simulate_gpu_op_t *op;
    int64_t op_room, op_used, op_free;
    gs_simulate_gpu_context_t *context;
    gs_simulate_gpu_starts_t starts;
    int64_t active;  /* context that has the GPU, -1: none */
    int64_t last;    /* the last one; -1: the first one costs no switch; -2: any costs one */
    int64_t working; /* contexts with work */
    bool retry;      /* an event may let operations join */
    bool started;    /* a kernel was fully dispatched */
    gs_simulate_gpu_list_t *channel;
    int64_t *heads; /* heads of streams that have not joined, in order of launch; without those that
                       are put aside */
    int64_t head_count, head_room;
    gs_simulate_gpu_flight_t *flight;
    int64_t *flight_free;
    int64_t flight_room, flight_free_count, flights;
    int32_t *position; /* position of each SM in the SM order */
    int32_t *gpc;      /* index of the GPC of each SM */
    int32_t *sm;       /* scratch: SMs of the blocks that start */
    int64_t *on_sm;    /* scratch: their number per SM; 0 between uses */
    int32_t *used_sm;  /* scratch: SMs on which blocks start */
    int64_t *sm_op;    /* scratch, with interference: kernel on each SM, -1: none, -2: several */
    int64_t *gpc_op;   /* the same for each GPC */
    int64_t sm_room;
};

static inline gs_simulate_gpu_shape_t *gs_simulate_gpu_shape_of(const gs_simulate_gpu_t *self,
                                                                int64_t op)
{
    return &self->shape[self->op[op].shape];
}

static inline const gs_simulate_gpu_room_t *gs_simulate_gpu_room_of(const gs_simulate_gpu_t *self,
                                                                    int64_t op)
{
    return &self->room[self->op[op].room];
}

static inline bool gs_simulate_gpu_is_kernel(const gs_simulate_gpu_t *self, int64_t op)
{
    return gs_simulate_gpu_shape_of(self, op)->kind == GS_SIMULATE_GPU_OP_KERNEL;
}

/* The time of an operation is now. */
static inline void gs_simulate_gpu_note(const gs_simulate_gpu_t *self, int64_t op, int column)
{
    if (self->op[op].log >= 0 && self->times != NULL) {
        self->times[column][self->op[op].log] = self->now;
    }
}

/* Appends an operation to a list by its link next_in_queue, and removes the first one. */
static inline void gs_simulate_gpu_push(gs_simulate_gpu_t *self, gs_simulate_gpu_list_t *list,
                                        int64_t op)
{
    self->op[op].next_in_queue = -1;
    if (list->tail >= 0) {
        self->op[list->tail].next_in_queue = op;
    } else {
        list->head = op;
    }
    list->tail = op;
}

static inline int64_t gs_simulate_gpu_pop(gs_simulate_gpu_t *self, gs_simulate_gpu_list_t *list)
{
    int64_t op = list->head;
    list->head = self->op[op].next_in_queue;
    if (list->head < 0) {
        list->tail = -1;
    }
    return op;
}

#endif
