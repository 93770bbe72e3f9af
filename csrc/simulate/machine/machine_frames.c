/* Kernels join by a table of frames, which is repeated. */
#include "simulate/machine/machine_parts.h"

typedef gs_simulate_machine_state_t state_t;

/* Goes on to the next frame with kernels. */
static void advance(state_t *self)
{
    const gs_simulate_machine_model_t *m = self->model;
    do {
        self->frame++;
        if (self->frame == m->frames) {
            self->frame = 0;
            self->repetition++;
        }
        self->left = m->entry_begin[self->frame + 1] - m->entry_begin[self->frame];
    } while (self->left == 0 && self->repetition < self->repetitions);
    for (int64_t e = m->entry_begin[self->frame]; e < m->entry_begin[self->frame + 1]; e++) {
        self->entry[e] = 0;
    }
    self->join = true;
}

static int init_frames(state_t *self)
{
    const gs_simulate_machine_model_t *m = self->model;
    self->entry = gs_alloc(self->ctx, (size_t)m->entry_begin[m->frames] + 1, sizeof *self->entry);
    if (self->entry == NULL) {
        return self->ctx->status;
    }
    self->repetitions = m->entry_begin[m->frames] == 0 ? 0 : m->until / m->frame_period + 1;
    self->frame = m->frames - 1;
    self->repetition = self->repetitions > 0 ? -1 : 0;
    if (self->repetitions > 0) {
        advance(self);
    }
    return GS_OK;
}

static int64_t start_of(const state_t *self)
{
    const gs_simulate_machine_model_t *m = self->model;
    return self->repetition * m->frame_period + m->frame_start[self->frame];
}

static int64_t alarm(const state_t *self)
{
    return self->repetition < self->repetitions ? start_of(self) : GS_NEVER;
}

/* The entry of a kernel in the current frame, -1: it has none. */
static int64_t entry_of(const state_t *self, int64_t device, int64_t k)
{
    const gs_simulate_machine_model_t *m = self->model;
    const gs_simulate_gpu_op_t *op = &self->device[device].op[k];
    int64_t jobs = m->frame_period / m->period[op->room];
    int64_t job = self->job[op->owner].number - self->repetition * jobs;
    int64_t kernel = self->kernel[op->shape];
    for (int64_t e = m->entry_begin[self->frame]; e < m->entry_begin[self->frame + 1]; e++) {
        if (m->entry_task[e] == op->room && m->entry_job[e] == job &&
            m->entry_kernel[e] == kernel && self->entry[e] < 2) {
            return e;
        }
    }
    return -1;
}

static bool holds(state_t *self, int64_t device, int64_t op)
{
    if (self->repetition >= self->repetitions) {
        return false;
    }
    int64_t e = entry_of(self, device, op);
    if (self->now < start_of(self) || e < 0) {
        return true;
    }
    for (int64_t other = self->model->entry_begin[self->frame]; other < e; other++) {
        if (self->entry[other] == 0) {
            return true;
        }
    }
    self->entry[e] = 1;
    self->join = true; /* the next one of the frame may wait for it */
    return false;
}

static void kernel_ended(state_t *self, int64_t device, int64_t op)
{
    int64_t e = self->repetition < self->repetitions ? entry_of(self, device, op) : -1;
    if (e < 0) {
        return;
    }
    self->entry[e] = 2;
    if (--self->left == 0) {
        advance(self);
    }
}

const gs_simulate_machine_rule_t gs_simulate_machine_frames = {
    .init = init_frames,
    .alarm = alarm,
    .holds = holds,
    .kernel_ended = kernel_ended,
};
