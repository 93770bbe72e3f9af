/* Stand-in for a GPU in real time. */
#define _GNU_SOURCE
#include "execute/standin_gpu.h"

#include "rt/rt.h"
#include "rt/wait_word.h"
#include "simulate/machine/machine_parts.h"

/* A thread that waits looks so often whether it is to stop. */
#define NAP_NS 20000000

static int64_t time_of(const void *owner, const gs_simulate_gpu_op_t *op, int64_t block)
{
    (void)block;
    const gs_execute_standin_t *self = owner;
    return self->machine->model->item_time[op->shape];
}

static int ended(void *owner, gs_context_t *ctx, int64_t d, int64_t op)
{
    (void)ctx;
    gs_execute_standin_t *self = owner;
    const gs_simulate_gpu_t *device = &self->machine->device[d];
    gs_execute_span_t *span = &self->span[device->op[op].owner];
    int64_t first = device->op[op].first;
    span->open--;
    span->first = span->first < 0 || first < span->first ? first : span->first;
    span->last = device->now;
    return GS_OK;
}

static const gs_simulate_gpu_owner_t OWNER = {.time = time_of, .ended = ended};

int gs_execute_standin_open(gs_execute_standin_t *self, gs_context_t *ctx,
                            gs_simulate_machine_t *machine)
{
    const gs_simulate_machine_model_t *m = &machine->model;
    *self = (gs_execute_standin_t){.machine = machine->state};
    gs_context_init(&self->ctx);
    for (int64_t d = 0; d < m->devices; d++) {
        gs_simulate_gpu_t *device = &self->machine->device[d];
        if (device->contexts > 1) {
            return gs_fail(ctx, GS_ERR_VALUE, "context", -1, device->contexts,
                           "one context on a device: the stand-in GPU has no time slices");
        }
        device->calls = &OWNER;
        device->owner = self;
    }
    self->span = gs_alloc(ctx, (size_t)m->n, sizeof *self->span);
    if (self->span == NULL) {
        return ctx->status;
    }
    for (int64_t i = 0; i < m->n; i++) {
        self->span[i] = (gs_execute_span_t){0, -1, -1};
    }
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
    pthread_mutex_init(&self->guard, &attributes);
    pthread_mutexattr_destroy(&attributes);
    self->origin = gs_rt_now();
    return GS_OK;
}

void gs_execute_standin_close(gs_execute_standin_t *self, gs_context_t *ctx)
{
    if (self->span != NULL) {
        pthread_mutex_destroy(&self->guard);
        ctx->bytes_used += self->ctx.bytes_used; /* what the devices took stays theirs */
        gs_free(ctx, self->span);
        self->span = NULL;
    }
}

static void keep(gs_execute_standin_t *self, int status)
{
    self->status = self->status == GS_OK ? status : self->status;
}

/* All that joins and starts at this instant does. */
static void settle(gs_execute_standin_t *self, gs_simulate_gpu_t *device)
{
    bool started = true;
    while (started && self->status == GS_OK) {
        bool changed = true;
        while (changed && self->status == GS_OK) {
            changed = false;
            if (device->retry) {
                keep(self, gs_simulate_gpu_join(device, &self->ctx, &changed));
            }
        }
        started = false;
        keep(self, gs_simulate_gpu_start_blocks(device, &self->ctx, &started));
        if (self->status == GS_OK && gs_simulate_gpu_has_copies(device)) {
            keep(self, gs_simulate_gpu_start_copies(device, &self->ctx));
        }
    }
}

/* Plays the devices up to now. */
static void advance(gs_execute_standin_t *self)
{
    int64_t now = gs_rt_now() - self->origin;
    self->now = now > self->now ? now : self->now;
    for (int64_t d = 0; d < self->machine->model->devices; d++) {
        gs_simulate_gpu_t *device = &self->machine->device[d];
        for (int64_t next;
             self->status == GS_OK && (next = gs_simulate_gpu_next(device)) <= self->now;) {
            device->now = next;
            keep(self, gs_simulate_gpu_end(device, &self->ctx));
            settle(self, device);
        }
        device->now = self->now;
    }
}

static int outcome(const gs_execute_standin_t *self)
{
    return self->status == GS_OK ? GS_RT_OK : GS_RT_ERR_SYSTEM;
}

int gs_execute_standin_launch(gs_execute_standin_t *self, int64_t task, const int64_t *items,
                              int64_t count)
{
    const gs_simulate_machine_model_t *m = self->machine->model;
    gs_simulate_gpu_t *device = &self->machine->device[m->device[task]];
    pthread_mutex_lock(&self->guard);
    advance(self);
    for (int64_t k = 0; k < count && self->status == GS_OK; k++) {
        int64_t number = gs_simulate_gpu_new_op(device, &self->ctx);
        if (number < 0) {
            keep(self, self->ctx.status);
            break;
        }
        gs_simulate_gpu_op_t *op = &device->op[number];
        op->owner = task;
        op->shape = m->item_begin[task] + items[k];
        op->room = task;
        op->rank = self->ranks++;
        op->called = self->now;
        op->log = -1;
        self->span[task].open++;
        keep(self, gs_simulate_gpu_launch(device, &self->ctx, number));
    }
    settle(self, device);
    int status = outcome(self);
    pthread_mutex_unlock(&self->guard);
    return status;
}

int gs_execute_standin_wait(gs_execute_standin_t *self, int64_t task, bool spin, int64_t until,
                            const _Atomic int *stop)
{
    const gs_simulate_gpu_t *device = &self->machine->device[self->machine->model->device[task]];
    gs_rt_wait_word_t never = 0;
    for (;;) {
        pthread_mutex_lock(&self->guard);
        advance(self);
        int status = outcome(self);
        bool done = self->span[task].open == 0;
        int64_t next = gs_simulate_gpu_next(device), now = self->now;
        pthread_mutex_unlock(&self->guard);
        if (status != GS_RT_OK || done) {
            return status;
        }
        if (atomic_load(stop)) {
            return GS_RT_STOPPED;
        }
        int64_t end = until - self->origin;
        if (now >= end) {
            return GS_RT_TIMEOUT;
        }
        next = next < end ? next : end; /* launches meanwhile make nothing end earlier */
        next = next < now + NAP_NS ? next : now + NAP_NS;
        if (!spin) {
            gs_rt_wait_word_sleep(&never, 0, next + self->origin, false);
        }
        while (spin && gs_rt_now() < next + self->origin) {
            gs_rt_wait_word_pause();
        }
    }
}

gs_execute_span_t gs_execute_standin_take(gs_execute_standin_t *self, int64_t task)
{
    pthread_mutex_lock(&self->guard);
    gs_execute_span_t found = self->span[task];
    if (found.first >= 0) {
        found.first += self->origin;
        found.last += self->origin;
    }
    self->span[task].first = self->span[task].last = -1;
    pthread_mutex_unlock(&self->guard);
    return found;
}
