/* Slowdown of blocks by interference, and their new end times. */
#include "core/int128.h"
#include "simulate/gpu/gpu_parts.h"

enum { NO_KERNEL = -1, SEVERAL_KERNELS = -2 };

static void note(int64_t *place, int64_t op)
{
    *place = *place == NO_KERNEL || *place == op ? op : SEVERAL_KERNELS;
}

/* Finds the kernel on each SM and GPC; returns that of the whole GPU. */
static int64_t find_kernels(gs_simulate_gpu_t *self, const gs_simulate_gpu_context_t *context)
{
    int64_t whole = NO_KERNEL;
    for (int64_t s = 0; s < self->gpu->sms; s++) {
        self->sm_op[s] = NO_KERNEL;
        self->gpc_op[self->gpc[s]] = NO_KERNEL;
    }
    for (int64_t k = 0; k < context->ends.count; k++) {
        const gs_simulate_gpu_flight_t *flight = &self->flight[context->ends.entry[k].item];
        note(&self->sm_op[flight->sm], flight->op);
        note(&self->gpc_op[self->gpc[flight->sm]], flight->op);
        note(&whole, flight->op);
    }
    return whole;
}

static int64_t factor_of(const gs_simulate_gpu_t *self, const gs_simulate_gpu_flight_t *flight,
                         int64_t whole)
{
    const int64_t *row = gs_simulate_gpu_shape_of(self, flight->op)->interference;
    int64_t factor = 1000;
    if (self->sm_op[flight->sm] == SEVERAL_KERNELS) {
        factor = row[0];
    } else if (self->gpc_op[self->gpc[flight->sm]] == SEVERAL_KERNELS) {
        factor = row[1];
    } else if (whole == SEVERAL_KERNELS) {
        factor = row[2];
    }
    return self->engines.busy > 0 ? (factor * row[3] + 999) / 1000 : factor;
}

/* Reduces the remaining time by the progress since the last update, rounded down to 1/1000 tick. */
static void progress(gs_simulate_gpu_flight_t *flight, int64_t now)
{
    gs_int128_t done = (gs_int128_t)(now - flight->updated) * 1000000 / flight->factor;
    flight->left = done < flight->left ? flight->left - (int64_t)done : 0;
    flight->updated = now;
}

/* Of a flight that was updated now, GS_NEVER or more: too late. */
static inline gs_int128_t next_event(const gs_simulate_gpu_flight_t *flight)
{
    int64_t left = flight->later > 0 ? flight->left - 1000 * flight->later : flight->left;
    return flight->updated + gs_int128_ceil_div((gs_int128_t)left * flight->factor, 1000000);
}

static int too_late(const gs_simulate_gpu_t *self, gs_context_t *ctx, int64_t op)
{
    return gs_fail(ctx, GS_ERR_OVERFLOW, "duration", self->op[op].log,
                   gs_simulate_gpu_shape_of(self, op)->most,
                   "a schedule that ends before tick 2**61 - 1");
}

int gs_simulate_gpu_push_end(gs_simulate_gpu_t *self, gs_context_t *ctx, int64_t slot, int64_t now)
{
    gs_simulate_gpu_flight_t *flight = &self->flight[slot];
    progress(flight, now);
    gs_int128_t end = next_event(flight);
    return end < GS_NEVER ? gs_heap_push(&self->context[self->active].ends, ctx, (int64_t)end, slot)
                          : too_late(self, ctx, flight->op);
}

int gs_simulate_gpu_disturb(gs_simulate_gpu_t *self, gs_context_t *ctx)
{
    gs_simulate_gpu_context_t *context = &self->context[self->active];
    int64_t now = context->clock + (self->now - context->resumed);
    int64_t whole = find_kernels(self, context);
    gs_heap_t ends = {0};
    int status = gs_poll(ctx, self->gpu->sms);
    for (int64_t k = 0; k < context->ends.count && status == GS_OK; k++) {
        int64_t slot = context->ends.entry[k].item;
        gs_simulate_gpu_flight_t *flight = &self->flight[slot];
        progress(flight, now);
        flight->factor = factor_of(self, flight, whole);
        gs_int128_t end = next_event(flight);
        status = end < GS_NEVER ? gs_heap_push(&ends, ctx, (int64_t)end, slot)
                                : too_late(self, ctx, flight->op);
    }
    if (status != GS_OK) {
        gs_heap_free(&ends, ctx);
        return status;
    }
    gs_heap_free(&context->ends, ctx);
    context->ends = ends;
    return gs_poll(ctx, 8 * ends.count);
}
