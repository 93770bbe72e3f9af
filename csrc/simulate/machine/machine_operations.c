/* Operations in flight, in streams and channels, and on copy engines. */
#include <stdlib.h>

#include "core/vector.h"
#include "simulate/machine/machine_parts.h"

typedef gs_simulate_machine_op_t op_t;
typedef gs_simulate_machine_list_t list_t;
typedef gs_simulate_machine_device_t device_t;
typedef gs_simulate_machine_place_t place_t;

void gs_simulate_machine_append(gs_simulate_machine_state_t *self, list_t *list, int64_t op, int in)
{
    self->op[op].next[in] = -1;
    if (list->tail >= 0) {
        self->op[list->tail].next[in] = op;
    } else {
        list->head = op;
    }
    list->tail = op;
}

void gs_simulate_machine_remove_first(gs_simulate_machine_state_t *self, list_t *list, int in)
{
    list->head = self->op[list->head].next[in];
    if (list->head < 0) {
        list->tail = -1;
    }
}

static int64_t item_of(const gs_simulate_machine_state_t *self, const op_t *op)
{
    return self->model->item_begin[op->task] + op->item;
}

static bool is_copy(const gs_simulate_machine_state_t *self, const op_t *op)
{
    return self->model->item_kind[item_of(self, op)] == GS_SIMULATE_MACHINE_ITEM_COPY;
}

static list_t *stream_of(gs_simulate_machine_state_t *self, const op_t *op)
{
    int64_t d = self->model->device[op->task];
    return &self->stream[self->device[d].stream + self->model->stream[op->task]];
}

static list_t *channel_of(gs_simulate_machine_state_t *self, const op_t *op)
{
    int64_t d = self->model->device[op->task];
    return &self->channel[self->device[d].channel + self->model->channel[op->task]];
}

/* Arrivals and joins ----------------------------------------------------------------------- */

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
static place_t *reserve_sorted(gs_simulate_machine_state_t *self, int64_t count)
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

/* The head of its stream is to join. */
static void add_head(gs_simulate_machine_state_t *self, int64_t op)
{
    self->heads[self->head_count++] = op;
    self->join = true;
}

static void arrive(gs_simulate_machine_state_t *self, int64_t k)
{
    op_t *op = &self->op[k];
    op->serial = self->serial++;
    gs_simulate_machine_note(self, k, GS_SIMULATE_MACHINE_OP_ARRIVED);
    list_t *stream = stream_of(self, op);
    bool first = stream->head < 0;
    gs_simulate_machine_append(self, stream, k, GS_SIMULATE_MACHINE_IN_STREAM);
    if (!is_copy(self, op)) {
        gs_simulate_machine_append(self, channel_of(self, op), k, GS_SIMULATE_MACHINE_IN_CHANNEL);
    }
    if (first) {
        add_head(self, k);
    }
}

bool gs_simulate_machine_arrive(gs_simulate_machine_state_t *self)
{
    int64_t count = 0, mask = self->flying_room - 1;
    while (count < self->flying_count &&
           self->op[self->flying[(self->flying_head + count) & mask]].called <=
               self->now - self->model->latency) {
        count++;
    }
    place_t *places = count == 0 ? NULL : reserve_sorted(self, count);
    if (places == NULL) {
        return false;
    }
    for (int64_t k = 0; k < count; k++) {
        int64_t id = self->flying[(self->flying_head + k) & mask];
        const op_t *op = &self->op[id];
        places[k] =
            (place_t){self->model->level[op->task], gs_simulate_machine_rank(self, op->task),
                      self->job[op->job].number, op->serial, id};
    }
    self->flying_head = (self->flying_head + count) & mask;
    self->flying_count -= count;
    if (count > 1) {
        qsort(places, (size_t)count, sizeof *places, by_place);
    }
    for (int64_t k = 0; k < count; k++) {
        arrive(self, places[k].op);
    }
    return true;
}

/* Puts a head into the queue of its engine or of its context; false if it may not join yet. */
static bool join(gs_simulate_machine_state_t *self, int64_t k)
{
    op_t *op = &self->op[k];
    device_t *device = &self->device[self->model->device[op->task]];
    bool copy = is_copy(self, op);
    if (op->head < 0) {
        op->head = self->now;
        gs_simulate_machine_note(self, k, GS_SIMULATE_MACHINE_OP_HEAD);
        if (!copy && self->model->kernel_gap > 0) {
            gs_simulate_machine_set_alarm(self, self->now + self->model->kernel_gap, -1);
        }
    }
    if (copy) {
        int64_t direction = self->model->item_engine[item_of(self, op)];
        op->place = device->copies++;
        gs_simulate_machine_append(self, &device->copy[direction], k, GS_SIMULATE_MACHINE_IN_QUEUE);
    } else if (self->now - op->head < self->model->kernel_gap || channel_of(self, op)->head != k ||
               (self->rule->holds != NULL && self->rule->holds(self, k))) {
        return false;
    } else {
        gs_simulate_machine_context_t *context =
            &self->context[device->context + self->model->context[op->task]];
        gs_simulate_machine_queue_t *queue = &self->queue[self->queue_of[op->task]];
        gs_simulate_machine_append(self, &queue->op, k, GS_SIMULATE_MACHINE_IN_QUEUE);
        context->work++;
        context->retry = true;
    }
    op->joined = self->now;
    gs_simulate_machine_note(self, k, GS_SIMULATE_MACHINE_OP_JOINED);
    return true;
}

