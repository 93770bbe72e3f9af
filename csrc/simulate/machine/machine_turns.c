/* Rules by which a device serves its contexts: time slices in turn, or GCAPS. */
#include <string.h>

#include "simulate/machine/machine_parts.h"

typedef gs_simulate_machine_state_t state_t;
typedef gs_simulate_gpu_t device_t;
typedef gs_simulate_gpu_context_t context_t;

/* Time slices ------------------------------------------------------------------------------ */

static int init_slices(state_t *self)
{
    self->slice_end = GS_NEVER;
    self->ring = gs_alloc(self->ctx, (size_t)self->device->contexts + 1, sizeof *self->ring);
    return self->ring == NULL ? self->ctx->status : GS_OK;
}

static int64_t slice_alarm(const state_t *self)
{
    return self->device->active < 0 || self->device->contexts < 2 ? GS_NEVER : self->slice_end;
}

static void slice_served(state_t *self, int64_t d)
{
    self->slice_end =
        self->device[d].context[self->device[d].active].resumed + self->model->timeslice;
    self->gave_up = false;
}

/* A context without a further kernel, joined or next in its stream, gives up its slice. */
static void slice_kernel_ended(state_t *self, int64_t d, int64_t op)
{
    const gs_simulate_machine_model_t *m = self->model;
    const device_t *device = &self->device[d];
    int64_t context = gs_simulate_gpu_room_of(device, op)->context;
    if (device->context[context].work > 0) {
        return;
    }
    for (int64_t i = 0; i < m->n; i++) {
        int64_t head = m->context[i] == context ? device->stream[m->stream[i]].op.head : -1;
        if (head >= 0 && gs_simulate_gpu_is_kernel(device, head)) {
            return;
        }
    }
    self->gave_up = true;
}

/* The instant at which the first kernel of a context that waits has joined, and its number. */
static void first_joined(const state_t *self, int64_t c, int64_t found[2])
{
    found[0] = found[1] = 0;
    bool any = false;
    const device_t *device = self->device;
    const context_t *context = &device->context[c];
    for (int64_t level = 0; level < context->levels; level++) {
        for (int64_t k = context->queue[level].head; k >= 0; k = device->op[k].next_in_queue) {
            const gs_simulate_gpu_op_t *op = &device->op[k];
            if (!any || op->joined < found[0] || (op->joined == found[0] && op->rank < found[1])) {
                found[0] = op->joined;
                found[1] = op->rank;
                any = true;
            }
        }
    }
}

static bool is_in_ring(const state_t *self, int64_t c)
{
    int64_t k = 0;
    while (k < self->ring_count && self->ring[k] != c) {
        k++;
    }
    return k < self->ring_count;
}

/* Leaves in the ring the contexts that wait, and adds the new ones in the order of their kernels.
 */
static void renew_ring(state_t *self, int64_t owner)
{
    int64_t count = 0;
    for (int64_t k = 0; k < self->ring_count; k++) {
        int64_t c = self->ring[k];
        if (c != owner && self->device->context[c].work > 0) {
            self->ring[count++] = c;
        }
    }
    self->ring_count = count;
    for (int64_t c = 0; c < self->device->contexts; c++) {
        if (c == owner || self->device->context[c].work == 0 || is_in_ring(self, c)) {
            continue;
        }
        int64_t place = self->ring_count++, mine[2], other[2];
        first_joined(self, c, mine);
        for (; place > count; place--) {
            first_joined(self, self->ring[place - 1], other);
            if (other[0] < mine[0] || (other[0] == mine[0] && other[1] <= mine[1])) {
                break;
            }
            self->ring[place] = self->ring[place - 1];
        }
        self->ring[place] = c;
    }
}

/* The position in the ring of the context whose turn it is. */
static int64_t turn(const state_t *self)
{
    if (self->model->ring != GS_SIMULATE_MACHINE_RING_CYCLIC || self->device->last < 0) {
        return 0;
    }
    int64_t contexts = self->device->contexts, best = 0, least = contexts;
    for (int64_t k = 0; k < self->ring_count; k++) {
        int64_t ahead = (self->ring[k] - self->device->last - 1 + contexts) % contexts;
        if (ahead < least) {
            least = ahead;
            best = k;
        }
    }
    return best;
}

