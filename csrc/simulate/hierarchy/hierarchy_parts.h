/* Functions shared by the files of the hierarchy simulator; the rules are those of hierarchy.h. */
#ifndef GS_SIMULATE_HIERARCHY_HIERARCHY_PARTS_H
#define GS_SIMULATE_HIERARCHY_HIERARCHY_PARTS_H

#include "simulate/hierarchy/hierarchy_state.h"

/* Instant of an event that does not happen: later than any that does, which may be GS_NEVER or
 * later. */
#define GS_SIMULATE_HIERARCHY_NO_EVENT INT64_MAX

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

/* Reason for which this head of a stream may not join a queue yet (GS_SIMULATE_HIERARCHY_WAIT_*),
 * or -1; *blocker receives the operation that it waits for. */
int gs_simulate_hierarchy_obstacle(gs_simulate_hierarchy_t *self, int64_t op, int64_t *blocker);

/* Copies (hierarchy_copies.c) ------------------------------------------------------------------ */

/* Refuses engines that are not possible, and copies whose direction no engine has; the kinds of
 * operations must be checked. */
int gs_simulate_hierarchy_check_engines(gs_context_t *ctx,
                                        const gs_simulate_hierarchy_model_t *model);
void gs_simulate_hierarchy_make_engines(gs_simulate_hierarchy_t *self);
void gs_simulate_hierarchy_free_engines(gs_simulate_hierarchy_t *self, gs_context_t *ctx);

/* A copy joins those that wait for an engine. */
int gs_simulate_hierarchy_join_copy(gs_simulate_hierarchy_t *self, gs_context_t *ctx, int64_t op);

/* Starts the copies for which an engine is free; the others that joined at this instant wait. */
int gs_simulate_hierarchy_start_copies(gs_simulate_hierarchy_t *self, gs_context_t *ctx);

/* A copy that ends now leaves its engine, which is then free; -1: none does. */
int64_t gs_simulate_hierarchy_leave_engine(gs_simulate_hierarchy_t *self);

/* End of the next copy, GS_SIMULATE_HIERARCHY_NO_EVENT when none is served. */
int64_t gs_simulate_hierarchy_copy_end(const gs_simulate_hierarchy_t *self);

/* Streams (hierarchy_streams.c) ---------------------------------------------------------------- */

/* The last operation of a stream, of this one and those before it, that has not ended; -1: none. */
int64_t gs_simulate_hierarchy_unended(gs_simulate_hierarchy_t *self, int64_t op);

/* If the next operation of the stream is programmatic with regard to this kernel, which is past its
 * triggers, that one becomes a head. */
int gs_simulate_hierarchy_start_secondary(gs_simulate_hierarchy_t *self, gs_context_t *ctx,
                                          int64_t op);

/* The operation enters its stream, and is its head or waits. */
int gs_simulate_hierarchy_enter_stream(gs_simulate_hierarchy_t *self, gs_context_t *ctx,
                                       int64_t op);

/* The operation, which has ended, leaves its stream: the next one becomes its head, or waits for
 * another one. */
int gs_simulate_hierarchy_leave_stream(gs_simulate_hierarchy_t *self, gs_context_t *ctx,
                                       int64_t op);

/* Puts aside a head that waits for another operation by `after`. */
void gs_simulate_hierarchy_await(gs_simulate_hierarchy_t *self, int64_t op, int64_t blocker);

/* Those that were put aside until this operation ends are heads that may join again. */
void gs_simulate_hierarchy_wake(gs_simulate_hierarchy_t *self, int64_t op);

/* Graphs and programmatic launches (hierarchy_launches.c) -------------------------------------- */

/* Finds the graphs of a model with some, checks them and gives their nodes adjacent ranks. */
int gs_simulate_hierarchy_make_graphs(gs_simulate_hierarchy_t *self, gs_context_t *ctx);

/* Whether a kernel may start before its primary has ended. */
static inline bool gs_simulate_hierarchy_is_programmatic(const gs_simulate_hierarchy_t *self,
                                                         int64_t op)
{
    const gs_simulate_hierarchy_model_t *model = &self->model;
    return model->programmatic != NULL && model->programmatic[op] != 0 &&
           model->kind[op] == GS_SIMULATE_HIERARCHY_OP_KERNEL;
}

/* Whether all blocks of a kernel have started, and triggered or ended. */
static inline bool gs_simulate_hierarchy_is_past_triggers(const gs_simulate_hierarchy_t *self,
                                                          int64_t op)
{
    const gs_simulate_hierarchy_op_t *state = &self->op[op];
    return state->waiting == 0 && state->running == state->triggered;
}

/* If it is, the kernels that wait for that are heads, or may join. */
int gs_simulate_hierarchy_pass_triggers(gs_simulate_hierarchy_t *self, gs_context_t *ctx,
                                        int64_t op);

/* Enters the trigger or the end of a flight, which starts, among the ends of the active context,
 * where kernels have triggers; `end` on the clock of the context. */
int gs_simulate_hierarchy_aim(gs_simulate_hierarchy_t *self, gs_context_t *ctx, int64_t slot,
                              int64_t duration, int64_t end);

/* The blocks of a flight of the active context trigger; their end becomes the next event. */
int gs_simulate_hierarchy_trigger(gs_simulate_hierarchy_t *self, gs_context_t *ctx, int64_t slot);

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

/* Whether a kernel may start blocks, as far as the limit of resident grids goes. */
static inline bool gs_simulate_hierarchy_has_place(const gs_simulate_hierarchy_t *self,
                                                   const gs_simulate_hierarchy_context_t *context,
                                                   int64_t op)
{
    return context->places > 0 || self->op[op].first >= 0;
}

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

/* Like gs_block_placement_resume for the waiting blocks of a confined kernel. at, count: positions
 * outside which no SM has become free since it found no room; NULL: not known. */
int gs_simulate_hierarchy_place(gs_simulate_hierarchy_t *self, gs_context_t *ctx,
                                gs_simulate_hierarchy_context_t *context, int64_t op,
                                const int32_t *at, int32_t count, int64_t *placed);

/* Records that blocks of a confined kernel have ended. */
void gs_simulate_hierarchy_release(gs_simulate_hierarchy_t *self, int64_t op, int32_t sm,
                                   int64_t blocks);

/* Reason for which a confined kernel has no room, although an SM has; -1: none has. */
int gs_simulate_hierarchy_lack_of_room(const gs_simulate_hierarchy_t *self,
                                       const gs_simulate_hierarchy_context_t *context, int64_t op);

/* With interference: updates the speed and the end of every block of the active context
 * (hierarchy_interference.c). */
int gs_simulate_hierarchy_disturb(gs_simulate_hierarchy_t *self, gs_context_t *ctx);

/* With interference: enters the end of a flight that has just triggered, at its present speed,
 * among the ends of the active context; `now` on the context's clock (hierarchy_interference.c). */
int gs_simulate_hierarchy_push_end(gs_simulate_hierarchy_t *self, gs_context_t *ctx, int64_t slot,
                                   int64_t now);

/* End or trigger of the next block of the active context, GS_NEVER when none runs. */
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
