/* What does the GPU server do? Kim, Patel, Wang, Rajkumar, RTCSA 2017. */
#include "simulate/host/host_parts.h"

void gs_simulate_host_server_begin(gs_simulate_host_state_t *s, int32_t r)
{
    gs_simulate_host_leave(s, r, GS_SIMULATE_HOST_DOES_WAIT_GPU);
    gs_simulate_host_insert(s, &s->asking, r, s->victim);
}

static void compute(gs_simulate_host_state_t *s, int64_t work, int8_t what)
{
    gs_simulate_host_enter(s, s->n, GS_SIMULATE_HOST_BOOST, work, what);
}

/* It keeps its core until, at the end of the instant, it tells the client that it served, if any,
 * and has chosen the next. */
static void choose(gs_simulate_host_state_t *s)
{
    gs_simulate_host_thread_t *server = &s->thread[s->n];
    s->server = GS_SIMULATE_HOST_SERVER_CHOOSES;
    if (server->ready) {
        server->work = GS_NEVER; /* its core need not be given to it for no time */
    } else {
        compute(s, GS_NEVER, GS_SIMULATE_HOST_DOES_OVERHEAD);
    }
}

static void run_kernel(gs_simulate_host_state_t *s)
{
    gs_simulate_host_thread_t *t = &s->thread[s->holder];
    t->part++;
    if (t->most[t->part] == 0) {
        gs_simulate_host_server_kernel_ended(s);
        return;
    }
    gs_simulate_host_leave(s, s->n, GS_SIMULATE_HOST_DOES_KERNEL);
    gs_simulate_host_start_kernel(s, s->holder);
}

/* The segment has ended; what is left is to say so. */
static void end_segment(gs_simulate_host_state_t *s)
{
    if (s->host->model.overhead == 0) {
        choose(s);
    } else {
        s->server = GS_SIMULATE_HOST_SERVER_NOTIFIES;
        compute(s, s->host->model.overhead, GS_SIMULATE_HOST_DOES_OVERHEAD);
    }
}

void gs_simulate_host_server_kernel_ended(gs_simulate_host_state_t *s)
{
    gs_simulate_host_thread_t *t = &s->thread[s->holder];
    t->part++;
    if (t->most[t->part] == 0) {
        end_segment(s);
    } else {
        compute(s, gs_simulate_host_time(s, t, t->part), GS_SIMULATE_HOST_DOES_COPY_OUT);
    }
}

void gs_simulate_host_server_worked(gs_simulate_host_state_t *s)
{
    switch (s->server) {
    case GS_SIMULATE_HOST_SERVER_WAKES:
    case GS_SIMULATE_HOST_SERVER_NOTIFIES:
        choose(s);
        break;
    default:
        if (s->thread[s->holder].part % GS_SIMULATE_HOST_PARTS == GS_SIMULATE_HOST_PART_IN) {
            run_kernel(s);
        } else {
            end_segment(s);
        }
    }
}

static void serve(gs_simulate_host_state_t *s)
{
    int32_t r = gs_simulate_host_pop(s, &s->waiting);
    gs_simulate_host_thread_t *t = &s->thread[r];
    s->server = GS_SIMULATE_HOST_SERVER_WORKS;
    gs_simulate_host_note(s, t, GS_SIMULATE_HOST_DOES_SERVED);
    gs_simulate_host_note_start(s, t);
    gs_simulate_host_note(s, &s->thread[s->n],
                          GS_SIMULATE_HOST_DOES_NOTHING); /* what it did so far was for no one */
    s->holder = r;
    if (t->most[t->part] == 0) {
        run_kernel(s);
    } else {
        compute(s, gs_simulate_host_time(s, t, t->part), GS_SIMULATE_HOST_DOES_COPY_IN);
    }
}

void gs_simulate_host_server_grant(gs_simulate_host_state_t *s)
{
    while (s->asking.head >= 0) {
        gs_simulate_host_insert(s, &s->waiting, gs_simulate_host_pop(s, &s->asking), -1);
    }
    if (s->server == GS_SIMULATE_HOST_SERVER_IDLE && s->waiting.head >= 0) {
        if (s->host->model.overhead == 0) {
            s->server = GS_SIMULATE_HOST_SERVER_CHOOSES;
        } else {
            s->server = GS_SIMULATE_HOST_SERVER_WAKES;
            compute(s, s->host->model.overhead, GS_SIMULATE_HOST_DOES_OVERHEAD);
        }
    }
    if (s->server != GS_SIMULATE_HOST_SERVER_CHOOSES) {
        return;
    }
    int32_t client = s->holder;
    s->holder = -1;
    if (s->waiting.head >= 0) {
        serve(s);
    } else {
        s->server = GS_SIMULATE_HOST_SERVER_IDLE;
        gs_simulate_host_leave(s, s->n, GS_SIMULATE_HOST_DOES_NOTHING);
    }
    if (client >= 0) { /* its next request comes too late to be chosen now */
        gs_simulate_host_resume(s, client);
    }
}
