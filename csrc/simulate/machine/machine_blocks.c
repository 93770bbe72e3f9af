/* Contexts that a device serves in turn, and their blocks on its SMs. */
#include "core/vector.h"
#include "simulate/machine/machine_parts.h"

typedef gs_simulate_machine_op_t op_t;
typedef gs_simulate_machine_device_t device_t;
typedef gs_simulate_machine_context_t context_t;
typedef gs_simulate_machine_queue_t queue_t;

static context_t *owner_of(const gs_simulate_machine_state_t *self, const device_t *device)
{
    return device->owner < 0 ? NULL : &self->context[device->context + device->owner];
}

/* The clock of the owner of a device: the time that it has been served. */
static int64_t clock_of(const gs_simulate_machine_state_t *self, const device_t *device)
{
    const context_t *context = owner_of(self, device);
    return context->clock + (self->now > device->ready ? self->now - device->ready : 0);
}

void gs_simulate_machine_serve(gs_simulate_machine_state_t *self, int64_t d, int64_t wanted)
{
    device_t *device = &self->device[d];
    if (wanted == device->owner) {
        return;
    }
    if (device->owner >= 0) {
        owner_of(self, device)->clock = clock_of(self, device);
        if (device->ready > self->now) {
            device->last = -1; /* the switch is paid again */
        }
    }
    device->owner = wanted;
    if (wanted >= 0) {
        device->ready = self->now + (wanted == device->last ? 0 : self->model->context_switch);
        device->last = wanted;
        owner_of(self, device)->retry = true;
        if (self->rule->served != NULL) {
            self->rule->served(self, d);
        }
    }
}

int64_t gs_simulate_machine_next_block(const gs_simulate_machine_state_t *self, int64_t d)
{
    const device_t *device = &self->device[d];
    const context_t *context = owner_of(self, device);
    if (context == NULL) {
        return GS_NEVER;
    }
    if (device->ready > self->now) {
        return device->ready;
    }
    int64_t end = gs_heap_time(&context->ends);
    return end == GS_NEVER ? end : device->ready + (end - context->clock);
}

/* Starts ----------------------------------------------------------------------------------- */

/* A new flight, -1 without memory. */
static int64_t new_flight(gs_simulate_machine_state_t *self)
{
    int64_t k = self->flight_free;
    if (k >= 0) {
        self->flight_free = self->flight[k].op;
        return k;
    }
    if (self->flight_used == self->flight_room) {
        gs_simulate_machine_flight_t *flights = gs_vector_reserve(
            self->ctx, self->flight, &self->flight_room, self->flight_used + 1, sizeof *flights);
        if (flights == NULL) {
            gs_simulate_machine_fail(self, self->ctx->status);
            return -1;
        }
        self->flight = flights;
    }
    return self->flight_used++;
}

/* Blocks of a kernel start on an SM. `first`: the number of the first one. */
static void fly(gs_simulate_machine_state_t *self, context_t *context, int64_t k, int32_t sm,
                int64_t blocks, int64_t first, bool logged)
{
    op_t *op = &self->op[k];
    const device_t *device = &self->device[self->model->device[op->task]];
    int64_t f = new_flight(self);
    if (f < 0) {
        return;
    }
    int64_t block = self->model->draw == GS_SIMULATE_MACHINE_DRAW_BLOCK ? first : 0;
    int64_t time =
        gs_simulate_machine_actual(self, op->task, self->job[op->job].number, op->item, block);
    self->flight[f] =
        (gs_simulate_machine_flight_t){.op = k, .blocks = blocks, .log = -1, .sm = sm};
    if (logged) {
        self->flight[f].log = gs_simulate_machine_log_block(self, k, first, sm);
    }
    op->running++;
    gs_simulate_machine_fail(
        self, gs_heap_push(&context->ends, self->ctx, clock_of(self, device) + time, f));
    int64_t client = self->model->client[op->task];
    if (self->held_of[client] >= 0) {
        int32_t *held = &self->held[self->held_of[client] + sm];
        self->used[client] += *held == 0;
        *held += (int32_t)blocks;
    }
}

/* The positions of SMs on which further blocks of a task may start; NULL: all. With a limit: those
 * in use, once these are as many as it permits. */
