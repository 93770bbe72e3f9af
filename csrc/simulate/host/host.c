/* Simulator of tasks with CPU and GPU segments: instants. */
#include "simulate/host/host.h"

#include "simulate/host/host_parts.h"

/* Elementary operations of one instant, for the poll. */
#define INSTANT_WORK 16

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void end_kernels(gs_simulate_host_state_t *self)
{
    const gs_simulate_host_way_t *way = self->way;
    if (self->alarm == self->now && way->alarm != NULL) {
        way->alarm(self);
    }
    while (gs_heap_time(&self->kernels) == self->now) {
        int32_t r = (int32_t)self->kernels.entry[0].item;
        gs_heap_pop(&self->kernels);
        way->kernel_ended(self, r);
    }
}

void gs_simulate_host_pass_instant(gs_simulate_host_state_t *self)
{
    const gs_simulate_host_way_t *way = self->way;
    if (!way->cpus_first) {
        end_kernels(self);
    }
    while (gs_simulate_host_next_end(self) == self->now) {
        gs_simulate_host_worked(self, gs_simulate_host_take_end(self));
    }
    if (way->cpus_first) {
        end_kernels(self);
    }
    while (gs_heap_time(&self->releases) == self->now && self->status == GS_OK) {
        gs_simulate_host_release_due(self);
    }
    if (way->released != NULL) {
        way->released(self);
    }
    do {
        gs_simulate_host_dispatch(self);
        way->grant(self);
    } while (self->marked && self->status == GS_OK);
    if (way->settle != NULL) {
        way->settle(self);
    }
}

int gs_simulate_host_run(gs_simulate_host_t *self, gs_context_t *ctx, int64_t instants)
{
    gs_simulate_host_state_t *state = self->state;
    state->ctx = ctx;
    state->host = self;
    for (; instants > 0 && !self->done && state->status == GS_OK; instants--) {
        int64_t next =
            earlier(earlier(gs_simulate_host_next_end(state), gs_heap_time(&state->kernels)),
                    earlier(gs_heap_time(&state->releases), state->alarm));
        if (next >= GS_NEVER) {
            self->done = true;
            break;
        }
        self->now = state->now = next;
        self->instants++;
        gs_simulate_host_pass_instant(state);
        int status = gs_poll(ctx, INSTANT_WORK);
        if (status != GS_OK) {
            gs_simulate_host_fail(state, status);
        }
    }
    return state->status;
}

static const gs_method_option_t HOST_OPTIONS[] = {
    {"way", "way", NULL, "stgm", "the way of sharing the GPU"},
    {"until", "time", NULL, NULL, "end of the interval in which jobs are released"},
    {"releases", "data", NULL, NULL, "release times, or a share of the period for sporadic tasks"},
    {"execution", "data", NULL, "1.0",
     "execution times: a share of the worst case, a range, times"},
    {"victim", "data", NULL, NULL, "task for which other releases are chosen to be bad"},
    {"seed", "data", NULL, NULL, "seed of random numbers"},
    {"index", "integer", NULL, "0", "number of the set under the seed"},
    {"intervals", "boolean", NULL, "True", "whether the intervals are kept"},
};

const gs_method_t gs_simulate_host_host_method = {
    .name = "host",
    .model = "HostTasks",
    .function = "simulate.host",
    .claim = "simulation",
    .source = "[RTCSA19], [RTNS10], [ECRTS24]",
    .summary = "Tasks on CPUs and a GPU, under one way of sharing it.",
    .options = HOST_OPTIONS,
    .option_count = sizeof HOST_OPTIONS / sizeof *HOST_OPTIONS,
};