static int64_t choose_slice(state_t *self, int64_t d)
{
    const device_t *device = &self->device[d];
    if (device->contexts < 2) {
        return device->active;
    }
    int64_t owner = device->active;
    if (owner >= 0 && (self->gave_up || self->device->context[owner].work == 0)) {
        owner = -1; /* a launch of this instant queues it again */
    }
    renew_ring(self, owner);
    bool over = owner >= 0 && self->slice_end <= self->now;
    if (over && self->ring_count == 0) {
        self->slice_end = self->now + self->model->timeslice; /* alone: at no cost */
        over = false;
    }
    if (owner >= 0 && !over) {
        return owner;
    }
    if (owner >= 0) {
        self->ring[self->ring_count++] = owner;
    }
    if (self->ring_count == 0) {
        return -1;
    }
    int64_t k = turn(self), chosen = self->ring[k];
    self->ring_count--;
    memmove(self->ring + k, self->ring + k + 1,
            (size_t)(self->ring_count - k) * sizeof *self->ring);
    if (chosen == device->active) { /* it gave up, and is the only one again */
        self->slice_end = self->now + self->model->timeslice;
        self->gave_up = false;
    }
    return chosen;
}

/* GCAPS ------------------------------------------------------------------------------------ */

static int init_gcaps(state_t *self)
{
    self->updates = -1;
    self->end_needs_cpu = self->model->update_cost > 0;
    self->is_open = gs_alloc(self->ctx, (size_t)self->n, sizeof *self->is_open);
    self->opens = gs_alloc(self->ctx, (size_t)self->n, sizeof *self->opens);
    return self->is_open == NULL || self->opens == NULL ? self->ctx->status : GS_OK;
}

/* Asks for an update; false if the thread has to wait for it. */
static bool ask_update(state_t *self, int32_t r, bool opens)
{
    if (self->model->update_cost == 0) {
        self->is_open[r] = opens;
        return true;
    }
    self->opens[r] = opens;
    gs_simulate_machine_ask(self, r);
    return false;
}

static bool begin_gcaps(state_t *self, int32_t r)
{
    return ask_update(self, r, true);
}

static bool end_gcaps(state_t *self, int32_t r)
{
    return ask_update(self, r, false);
}

static void updated(state_t *self, int32_t r)
{
    self->is_open[r] = self->opens[r];
    self->updates = -1;
    gs_simulate_machine_boost(self, r, 2, 0);
}

static bool grant_update(state_t *self)
{
    bool changed = false;
    if (self->updates < 0 && self->asked_count > 0) {
        const int64_t *urgency = self->model->gpu_priority;
        int32_t best = 0;
        for (int32_t k = 1; k < self->asked_count; k++) {
            if (urgency[self->asked[k]] < urgency[self->asked[best]]) {
                best = k;
            }
        }
        int32_t r = self->asked[best];
        gs_simulate_machine_take_request(self, best);
        self->updates = r;
        gs_simulate_machine_give(self, r, self->model->update_cost);
        gs_simulate_machine_boost(self, r, 0, 0);
        self->thread[r].after = true;
        changed = true;
    }
    bool waits =
        gs_simulate_machine_let_wait(self, self->model->mode != GS_SIMULATE_MACHINE_SUSPEND);
    return waits || changed;
}

/* The context of the most urgent open section, -1: none, or it has no kernel. */
static int64_t owner_of(const state_t *self, const device_t *device)
{
    const int64_t *urgency = self->model->gpu_priority;
    if (device->contexts < 2) {
        return device->contexts - 1;
    }
    int32_t first = -1;
    for (int32_t i = 0; i < self->n; i++) {
        if (self->is_open[i] && (first < 0 || urgency[i] < urgency[first])) {
            first = i;
        }
    }
    if (first < 0 || (self->updates >= 0 && self->opens[self->updates] &&
                      urgency[self->updates] < urgency[first])) {
        return -1;
    }
    int64_t c = self->model->context[first]; /* -1: its section has copies alone */
    /* A switch begins when the owner has a kernel; before it the GPU stays where it is. */
    return c >= 0 && (self->device->context[c].work > 0 || c == device->active) ? c : -1;
}

static int64_t choose_section(state_t *self, int64_t d)
{
    const device_t *device = &self->device[d];
    int64_t c = owner_of(self, device);
    if (c < 0 || !self->model->stall || self->updates < 0) {
        return c;
    }
    /* Kernels stop, but no switch. */
    bool switches = c == device->active && !gs_simulate_gpu_runs(device);
    bool begins = c != device->last && self->model->context_switch > 0;
    return switches || begins ? c : -1;
}

const gs_simulate_machine_rule_t gs_simulate_machine_time_slices = {
    .init = init_slices,
    .alarm = slice_alarm,
    .choose = choose_slice,
    .kernel_ended = slice_kernel_ended,
    .served = slice_served,
};

const gs_simulate_machine_rule_t gs_simulate_machine_gcaps = {
    .init = init_gcaps,
    .begin = begin_gcaps,
    .end = end_gcaps,
    .after = updated,
    .grant = grant_update,
    .choose = choose_section,
};
