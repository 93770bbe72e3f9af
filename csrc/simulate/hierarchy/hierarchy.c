/* Simulator of the NVIDIA scheduling hierarchy: launches, copies, time slices and block ends. */
#include "simulate/hierarchy/hierarchy.h"

#include "simulate/hierarchy/hierarchy_parts.h"

#define EVENT_WORK 16

/* Operations ---------------------------------------------------------------------------------- */

static int launch(gs_simulate_hierarchy_t *self, gs_context_t *ctx, int64_t op)
{
    gs_simulate_hierarchy_line_up(self, op);
    return gs_simulate_hierarchy_enter_stream(self, ctx, op);
}

static int end_op(gs_simulate_hierarchy_t *self, gs_context_t *ctx, int64_t op)
{
    self->op[op].end = self->now;
    self->ended++;
    self->retry = true; /* others may wait for it */
    gs_simulate_hierarchy_wake(self, op);
    return gs_simulate_hierarchy_leave_stream(self, ctx, op);
}

/* Joining queues ------------------------------------------------------------------------------ */

static int join(gs_simulate_hierarchy_t *self, gs_context_t *ctx, int64_t op)
{
    int64_t stream = self->model.stream[op];
    gs_simulate_hierarchy_context_t *context = &self->context[self->model.context[stream]];
    self->op[op].joined = self->now;
    if (self->model.kind[op] != GS_SIMULATE_HIERARCHY_OP_KERNEL) {
        return gs_simulate_hierarchy_join_copy(self, ctx, op);
    }
    gs_simulate_hierarchy_queue_t *queue = &context->queue[self->stream_level[stream]];
    int64_t ahead = gs_simulate_hierarchy_last(queue);
    int why = ahead < 0 ? -1 : GS_SIMULATE_HIERARCHY_WAIT_QUEUE;
    self->working += context->work++ == 0;
    int status = gs_simulate_hierarchy_push(queue, ctx, op);
    /* The reason for which the first kernel of a queue waits is set by
     * gs_simulate_hierarchy_explain. */
    return status != GS_OK ? status : gs_simulate_hierarchy_wait(self, ctx, op, why, ahead, -1);
}

/* Heads of streams enter their queues where they may, in order of launch. */
static int join_all(gs_simulate_hierarchy_t *self, gs_context_t *ctx)
{
    if (!self->retry) {
        return GS_OK;
    }
    self->retry = false;
    int64_t count = self->head_count, left = 0;
    int status = gs_poll(ctx, count);
    for (int64_t k = 0; k < count && status == GS_OK; k++) {
        int64_t op = self->heads[k], blocker = -1;
        int why = gs_simulate_hierarchy_obstacle(self, op, &blocker);
        if (why < 0) {
            status = join(self, ctx, op);
        } else {
            if (why == GS_SIMULATE_HIERARCHY_WAIT_AFTER) {
                gs_simulate_hierarchy_await(self, op, blocker);
            } else {
                self->heads[left++] = op;
            }
            status = gs_simulate_hierarchy_wait(self, ctx, op, why, blocker, -1);
        }
    }
    self->head_count = left;
    return status;
}

/* Copies -------------------------------------------------------------------------------------- */

static int end_copies(gs_simulate_hierarchy_t *self, gs_context_t *ctx)
{
    int status = GS_OK;
    int64_t op;
    while (status == GS_OK && (op = gs_simulate_hierarchy_leave_engine(self)) >= 0) {
        status = end_op(self, ctx, op);
    }
    return status;
}

/* Contexts ------------------------------------------------------------------------------------ */

/* The next context of the runlist with work, -1 when there is none. */
static int64_t next_context(gs_simulate_hierarchy_t *self)
{
    for (int64_t k = 0; k < self->model.runlist_length; k++) {
        self->turn = self->turn + 1 == self->model.runlist_length ? 0 : self->turn + 1;
        int64_t c = self->model.runlist == NULL ? self->turn : self->model.runlist[self->turn];
        if (self->context[c].work > 0) {
            return c;
        }
    }
    return -1;
}

/* Takes the GPU from the active context and stops its clock. */
static int stop_context(gs_simulate_hierarchy_t *self, gs_context_t *ctx)
{
    gs_simulate_hierarchy_context_t *context = &self->context[self->active];
    int64_t from = context->resumed, to = self->now > from ? self->now : from;
    context->clock += to - from;
    context->resumed = to;
    int status = gs_simulate_hierarchy_log_slice(self, ctx, self->active, from, to);
    self->last = self->active;
    self->active = -1;
    return status;
}

/* Switches to the next context of the runlist with work, if the time slice is over. */
static int change_context(gs_simulate_hierarchy_t *self, gs_context_t *ctx)
{
    bool has_work = self->active >= 0 && self->context[self->active].work > 0;
    if (has_work && self->slice_end < self->now) {
        /* No other context had work, or the end of the slice would have been an instant: the slice
         * was extended by whole slices. The last one continues even if another context has work by
         * now. */
        int64_t slice = self->model.timeslice[self->active];
        self->slice_end += (self->now - self->slice_end + slice - 1) / slice * slice;
    }
    if (has_work && self->now < self->slice_end) {
        return GS_OK;
    }
    int status = GS_OK;
    if (has_work && self->working == 1) { /* no other context has work */
        self->slice_end += self->model.timeslice[self->active];
        return GS_OK;
    }
    int64_t next = self->working == 0 ? -1 : next_context(self);
    if (next >= 0 && next == self->active) { /* it also has the next slice of the round */
        self->slice_end = self->now + self->model.timeslice[next];
        return GS_OK;
    }
    if (self->active >= 0) {
        status = stop_context(self, ctx);
    }
    if (next >= 0 && status == GS_OK) {
        int64_t cost = self->last >= 0 && self->last != next ? self->model.context_switch : 0;
        self->active = next;
        self->context[next].resumed = self->now + cost;
        self->slice_end = self->now + cost + self->model.timeslice[next];
    }
    return status;
}

