/* Jobs of the host simulator: their parts from release to end. */
#include "core/vector.h"
#include "simulate/host/host_parts.h"

/* Records -------------------------------------------------------------------------------------
 */

/* A free record for a new job; -1 without memory. */
static int64_t new_record(gs_simulate_host_state_t *self)
{
    if (self->job_free >= 0) {
        int64_t job = self->job_free;
        self->job_free = self->job[job].next;
        return job;
    }
    if (self->job_count == self->job_room) {
        gs_simulate_host_job_t *grown = gs_vector_reserve(self->ctx, self->job, &self->job_room,
                                                          self->job_count + 1, sizeof *grown);
        if (grown == NULL) {
            gs_simulate_host_fail(self, self->ctx->status);
            return -1;
        }
        self->job = grown;
    }
    return self->job_count++;
}

/* Jobs ----------------------------------------------------------------------------------------
 */

static void release(gs_simulate_host_state_t *self, int32_t r);

/* Releases all other tasks that their periods allow, at a trigger of the task under analysis. */
static void release_others(gs_simulate_host_state_t *self, int32_t r, int64_t moment)
{
    const gs_simulate_host_model_t *model = &self->host->model;
    if (model->release != NULL || (model->triggers & moment) == 0 || self->now >= model->until) {
        return;
    }
    int status = gs_poll(self->ctx, self->n);
    if (status != GS_OK) {
        gs_simulate_host_fail(self, status);
    }
    for (int32_t other = 0; other < self->n && self->status == GS_OK; other++) {
        if (other != r && self->earliest[other] <= self->now) {
            self->earliest[other] = self->now + model->hosts.period[self->thread[other].task];
            release(self, other);
        }
    }
}

static inline void trigger(gs_simulate_host_state_t *self, int32_t r, int64_t moment)
{
    if (r == self->victim) {
        release_others(self, r, moment);
    }
}

/* Ends the current job of a thread, whose next job begins if it is released. */
static void end_job(gs_simulate_host_state_t *self, int32_t r);

/* The thread begins a CPU segment, at its own priority. */
static void go_on(gs_simulate_host_state_t *self, int32_t r)
{
    gs_simulate_host_thread_t *t = &self->thread[r];
    int64_t work = gs_simulate_host_time(self, t, t->part);
    if (work == 0 && t->part == t->last_part) {
        end_job(self, r);
    } else if (t->by_way) {
        self->way->enter(self, r, work);
    } else {
        gs_simulate_host_enter(self, r, t->base, work, GS_SIMULATE_HOST_DOES_CPU);
    }
}

static void start_job(gs_simulate_host_state_t *self, int32_t r, int64_t job)
{
    gs_simulate_host_thread_t *t = &self->thread[r];
    const gs_simulate_host_job_t *record = &self->job[job];
    t->job = job;
    t->number = record->number;
    t->part = 0;
    t->begun = false;
    t->base = self->global ? record->release + self->host->model.hosts.deadline[t->task] : r;
    go_on(self, r);
    trigger(self, r, GS_SIMULATE_HOST_AT_RELEASE);
}

static void end_job(gs_simulate_host_state_t *self, int32_t r)
{
    gs_simulate_host_t *host = self->host;
    gs_simulate_host_thread_t *t = &self->thread[r];
    gs_simulate_host_job_t *record = &self->job[t->job];
    int64_t response = self->now - record->release, next = record->next;
    if (t->by_way) {
        self->way->leave(self, r);
    } else {
        gs_simulate_host_leave(self, r, GS_SIMULATE_HOST_DOES_NOTHING);
    }
    if (self->log_jobs) {
        *gs_simulate_host_logged(self, t, GS_SIMULATE_HOST_JOB_END) = self->now;
    }
    host->finished[t->task]++;
    host->late[t->task] += response > host->model.hosts.deadline[t->task];
    if (response > host->worst[t->task]) {
        host->worst[t->task] = response;
    }
    record->next = self->job_free;
    self->job_free = t->job;
    t->job = -1;
    trigger(self, r, GS_SIMULATE_HOST_AT_END);
    if (next >= 0) {
        start_job(self, r, next);
    }
}

