/* Triggers of blocks, and the programmatic kernels that wait for them. */
#include "simulate/gpu/gpu_parts.h"

int gs_simulate_gpu_pass_triggers(gs_simulate_gpu_t *self, gs_context_t *ctx, int64_t op)
{
    if (!self->is_programmatic || !gs_simulate_gpu_is_past_triggers(self, op)) {
        return GS_OK;
    }
    int status = self->calls->past_triggers == NULL
                     ? GS_OK
                     : self->calls->past_triggers(self->owner, ctx, op);
    return status == GS_OK ? gs_simulate_gpu_start_secondary(self, ctx, op) : status;
}

int gs_simulate_gpu_aim(gs_simulate_gpu_t *self, gs_context_t *ctx, int64_t slot, int64_t duration,
                        int64_t end)
{
    gs_simulate_gpu_flight_t *flight = &self->flight[slot];
    int64_t trigger = gs_simulate_gpu_shape_of(self, flight->op)->trigger;
    flight->later = trigger < 0 || trigger >= duration ? 0 : duration - trigger;
    return flight->later == duration
               ? gs_simulate_gpu_trigger(self, ctx, slot)
               : gs_heap_push(&self->context[self->active].ends, ctx, end - flight->later, slot);
}

int gs_simulate_gpu_trigger(gs_simulate_gpu_t *self, gs_context_t *ctx, int64_t slot)
{
    gs_simulate_gpu_flight_t *flight = &self->flight[slot];
    gs_simulate_gpu_context_t *context = &self->context[self->active];
    int64_t now = context->clock + (self->now - context->resumed), end = now + flight->later;
    flight->later = -1;
    self->op[flight->op].triggered += flight->blocks;
    int64_t op = flight->op;
    int status = self->interferes ? gs_simulate_gpu_push_end(self, ctx, slot, now)
                                  : gs_heap_push(&context->ends, ctx, end, slot);
    if (status == GS_OK) {
        status = gs_poll(ctx, 16);
    }
    return status == GS_OK ? gs_simulate_gpu_pass_triggers(self, ctx, op) : status;
}
