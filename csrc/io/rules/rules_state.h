/* A log in the orders that the rules need, and what has been found. */
#ifndef GS_IO_RULES_RULES_STATE_H
#define GS_IO_RULES_RULES_STATE_H

#include "io/rules/rules_findings.h"
#include "io/rules/rules_log.h"
#include "model/occupancy.h"

/* A block, in the order of (context, start, the kernel's rank, number). */
typedef struct {
    int64_t start;
    int64_t end;
    int32_t kernel;
    int32_t at; /* of its SM in the device's order */
    int32_t number;
} gs_io_rules_item_t;

typedef struct {
    int64_t first;      /* start of its first block */
    int64_t dispatched; /* of its last */
    int64_t ended;      /* end of all */
    int64_t joined;
    int64_t ready;
    int32_t begin;    /* its blocks: grouped[begin..next kernel's begin) */
    int32_t shape;    /* kernels with one footprint */
    int32_t priority; /* rank of its priority in the log, 0 the most urgent */
    int32_t tie;      /* ascending by (priority, joined, launch), equal where all three are */
    int32_t context;  /* rank of its context */
} gs_io_rules_kernel_t;

/* Blocks and kernels of one context: ranges of the orders. */
typedef struct {
    int32_t from, to;                 /* blocks */
    int32_t kernels_from, kernels_to; /* kernels */
} gs_io_rules_part_t;

typedef struct {
    const gs_gpu_t *gpu;
    const gs_io_rules_log_t *log;
    const gs_io_rules_options_t *options;
    gs_io_rules_findings_t *findings;
    int32_t blocks, kernels, contexts, shapes, priorities;
    bool exact; /* times and joins are exact: blocks that start together are in the order of ties */
    gs_io_rules_item_t *item;        /* blocks */
    int32_t *by_end;                 /* items, by (context, end) */
    int32_t *grouped;                /* items by (kernel, start, number) */
    int32_t *numbered;               /* positions in grouped, by (kernel, number) */
    gs_io_rules_kernel_t *kernel;    /* kernels, one more whose begin is the number of blocks */
    gs_occupancy_footprint_t *shape; /* footprints, by number of the shape */
    int32_t *carveout;        /* by shape: its place among the GPU's, -1 if they do not count */
    int32_t *by_joined;       /* kernels, by (context, priority, joined, row) */
    int32_t *by_ready;        /* kernels, by (context, priority, ready, row) */
    int32_t *ready_order;     /* kernels, by (context, ready, row) */
    int32_t *by_first;        /* kernels, by (context, first, row); NULL: the limit of resident
                                 grids is not below the number of kernels */
    int32_t *by_ended;        /* kernels, by (context, ended, row); NULL with by_first */
    gs_io_rules_part_t *part; /* contexts */
    int32_t *sm_at;           /* SM by its place in the device's order */
    int32_t *at_of;           /* place in the device's order by SM */
} gs_io_rules_state_t;

int gs_io_rules_state_init(gs_io_rules_state_t *self, gs_context_t *ctx, const gs_gpu_t *gpu,
                           const gs_io_rules_log_t *log, const gs_io_rules_options_t *options,
                           gs_io_rules_findings_t *findings);
void gs_io_rules_state_free(gs_io_rules_state_t *self, gs_context_t *ctx);

/* The rules, in files of their own. */
int gs_io_rules_grids(gs_io_rules_state_t *self, gs_context_t *ctx);
int gs_io_rules_streams(gs_io_rules_state_t *self, gs_context_t *ctx);
int gs_io_rules_queues(gs_io_rules_state_t *self, gs_context_t *ctx);
int gs_io_rules_priorities(gs_io_rules_state_t *self, gs_context_t *ctx);
int gs_io_rules_placements(gs_io_rules_state_t *self, gs_context_t *ctx);
int gs_io_rules_idle(gs_io_rules_state_t *self, gs_context_t *ctx);

#endif
