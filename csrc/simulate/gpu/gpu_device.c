/* Events of a simulated GPU: launches, joins, contexts, starts and ends. */
#include "simulate/gpu/gpu_device.h"

#include "simulate/gpu/gpu_parts.h"

#define EVENT_WORK 16

typedef gs_simulate_gpu_context_t context_t;

int gs_simulate_gpu_launch(gs_simulate_gpu_t *self, gs_context_t *ctx, int64_t op)
{
    const gs_simulate_gpu_shape_t *shape = gs_simulate_gpu_shape_of(self, op);
    self->op[op].waiting = shape->kind == GS_SIMULATE_GPU_OP_KERNEL ? shape->blocks : 0;
    return gs_simulate_gpu_enter_stream(self, ctx, op);
}

/* An operation has ended: its record is free. */
static int end_op(gs_simulate_gpu_t *self, gs_context_t *ctx, int64_t op)
{
    gs_simulate_gpu_note(self, op, GS_SIMULATE_GPU_TIME_END);
    self->retry = true; /* others may wait for it */
    gs_simulate_gpu_leave_channel(self, op);
    int status = gs_simulate_gpu_leave_stream(self, ctx, op);
    int told =
        self->calls->ended(self->owner, ctx, self->number, op); /* in any case: it is logged */
    status = status == GS_OK ? told : status;
    self->op[op].rank = -1;
    self->op[op].next = self->op_free;
    self->op_free = op;
    return status;
}

/* Joins ---------------------------------------------------------------------------------------- */

static int join(gs_simulate_gpu_t *self, gs_context_t *ctx, int64_t op)
{
    const gs_simulate_gpu_room_t *room = gs_simulate_gpu_room_of(self, op);
    self->op[op].joined = self->now;
    gs_simulate_gpu_note(self, op, GS_SIMULATE_GPU_TIME_JOINED);
    if (!gs_simulate_gpu_is_kernel(self, op)) {
        return gs_simulate_gpu_join_copy(self, ctx, op);
    }
    context_t *context = &self->context[room->context];
    gs_simulate_gpu_list_t *queue = &context->queue[room->level];
    int64_t ahead = queue->tail;
    int why = ahead < 0 ? -1 : GS_SIMULATE_GPU_WAIT_QUEUE;
    self->working += context->work++ == 0;
    context->retry = true;
    gs_simulate_gpu_push(self, queue, op);
    /* The reason for which the first kernel of a queue waits is set by gs_simulate_gpu_explain. */
    return gs_simulate_gpu_wait(self, ctx, op, why, gs_simulate_gpu_row(self, ahead), -1);
}

int gs_simulate_gpu_join(gs_simulate_gpu_t *self, gs_context_t *ctx, bool *changed)
{
    *changed = false;
    if (!self->retry) {
        return GS_OK;
    }
    self->retry = false;
    int64_t count = self->head_count, left = 0;
    int status = gs_poll(ctx, count);
    for (int64_t k = 0; k < count && status == GS_OK; k++) {
        int64_t op = self->heads[k], blocker = -1;
        bool aside;
        int why = gs_simulate_gpu_obstacle(self, op, &blocker, &aside);
        bool held = why < 0 && self->calls->holds != NULL && gs_simulate_gpu_is_kernel(self, op) &&
                    self->calls->holds(self->owner, self->number, op);
        if (why < 0 && !held) {
            *changed = true;
            status = join(self, ctx, op);
            continue;
        }
        if (!aside) {
            self->heads[left++] = op;
        }
        status = held ? GS_OK : gs_simulate_gpu_wait(self, ctx, op, why, blocker, -1);
    }
    self->head_count = left;
    return status;
}

int gs_simulate_gpu_resume(gs_simulate_gpu_t *self, gs_context_t *ctx, int64_t op)
{
    self->retry = true;
    return gs_simulate_gpu_add_head(self, ctx, op);
}

/* Contexts ------------------------------------------------------------------------------------- */

void gs_simulate_gpu_serve(gs_simulate_gpu_t *self, int64_t c)
{
    if (c == self->active) {
        return;
    }
    if (self->active >= 0) {
        context_t *context = &self->context[self->active];
        if (context->resumed > self->now) {
            self->last = -2; /* the switch is paid again */
        } else {
            context->clock += self->now - context->resumed;
        }
    }
    self->active = c;
    if (c >= 0) {
        bool pays = self->last != c && self->last != -1;
        self->context[c].resumed = self->now + (pays ? self->context_switch : 0);
        self->context[c].retry = true;
        self->last = c;
    }
}