/* Blocks -------------------------------------------------------------------------------------- */

static int end_blocks(gs_simulate_hierarchy_t *self, gs_context_t *ctx)
{
    int status = GS_OK;
    while (status == GS_OK && gs_simulate_hierarchy_block_end(self) == self->now) {
        gs_simulate_hierarchy_context_t *context = &self->context[self->active];
        int64_t slot = context->ends.entry[0].item;
        const gs_simulate_hierarchy_flight_t *flight = &self->flight[slot];
        gs_simulate_hierarchy_op_t *op = &self->op[flight->op];
        gs_heap_pop(&context->ends);
        if (flight->later > 0) {
            status = gs_simulate_hierarchy_trigger(self, ctx, slot);
            continue;
        }
        self->flight_free[self->flight_free_count++] = slot;
        gs_block_placement_remove(&context->placer, flight->sm, &op->take, flight->blocks);
        gs_simulate_hierarchy_note_freed(self, context, flight->sm);
        if (op->is_confined) {
            gs_simulate_hierarchy_release(self, flight->op, flight->sm, flight->blocks);
        }
        int64_t *ends = self->block[GS_SIMULATE_HIERARCHY_BLOCK_END];
        for (int64_t b = 0; self->model.log_blocks && b < flight->blocks; b++) {
            ends[flight->log + b] = self->now;
        }
        op->running -= flight->blocks;
        op->triggered -= flight->later < 0 ? flight->blocks : 0;
        if (self->model.programmatic != NULL) {
            status = gs_simulate_hierarchy_pass_triggers(self, ctx, flight->op);
        }
        if (status == GS_OK && op->running == 0 && op->waiting == 0) {
            self->working -= --context->work == 0;
            context->places++;
            status = end_op(self, ctx, flight->op);
        }
        if (status == GS_OK) {
            status = gs_poll(ctx, EVENT_WORK + flight->blocks);
        }
    }
    return status;
}

/* The instant ----------------------------------------------------------------------------------*/

/* Whether the active context has the GPU (after the switch time) and may start blocks. */
static bool runs(const gs_simulate_hierarchy_t *self)
{
    return self->active >= 0 && self->context[self->active].resumed <= self->now;
}

static int64_t earliest(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Time of the next event. */
static int64_t next_instant(const gs_simulate_hierarchy_t *self)
{
    int64_t next = gs_simulate_hierarchy_copy_end(self);
    if (self->launched < self->model.ops) {
        next = earliest(next, self->model.time[self->order[self->launched]]);
    }
    if (self->active < 0) {
        return next;
    }
    if (!runs(self)) {
        return earliest(next, self->context[self->active].resumed);
    }
    if (self->working > 1) {
        next = earliest(next, self->slice_end > self->now ? self->slice_end : self->now);
    }
    return earliest(next, gs_simulate_hierarchy_block_end(self));
}

static int advance(gs_simulate_hierarchy_t *self, gs_context_t *ctx, int64_t instant)
{
    self->now = instant;
    int status = end_blocks(self, ctx);
    if (status == GS_OK) {
        status = end_copies(self, ctx);
    }
    while (status == GS_OK && self->launched < self->model.ops &&
           self->model.time[self->order[self->launched]] == instant) {
        status = launch(self, ctx, self->order[self->launched++]);
    }
    if (status == GS_OK) {
        status = join_all(self, ctx);
    }
    if (status == GS_OK) {
        status = change_context(self, ctx);
    }
    do { /* a dispatched kernel lets the next one of its channel join */
        self->started = false;
        if (status == GS_OK && runs(self)) {
            status = gs_simulate_hierarchy_start_blocks(self, ctx, &self->context[self->active]);
        }
        if (status == GS_OK) {
            status = join_all(self, ctx);
        }
    } while (status == GS_OK && self->started);
    if (status == GS_OK) {
        status = gs_simulate_hierarchy_start_copies(self, ctx);
    }
    if (status == GS_OK && self->model.interference != NULL && runs(self)) {
        status = gs_simulate_hierarchy_disturb(self, ctx);
    }
    for (int64_t c = 0; c < self->model.contexts && status == GS_OK; c++) {
        status = gs_simulate_hierarchy_explain(self, ctx, c, c == self->active && runs(self));
    }
    return status;
}

int gs_simulate_hierarchy_run(gs_simulate_hierarchy_t *self, gs_context_t *ctx, int64_t blocks)
{
    int64_t last;
    if (!gs_add(self->blocks, blocks, &last)) {
        last = INT64_MAX;
    }
    int status = GS_OK;
    while (status == GS_OK && !self->done && self->blocks < last) {
        int64_t instant = next_instant(self);
        if (instant == GS_SIMULATE_HIERARCHY_NO_EVENT) {
            self->done = true;
            status = self->active >= 0 ? stop_context(self, ctx) : GS_OK;
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
