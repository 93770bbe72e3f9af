/* Simulator of the NVIDIA scheduling hierarchy: launches and time slices. */
#include "simulate/hierarchy/hierarchy.h"

#include "core/vector.h"
#include "simulate/hierarchy/hierarchy_parts.h"

#define EVENT_WORK 16

typedef gs_simulate_hierarchy_t sim_t;

/* Contexts ------------------------------------------------------------------------------------ */

/* The next context of the runlist with work, -1 when there is none. */
static int64_t next_context(sim_t *self)
{
    for (int64_t k = 0; k < self->model.runlist_length; k++) {
        self->turn = self->turn + 1 == self->model.runlist_length ? 0 : self->turn + 1;
        int64_t c = self->model.runlist == NULL ? self->turn : self->model.runlist[self->turn];
        if (self->gpu.context[c].work > 0) {
            return c;
        }
    }
    return -1;
}

/* Gives the GPU to another context, -1: to none; logs how long the active one had it. */
static int serve(sim_t *self, gs_context_t *ctx, int64_t context)
{
    int64_t active = self->gpu.active;
    int64_t from = active < 0 ? self->now : self->gpu.context[active].resumed;
    if (from < self->now) {
        if (self->slice_count == self->slice_room) {
            gs_simulate_hierarchy_slice_t *grown = gs_vector_reserve(
                ctx, self->slice, &self->slice_room, self->slice_count + 1, sizeof *grown);
            if (grown == NULL) {
                return ctx->status;
            }
            self->slice = grown;
        }
        self->slice[self->slice_count++] = (gs_simulate_hierarchy_slice_t){active, from, self->now};
    }
    gs_simulate_gpu_serve(&self->gpu, context);
    return GS_OK;
}

/* Switches to the next context of the runlist with work, if the time slice is over. */
static int change_context(sim_t *self, gs_context_t *ctx)
{
    const gs_simulate_gpu_t *gpu = &self->gpu;
    const int64_t *slice = self->model.timeslice;
    bool has_work = gpu->active >= 0 && gpu->context[gpu->active].work > 0;
    if (has_work && self->slice_end < self->now) {
        /* No other context had work, or the end of the slice would have been an instant: the slice
         * was extended by whole slices. The last one continues even if another context has work by
         * now. */
        int64_t length = slice[gpu->active];
        self->slice_end += (self->now - self->slice_end + length - 1) / length * length;
    }
    if (has_work && self->now < self->slice_end) {
        return GS_OK;
    }
    if (has_work && gpu->working == 1) { /* no other context has work */
        self->slice_end += slice[gpu->active];
        return GS_OK;
    }
    int64_t next = gpu->working == 0 ? -1 : next_context(self);
    if (next >= 0 && next == gpu->active) { /* it also has the next slice of the round */
        self->slice_end = self->now + slice[next];
        return GS_OK;
    }
    int status = serve(self, ctx, next);
    if (next >= 0) {
        self->slice_end = gpu->context[next].resumed + slice[next];
    }
    return status;
}

/* The instant ----------------------------------------------------------------------------------*/