bool gs_simulate_machine_join(gs_simulate_machine_state_t *self)
{
    if (!self->join) {
        return false;
    }
    self->join = false;
    bool by_rank = self->model->drawn_ties || self->model->victim >= 0, changed = false;
    int64_t count = self->head_count;
    place_t *places = count == 0 ? NULL : reserve_sorted(self, count);
    if (places == NULL) {
        return false;
    }
    for (int64_t k = 0; k < count; k++) {
        const op_t *op = &self->op[self->heads[k]];
        places[k] = (place_t){.serial = op->serial, .op = self->heads[k]};
        if (by_rank) {
            places[k].level = self->model->level[op->task];
            places[k].rank = gs_simulate_machine_rank(self, op->task);
        }
    }
    if (count > 1) {
        qsort(places, (size_t)count, sizeof *places, by_place);
    }
    self->head_count = 0;
    for (int64_t k = 0; k < count; k++) {
        if (join(self, places[k].op)) {
            changed = true;
        } else {
            self->heads[self->head_count++] = places[k].op;
        }
    }
    self->join = changed;
    return changed;
}

/* Ends ------------------------------------------------------------------------------------- */

void gs_simulate_machine_leave_channel(gs_simulate_machine_state_t *self, int64_t op)
{
    gs_simulate_machine_remove_first(self, channel_of(self, &self->op[op]),
                                     GS_SIMULATE_MACHINE_IN_CHANNEL);
    self->join = true;
}

void gs_simulate_machine_end_operation(gs_simulate_machine_state_t *self, int64_t k)
{
    list_t *stream = stream_of(self, &self->op[k]);
    int64_t job = self->op[k].job;
    gs_simulate_machine_note(self, k, GS_SIMULATE_MACHINE_OP_END);
    gs_simulate_machine_remove_first(self, stream, GS_SIMULATE_MACHINE_IN_STREAM);
    if (stream->head >= 0) {
        add_head(self, stream->head);
    }
    if (!is_copy(self, &self->op[k]) && self->rule->kernel_ended != NULL) {
        self->rule->kernel_ended(self, k);
    }
    self->op[k].next[GS_SIMULATE_MACHINE_IN_STREAM] = self->op_free;
    self->op_free = k;
    gs_simulate_machine_answer(self, job);
}

/* Copies ----------------------------------------------------------------------------------- */

/* The idle engine for a direction: one that serves no other, then the first; -1: none. */
static int64_t idle_engine(const device_t *device, int64_t direction)
{
    int64_t best = -1;
    for (int64_t e = 0; e < device->engines; e++) {
        bool serves = device->directions[e] >> direction & 1;
        if (serves && device->copy_end[e] == GS_NEVER &&
            (best < 0 || (device->directions[e] < 3 && device->directions[best] == 3))) {
            best = e;
        }
    }
    return best;
}

/* The direction of the first copy that waits and has an idle engine; -1: none. */
static int64_t next_direction(const gs_simulate_machine_state_t *self, const device_t *device)
{
    int64_t best = -1;
    for (int64_t direction = 0; direction < 2; direction++) {
        int64_t k = device->copy[direction].head;
        if (k >= 0 && idle_engine(device, direction) >= 0 &&
            (best < 0 || self->op[k].place < self->op[device->copy[best].head].place)) {
            best = direction;
        }
    }
    return best;
}

void gs_simulate_machine_start_copies(gs_simulate_machine_state_t *self)
{
    for (int64_t d = 0; d < self->model->devices; d++) {
        device_t *device = &self->device[d];
        for (int64_t at = next_direction(self, device); at >= 0;
             at = next_direction(self, device)) {
            int64_t k = device->copy[at].head, e = idle_engine(device, at);
            const op_t *op = &self->op[k];
            gs_simulate_machine_remove_first(self, &device->copy[at], GS_SIMULATE_MACHINE_IN_QUEUE);
            gs_simulate_machine_note(self, k, GS_SIMULATE_MACHINE_OP_FIRST);
            gs_simulate_machine_note(self, k, GS_SIMULATE_MACHINE_OP_DISPATCHED);
            device->copied[e] = k;
            device->copy_end[e] =
                self->now +
                gs_simulate_machine_actual(self, op->task, self->job[op->job].number, op->item, 0);
        }
    }
}

void gs_simulate_machine_end_copies(gs_simulate_machine_state_t *self)
{
    for (int64_t d = 0; d < self->model->devices; d++) {
        device_t *device = &self->device[d];
        for (int64_t e = 0; e < device->engines; e++) {
            if (device->copy_end[e] <= self->now) {
                device->copy_end[e] = GS_NEVER;
                gs_simulate_machine_end_operation(self, device->copied[e]);
            }
        }
    }
}
