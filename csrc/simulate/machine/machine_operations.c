/* Operations of the devices: what they are, when they arrive and join, and what ends with them. */
#include <stdlib.h>

#include "core/vector.h"
#include "simulate/machine/machine_parts.h"

typedef gs_simulate_machine_state_t state_t;
typedef gs_simulate_machine_model_t model_t;
typedef gs_simulate_machine_place_t place_t;
typedef gs_simulate_gpu_t device_t;

/* Answers to the devices ------------------------------------------------------------------- */

static int64_t time_of(const void *owner, const gs_simulate_gpu_op_t *op, int64_t block)
{
    const state_t *self = owner;
    int64_t item = op->shape - self->model->item_begin[op->room];
    bool apart = self->model->draw == GS_SIMULATE_MACHINE_DRAW_BLOCK;
    return gs_simulate_machine_actual(self, op->room, self->job[op->owner].number, item,
                                      apart ? block : 0);
}

/* A kernel is held for the gap, then by the rule. */
static bool holds(void *owner, int64_t d, int64_t k)
{
    state_t *self = owner;
    gs_simulate_gpu_op_t *op = &self->device[d].op[k];
    int64_t least = op->head + self->model->kernel_gap;
    if (self->now < least) {
        if (!op->noted) {
            op->noted = true;
            gs_simulate_machine_set_alarm(self, least, -1);
        }
        return true;
    }
    return self->rule->holds != NULL && self->rule->holds(self, d, k);
}

static int ended(void *owner, gs_context_t *ctx, int64_t d, int64_t op)
{
    (void)ctx;
    state_t *self = owner;
    const device_t *device = &self->device[d];
    int64_t job = device->op[op].owner;
    if (self->rule->kernel_ended != NULL && gs_simulate_gpu_is_kernel(device, op)) {
        self->rule->kernel_ended(self, d, op);
    }
    gs_simulate_machine_answer(self, job);
    return self->status;
}

static const gs_simulate_gpu_owner_t OWNER = {.time = time_of, .holds = holds, .ended = ended};

/* Devices ---------------------------------------------------------------------------------- */

/* Numbers the groups of queues of each context of a device from 0 on, in their order. */
static int number_groups(state_t *self, int64_t d)
{
    const model_t *m = self->model;
    device_t *device = &self->device[d];
    gs_heap_t heap = {0};
    int64_t *count = gs_alloc(self->ctx, (size_t)device->contexts, sizeof *count);
    int64_t *last = gs_alloc(self->ctx, (size_t)device->contexts, sizeof *last);
    int status = count == NULL || last == NULL ? self->ctx->status : gs_poll(self->ctx, 16 * m->n);
    for (int64_t i = 0; i < m->n && status == GS_OK; i++) {
        if (m->device[i] == d && m->context[i] >= 0) {
            status = gs_heap_push(&heap, self->ctx, m->group[i], i);
        }
    }
    for (; status == GS_OK && heap.count > 0; gs_heap_pop(&heap)) {
        int64_t i = heap.entry[0].item, c = m->context[i];
        count[c] += count[c] == 0 || m->group[i] != last[c];
        device->room[i].group = count[c] - 1;
        last[c] = m->group[i];
    }
    gs_heap_free(&heap, self->ctx);
    gs_free(self->ctx, count);
    gs_free(self->ctx, last);
    return status;
}

/* The rooms of the tasks, as many streams, channels and contexts as their numbers say, and a
 * partition for each task. */
static int make_rooms(state_t *self, int64_t d)
{
    const model_t *m = self->model;
    device_t *device = &self->device[d];
    const size_t n = (size_t)m->n;
    for (int64_t i = 0; i < m->n; i++) {
        if (m->device[i] == d) {
            device->streams = m->stream[i] >= device->streams ? m->stream[i] + 1 : device->streams;
            device->channels =
                m->channel[i] >= device->channels ? m->channel[i] + 1 : device->channels;
            device->contexts =
                m->context[i] >= device->contexts ? m->context[i] + 1 : device->contexts;
        }
    }
    device->rooms = device->partitions = m->n;
    if ((device->room = gs_alloc(self->ctx, n, sizeof *device->room)) == NULL ||
        (device->partition = gs_alloc(self->ctx, n, sizeof *device->partition)) == NULL ||
        (device->stream = gs_alloc(self->ctx, (size_t)device->streams, sizeof *device->stream)) ==
            NULL) {
        return self->ctx->status;
    }
    for (int64_t s = 0; s < device->streams; s++) {
        device->stream[s].kind = GS_SIMULATE_GPU_STREAM_NON_BLOCKING;
    }
    for (int64_t i = 0; i < m->n; i++) {
        bool mine = m->device[i] == d;
        device->partition[i] = (gs_simulate_gpu_partition_t){.client = i, .null_stream = -1};
        device->room[i] = (gs_simulate_gpu_room_t){.stream = m->stream[i],
                                                   .context = mine ? m->context[i] : -1,
                                                   .priority = m->level[i],
                                                   .channel = m->channel[i],
                                                   .partition = i};
    }
    return number_groups(self, d);
}

