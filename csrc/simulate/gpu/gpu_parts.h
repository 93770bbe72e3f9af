/* Functions shared by the files of a simulated GPU; the rules are those of gpu_device.h. */
#ifndef GS_SIMULATE_GPU_GPU_PARTS_H
#define GS_SIMULATE_GPU_GPU_PARTS_H

#include "model/block_placement_internal.h"
#include "simulate/gpu/gpu_state.h"

/* Waits (gpu_waits.c) -------------------------------------------------------------------------- */

/* Sets the reason for which the operation waits (why, the row of the blocker; why -1: it does not)
 * and logs the previous wait, unless its length is 0; sm: the SM on which it found room. */
int gs_simulate_gpu_log_wait(gs_simulate_gpu_t *self, gs_context_t *ctx, int64_t op, int why,
                             int64_t blocker, int64_t sm);

/* The same where waits are logged. */
static inline int gs_simulate_gpu_wait(gs_simulate_gpu_t *self, gs_context_t *ctx, int64_t op,
                                       int why, int64_t blocker, int64_t sm)
{
    return self->wait_log == NULL ? GS_OK
                                  : gs_simulate_gpu_log_wait(self, ctx, op, why, blocker, sm);
}

/* Sets the reasons for which the kernels at the heads of the queues of a context wait. */
int gs_simulate_gpu_explain(gs_simulate_gpu_t *self, gs_context_t *ctx, int64_t context, bool runs);

/* Row of an operation, -1: there is none. */
static inline int64_t gs_simulate_gpu_row(const gs_simulate_gpu_t *self, int64_t op)
{
    return op < 0 ? -1 : self->op[op].log;
}

/* Copies (gpu_copies.c) ------------------------------------------------------------------------ */

void gs_simulate_gpu_make_engines(gs_simulate_gpu_t *self);

/* A copy joins those that wait for an engine. */
int gs_simulate_gpu_join_copy(gs_simulate_gpu_t *self, gs_context_t *ctx, int64_t op);

/* Whether copies have joined that no engine serves. */
static inline bool gs_simulate_gpu_has_copies(const gs_simulate_gpu_t *self)
{
    return self->engines.joined.head >= 0 || self->engines.waits > 0;
}

/* Starts the copies for which an engine is free; the others that joined at this instant wait. */
int gs_simulate_gpu_start_copies(gs_simulate_gpu_t *self, gs_context_t *ctx);

/* A copy that ends now leaves its engine, which is then free; -1: none does. */
int64_t gs_simulate_gpu_leave_engine(gs_simulate_gpu_t *self);

/* End of the next copy, GS_SIMULATE_GPU_NO_EVENT when none is served. */
int64_t gs_simulate_gpu_copy_end(const gs_simulate_gpu_t *self);

/* Streams and channels (gpu_streams.c) --------------------------------------------------------- */

/* Whether a kernel may start before its primary has ended. */
static inline bool gs_simulate_gpu_is_programmatic(const gs_simulate_gpu_t *self, int64_t op)
{
    const gs_simulate_gpu_shape_t *shape = gs_simulate_gpu_shape_of(self, op);
    return shape->programmatic && shape->kind == GS_SIMULATE_GPU_OP_KERNEL;
}

/* Whether all blocks of a kernel have started, and triggered or ended. */
static inline bool gs_simulate_gpu_is_past_triggers(const gs_simulate_gpu_t *self, int64_t op)
{
    const gs_simulate_gpu_op_t *state = &self->op[op];
    return state->waiting == 0 && state->running == state->triggered;
}

/* Adds an operation to the heads of streams. */
int gs_simulate_gpu_add_head(gs_simulate_gpu_t *self, gs_context_t *ctx, int64_t op);

/* The operation, which is launched, enters its channel, and its stream, of which it is the head, or
 * in which it waits. */
int gs_simulate_gpu_enter_stream(gs_simulate_gpu_t *self, gs_context_t *ctx, int64_t op);

/* The operation, which has ended, leaves its stream: the next one becomes its head, or waits for
 * another one. */
int gs_simulate_gpu_leave_stream(gs_simulate_gpu_t *self, gs_context_t *ctx, int64_t op);
void gs_simulate_gpu_leave_channel(gs_simulate_gpu_t *self, int64_t op);

/* If the next operation of the stream is programmatic with regard to this kernel, which is past its
 * triggers, that one becomes a head. */
int gs_simulate_gpu_start_secondary(gs_simulate_gpu_t *self, gs_context_t *ctx, int64_t op);

/* Reason for which this head of a stream may not join a queue yet (GS_SIMULATE_GPU_WAIT_*), or -1;
 * *blocker receives the row of the operation that it waits for. */
int gs_simulate_gpu_obstacle(gs_simulate_gpu_t *self, int64_t op, int64_t *blocker, bool *aside);

