/* GPU server: Kim, Patel, Wang and Rajkumar, RTCSA 2017. */
#include "simulate/host/host_parts.h"

static int check(gs_context_t *ctx, const gs_simulate_host_model_t *model)
{
    if (model->server < 0 || model->server > model->cpus) {
        return gs_fail(ctx, GS_ERR_VALUE, "server", -1, model->server,
                       "a core, or the number of cores for a core of its own");
    }
    return gs_simulate_host_check_clock(ctx, "server_overhead", -1, model->overhead);
}

static void begin(gs_simulate_host_state_t *self, int32_t r)
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

static void kernel_ended(gs_simulate_host_state_t *self, int32_t client)
{
    gs_simulate_host_thread_t *t = &self->thread[client];
    t->part++;
    if (t->most[t->part] == 0) {
        end_segment(self);
    } else {
        compute(self, gs_simulate_host_time(self, t, t->part), GS_SIMULATE_HOST_DOES_COPY_OUT);
    }
}

static void run_kernel(gs_simulate_host_state_t *self, int32_t client)
{
    gs_simulate_host_thread_t *t = &self->thread[client];
    t->part++;
    if (t->most[t->part] == 0) {
        kernel_ended(self, client);
        return;
    }
    gs_simulate_host_leave(self, self->n, GS_SIMULATE_HOST_DOES_KERNEL);
    gs_simulate_host_start_kernel(self, client);
}

static void worked(gs_simulate_host_state_t *self, int32_t server)
{
    (void)server; /* the only thread that works for the way */
    switch (self->server) {
    case GS_SIMULATE_HOST_SERVER_WAKES:
    case GS_SIMULATE_HOST_SERVER_NOTIFIES:
        choose(self);
        break;
    default:
        if (self->thread[self->holder].part % GS_SIMULATE_HOST_PARTS == GS_SIMULATE_HOST_PART_IN) {
            run_kernel(self, self->holder);
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
        run_kernel(self, r);
    } else {
        compute(self, gs_simulate_host_time(self, t, t->part), GS_SIMULATE_HOST_DOES_COPY_IN);
    }
}

static void grant(gs_simulate_host_state_t *self)
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

const gs_simulate_host_way_t gs_simulate_host_gpu_server = {
    .name = "gpu_server",
    .modes = {[GS_SIMULATE_HOST_PARTITIONED] = GS_SIMULATE_HOST_SUSPEND},
    .expected_modes = "suspend with a GPU server",
    .server = true,
    .check = check,
    .begin = begin,
    .worked = worked,
    .kernel_ended = kernel_ended,
    .grant = grant,
};