/* Sets and limits of the tasks; the first task of a client counts its SMs. */
static int make_limits(state_t *self)
{
    const model_t *m = self->model;
    int64_t *first = gs_alloc(self->ctx, (size_t)m->n, sizeof *first); /* per client, from 1 */
    int status = first == NULL ? self->ctx->status : GS_OK;
    for (int64_t i = 0; i < m->n && status == GS_OK; i++) {
        device_t *device = &self->device[m->device[i]];
        int64_t begin = m->set_begin[i], count = m->set_begin[i + 1] - begin;
        first[m->client[i]] = first[m->client[i]] == 0 ? i + 1 : first[m->client[i]];
        device->partition[i].client = first[m->client[i]] - 1;
        status = gs_simulate_gpu_confine(device, self->ctx, i, m->set + begin, count, m->limit[i]);
        if (status == GS_OK) {
            status = gs_poll(self->ctx, 1 + count);
        }
    }
    gs_free(self->ctx, first);
    return status;
}

/* An engine for each DLA up to the last one that a task of the device uses, with its direction. */
static void add_dlas(state_t *self, int64_t d)
{
    const model_t *m = self->model;
    gs_simulate_gpu_engines_t *engines = &self->device[d].engines;
    int64_t last = 1;
    for (int64_t i = 0; i < m->n; i++) {
        for (int64_t k = m->item_begin[i]; k < m->item_begin[i + 1] && m->device[i] == d; k++) {
            bool later =
                m->item_kind[k] == GS_SIMULATE_MACHINE_ITEM_COPY && m->item_engine[k] > last;
            last = later ? m->item_engine[k] : last;
        }
    }
    for (int64_t direction = 2; direction <= last; direction++) {
        engines->directions[engines->count++] = INT64_C(1) << direction;
    }
}

static int make_device(state_t *self, int64_t d)
{
    const model_t *m = self->model;
    device_t *device = &self->device[d];
    *device = (device_t){
        .gpu = &m->gpu[d],
        .policy = GS_BLOCK_PLACEMENT_MOST_ROOM,
        .gpc_sms = m->gpc_begin == NULL ? NULL : m->gpc_sms + m->gpc_begin[d],
        .interferes = m->item_interference != NULL,
        .has_clusters = m->item_cluster != NULL,
        .resident_grids = m->grids[d],
        .context_switch = m->context_switch,
        .until_end = m->until_end,
        .calls = &OWNER,
        .owner = self,
        .number = d,
        .times = m->log_operations ? self->machine->op + GS_SIMULATE_MACHINE_OP_HEAD : NULL,
        .block_log = m->log_blocks ? &self->machine->block_log : NULL,
        .shape = self->shape,
    };
    for (int64_t left = m->engines[d]; left > 0; left >>= 2) {
        device->engines.directions[device->engines.count++] = left & 3;
    }
    add_dlas(self, d);
    int status = make_rooms(self, d);
    if (status == GS_OK) {
        status = gs_simulate_gpu_init(device, self->ctx);
    }
    device->last = -2;
    if (status == GS_OK && device->contexts == 1) { /* it is loaded from the start */
        device->active = device->last = 0;
    }
    return status;
}

/* Refuses a kernel that could not start on empty SMs. */
static int check_start(state_t *self, int64_t i, int64_t k)
{
    device_t *device = &self->device[self->model->device[i]];
    int64_t op = gs_simulate_gpu_new_op(device, self->ctx);
    if (op < 0) {
        return self->ctx->status;
    }
    device->op[op].shape = device->op[op].log = k;
    device->op[op].room = i;
    device->op_used = 0; /* it is not launched */
    return gs_simulate_gpu_check(device, self->ctx, op);
}

