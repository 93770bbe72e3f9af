/* Which part does a job do next, and what follows when it ends? */
#include "core/vector.h"
#include "simulate/host/host_parts.h"

/* Records -------------------------------------------------------------------------------------
 */

/* A record for a new job: a free one, or one more; -1 without memory. */
static int64_t new_record(gs_simulate_host_state_t *s)
{
    if (s->job_free >= 0) {
        int64_t job = s->job_free;
        s->job_free = s->job[job].next;
        return job;
    }
    if (s->job_count == s->job_room) {
        gs_simulate_host_job_t *grown =
            gs_vector_reserve(s->ctx, s->job, &s->job_room, s->job_count + 1, sizeof *grown);
        if (grown == NULL) {
            gs_simulate_host_fail(s, s->ctx->status);
            return -1;
        }
        s->job = grown;
    }
    return s->job_count++;
}

/* Jobs ----------------------------------------------------------------------------------------
 */

/* Releases all other tasks that may be, when something happened to the victim. */
static void release_others(gs_simulate_host_state_t *s, int32_t r, int64_t moment)
{
    const gs_simulate_host_model_t *model = &s->host->model;
    if ((model->triggers & moment) == 0 || s->now >= model->until) {
        return;
    }
    int status = gs_poll(s->ctx, s->n);
    if (status != GS_OK) {
        gs_simulate_host_fail(s, status);
    }
    for (int32_t other = 0; other < s->n && s->status == GS_OK; other++) {
        if (other != r && s->earliest[other] <= s->now) {
            s->earliest[other] = s->now + model->hosts.period[s->thread[other].task];
            gs_simulate_host_release(s, other);
        }
    }
}

static inline void trigger(gs_simulate_host_state_t *s, int32_t r, int64_t moment)
{
    if (r == s->victim) {
        release_others(s, r, moment);
    }
}

static void finish(gs_simulate_host_state_t *s, int32_t r);

/* The thread is at a CPU segment, at its own priority. */
static void go_on(gs_simulate_host_state_t *s, int32_t r)
{
    gs_simulate_host_thread_t *t = &s->thread[r];
    int64_t work = gs_simulate_host_time(s, t, t->part);
    if (work == 0 && t->part == t->last_part) {
        finish(s, r);
    } else if (t->inside != GS_SIMULATE_HOST_OUTSIDE) {
        gs_simulate_host_container_enter(s, r, work);
    } else {
        gs_simulate_host_enter(s, r, t->base, work, GS_SIMULATE_HOST_DOES_CPU);
    }
}

static void start_job(gs_simulate_host_state_t *s, int32_t r, int64_t job)
{
    gs_simulate_host_thread_t *t = &s->thread[r];
    const gs_simulate_host_job_t *record = &s->job[job];
    t->job = job;
    t->number = record->number;
    t->part = 0;
    if (t->inside != GS_SIMULATE_HOST_OUTSIDE) {
        t->base = record->release; /* its place in the container */
    } else {
        t->base = s->global ? record->release + s->host->model.hosts.deadline[t->task] : r;
    }
    go_on(s, r);
    trigger(s, r, GS_SIMULATE_HOST_AT_RELEASE);
}

static void finish(gs_simulate_host_state_t *s, int32_t r)
{
    gs_simulate_host_t *host = s->host;
    gs_simulate_host_thread_t *t = &s->thread[r];
    gs_simulate_host_job_t *record = &s->job[t->job];
    int64_t response = s->now - record->release, next = record->next;
    if (t->inside != GS_SIMULATE_HOST_OUTSIDE) {
        gs_simulate_host_container_leave(s, r);
    } else {
        gs_simulate_host_leave(s, r, GS_SIMULATE_HOST_DOES_NOTHING);
    }
    if (s->log_jobs) {
        *gs_simulate_host_logged(s, t, GS_SIMULATE_HOST_JOB_FINISH) = s->now;
    }
    host->finished[t->task]++;
    host->late[t->task] += response > host->model.hosts.deadline[t->task];
    if (response > host->worst[t->task]) {
        host->worst[t->task] = response;
    }
    record->next = s->job_free;
    s->job_free = t->job;
    t->job = -1;
    trigger(s, r, GS_SIMULATE_HOST_AT_FINISH);
    if (next >= 0) {
        start_job(s, r, next);
    }
}