static const int32_t *positions_of(gs_simulate_machine_state_t *self, device_t *device,
                                   int64_t task, int32_t *count)
{
    const int32_t *at = NULL;
    *count = device->gpu->sms;
    if (self->at_begin[task] < self->at_begin[task + 1]) {
        at = self->at + self->at_begin[task];
        *count = (int32_t)(self->at_begin[task + 1] - self->at_begin[task]);
    }
    int64_t client = self->model->client[task];
    if (self->held_of[client] < 0 || self->used[client] < self->model->limit[task]) {
        return at;
    }
    const int32_t *held = self->held + self->held_of[client];
    int32_t found = 0;
    for (int32_t p = 0; p < *count; p++) {
        int32_t position = at == NULL ? p : at[p];
        if (held[gs_gpu_sm_at(device->gpu, position)] > 0) {
            device->at[found++] = position;
        }
    }
    *count = found;
    return device->at;
}

/* Starts a block that takes several empty SMs; true if it could. */
static bool start_whole(gs_simulate_machine_state_t *self, device_t *device, context_t *context,
                        int64_t k, int64_t whole)
{
    int64_t task = self->op[k].task, client = self->model->client[task];
    const gs_gpu_t *gpu = device->gpu;
    int32_t count, empty = 0;
    const int32_t *at = positions_of(self, device, task, &count);
    if (self->held_of[client] >= 0 && self->used[client] < self->model->limit[task] &&
        whole > self->model->limit[task] - self->used[client]) {
        return false;
    }
    for (int32_t p = 0; p < count && empty < whole; p++) {
        int32_t sm = gs_gpu_sm_at(gpu, at == NULL ? p : at[p]);
        if (context->placer.load[sm].blocks == 0) {
            device->sm[empty++] = sm;
        }
    }
    if (empty < whole) {
        return false;
    }
    for (int32_t e = 0; e < empty; e++) {
        int32_t sm = device->sm[e];
        context->placer.load[sm] = (gs_block_placement_sm_load_t){
            gpu->warps_per_sm, gpu->blocks_per_sm, gpu->regs_per_sm, gpu->smem_per_sm, -1};
        fly(self, context, k, sm, 1, 0, e == 0);
    }
    return true;
}

/* Room for the SMs of so many blocks; false without memory. */
static bool reserve_sms(gs_simulate_machine_state_t *self, device_t *device, int64_t blocks)
{
    if (device->sm_room >= blocks) {
        return true;
    }
    int32_t *sms = gs_vector_reserve(self->ctx, device->sm, &device->sm_room, blocks, sizeof *sms);
    if (sms == NULL) {
        gs_simulate_machine_fail(self, self->ctx->status);
        return false;
    }
    device->sm = sms;
    return true;
}

/* Starts blocks on the SMs in device->sm: those of an SM together, if they end together. */
static void fly_all(gs_simulate_machine_state_t *self, device_t *device, context_t *context,
                    int64_t k, int64_t placed)
{
    bool apart = self->model->log_blocks || self->model->draw == GS_SIMULATE_MACHINE_DRAW_BLOCK;
    int64_t first = self->op[k].started;
    for (int64_t b = 0; b < placed; b++) {
        device->on_sm[device->sm[b]]++;
    }
    for (int64_t b = 0; b < placed; b++) {
        int32_t sm = device->sm[b];
        if (apart) {
            fly(self, context, k, sm, 1, first + b, true);
        } else if (device->on_sm[sm] > 0) {
            fly(self, context, k, sm, device->on_sm[sm], first + b, false);
        }
        device->on_sm[sm] = 0;
    }
}

/* Starts as many blocks of a kernel with a shape as may start. Returns their number. */
static int64_t start_shaped(gs_simulate_machine_state_t *self, device_t *device, context_t *context,
                            int64_t k)
{
    const op_t *op = &self->op[k];
    int64_t task = op->task, client = self->model->client[task], started = 0, placed = 1;
    const gs_occupancy_footprint_t *take =
        &self->shape[self->model->item_begin[task] + op->item].take;
    bool limited = self->held_of[client] >= 0;
    while (placed > 0 && self->op[k].waiting > 0 && self->status == GS_OK) {
        int64_t wanted = limited ? 1 : self->op[k].waiting;
        int64_t most = (int64_t)device->gpu->sms * device->gpu->blocks_per_sm;
        wanted = wanted < most ? wanted : most;
        int32_t count;
        const int32_t *at = positions_of(self, device, task, &count);
        if (!reserve_sms(self, device, wanted)) {
            break;
        }
        gs_simulate_machine_fail(self,
                                 gs_block_placement_resume(&context->placer, self->ctx, take,
                                                           wanted, at, count, device->sm, &placed));
        fly_all(self, device, context, k, placed);
        self->op[k].started += placed;
        self->op[k].waiting -= placed;
        started += placed;
        if (!limited) {
            break;
        }
    }
    return started;
}