/* The shape of an item. Refuses a kernel of which no block fits an SM. */
static int make_shape(state_t *self, int64_t i, int64_t k, int64_t *number)
{
    const model_t *m = self->model;
    gs_simulate_gpu_shape_t *shape = &self->shape[k];
    *shape = (gs_simulate_gpu_shape_t){
        .kind = m->item_kind[k] == GS_SIMULATE_MACHINE_ITEM_KERNEL
                    ? GS_SIMULATE_GPU_OP_KERNEL
                    : GS_SIMULATE_GPU_OP_COPY_IN + (int32_t)m->item_engine[k],
        .is_constant = m->draw != GS_SIMULATE_MACHINE_DRAW_BLOCK,
        .cluster = 1,
        .trigger = -1,
        .most = m->item_time[k],
    };
    if (m->item_kind[k] != GS_SIMULATE_MACHINE_ITEM_KERNEL) {
        return GS_OK;
    }
    self->kernel[k] = (*number)++;
    shape->whole = m->item_whole[k];
    shape->blocks = shape->whole > 0 ? 1 : m->item_blocks[k];
    shape->cluster = m->item_cluster == NULL ? 1 : m->item_cluster[k];
    shape->cooperative = m->item_cooperative != NULL && m->item_cooperative[k] != 0;
    shape->interference = m->item_interference == NULL ? NULL : m->item_interference + 4 * k;
    gs_simulate_gpu_complete(&self->device[m->device[i]], shape, i);
    if (shape->whole > 0) {
        return GS_OK;
    }
    gs_gpu_kernel_t kernel = {m->item_blocks[k], m->item_threads[k], m->item_regs[k],
                              m->item_smem[k]};
    int64_t blocks;
    int limit;
    int status = gs_occupancy_footprint(self->ctx, &m->gpu[m->device[i]], &kernel, k, &shape->take,
                                        &blocks, &limit);
    if (status == GS_OK && blocks == 0) {
        status = gs_fail(self->ctx, GS_ERR_VALUE, "item_threads", k, m->item_threads[k],
                         "a block that fits an SM");
    }
    return status == GS_OK && (shape->cooperative || shape->cluster > 1) ? check_start(self, i, k)
                                                                         : status;
}

int gs_simulate_machine_make_devices(state_t *self)
{
    const model_t *m = self->model;
    const size_t items = (size_t)m->item_begin[m->n];
    if ((self->shape = gs_alloc(self->ctx, items, sizeof *self->shape)) == NULL ||
        (self->kernel = gs_alloc(self->ctx, items, sizeof *self->kernel)) == NULL ||
        (self->device = gs_alloc(self->ctx, (size_t)m->devices, sizeof *self->device)) == NULL ||
        (self->slice_log = gs_alloc(self->ctx, (size_t)m->devices, sizeof *self->slice_log)) ==
            NULL) {
        return self->ctx->status;
    }
    self->machine->block_log.most = INT64_MAX;
    int status = GS_OK;
    for (int64_t d = 0; d < m->devices && status == GS_OK; d++) {
        self->slice_log[d] = -1;
        status = make_device(self, d);
    }
    if (status == GS_OK) {
        status = make_limits(self);
    }
    for (int64_t i = 0; i < m->n; i++) {
        int64_t number = 0;
        for (int64_t k = m->item_begin[i]; k < m->item_begin[i + 1] && status == GS_OK; k++) {
            status = make_shape(self, i, k, &number);
        }
    }
    return status;
}

/* Arrivals, joins, starts ------------------------------------------------------------------ */

static int by_place(const void *a, const void *b)
{
    const place_t *x = a, *y = b;
    const int64_t of_x[] = {x->level, x->rank, x->number, x->serial};
    const int64_t of_y[] = {y->level, y->rank, y->number, y->serial};
    for (size_t i = 0; i < sizeof of_x / sizeof *of_x; i++) {
        if (of_x[i] != of_y[i]) {
            return of_x[i] < of_y[i] ? -1 : 1;
        }
    }
    return 0;
}

