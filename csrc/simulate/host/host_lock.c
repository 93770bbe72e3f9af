/* Who holds the one lock on the GPU, and how urgent is its holder? MPCP, FMLP+, FMLP-Long, OMLP,
 * and the driver that is none. */
#include "simulate/host/host_parts.h"

/* The earliest key of a queue's threads, or `key`. */
static int64_t earliest(const gs_simulate_host_state_t *s, const gs_simulate_host_queue_t *queue,
                        int64_t key)
{
    for (int32_t r = queue->head; r >= 0; r = s->thread[r].next) {
        key = s->thread[r].base < key ? s->thread[r].base : key;
    }
    return key;
}

/* How urgent the holder is. */
static int64_t holder_key(const gs_simulate_host_state_t *s, int32_t r)
{
    int64_t own = s->thread[r].base;
    if (!s->global) {
        return GS_SIMULATE_HOST_BOOST;
    }
    return s->gpu == GS_SIMULATE_HOST_GPU_DRIVER
               ? own
               : earliest(s, &s->overflow, earliest(s, &s->waiting, own));
}

void gs_simulate_host_lock_begin(gs_simulate_host_state_t *s, int32_t r)
{
    if (s->mode == GS_SIMULATE_HOST_MODE_SPIN) {
        gs_simulate_host_enter(s, r, s->thread[r].base, GS_NEVER, GS_SIMULATE_HOST_DOES_SPIN);
    } else {
        gs_simulate_host_leave(s, r, GS_SIMULATE_HOST_DOES_WAIT_GPU);
    }
    gs_simulate_host_insert(s, &s->asking, r, s->victim);
}

/* The holder starts its kernel, or skips it. */
static void run_kernel(gs_simulate_host_state_t *s, int32_t r)
{
    gs_simulate_host_thread_t *t = &s->thread[r];
    t->part++;
    if (t->most[t->part] == 0) {
        gs_simulate_host_lock_kernel_ended(s, r);
        return;
    }
    if (s->mode == GS_SIMULATE_HOST_MODE_SUSPEND) {
        gs_simulate_host_leave(s, r, GS_SIMULATE_HOST_DOES_KERNEL);
    } else {
        gs_simulate_host_enter(s, r, holder_key(s, r), GS_NEVER, GS_SIMULATE_HOST_DOES_SPIN);
    }
    gs_simulate_host_start_kernel(s, r);
}

static void release(gs_simulate_host_state_t *s, int32_t r)
{
    s->holder = -1;
    s->places++;
    gs_simulate_host_resume(s, r);
}

void gs_simulate_host_lock_copied(gs_simulate_host_state_t *s, int32_t r)
{
    if (s->thread[r].part % GS_SIMULATE_HOST_PARTS == GS_SIMULATE_HOST_PART_IN) {
        run_kernel(s, r);
    } else {
        release(s, r);
    }
}

void gs_simulate_host_lock_kernel_ended(gs_simulate_host_state_t *s, int32_t r)
{
    gs_simulate_host_thread_t *t = &s->thread[r];
    t->part++;
    if (t->most[t->part] == 0) {
        release(s, r);
    } else {
        gs_simulate_host_enter(s, r, holder_key(s, r), gs_simulate_host_time(s, t, t->part),
                               GS_SIMULATE_HOST_DOES_COPY_OUT);
    }
}

/* Queues who asks at this instant. */
static void queue_requests(gs_simulate_host_state_t *s)
{
    bool omlp = s->gpu == GS_SIMULATE_HOST_GPU_OMLP;
    for (; omlp && s->places > 0 && s->overflow.head >= 0; s->places--) {
        gs_simulate_host_append(s, &s->waiting, gs_simulate_host_pop(s, &s->overflow));
    }
    while (s->asking.head >= 0) {
        int32_t r = gs_simulate_host_pop(s, &s->asking);
        if (s->gpu == GS_SIMULATE_HOST_GPU_MPCP) {
            gs_simulate_host_insert(s, &s->waiting, r, -1);
        } else if (omlp && s->places == 0) {
            gs_simulate_host_insert(s, &s->overflow, r, -1);
        } else {
            gs_simulate_host_append(s, &s->waiting, r);
            s->places--;
        }
    }
}

void gs_simulate_host_lock_grant(gs_simulate_host_state_t *s)
{
    if (s->asking.head < 0 && s->holder >= 0) {
        return; /* as it was */
    }
    queue_requests(s);
    if (s->holder < 0 && s->waiting.head >= 0) {
        int32_t r = s->holder = gs_simulate_host_pop(s, &s->waiting);
        const gs_simulate_host_thread_t *t = &s->thread[r];
        if (t->most[t->part] == 0) {
            run_kernel(s, r);
        } else {
            gs_simulate_host_enter(s, r, holder_key(s, r), gs_simulate_host_time(s, t, t->part),
                                   GS_SIMULATE_HOST_DOES_COPY_IN);
        }
    } else if (s->holder >= 0 && s->global) {
        gs_simulate_host_rekey(s, s->holder, holder_key(s, s->holder));
    }
}
