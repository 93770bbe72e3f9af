/* Turns on the GPU of tasks with a context each, for the host simulator: time slices and GCAPS. */
#include "simulate/host/host_parts.h"

static bool suspends(const gs_simulate_host_state_t *self)
{
    return self->mode == GS_SIMULATE_HOST_MODE_SUSPEND;
}

void gs_simulate_host_begin_turn(gs_simulate_host_state_t *self, int32_t r)
{
    gs_simulate_host_thread_t *t = &self->thread[r];
    self->turn.runs = r;
    self->turn.since = self->now;
    gs_simulate_host_note_start(self, t, true);
    if (suspends(self)) {
        gs_simulate_host_note(self, t, GS_SIMULATE_HOST_DOES_KERNEL);
    }
}

void gs_simulate_host_end_turn(gs_simulate_host_state_t *self)
{
    gs_simulate_host_thread_t *t = &self->thread[self->turn.runs];
    t->left -= self->now - self->turn.since;
    gs_simulate_host_log_kernel(self, t, self->turn.since, self->now);
    if (suspends(self)) {
        gs_simulate_host_note(self, t, GS_SIMULATE_HOST_DOES_WAIT_GPU);
    }
    self->turn.runs = -1;
    self->alarm = GS_NEVER;
}

void gs_simulate_host_wait_turn(gs_simulate_host_state_t *self, int32_t r)
{
    if (suspends(self)) {
        gs_simulate_host_leave(self, r, GS_SIMULATE_HOST_DOES_WAIT_GPU);
    } else {
        gs_simulate_host_enter(self, r, self->thread[r].base, GS_NEVER, GS_SIMULATE_HOST_DOES_SPIN);
    }
}

void gs_simulate_host_copy(gs_simulate_host_state_t *self, int32_t r)
{
    const gs_simulate_host_thread_t *t = &self->thread[r];
    bool in = t->part % GS_SIMULATE_HOST_PARTS == GS_SIMULATE_HOST_PART_IN;
    gs_simulate_host_enter(self, r, t->base, gs_simulate_host_time(self, t, t->part),
                           in ? GS_SIMULATE_HOST_DOES_COPY_IN : GS_SIMULATE_HOST_DOES_COPY_OUT);
}
