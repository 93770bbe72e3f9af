/* What happens next on the CPUs and the GPU? */
#include "simulate/host/host_parts.h"

/* Elementary operations of one instant, for the poll. */
#define INSTANT_WORK 16

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void end_kernels(gs_simulate_host_state_t *s)
{
    while (gs_heap_time(&s->kernels) == s->now) {
        int32_t r = (int32_t)s->kernels.entry[0].item;
        gs_heap_pop(&s->kernels);
        if (s->gpu == GS_SIMULATE_HOST_GPU_STGM) {
            gs_simulate_host_stgm_kernel_ended(s, r);
        } else if (s->gpu == GS_SIMULATE_HOST_GPU_SERVER) {
            gs_simulate_host_server_kernel_ended(s);
        } else if (s->gpu == GS_SIMULATE_HOST_GPU_CONTAINER) {
            gs_simulate_host_container_kernel_ended(s, r);
        } else {
            gs_simulate_host_lock_kernel_ended(s, r);
        }
    }
}

static void grant(gs_simulate_host_state_t *s)
{
    if (s->gpu == GS_SIMULATE_HOST_GPU_STGM) {
        gs_simulate_host_stgm_grant(s);
    } else if (s->gpu == GS_SIMULATE_HOST_GPU_SERVER) {
        gs_simulate_host_server_grant(s);
    } else if (s->gpu == GS_SIMULATE_HOST_GPU_CONTAINER) {
        gs_simulate_host_container_grant(s);
    } else {
        gs_simulate_host_lock_grant(s);
    }
}

static void pass_instant(gs_simulate_host_state_t *s)
{
    bool box = s->gpu == GS_SIMULATE_HOST_GPU_CONTAINER;
    if (!box) {
        end_kernels(s);
    }
    while (gs_simulate_host_next_end(s) == s->now) {
        gs_simulate_host_worked(s, gs_simulate_host_take_end(s));
    }
    if (box) { /* a budget may end with the kernel for which its CPU spins: the CPU comes first */
        end_kernels(s);
    }
    while (gs_heap_time(&s->releases) == s->now && s->status == GS_OK) {
        gs_simulate_host_release_due(s);
    }
    if (box) { /* its server has its job of this instant */
        gs_simulate_host_container_grant(s);
    }
    do {
        gs_simulate_host_dispatch(s);
        grant(s);
    } while (s->marked && s->status == GS_OK);
}

int gs_simulate_host_run(gs_simulate_host_t *host, gs_context_t *ctx, int64_t instants)
{
    gs_simulate_host_state_t *s = host->state;
    s->ctx = ctx;
    s->host = host;
    for (; instants > 0 && !host->done && s->status == GS_OK; instants--) {
        int64_t next = earlier(earlier(gs_simulate_host_next_end(s), gs_heap_time(&s->kernels)),
                               earlier(gs_heap_time(&s->releases), s->container.alarm));
        if (next >= GS_NEVER) {
            host->done = true;
            break;
        }
        host->now = s->now = next;
        host->instants++;
        pass_instant(s);
        int status = gs_poll(ctx, INSTANT_WORK);
        if (status != GS_OK) {
            gs_simulate_host_fail(s, status);
        }
    }
    return s->status;
}

static const char *const HOST_POLICY[] = {"partitioned", "gedf", NULL};
static const char *const HOST_PROTOCOL[] = {"stgm", "mpcp",   "fmlp_plus", "gpu_server", "fmlp",
                                            "omlp", "driver", "container", NULL};
static const gs_method_option_t HOST_OPTIONS[] = {
    {"policy", "choice", HOST_POLICY, "partitioned", "CPU scheduler"},
    {"protocol", "choice", HOST_PROTOCOL, NULL, "how the GPU is shared; stgm or fmlp unless given"},
};

const gs_method_t gs_simulate_host_host_method = {
    .name = "host",
    .model = "HostTasks",
    .function = "simulate.host",
    .claim = "simulation",
    .source = "[RTCSA19], [RTNS10]",
    .summary = "Tasks on CPUs and a GPU, under one of seven protocols.",
    .options = HOST_OPTIONS,
    .option_count = sizeof HOST_OPTIONS / sizeof *HOST_OPTIONS,
};
