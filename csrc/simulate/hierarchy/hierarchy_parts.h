/* Functions shared by the files of the hierarchy simulator; see simulate/hierarchy/hierarchy.h. */
#ifndef GS_SIMULATE_HIERARCHY_HIERARCHY_PARTS_H
#define GS_SIMULATE_HIERARCHY_HIERARCHY_PARTS_H

#include "simulate/hierarchy/hierarchy.h"

/* Queues (hierarchy_queue.c) ------------------------------------------------------------------- */

int gs_simulate_hierarchy_push(gs_simulate_hierarchy_queue_t *self, gs_context_t *ctx, int64_t op);
int64_t
gs_simulate_hierarchy_pop(gs_simulate_hierarchy_queue_t *self); /* the queue must not be empty */

/* The first and the last entry, -1 when the queue is empty. */
static inline int64_t gs_simulate_hierarchy_first(const gs_simulate_hierarchy_queue_t *self)
{
    return self->count == 0 ? -1 : self->op[self->head];
}
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

/* The resource that the most SMs (is_in_set, per position; NULL: of all) lack for one more block.
 */
int gs_simulate_hierarchy_scarce(const gs_simulate_hierarchy_t *self,
                                 const gs_simulate_hierarchy_context_t *context, int64_t op,
                                 const bool *is_in_set);

/* Sets the reasons for which the kernels at the heads of the queues of a context wait. */
int gs_simulate_hierarchy_explain(gs_simulate_hierarchy_t *self, gs_context_t *ctx, int64_t context,
                                  bool runs);

/* Blocks (hierarchy_blocks.c) ------------------------------------------------------------------ */

/* Starts the blocks that fit; sets self->started when a kernel was fully dispatched. */
int gs_simulate_hierarchy_start_blocks(gs_simulate_hierarchy_t *self, gs_context_t *ctx,
                                       gs_simulate_hierarchy_context_t *context);

/* Partitions (hierarchy_partitions.c) ---------------------------------------------------------- */

/* Refuses partitions that are not possible; streams and contexts must be checked. */
int gs_simulate_hierarchy_check_partitions(gs_context_t *ctx,
                                           const gs_simulate_hierarchy_model_t *model);

/* Makes the partitions, and the groups, queues and channels of the contexts. */
int gs_simulate_hierarchy_make_partitions(gs_simulate_hierarchy_t *self, gs_context_t *ctx);
void gs_simulate_hierarchy_free_partitions(gs_simulate_hierarchy_t *self, gs_context_t *ctx);

/* Starts of confined kernels (hierarchy_starts.c) -----------------------------------------------
 */

/* Prepares the starts, and refuses kernels that could never start. To be called with empty SMs. */
int gs_simulate_hierarchy_make_starts(gs_simulate_hierarchy_t *self, gs_context_t *ctx);
void gs_simulate_hierarchy_free_starts(gs_simulate_hierarchy_t *self, gs_context_t *ctx);

/* Like gs_placement_resume for the waiting blocks of a confined kernel. at, count: positions
 * outside which no SM has become free since it found no room; NULL: not known. */
int gs_simulate_hierarchy_place(gs_simulate_hierarchy_t *self, gs_context_t *ctx,
                                gs_simulate_hierarchy_context_t *context, int64_t op,
                                const int32_t *at, int32_t count, int64_t *placed);

/* Records that blocks of a confined kernel have ended. */
void gs_simulate_hierarchy_release(gs_simulate_hierarchy_t *self, int64_t op, int32_t sm,
                                   int64_t blocks);

/* Reason for which a confined kernel has no room. */
int gs_simulate_hierarchy_lack_of_room(const gs_simulate_hierarchy_t *self,
                                       const gs_simulate_hierarchy_context_t *context, int64_t op);

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
