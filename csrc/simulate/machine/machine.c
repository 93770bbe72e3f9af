/* The loop of the machine. */
#include "simulate/machine/machine.h"

#include "simulate/machine/machine_parts.h"

/* Threads whose work ends now, by CPU; with ties by rank, in that order. */
static int32_t find_done(gs_simulate_machine_state_t *self)
{
    bool by_rank = self->model->drawn_ties || self->model->victim >= 0;
    int32_t count = 0;
    for (int32_t c = 0; c < self->cpus; c++) {
        int32_t r = self->cpu[c];
        if (r < 0) {
            continue;
        }
        gs_simulate_machine_thread_t *t = &self->thread[r];
        if (t->state != GS_SIMULATE_MACHINE_READY || t->left == GS_NEVER ||
            t->ran + t->left > self->now) {
            continue;
        }
        t->left = 0;
        t->ran = self->now;
        int32_t k = count++;
        int64_t rank = by_rank ? gs_simulate_machine_rank(self, r) : 0;
        while (by_rank && k > 0 && gs_simulate_machine_rank(self, self->done[k - 1]) > rank) {
            self->done[k] = self->done[k - 1];
            k--;
        }
        self->done[k] = r;
    }
    return count;
}

static void end_all(gs_simulate_machine_state_t *self)
{
    int32_t count = find_done(self);
    for (int64_t d = 0; d < self->model->devices; d++) {
        self->device[d].now = self->now;
    }
    for (int64_t d = 0; d < self->model->devices; d++) {
        gs_simulate_machine_fail(self, gs_simulate_gpu_end(&self->device[d], self->ctx));
    }
    for (int32_t k = 0; k < count; k++) {
        gs_simulate_machine_go_on(self, self->done[k]);
    }
    gs_simulate_machine_ring(self);
    if (self->rule->alarm != NULL && self->rule->alarm(self) == self->now) {
        self->join = true;
    }
}

static void settle(gs_simulate_machine_state_t *self)
{
    bool started = true;
    while (started && self->status == GS_OK) {
        bool changed = true;
        while ((changed || gs_heap_time(&self->releases) <= self->now) && self->status == GS_OK) {
            self->rounds++;
            gs_simulate_machine_release(self);
            if (self->rule->serve != NULL) {
                self->rule->serve(self);
            }
            changed = gs_simulate_machine_dispatch(self);
            changed |= self->rule->grant != NULL && self->rule->grant(self);
            changed |= self->flying_count > 0 && gs_simulate_machine_arrive(self);
            changed |= gs_simulate_machine_join(self);
            int status = gs_poll(self->ctx, 1);
            if (status != GS_OK) {
                gs_simulate_machine_fail(self, status);
            }
        }
        for (int64_t d = 0; self->rule->choose != NULL && d < self->model->devices; d++) {
            int64_t wanted = self->rule->choose(self, d);
            if (wanted != self->device[d].active) {
                gs_simulate_gpu_serve(&self->device[d], wanted);
                if (wanted >= 0 && self->rule->served != NULL) {
                    self->rule->served(self, d);
                }
            }
        }
        started = gs_simulate_machine_start(self);
    }
    for (int64_t d = 0; d < self->model->devices && self->status == GS_OK; d++) {
        gs_simulate_machine_fail(self, gs_simulate_gpu_settle(&self->device[d], self->ctx));
    }
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* The next instant at which anything happens, GS_NEVER: none. */
static int64_t next_instant(const gs_simulate_machine_state_t *self)
{
    int64_t next = least(gs_heap_time(&self->releases), gs_heap_time(&self->alarms));
    for (int32_t c = 0; c < self->cpus; c++) {
        const gs_simulate_machine_thread_t *t =
            self->cpu[c] < 0 ? NULL : &self->thread[self->cpu[c]];
        if (t != NULL && t->left > 0 && t->left != GS_NEVER) {
            next = least(next, t->ran + t->left);
        }
    }
    if (self->flying_count > 0) {
        const gs_simulate_machine_call_t *call = &self->flying[self->flying_head];
        const gs_simulate_gpu_t *device = &self->device[self->model->device[call->task]];
        next = least(next, device->op[call->op].called + self->model->latency);
    }
    for (int64_t d = 0; d < self->model->devices; d++) {
        next = least(next, gs_simulate_gpu_next(&self->device[d]));
    }
    if (self->rule->alarm != NULL) {
        int64_t alarm = self->rule->alarm(self);
        next = alarm > self->now ? least(next, alarm) : next;
    }
    return next;
}

/* Counts the time so far of jobs that have not ended. */
static void count_open(gs_simulate_machine_state_t *self)
{
    for (int64_t k = 0; k < self->job_used; k++) {
        if (self->job[k].task >= 0) {
            gs_simulate_machine_count_response(self, &self->job[k]);
        }
    }
}

/* Nothing is left, or nothing that is to be played. */
static void finish(gs_simulate_machine_state_t *self)
{
    if (self->model->last < GS_NEVER && self->model->last > self->now) {
        gs_simulate_machine_pass(self, self->model->last);
        self->now = self->model->last;
    }
    count_open(self);
    self->machine->done = true;
}

int gs_simulate_machine_run(gs_simulate_machine_t *machine, gs_context_t *ctx, int64_t instants)
{
    gs_simulate_machine_state_t *self = machine->state;
    self->ctx = ctx;
    for (int64_t k = 0; k < instants && !machine->done && self->status == GS_OK; k++) {
        machine->instants++;
        settle(self);
        gs_simulate_machine_fail(self, gs_poll(ctx, self->cpus + self->model->devices));
        int64_t next = self->status == GS_OK ? next_instant(self) : GS_NEVER;
        if (self->status != GS_OK) {
            break;
        }
        if (next > self->model->last || next == GS_NEVER) {
            finish(self);
        } else if (next >= GS_NEVER / 2) {
            self->status = gs_fail(ctx, GS_ERR_OVERFLOW, "until", -1, self->model->until,
                                   "a run that ends before tick 2**60");
        } else {
            int64_t since = self->now;
            gs_simulate_machine_pass(self, next);
            self->now = next;
            if (self->rule->passed != NULL) {
                self->rule->passed(self, since);
            }
            end_all(self);
        }
    }
    machine->now = self->now;
    return self->status;
}