static void release(gs_simulate_host_state_t *self, int32_t r)
{
    gs_simulate_host_t *host = self->host;
    gs_simulate_host_thread_t *t = &self->thread[r];
    int status = gs_count_states(self->ctx, 1);
    int64_t job = status == GS_OK ? new_record(self) : -1;
    if (job < 0) {
        gs_simulate_host_fail(self, status);
        return;
    }
    int64_t number = host->released[t->task]++;
    int64_t logged = self->log_jobs ? gs_simulate_host_log_job(self, t, number) : 0;
    if (logged < 0) {
        return;
    }
    self->job[job] = (gs_simulate_host_job_t){self->now, number, -1, logged};
    int64_t before = t->last;
    t->last = job;
    if (t->job < 0) {
        start_job(self, r, job);
    } else {
        self->job[before].next = job;
    }
}

/* The next release of a thread after that of now; GS_NEVER after the last. */
static int64_t next_release(const gs_simulate_host_state_t *self, int32_t r)
{
    const gs_simulate_host_model_t *model = &self->host->model;
    const gs_simulate_host_thread_t *t = &self->thread[r];
    int64_t number = self->host->released[t->task];
    if (model->release != NULL) {
        int64_t k = model->release_begin[t->task] + number + 1;
        return k < model->release_begin[t->task + 1] ? model->release[k] : GS_NEVER;
    }
    int64_t next = self->now + model->hosts.period[t->task], slack = self->slack[r];
    if (slack != 0) {
        uint64_t bits = gs_rng_at(t->gap_seed, (uint64_t)number);
        next += (int64_t)gs_rng_scale(bits, (uint64_t)slack + 1);
    }
    return next < model->until ? next : GS_NEVER;
}

void gs_simulate_host_release_due(gs_simulate_host_state_t *self)
{
    int32_t r = (int32_t)self->releases.entry[0].item;
    int64_t next = next_release(self, r);
    if (next < GS_NEVER) {
        gs_heap_replace(&self->releases, next, r);
    } else {
        gs_heap_pop(&self->releases);
    }
    release(self, r);
}

/* Parts ---------------------------------------------------------------------------------------
 */

void gs_simulate_host_resume(gs_simulate_host_state_t *self, int32_t r)
{
    self->thread[r].part++;
    go_on(self, r);
    trigger(self, r, GS_SIMULATE_HOST_AT_RESUME);
}

void gs_simulate_host_start_kernel(gs_simulate_host_state_t *self, int32_t r)
{
    gs_simulate_host_thread_t *t = &self->thread[r];
    int64_t time = gs_simulate_host_time(self, t, t->part), end = self->now + time;
    if (end >= GS_NEVER) {
        gs_simulate_host_pass_clock(self);
        return;
    }
    gs_simulate_host_note_start(self, t, true);
    gs_simulate_host_log_kernel(self, t, self->now, end);
    int status = gs_heap_push(&self->kernels, self->ctx, end, r);
    if (status != GS_OK) {
        gs_simulate_host_fail(self, status);
    }
}

/* GPU segments --------------------------------------------------------------------------------
 */

void gs_simulate_host_begin(gs_simulate_host_state_t *self, int32_t r)
{
    gs_simulate_host_thread_t *t = &self->thread[r];
    if (t->part % GS_SIMULATE_HOST_PARTS != GS_SIMULATE_HOST_PART_CPU) {
        self->way->begin(self, r); /* it goes on inside its segment */
        return;
    }
    t->part++;
    self->way->begin(self, r);
    trigger(self, r, GS_SIMULATE_HOST_AT_REQUEST);
}

void gs_simulate_host_end_cpu_segment(gs_simulate_host_state_t *self, int32_t r)
{
    const gs_simulate_host_thread_t *t = &self->thread[r];
    if (t->part == t->last_part) {
        end_job(self, r);
    } else if (self->way->at_end_of_work) {
        gs_simulate_host_begin(self, r);
    } else { /* its GPU segment begins when it is dispatched */
        gs_simulate_host_mark(self, t->cluster);
    }
}

void gs_simulate_host_worked(gs_simulate_host_state_t *self, int32_t r)
{
    const gs_simulate_host_thread_t *t = &self->thread[r];
    if (t->by_way || t->part % GS_SIMULATE_HOST_PARTS != GS_SIMULATE_HOST_PART_CPU) {
        self->way->worked(self, r);
    } else {
        gs_simulate_host_end_cpu_segment(self, r);
    }
}