/* Scratch for so many operations, NULL without memory. */
static place_t *reserve_sorted(state_t *self, int64_t count)
{
    if (self->sorted_room < count) {
        place_t *places =
            gs_vector_reserve(self->ctx, self->sorted, &self->sorted_room, count, sizeof *places);
        if (places == NULL) {
            gs_simulate_machine_fail(self, self->ctx->status);
            return NULL;
        }
        self->sorted = places;
    }
    return self->sorted;
}

static const gs_simulate_gpu_op_t *op_of(const state_t *self,
                                         const gs_simulate_machine_call_t *call)
{
    return &self->device[self->model->device[call->task]].op[call->op];
}

static void arrive(state_t *self, int64_t task, int64_t k)
{
    device_t *device = &self->device[self->model->device[task]];
    gs_simulate_gpu_op_t *op = &device->op[k];
    op->rank = self->serial++;
    if (op->log >= 0) {
        self->machine->op[GS_SIMULATE_MACHINE_OP_ARRIVED][op->log] = self->now;
    }
    gs_simulate_machine_fail(self, gs_simulate_gpu_launch(device, self->ctx, k));
}

bool gs_simulate_machine_arrive(state_t *self)
{
    int64_t count = 0, mask = self->flying_room - 1;
    while (count < self->flying_count &&
           op_of(self, &self->flying[(self->flying_head + count) & mask])->called <=
               self->now - self->model->latency) {
        count++;
    }
    place_t *places = count == 0 ? NULL : reserve_sorted(self, count);
    if (places == NULL) {
        return false;
    }
    for (int64_t k = 0; k < count; k++) {
        const gs_simulate_machine_call_t *call = &self->flying[(self->flying_head + k) & mask];
        const gs_simulate_gpu_op_t *op = op_of(self, call);
        places[k] = (place_t){self->model->level[call->task],
                              gs_simulate_machine_rank(self, call->task),
                              self->job[op->owner].number,
                              op->rank,
                              call->op,
                              call->task};
    }
    self->flying_head = (self->flying_head + count) & mask;
    self->flying_count -= count;
    if (count > 1) {
        qsort(places, (size_t)count, sizeof *places, by_place);
    }
    for (int64_t k = 0; k < count && self->status == GS_OK; k++) {
        arrive(self, places[k].task, places[k].op);
    }
    return true;
}

/* Sorts the heads of streams as what coincides. */
static void sort_heads(state_t *self, device_t *device)
{
    int64_t count = device->head_count;
    place_t *places = count < 2 ? NULL : reserve_sorted(self, count);
    if (places == NULL) {
        return;
    }
    for (int64_t k = 0; k < count; k++) {
        const gs_simulate_gpu_op_t *op = &device->op[device->heads[k]];
        places[k] = (place_t){.level = self->model->level[op->room],
                              .rank = gs_simulate_machine_rank(self, op->room),
                              .serial = op->rank,
                              .op = device->heads[k]};
    }
    qsort(places, (size_t)count, sizeof *places, by_place);
    for (int64_t k = 0; k < count; k++) {
        device->heads[k] = places[k].op;
    }
}

bool gs_simulate_machine_join(state_t *self)
{
    bool by_rank = self->model->drawn_ties || self->model->victim >= 0, changed = false;
    bool all = self->join;
    self->join = false;
    for (int64_t d = 0; d < self->model->devices && self->status == GS_OK; d++) {
        device_t *device = &self->device[d];
        bool any = false;
        device->retry = device->retry || all;
        if (!device->retry) {
            continue;
        }
        if (by_rank) {
            sort_heads(self, device);
        }
        gs_simulate_machine_fail(self, gs_simulate_gpu_join(device, self->ctx, &any));
        changed = changed || any;
    }
    return changed;
}

bool gs_simulate_machine_start(state_t *self)
{
    bool started = false;
    for (int64_t d = 0; d < self->model->devices && self->status == GS_OK; d++) {
        device_t *device = &self->device[d];
        int64_t before = device->blocks;
        bool any = false;
        int status = gs_simulate_gpu_start_blocks(device, self->ctx, &any);
        if (any) {
            gs_simulate_machine_fail(self, gs_count_states(self->ctx, device->blocks - before));
        }
        if (status == GS_OK && gs_simulate_gpu_has_copies(device)) {
            status = gs_simulate_gpu_start_copies(device, self->ctx);
        }
        gs_simulate_machine_fail(self, status);
        started = started || any;
    }
    return started;
}
