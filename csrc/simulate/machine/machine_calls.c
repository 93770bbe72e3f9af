/* Calls of operations, which are then on their way to their streams. */
#include "core/vector.h"
#include "simulate/machine/machine_parts.h"

/* Room for one more operation on its way; false without memory. */
static bool reserve_flying(gs_simulate_machine_state_t *self)
{
    int64_t room = self->flying_room;
    if (self->flying_count < room) {
        return true;
    }
    gs_simulate_machine_call_t *ring =
        gs_vector_reserve(self->ctx, self->flying, &self->flying_room, room + 1, sizeof *ring);
    if (ring == NULL) {
        gs_simulate_machine_fail(self, self->ctx->status);
        return false;
    }
    self->flying = ring;
    for (int64_t k = 0; k < self->flying_head; k++) { /* unroll: the room has at least doubled */
        ring[room + k] = ring[k];
    }
    return true;
}

void gs_simulate_machine_call(gs_simulate_machine_state_t *self, int64_t job, int64_t item)
{
    if (!reserve_flying(self)) {
        return;
    }
    const gs_simulate_machine_model_t *m = self->model;
    int32_t task = self->job[job].task;
    gs_simulate_gpu_t *device = &self->device[m->device[task]];
    int64_t k = gs_simulate_gpu_new_op(device, self->ctx);
    if (k < 0) {
        gs_simulate_machine_fail(self, self->ctx->status);
        return;
    }
    gs_simulate_gpu_op_t *op = &device->op[k];
    op->owner = job;
    op->shape = m->item_begin[task] + item;
    op->room = task;
    op->rank = self->serial++;
    op->called = self->now;
    op->log = gs_simulate_machine_log_op(self, job, item);
    self->job[job].open++;
    int64_t at = (self->flying_head + self->flying_count++) & (self->flying_room - 1);
    self->flying[at] = (gs_simulate_machine_call_t){k, task};
}
