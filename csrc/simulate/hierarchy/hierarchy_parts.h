/* What the files of the hierarchy's simulator share; see simulate/hierarchy/hierarchy.h. */
#ifndef GS_SIMULATE_HIERARCHY_HIERARCHY_PARTS_H
#define GS_SIMULATE_HIERARCHY_HIERARCHY_PARTS_H

#include "simulate/hierarchy/hierarchy.h"

/* Queues (hierarchy_queue.c) ------------------------------------------------------------------- */

int gs_simulate_hierarchy_push(gs_simulate_hierarchy_queue_t *self, gs_context_t *ctx, int64_t op);
int64_t gs_simulate_hierarchy_pop(gs_simulate_hierarchy_queue_t *self); /* it must not be empty */

/* The first and the last, -1 when it is empty. */
int64_t gs_simulate_hierarchy_first(const gs_simulate_hierarchy_queue_t *self);
int64_t gs_simulate_hierarchy_last(const gs_simulate_hierarchy_queue_t *self);

/* The operation is launched: finds those of other streams that are kept before it. */
void gs_simulate_hierarchy_line_up(gs_simulate_hierarchy_t *self, int64_t op);

/* The operation is at its stream's head: it is among those that may join a queue. */
void gs_simulate_hierarchy_add_head(gs_simulate_hierarchy_t *self, int64_t op);

/* Why this head of a stream may not join a queue yet, with the operation that it waits for: a
 * GS_SIMULATE_HIERARCHY_WAIT_*, or -1 when it may. */
int gs_simulate_hierarchy_obstacle(const gs_simulate_hierarchy_t *self, int64_t op,
                                   int64_t *blocker);

/* Logs (hierarchy_log.c) ----------------------------------------------------------------------- */

/* From now on the operation waits for this reason (why, blocker), or no longer (why -1). What it
 * waited for until now is logged, unless that took no time; sm is where it found room. */
int gs_simulate_hierarchy_wait(gs_simulate_hierarchy_t *self, gs_context_t *ctx, int64_t op,
                               int why, int64_t blocker, int64_t sm);
int gs_simulate_hierarchy_log_slice(gs_simulate_hierarchy_t *self, gs_context_t *ctx,
                                    int64_t context, int64_t from, int64_t to);

/* Says of the kernels at the heads of a context's queues why they wait. */
int gs_simulate_hierarchy_explain(gs_simulate_hierarchy_t *self, gs_context_t *ctx, int64_t context,
                                  bool runs);

/* Blocks (hierarchy_blocks.c) ------------------------------------------------------------------ */

/* Starts the blocks that have room; sets self->started when a kernel was fully dispatched. */
int gs_simulate_hierarchy_start_blocks(gs_simulate_hierarchy_t *self, gs_context_t *ctx,
                                       gs_simulate_hierarchy_context_t *context);

/* With interference: finds anew how fast every block of the active context runs, and when it ends
 * (hierarchy_interference.c). */
int gs_simulate_hierarchy_disturb(gs_simulate_hierarchy_t *self, gs_context_t *ctx);

/* When the next block of the active context ends, GS_NEVER when none runs. */
int64_t gs_simulate_hierarchy_block_end(const gs_simulate_hierarchy_t *self);

/* Blocks have ended on this SM. */
void gs_simulate_hierarchy_note_freed(gs_simulate_hierarchy_t *self,
                                      gs_simulate_hierarchy_context_t *context, int32_t sm);

/* How long a block, or a copy (block 0), takes. */
int64_t gs_simulate_hierarchy_duration(const gs_simulate_hierarchy_t *self, int64_t op,
                                       int64_t block);

/* Whether all blocks of a kernel take the same time. */
bool gs_simulate_hierarchy_is_constant(const gs_simulate_hierarchy_t *self, int64_t op);

#endif