/* Starts blocks of the first kernel of a queue. True if all of its blocks have started. */
static bool start_kernel(gs_simulate_machine_state_t *self, device_t *device, context_t *context,
                         int64_t k, bool *any)
{
    op_t *op = &self->op[k];
    int64_t d = self->model->device[op->task];
    if (!op->resident && self->model->grids[d] > 0 && device->resident >= self->model->grids[d]) {
        return false;
    }
    int64_t whole = self->model->item_whole[self->model->item_begin[op->task] + op->item];
    int64_t started = 0;
    if (whole > 0) {
        started = start_whole(self, device, context, k, whole);
        self->op[k].waiting -= started;
    } else {
        started = start_shaped(self, device, context, k);
    }
    op = &self->op[k];
    gs_simulate_machine_fail(self, gs_count_states(self->ctx, started));
    if (started > 0) {
        *any = true;
        if (!op->resident) {
            op->resident = true;
            device->resident++;
            gs_simulate_machine_note(self, k, GS_SIMULATE_MACHINE_OP_FIRST);
        }
    }
    return op->waiting == 0;
}

/* Starts blocks of a group, whose queues are `q` up to `end`. True if any started. */
static bool start_group(gs_simulate_machine_state_t *self, device_t *device, context_t *context,
                        int64_t q, int64_t end)
{
    bool any = false;
    for (; q < end; q++) {
        queue_t *queue = &self->queue[q];
        while (queue->op.head >= 0 && self->status == GS_OK) {
            int64_t k = queue->op.head;
            if (!start_kernel(self, device, context, k, &any)) {
                return any; /* it holds up all behind it, and all less urgent ones */
            }
            gs_simulate_machine_note(self, k, GS_SIMULATE_MACHINE_OP_DISPATCHED);
            gs_simulate_machine_remove_first(self, &queue->op, GS_SIMULATE_MACHINE_IN_QUEUE);
            if (!self->model->until_end) {
                gs_simulate_machine_leave_channel(self, k);
            }
        }
    }
    return any;
}

bool gs_simulate_machine_start_blocks(gs_simulate_machine_state_t *self)
{
    bool any = false;
    for (int64_t d = 0; d < self->model->devices; d++) {
        device_t *device = &self->device[d];
        context_t *context = owner_of(self, device);
        if (context == NULL || device->ready > self->now || !context->retry) {
            continue;
        }
        context->retry = false;
        for (int64_t q = context->queue_begin, end; q < context->queue_end; q = end) {
            for (end = q + 1;
                 end < context->queue_end && self->queue[end].group == self->queue[q].group;) {
                end++;
            }
            any |= start_group(self, device, context, q, end);
        }
    }
    return any;
}

/* Ends ------------------------------------------------------------------------------------- */

static void end_flight(gs_simulate_machine_state_t *self, device_t *device, context_t *context,
                       int64_t f)
{
    gs_simulate_machine_flight_t flight = self->flight[f];
    op_t *op = &self->op[flight.op];
    int64_t item = self->model->item_begin[op->task] + op->item;
    self->flight[f].op = self->flight_free;
    self->flight_free = f;
    if (flight.log >= 0) {
        self->machine->block[GS_SIMULATE_MACHINE_BLOCK_END][flight.log] = self->now;
    }
    if (self->model->item_whole[item] > 0) {
        context->placer.load[flight.sm] = (gs_block_placement_sm_load_t){.carveout = -1};
    } else {
        gs_block_placement_remove(&context->placer, flight.sm, &self->shape[item].take,
                                  flight.blocks);
    }
    int64_t client = self->model->client[op->task];
    if (self->held_of[client] >= 0) {
        int32_t *held = &self->held[self->held_of[client] + flight.sm];
        *held -= (int32_t)flight.blocks;
        self->used[client] -= *held == 0;
    }
    op->running--;
    context->retry = true;
    if (op->running > 0 || op->waiting > 0) {
        return;
    }
    context->work--;
    device->resident--;
    for (int64_t c = device->context; c < device->context + device->contexts; c++) {
        self->context[c].retry = true; /* a kernel fewer is resident */
    }
    if (self->model->until_end) {
        gs_simulate_machine_leave_channel(self, flight.op);
    }
    gs_simulate_machine_end_operation(self, flight.op);
}

void gs_simulate_machine_end_blocks(gs_simulate_machine_state_t *self, int64_t d)
{
    device_t *device = &self->device[d];
    context_t *context = owner_of(self, device);
    if (context == NULL || device->ready > self->now) {
        return;
    }
    int64_t clock = clock_of(self, device);
    while (gs_heap_time(&context->ends) <= clock && self->status == GS_OK) {
        int64_t f = context->ends.entry[0].item;
        gs_heap_pop(&context->ends);
        end_flight(self, device, context, f);
    }
}
