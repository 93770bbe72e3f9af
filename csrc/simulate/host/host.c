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
    if (self->turn.alarm == self->now) {
        if (self->gpu == GS_SIMULATE_HOST_GPU_SLICES) {
            gs_simulate_host_slices_ended(self);
        } else {
            gs_simulate_host_gcaps_kernel_ended(self);
        }
    }
    while (gs_heap_time(&self->kernels) == self->now) {
        int32_t r = (int32_t)self->kernels.entry[0].item;
        gs_heap_pop(&self->kernels);
        if (self->gpu == GS_SIMULATE_HOST_GPU_STGM) {
            gs_simulate_host_stgm_kernel_ended(self, r);
        } else if (self->gpu == GS_SIMULATE_HOST_GPU_SERVER) {
            gs_simulate_host_server_kernel_ended(self);
        } else if (self->gpu == GS_SIMULATE_HOST_GPU_CONTAINER) {
            gs_simulate_host_container_kernel_ended(self, r);
        } else {
            gs_simulate_host_lock_kernel_ended(self, r);
        }
    }
}

static void grant(gs_simulate_host_state_t *self)
{
    if (self->gpu == GS_SIMULATE_HOST_GPU_STGM) {
        gs_simulate_host_stgm_grant(self);
    } else if (self->gpu == GS_SIMULATE_HOST_GPU_SERVER) {
        gs_simulate_host_server_grant(self);
    } else if (self->gpu == GS_SIMULATE_HOST_GPU_CONTAINER) {
        gs_simulate_host_container_grant(self);
    } else if (self->gpu == GS_SIMULATE_HOST_GPU_GCAPS) {
        gs_simulate_host_gcaps_grant(self);
    } else if (self->gpu != GS_SIMULATE_HOST_GPU_SLICES) {
        gs_simulate_host_lock_grant(self);
    }
}

void gs_simulate_host_pass_instant(gs_simulate_host_state_t *self)
{
    bool container = self->gpu == GS_SIMULATE_HOST_GPU_CONTAINER;
    if (!container) {
        end_kernels(self);
    }
    while (gs_simulate_host_next_end(self) == self->now) {
        gs_simulate_host_worked(self, gs_simulate_host_take_end(self));
    }
    if (container) { /* if a budget and the kernel for which its CPU spins end together, the CPU
                        comes first */
        end_kernels(self);
    }
    while (gs_heap_time(&self->releases) == self->now && self->status == GS_OK) {
        gs_simulate_host_release_due(self);
    }
    if (container) { /* releases the job of the server of this instant */
        gs_simulate_host_container_grant(self);
    }
    do {
        gs_simulate_host_dispatch(self);
        grant(self);
    } while (self->marked && self->status == GS_OK);
    if (self->gpu == GS_SIMULATE_HOST_GPU_SLICES) {
        gs_simulate_host_slices_settle(self);
    } else if (self->gpu == GS_SIMULATE_HOST_GPU_GCAPS) {
        gs_simulate_host_gcaps_settle(self);
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
                    earlier(gs_heap_time(&state->releases),
                            earlier(state->container.alarm, state->turn.alarm)));
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

static const char *const HOST_POLICY[] = {"partitioned", "gedf", NULL};
static const char *const HOST_PROTOCOL[] = {"stgm",        "mpcp",      "fmlp_plus", "gpu_server",
                                            "time_slices", "gcaps",     "fmlp",      "omlp",
                                            "driver",      "container", NULL};
static const gs_method_option_t HOST_OPTIONS[] = {
    {"policy", "choice", HOST_POLICY, "partitioned", "CPU scheduler"},
    {"protocol", "choice", HOST_PROTOCOL, NULL,
     "protocol for sharing the GPU; default: stgm, or fmlp with gedf"},
};

const gs_method_t gs_simulate_host_host_method = {
    .name = "host",
    .model = "HostTasks",
    .function = "simulate.host",
    .claim = "simulation",
    .source = "[RTCSA19], [RTNS10], [ECRTS24]",
    .summary = "Tasks on CPUs and a GPU, under one of ten protocols.",
    .options = HOST_OPTIONS,
    .option_count = sizeof HOST_OPTIONS / sizeof *HOST_OPTIONS,
};
