/* Calls of operations, which are then on their way to their streams. */
#include "core/vector.h"
#include "simulate/machine/machine_parts.h"

typedef gs_simulate_machine_op_t op_t;

/* A new record of an operation, -1 without memory. */
static int64_t new_op(gs_simulate_machine_state_t *self)
{
    int64_t k = self->op_free;
    if (k >= 0) {
        self->op_free = self->op[k].next[GS_SIMULATE_MACHINE_IN_STREAM];
        return k;
    }
    if (self->op_used == self->op_room) {
        op_t *ops =
            gs_vector_reserve(self->ctx, self->op, &self->op_room, self->op_used + 1, sizeof *ops);
        if (ops == NULL) {
            gs_simulate_machine_fail(self, self->ctx->status);
            return -1;
        }
        self->op = ops;
    }
    return self->op_used++;
}

/* Room for one more operation on its way; false without memory. */
static bool reserve_flying(gs_simulate_machine_state_t *self)
{
    int64_t room = self->flying_room;
    if (self->flying_count < room) {
        return true;
    }
    int64_t *ring =
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
    int64_t k = new_op(self);
    if (k < 0) {
        return;
    }
    int32_t task = self->job[job].task;
    self->op[k] = (op_t){.job = job,
                         .log = -1,
                         .called = self->now,
                         .serial = self->serial++,
                         .next = {-1, -1, -1},
                         .head = -1,
                         .joined = -1,
                         .task = task,
                         .item = (int32_t)item};
    int64_t begin = self->model->item_begin[task];
    self->op[k].waiting = self->model->item_blocks[begin + item];
    if (self->model->item_whole[begin + item] > 0) {
        self->op[k].waiting = 1;
    }
    self->op[k].log = gs_simulate_machine_log_op(self, k);
    self->job[job].open++;
    int64_t at = (self->flying_head + self->flying_count++) & (self->flying_room - 1);
    self->flying[at] = k;
}