bool gs_simulate_gpu_runs(const gs_simulate_gpu_t *self)
{
    return self->active >= 0 && self->context[self->active].resumed <= self->now;
}

/* Starts --------------------------------------------------------------------------------------- */

int gs_simulate_gpu_start_blocks(gs_simulate_gpu_t *self, gs_context_t *ctx, bool *any)
{
    int64_t before = self->blocks;
    int status = GS_OK;
    if (gs_simulate_gpu_runs(self) && self->context[self->active].retry) {
        self->context[self->active].retry = false;
        status = gs_simulate_gpu_start_context(self, ctx, &self->context[self->active]);
    }
    *any = self->blocks > before;
    return status;
}

int gs_simulate_gpu_settle(gs_simulate_gpu_t *self, gs_context_t *ctx)
{
    int status =
        self->interferes && gs_simulate_gpu_runs(self) ? gs_simulate_gpu_disturb(self, ctx) : GS_OK;
    for (int64_t c = 0; self->wait_log != NULL && c < self->contexts && status == GS_OK; c++) {
        status =
            gs_simulate_gpu_explain(self, ctx, c, c == self->active && gs_simulate_gpu_runs(self));
    }
    return status;
}

/* Ends ----------------------------------------------------------------------------------------- */

/* End or trigger of the next block of the active context. */
static int64_t block_end(const gs_simulate_gpu_t *self)
{
    if (self->active < 0) {
        return GS_SIMULATE_GPU_NO_EVENT;
    }
    const context_t *context = &self->context[self->active];
    return context->ends.count == 0
               ? GS_SIMULATE_GPU_NO_EVENT
               : context->resumed + (context->ends.entry[0].time - context->clock);
}

static void log_end(const gs_simulate_gpu_t *self, const gs_simulate_gpu_flight_t *flight)
{
    if (flight->log >= 0) {
        int64_t *ends = self->block_log->column[GS_SIMULATE_GPU_BLOCK_END];
        for (int64_t b = 0; b < flight->blocks; b++) {
            ends[flight->log + b] = self->now;
        }
    }
}

static int end_blocks(gs_simulate_gpu_t *self, gs_context_t *ctx)
{
    int status = GS_OK;
    while (status == GS_OK && block_end(self) == self->now) {
        context_t *context = &self->context[self->active];
        int64_t slot = context->ends.entry[0].item;
        const gs_simulate_gpu_flight_t *flight = &self->flight[slot];
        gs_simulate_gpu_op_t *op = &self->op[flight->op];
        gs_heap_pop(&context->ends);
        if (flight->later > 0) {
            status = gs_simulate_gpu_trigger(self, ctx, slot);
            continue;
        }
        self->flight_free[self->flight_free_count++] = slot;
        gs_simulate_gpu_free_sms(self, context, flight);
        log_end(self, flight);
        op->running -= flight->blocks;
        op->triggered -= flight->later < 0 ? flight->blocks : 0;
        status = gs_simulate_gpu_pass_triggers(self, ctx, flight->op);
        if (status == GS_OK && op->running == 0 && op->waiting == 0) {
            self->working -= --context->work == 0;
            context->places++;
            status = end_op(self, ctx, flight->op);
        }
        if (status == GS_OK) {
            status = gs_poll(ctx, EVENT_WORK + flight->blocks);
        }
    }
    return status;
}

int gs_simulate_gpu_end(gs_simulate_gpu_t *self, gs_context_t *ctx)
{
    int status = end_blocks(self, ctx);
    int64_t op;
    while (status == GS_OK && (op = gs_simulate_gpu_leave_engine(self)) >= 0) {
        status = end_op(self, ctx, op);
    }
    return status;
}

int64_t gs_simulate_gpu_next(const gs_simulate_gpu_t *self)
{
    int64_t next = gs_simulate_gpu_copy_end(self);
    if (self->active >= 0) {
        int64_t at =
            gs_simulate_gpu_runs(self) ? block_end(self) : self->context[self->active].resumed;
        next = at < next ? at : next;
    }
    return next;
}