/* Triggers (gpu_triggers.c) -------------------------------------------------------------------- */

/* If a kernel is past its triggers, those that wait for that are heads, or may join. */
int gs_simulate_gpu_pass_triggers(gs_simulate_gpu_t *self, gs_context_t *ctx, int64_t op);

/* Enters the trigger or the end of a flight, which starts, among the ends of the active context,
 * where kernels have triggers; `end` on the clock of the context. */
int gs_simulate_gpu_aim(gs_simulate_gpu_t *self, gs_context_t *ctx, int64_t slot, int64_t duration,
                        int64_t end);

/* The blocks of a flight of the active context trigger; their end becomes the next event. */
int gs_simulate_gpu_trigger(gs_simulate_gpu_t *self, gs_context_t *ctx, int64_t slot);

/* Blocks (gpu_blocks.c) ------------------------------------------------------------------------ */

/* Whether a kernel may start blocks, as far as the limit of resident grids goes. */
static inline bool gs_simulate_gpu_has_place(const gs_simulate_gpu_t *self,
                                             const gs_simulate_gpu_context_t *context, int64_t op)
{
    return context->places > 0 || self->op[op].first >= 0;
}

/* Starts the blocks of a context that fit; sets self->started when a kernel was fully dispatched.
 */
int gs_simulate_gpu_start_context(gs_simulate_gpu_t *self, gs_context_t *ctx,
                                  gs_simulate_gpu_context_t *context);

/* The SMs of a flight that has ended are free. */
void gs_simulate_gpu_free_sms(gs_simulate_gpu_t *self, gs_simulate_gpu_context_t *context,
                              const gs_simulate_gpu_flight_t *flight);

/* Checks (gpu_check.c) ------------------------------------------------------------------------- */

/* Refuses sizes of GPCs, NULL: none, that do not add up to the SMs of the GPU. */
int gs_simulate_gpu_check_gpcs(gs_context_t *ctx, const gs_gpu_t *gpu, const int64_t *sms,
                               int64_t gpcs);

/* Statements on kernels of an owner's model, by row; each column may be NULL. */
typedef struct {
    int64_t count;
    const int64_t *kind, *blocks;
    int64_t kernel;              /* the kind of rows that are kernels */
    const int64_t *cluster;      /* blocks of a cluster; NULL: 1 */
    const int64_t *cooperative;  /* 0 or 1 */
    const int64_t *interference; /* four factors each */
} gs_simulate_gpu_kernels_t;

int gs_simulate_gpu_check_kernels(gs_context_t *ctx, const gs_simulate_gpu_kernels_t *kernels);

/* Starts of confined kernels (gpu_starts.c) ---------------------------------------------------- */

/* Sets what follows from the other fields of a shape in a room. */
void gs_simulate_gpu_complete(const gs_simulate_gpu_t *self, gs_simulate_gpu_shape_t *shape,
                              int64_t room);

/* Refuses a kernel, given as an operation that is not launched, whose clusters or whose cooperative
 * grid could not start on empty SMs, which all must be. */
int gs_simulate_gpu_check(gs_simulate_gpu_t *self, gs_context_t *ctx, int64_t op);

/* Prepares the starts. */
int gs_simulate_gpu_make_starts(gs_simulate_gpu_t *self, gs_context_t *ctx);
void gs_simulate_gpu_free_starts(gs_simulate_gpu_t *self, gs_context_t *ctx);

/* Like gs_block_placement_resume for the waiting blocks of a confined kernel. at, count: positions
 * outside which no SM has become free since it found no room; NULL: not known. */
int gs_simulate_gpu_place(gs_simulate_gpu_t *self, gs_context_t *ctx,
                          gs_simulate_gpu_context_t *context, int64_t op, const int32_t *at,
                          int32_t count, int64_t *placed);

/* Records that blocks of a confined kernel have ended. */
void gs_simulate_gpu_release(gs_simulate_gpu_t *self, int64_t op, int32_t sm, int64_t blocks);

/* Reason for which a confined kernel has no room, although an SM has; -1: none has. */
int gs_simulate_gpu_lack_of_room(const gs_simulate_gpu_t *self,
                                 const gs_simulate_gpu_context_t *context, int64_t op);

/* Interference (gpu_interference.c) ------------------------------------------------------------ */

/* Updates the speed and the end of every block of the active context. */
int gs_simulate_gpu_disturb(gs_simulate_gpu_t *self, gs_context_t *ctx);

/* Enters the end of a flight that has just triggered, at its present speed, among the ends of the
 * active context; `now` on the context's clock. */
int gs_simulate_gpu_push_end(gs_simulate_gpu_t *self, gs_context_t *ctx, int64_t slot, int64_t now);

#endif
