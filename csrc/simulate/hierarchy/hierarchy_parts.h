/* Functions shared by the files of the hierarchy simulator; see simulate/hierarchy/hierarchy.h. */
#ifndef GS_SIMULATE_HIERARCHY_HIERARCHY_PARTS_H
#define GS_SIMULATE_HIERARCHY_HIERARCHY_PARTS_H

#include "simulate/hierarchy/hierarchy.h"

/* Queues (hierarchy_queue.c) ------------------------------------------------------------------- */

int gs_simulate_hierarchy_push(gs_simulate_hierarchy_queue_t *self, gs_context_t *ctx, int64_t op);
int64_t
gs_simulate_hierarchy_pop(gs_simulate_hierarchy_queue_t *self); /* the queue must not be empty */

/* The first and the last entry, -1 when the queue is empty. */
int64_t gs_simulate_hierarchy_first(const gs_simulate_hierarchy_queue_t *self);
int64_t gs_simulate_hierarchy_last(const gs_simulate_hierarchy_queue_t *self);

/* The operation is launched: finds its predecessors in other streams (channel, NULL stream). */
void gs_simulate_hierarchy_line_up(gs_simulate_hierarchy_t *self, int64_t op);

/* Adds an operation to the heads of streams. */
void gs_simulate_hierarchy_add_head(gs_simulate_hierarchy_t *self, int64_t op);

/* Reason for which this head of a stream may not join a queue yet (GS_SIMULATE_HIERARCHY_WAIT_*),
 * or -1; *blocker receives the operation that it waits for. */
int gs_simulate_hierarchy_obstacle(const gs_simulate_hierarchy_t *self, int64_t op,
                                   int64_t *blocker);

/* Logs (hierarchy_log.c) ----------------------------------------------------------------------- */

/* Sets the reason for which the operation waits (why, blocker; why -1: it does not) and logs the
 * previous wait, unless its length is 0; sm: the SM on which it found room. */
int gs_simulate_hierarchy_wait(gs_simulate_hierarchy_t *self, gs_context_t *ctx, int64_t op,
                               int why, int64_t blocker, int64_t sm);
int gs_simulate_hierarchy_log_slice(gs_simulate_hierarchy_t *self, gs_context_t *ctx,
                                    int64_t context, int64_t from, int64_t to);

/* Sets the reasons for which the kernels at the heads of the queues of a context wait. */
int gs_simulate_hierarchy_explain(gs_simulate_hierarchy_t *self, gs_context_t *ctx, int64_t context,
                                  bool runs);

/* Blocks for which the log has room at first: all, so that it need not grow, unless they are very
 * many or take more than half of the memory budget. */
int64_t gs_simulate_hierarchy_first_log(const gs_simulate_hierarchy_t *self,
                                        const gs_context_t *ctx);

/* A block that starts now, in row k of its log, which has room for it. */
static inline void gs_simulate_hierarchy_log_block(const gs_simulate_hierarchy_t *self, int64_t k,
                                                   int64_t op, int64_t number, int64_t sm)
{
    self->block[GS_SIMULATE_HIERARCHY_BLOCK_OP][k] = op;
    self->block[GS_SIMULATE_HIERARCHY_BLOCK_NUMBER][k] = number;
    self->block[GS_SIMULATE_HIERARCHY_BLOCK_SM][k] = sm;
    self->block[GS_SIMULATE_HIERARCHY_BLOCK_START][k] = self->now;
    self->block[GS_SIMULATE_HIERARCHY_BLOCK_END][k] = -1;
}

/* Blocks (hierarchy_blocks.c) ------------------------------------------------------------------ */

/* Starts the blocks that fit; sets self->started when a kernel was fully dispatched. */
int gs_simulate_hierarchy_start_blocks(gs_simulate_hierarchy_t *self, gs_context_t *ctx,
                                       gs_simulate_hierarchy_context_t *context);

/* With interference: updates the speed and the end of every block of the active context
 * (hierarchy_interference.c). */
int gs_simulate_hierarchy_disturb(gs_simulate_hierarchy_t *self, gs_context_t *ctx);

/* End of the next block of the active context, GS_NEVER when none runs. */
int64_t gs_simulate_hierarchy_block_end(const gs_simulate_hierarchy_t *self);

/* Records that blocks have ended on this SM. */
void gs_simulate_hierarchy_note_freed(gs_simulate_hierarchy_t *self,
                                      gs_simulate_hierarchy_context_t *context, int32_t sm);

/* Execution time of a block, or of a copy (block 0). */
int64_t gs_simulate_hierarchy_duration(const gs_simulate_hierarchy_t *self, int64_t op,
                                       int64_t block);

/* Whether all blocks of a kernel have the same execution time. */
bool gs_simulate_hierarchy_is_constant(const gs_simulate_hierarchy_t *self, int64_t op);

#endif