static int64_t earliest(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Time of the next event. */
static int64_t next_instant(const sim_t *self)
{
    int64_t next = gs_simulate_gpu_next(&self->gpu);
    if (self->launched < self->model.ops) {
        next = earliest(next, self->model.time[self->order[self->launched]]);
    }
    if (self->gpu.working > 1 && gs_simulate_gpu_runs(&self->gpu)) {
        next = earliest(next, self->slice_end > self->now ? self->slice_end : self->now);
    }
    return next;
}

static int advance(sim_t *self, gs_context_t *ctx, int64_t instant)
{
    gs_simulate_gpu_t *gpu = &self->gpu;
    bool any;
    self->now = gpu->now = instant;
    int status = gs_simulate_gpu_end(gpu, ctx);
    while (status == GS_OK && self->launched < self->model.ops &&
           self->model.time[self->order[self->launched]] == instant) {
        status = gs_simulate_hierarchy_launch(self, ctx, self->order[self->launched]);
    }
    if (status == GS_OK) {
        status = gs_simulate_gpu_join(gpu, ctx, &any);
    }
    if (status == GS_OK) {
        status = change_context(self, ctx);
    }
    do { /* a dispatched kernel lets the next one of its channel join */
        gpu->started = false;
        if (status == GS_OK) {
            status = gs_simulate_gpu_start_blocks(gpu, ctx, &any);
        }
        if (status == GS_OK) {
            status = gs_simulate_gpu_join(gpu, ctx, &any);
        }
    } while (status == GS_OK && gpu->started);
    if (status == GS_OK) {
        status = gs_simulate_gpu_start_copies(gpu, ctx);
    }
    return status == GS_OK ? gs_simulate_gpu_settle(gpu, ctx) : status;
}

int gs_simulate_hierarchy_run(sim_t *self, gs_context_t *ctx, int64_t blocks)
{
    int64_t last;
    if (!gs_add(self->gpu.blocks, blocks, &last)) {
        last = INT64_MAX;
    }
    int status = GS_OK;
    while (status == GS_OK && !self->done && self->gpu.blocks < last) {
        int64_t instant = next_instant(self);
        if (instant == GS_SIMULATE_GPU_NO_EVENT) {
            self->done = true;
            status = serve(self, ctx, -1);
        } else if (instant >= GS_NEVER) { /* time slices of others, or copies, delay it that long */
            status = gs_fail(ctx, GS_ERR_OVERFLOW, "duration", -1, instant,
                             "a schedule that ends before tick 2**61 - 1");
        } else {
            status = advance(self, ctx, instant);
        }
        if (status == GS_OK) {
            status = gs_poll(ctx, EVENT_WORK);
        }
    }
    return status;
}

gs_simulate_hierarchy_op_t gs_simulate_hierarchy_op(const sim_t *self, int64_t launch)
{
    gs_simulate_hierarchy_op_t row = {
        .head = self->time[GS_SIMULATE_GPU_TIME_HEAD][launch],
        .joined = self->time[GS_SIMULATE_GPU_TIME_JOINED][launch],
        .first = self->time[GS_SIMULATE_GPU_TIME_FIRST][launch],
        .dispatched = self->time[GS_SIMULATE_GPU_TIME_DISPATCHED][launch],
        .end = self->time[GS_SIMULATE_GPU_TIME_END][launch],
        .why = -1,
        .blocker = -1,
        .engine = self->engine[launch],
    };
    if (self->op[launch] >= 0) {
        const gs_simulate_gpu_op_t *op = &self->gpu.op[self->op[launch]];
        row.why = op->why;
        row.since = op->since;
        row.blocker = op->blocker;
        row.engine = op->engine;
    }
    return row;
}

static const char *const HIERARCHY_PLACEMENT[] = {"most_room", "olmedo", "round_robin", NULL};
static const char *const HIERARCHY_CHANNEL_RELEASE[] = {"dispatched", "ended", NULL};
static const char *const HIERARCHY_QUEUES[] = {"own", "shared", NULL};
static const gs_method_option_t HIERARCHY_OPTIONS[] = {
    {"placement", "choice", HIERARCHY_PLACEMENT, "most_room",
     "rule that chooses the SM of a block"},
    {"copy_engines", "data", NULL, NULL,
     "their number, or the direction of each; default: the GPU's"},
    {"channels", "integer", NULL, NULL, "hardware channels of a context; default: the GPU's"},
    {"shared_channels", "boolean", NULL, "False", "whether contexts share the channels"},
    {"channel_release", "choice", HIERARCHY_CHANNEL_RELEASE, "dispatched",
     "when a kernel frees its channel: with its last block, or at its end"},
    {"timeslice", "times", NULL, NULL, "length of a time slice, one or one for each context"},
    {"context_priority", "integers", NULL, NULL, "priority of each context"},
    {"runlist", "integers", NULL, NULL, "contexts in the order of their slices"},
    {"context_switch", "time", NULL, "0", "time to switch to another context"},
    {"sms_per_gpc", "integers", NULL, NULL, "SMs of each GPC, for clusters; default: the GPU's"},
    {"queues", "choice", HIERARCHY_QUEUES, NULL, "queues of partitions: of their own, or shared"},
    {"blocks", "boolean", NULL, "True", "whether the blocks are kept"},
    {"seed", "data", NULL, NULL, "seed of random numbers"},
    {"index", "integer", NULL, "0", "number of the set under the seed"},
};

const gs_method_t gs_simulate_hierarchy_hierarchy_method = {
    .name = "hierarchy",
    .model = "Launches",
    .function = "simulate.hierarchy",
    .claim = "simulation",
    .source = "[RTAS20], section III; Amert et al. 2017; Bakita and Anderson 2024",
    .summary = "Simulation of contexts, streams, copies and blocks on SMs.",
    .options = HIERARCHY_OPTIONS,
    .option_count = sizeof HIERARCHY_OPTIONS / sizeof *HIERARCHY_OPTIONS,
};