void gs_simulate_host_release(gs_simulate_host_state_t *s, int32_t r)
{
    gs_simulate_host_t *host = s->host;
    gs_simulate_host_thread_t *t = &s->thread[r];
    int status = gs_count_states(s->ctx, 1);
    int64_t job = status == GS_OK ? new_record(s) : -1;
    if (job < 0) {
        gs_simulate_host_fail(s, status);
        return;
    }
    int64_t number = host->released[t->task]++;
    int64_t logged = s->log_jobs ? gs_simulate_host_log_job(s, t, number) : 0;
    if (logged < 0) {
        return;
    }
    s->job[job] = (gs_simulate_host_job_t){s->now, number, -1, logged};
    int64_t before = t->last;
    t->last = job;
    if (t->job < 0) {
        start_job(s, r, job);
    } else {
        s->job[before].next = job;
    }
}

void gs_simulate_host_release_due(gs_simulate_host_state_t *s)
{
    int32_t r = (int32_t)s->releases.entry[0].item;
    const gs_simulate_host_thread_t *t = &s->thread[r];
    int64_t next = s->now + s->host->model.hosts.period[t->task];
    if (s->slack[r] != 0) {
        uint64_t bits = gs_rng_at(t->gap_seed, (uint64_t)s->host->released[t->task]);
        next += (int64_t)gs_rng_scale(bits, (uint64_t)s->slack[r] + 1);
    }
    if (next < s->host->model.until) {
        gs_heap_replace(&s->releases, next, r);
    } else {
        gs_heap_pop(&s->releases);
    }
    gs_simulate_host_release(s, r);
}

/* Parts ---------------------------------------------------------------------------------------
 */

void gs_simulate_host_begin(gs_simulate_host_state_t *s, int32_t r)
{
    s->thread[r].part++;
    switch (s->gpu) {
    case GS_SIMULATE_HOST_GPU_STGM:
        gs_simulate_host_stgm_begin(s, r);
        break;
    case GS_SIMULATE_HOST_GPU_SERVER:
        gs_simulate_host_server_begin(s, r);
        break;
    case GS_SIMULATE_HOST_GPU_CONTAINER:
        gs_simulate_host_container_begin(s, r);
        break;
    default:
        gs_simulate_host_lock_begin(s, r);
    }
    trigger(s, r, GS_SIMULATE_HOST_AT_REQUEST);
}

void gs_simulate_host_worked(gs_simulate_host_state_t *s, int32_t r)
{
    const gs_simulate_host_thread_t *t = &s->thread[r];
    if (r == s->n) {
        gs_simulate_host_server_worked(s);
    } else if (t->inside != GS_SIMULATE_HOST_OUTSIDE && gs_simulate_host_container_worked(s, r)) {
        return;
    } else if (t->part % GS_SIMULATE_HOST_PARTS == GS_SIMULATE_HOST_PART_CPU) {
        if (t->part == t->last_part) {
            finish(s, r);
        } else { /* its GPU segment begins when it would run */
            gs_simulate_host_mark(s, t->cluster);
        }
    } else if (s->gpu == GS_SIMULATE_HOST_GPU_STGM) {
        gs_simulate_host_stgm_copied(s, r);
    } else {
        gs_simulate_host_lock_copied(s, r);
    }
}

void gs_simulate_host_resume(gs_simulate_host_state_t *s, int32_t r)
{
    s->thread[r].part++;
    go_on(s, r);
    trigger(s, r, GS_SIMULATE_HOST_AT_RESUME);
}

void gs_simulate_host_start_kernel(gs_simulate_host_state_t *s, int32_t r)
{
    const gs_simulate_host_thread_t *t = &s->thread[r];
    int64_t time = gs_simulate_host_time(s, t, t->part), end = s->now + time;
    if (end >= GS_NEVER) {
        gs_simulate_host_pass_clock(s);
        return;
    }
    gs_simulate_host_note_start(s, t);
    gs_simulate_host_log_kernel(s, t, end);
    int status = gs_heap_push(&s->kernels, s->ctx, end, r);
    if (status != GS_OK) {
        gs_simulate_host_fail(s, status);
    }
}
