/* GPU lock of the host simulator: MPCP, FMLP+, FMLP-Long, OMLP, and the driver without a lock. */
#include "simulate/host/host_parts.h"

/* Minimum of `key` and the keys of the threads of a queue. */
static int64_t earliest(const gs_simulate_host_state_t *self, const gs_simulate_host_queue_t *queue,
                        int64_t key)
{
    for (int32_t r = queue->head; r >= 0; r = self->thread[r].next) {
        key = self->thread[r].base < key ? self->thread[r].base : key;
    }
    return key;
}

/* Key of the holder: boosted, inherited or its own. */
static int64_t holder_key(const gs_simulate_host_state_t *self, int32_t r)
{
    int64_t own = self->thread[r].base;
    if (!self->global) {
        return GS_SIMULATE_HOST_BOOST;
    }
    return self->gpu == GS_SIMULATE_HOST_GPU_DRIVER
               ? own
               : earliest(self, &self->overflow, earliest(self, &self->waiting, own));
}

void gs_simulate_host_lock_begin(gs_simulate_host_state_t *self, int32_t r)
{
    if (self->mode == GS_SIMULATE_HOST_MODE_SPIN) {
        gs_simulate_host_enter(self, r, self->thread[r].base, GS_NEVER, GS_SIMULATE_HOST_DOES_SPIN);
    } else {
        gs_simulate_host_leave(self, r, GS_SIMULATE_HOST_DOES_WAIT_GPU);
    }
    gs_simulate_host_insert(self, &self->asking, r, self->victim);
}

/* The holder starts its kernel, or skips it. */
static void run_kernel(gs_simulate_host_state_t *self, int32_t r)
{
    gs_simulate_host_thread_t *t = &self->thread[r];
    t->part++;
    if (t->most[t->part] == 0) {
        gs_simulate_host_lock_kernel_ended(self, r);
        return;
    }
    if (self->mode == GS_SIMULATE_HOST_MODE_SUSPEND) {
        gs_simulate_host_leave(self, r, GS_SIMULATE_HOST_DOES_KERNEL);
    } else {
        gs_simulate_host_enter(self, r, holder_key(self, r), GS_NEVER, GS_SIMULATE_HOST_DOES_SPIN);
    }
    gs_simulate_host_start_kernel(self, r);
}

static void release(gs_simulate_host_state_t *self, int32_t r)
{
    self->holder = -1;
    self->places++;
    gs_simulate_host_resume(self, r);
}

void gs_simulate_host_lock_copied(gs_simulate_host_state_t *self, int32_t r)
{
    if (self->thread[r].part % GS_SIMULATE_HOST_PARTS == GS_SIMULATE_HOST_PART_IN) {
        run_kernel(self, r);
    } else {
        release(self, r);
    }
}

void gs_simulate_host_lock_kernel_ended(gs_simulate_host_state_t *self, int32_t r)
{
    gs_simulate_host_thread_t *t = &self->thread[r];
    t->part++;
    if (t->most[t->part] == 0) {
        release(self, r);
    } else {
        gs_simulate_host_enter(self, r, holder_key(self, r),
                               gs_simulate_host_time(self, t, t->part),
                               GS_SIMULATE_HOST_DOES_COPY_OUT);
    }
}

/* Queues the requests of this instant. */
static void queue_requests(gs_simulate_host_state_t *self)
{
    bool omlp = self->gpu == GS_SIMULATE_HOST_GPU_OMLP;
    for (; omlp && self->places > 0 && self->overflow.head >= 0; self->places--) {
        gs_simulate_host_append(self, &self->waiting, gs_simulate_host_pop(self, &self->overflow));
    }
    while (self->asking.head >= 0) {
        int32_t r = gs_simulate_host_pop(self, &self->asking);
        if (self->gpu == GS_SIMULATE_HOST_GPU_MPCP) {
            gs_simulate_host_insert(self, &self->waiting, r, -1);
        } else if (omlp && self->places == 0) {
            gs_simulate_host_insert(self, &self->overflow, r, -1);
        } else {
            gs_simulate_host_line_up(self, &self->waiting, r);
            self->places--;
        }
    }
}

void gs_simulate_host_lock_grant(gs_simulate_host_state_t *self)
{
    if (self->asking.head < 0 && self->holder >= 0) {
        return; /* nothing has changed */
    }
    queue_requests(self);
    if (self->holder < 0 && self->waiting.head >= 0) {
        int32_t r = self->holder = gs_simulate_host_pop(self, &self->waiting);
        const gs_simulate_host_thread_t *t = &self->thread[r];
        if (t->most[t->part] == 0) {
            run_kernel(self, r);
        } else {
            gs_simulate_host_enter(self, r, holder_key(self, r),
                                   gs_simulate_host_time(self, t, t->part),
                                   GS_SIMULATE_HOST_DOES_COPY_IN);
        }
    } else if (self->holder >= 0 && self->global) {
        gs_simulate_host_rekey(self, self->holder, holder_key(self, self->holder));
    }
}
