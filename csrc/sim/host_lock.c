/* Who holds the one lock on the GPU? FORMULAS: MPCP (priority queue), FMLP+ (FIFO). */
#include "sim/host_parts.h"

void gs_host_lock_begin(gs_host_state_t *s, int32_t r)
{
    if (s->mode == GS_HOST_MODE_SPIN) {
        gs_host_enter(s, r, s->thread[r].base, GS_NEVER, GS_HOST_DOES_SPIN);
    } else {
        gs_host_leave(s, r, GS_HOST_DOES_WAIT_GPU);
    }
    gs_host_insert(s, &s->asking, r, s->victim);
}

/* The holder starts its kernel, or skips it. */
static void run_kernel(gs_host_state_t *s, int32_t r)
{
    gs_host_thread_t *t = &s->thread[r];
    t->part++;
    if (t->most[t->part] == 0) {
        gs_host_lock_kernel_ended(s, r);
        return;
    }
    if (s->mode == GS_HOST_MODE_SUSPEND) {
        gs_host_leave(s, r, GS_HOST_DOES_KERNEL);
    } else {
        gs_host_enter(s, r, GS_HOST_BOOST, GS_NEVER, GS_HOST_DOES_SPIN);
    }
    gs_host_start_kernel(s, r);
}

static void release(gs_host_state_t *s, int32_t r)
{
    s->holder = -1;
    gs_host_resume(s, r);
}

void gs_host_lock_copied(gs_host_state_t *s, int32_t r)
{
    if (s->thread[r].part % GS_HOST_PARTS == GS_HOST_PART_IN) {
        run_kernel(s, r);
    } else {
        release(s, r);
    }
}

void gs_host_lock_kernel_ended(gs_host_state_t *s, int32_t r)
{
    gs_host_thread_t *t = &s->thread[r];
    t->part++;
    if (t->most[t->part] == 0) {
        release(s, r);
    } else {
        gs_host_enter(s, r, GS_HOST_BOOST, gs_host_time(s, t, t->part), GS_HOST_DOES_COPY_OUT);
    }
}

void gs_host_lock_grant(gs_host_state_t *s)
{
    while (s->asking.head >= 0) {
        int32_t r = gs_host_pop(s, &s->asking);
        if (s->gpu == GS_HOST_GPU_MPCP) {
            gs_host_insert(s, &s->waiting, r, -1);
        } else {
            gs_host_append(s, &s->waiting, r);
        }
    }
    if (s->holder < 0 && s->waiting.head >= 0) {
        int32_t r = s->holder = gs_host_pop(s, &s->waiting);
        const gs_host_thread_t *t = &s->thread[r];
        if (t->most[t->part] == 0) {
            run_kernel(s, r);
        } else {
            gs_host_enter(s, r, GS_HOST_BOOST, gs_host_time(s, t, t->part), GS_HOST_DOES_COPY_IN);
        }
    }
}
