/* GPU server: Kim, Patel, Wang and Rajkumar, RTCSA 2017. */
#include "simulate/host/host_parts.h"

void gs_simulate_host_server_begin(gs_simulate_host_state_t *self, int32_t r)
{
    gs_simulate_host_leave(self, r, GS_SIMULATE_HOST_DOES_WAIT_GPU);
    gs_simulate_host_insert(self, &self->asking, r, self->victim);
}

static void compute(gs_simulate_host_state_t *self, int64_t work, int8_t what)
{
    gs_simulate_host_enter(self, self->n, GS_SIMULATE_HOST_BOOST, work, what);
}

/* The server keeps its core until the end of the instant, when it notifies the client served, if
 * any, and selects the next. */
static void choose(gs_simulate_host_state_t *self)
{
    gs_simulate_host_thread_t *server = &self->thread[self->n];
    self->server = GS_SIMULATE_HOST_SERVER_CHOOSES;
    if (server->ready) {
        server->work = GS_NEVER; /* it keeps its core without a new dispatch */
    } else {
        compute(self, GS_NEVER, GS_SIMULATE_HOST_DOES_OVERHEAD);
    }
}

static void run_kernel(gs_simulate_host_state_t *self)
{
    gs_simulate_host_thread_t *t = &self->thread[self->holder];
    t->part++;
    if (t->most[t->part] == 0) {
        gs_simulate_host_server_kernel_ended(self);
        return;
    }
    gs_simulate_host_leave(self, self->n, GS_SIMULATE_HOST_DOES_KERNEL);
    gs_simulate_host_start_kernel(self, self->holder);
}

/* The segment has ended; the client is notified after the overhead. */
static void end_segment(gs_simulate_host_state_t *self)
{
    if (self->host->model.overhead == 0) {
        choose(self);
    } else {
        self->server = GS_SIMULATE_HOST_SERVER_NOTIFIES;
        compute(self, self->host->model.overhead, GS_SIMULATE_HOST_DOES_OVERHEAD);
    }
}

void gs_simulate_host_server_kernel_ended(gs_simulate_host_state_t *self)
{
    gs_simulate_host_thread_t *t = &self->thread[self->holder];
    t->part++;
    if (t->most[t->part] == 0) {
        end_segment(self);
    } else {
        compute(self, gs_simulate_host_time(self, t, t->part), GS_SIMULATE_HOST_DOES_COPY_OUT);
    }
}

void gs_simulate_host_server_worked(gs_simulate_host_state_t *self)
{
    switch (self->server) {
    case GS_SIMULATE_HOST_SERVER_WAKES:
    case GS_SIMULATE_HOST_SERVER_NOTIFIES:
        choose(self);
        break;
    default:
        if (self->thread[self->holder].part % GS_SIMULATE_HOST_PARTS == GS_SIMULATE_HOST_PART_IN) {
            run_kernel(self);
        } else {
            end_segment(self);
        }
    }
}

static void serve(gs_simulate_host_state_t *self)
{
    int32_t r = gs_simulate_host_pop(self, &self->waiting);
    gs_simulate_host_thread_t *t = &self->thread[r];
    self->server = GS_SIMULATE_HOST_SERVER_WORKS;
    gs_simulate_host_note(self, t, GS_SIMULATE_HOST_DOES_SERVED);
    gs_simulate_host_note_start(self, t, true);
    gs_simulate_host_note(self, &self->thread[self->n],
                          GS_SIMULATE_HOST_DOES_NOTHING); /* its work so far was for no client */
    self->holder = r;
    if (t->most[t->part] == 0) {
        run_kernel(self);
    } else {
        compute(self, gs_simulate_host_time(self, t, t->part), GS_SIMULATE_HOST_DOES_COPY_IN);
    }
}

void gs_simulate_host_server_grant(gs_simulate_host_state_t *self)
{
    while (self->asking.head >= 0) {
        gs_simulate_host_insert(self, &self->waiting, gs_simulate_host_pop(self, &self->asking),
                                -1);
    }
    if (self->server == GS_SIMULATE_HOST_SERVER_IDLE && self->waiting.head >= 0) {
        if (self->host->model.overhead == 0) {
            self->server = GS_SIMULATE_HOST_SERVER_CHOOSES;
        } else {
            self->server = GS_SIMULATE_HOST_SERVER_WAKES;
            compute(self, self->host->model.overhead, GS_SIMULATE_HOST_DOES_OVERHEAD);
        }
    }
    if (self->server != GS_SIMULATE_HOST_SERVER_CHOOSES) {
        return;
    }
    int32_t client = self->holder;
    self->holder = -1;
    if (self->waiting.head >= 0) {
        serve(self);
    } else {
        self->server = GS_SIMULATE_HOST_SERVER_IDLE;
        gs_simulate_host_leave(self, self->n, GS_SIMULATE_HOST_DOES_NOTHING);
    }
    if (client >= 0) { /* its next request comes too late for this selection */
        gs_simulate_host_resume(self, client);
    }
}
