/* Logs of jobs and intervals, for the host simulator. */
#include "core/vector.h"
#include "simulate/host/host_parts.h"

void gs_simulate_host_fail(gs_simulate_host_state_t *self, int status)
{
    if (self->status == GS_OK) {
        self->status = status;
    }
}

void gs_simulate_host_pass_clock(gs_simulate_host_state_t *self)
{
    gs_simulate_host_fail(self,
                          gs_fail(self->ctx, GS_ERR_OVERFLOW, "until", -1, self->host->model.until,
                                  "a schedule that ends before tick 2**61 - 1"));
}

/* Room for one more row of a log; false without memory. */
static bool make_room(gs_simulate_host_state_t *self, int64_t **log, int columns, int64_t count,
                      int64_t *room)
{
    if (count < *room) {
        return true;
    }
    int status = gs_vector_reserve_columns(self->ctx, log, columns, room, count + 1, INT64_MAX);
    gs_simulate_host_fail(self, status);
    return status == GS_OK;
}

int64_t gs_simulate_host_log_job(gs_simulate_host_state_t *self, const gs_simulate_host_thread_t *t,
                                 int64_t number)
{
    gs_simulate_host_t *host = self->host;
    int64_t k = host->job_count;
    if (!make_room(self, host->job, GS_SIMULATE_HOST_JOB_COLUMNS, k, &self->log_room[0])) {
        return -1;
    }
    host->job[GS_SIMULATE_HOST_JOB_TASK][k] = t->task;
    host->job[GS_SIMULATE_HOST_JOB_NUMBER][k] = number;
    host->job[GS_SIMULATE_HOST_JOB_RELEASE][k] = self->now;
    host->job[GS_SIMULATE_HOST_JOB_START][k] = -1;
    host->job[GS_SIMULATE_HOST_JOB_END][k] = -1;
    return host->job_count++;
}

/* Adds an interval to the log; returns its position, -1 without memory. */
static int64_t add(gs_simulate_host_state_t *self,
                   const int64_t interval[GS_SIMULATE_HOST_INTERVAL_COLUMNS])
{
    gs_simulate_host_t *host = self->host;
    int64_t k = host->interval_count;
    if (!make_room(self, host->interval, GS_SIMULATE_HOST_INTERVAL_COLUMNS, k,
                   &self->log_room[1])) {
        return -1;
    }
    for (int i = 0; i < GS_SIMULATE_HOST_INTERVAL_COLUMNS; i++) {
        host->interval[i][k] = interval[i];
    }
    return host->interval_count++;
}

/* Whether this interval continues an interval of the log. */
static bool goes_on(const gs_simulate_host_t *self, int64_t k,
                    const int64_t interval[GS_SIMULATE_HOST_INTERVAL_COLUMNS])
{
    int64_t *const *log = self->interval;
    return log[GS_SIMULATE_HOST_INTERVAL_END][k] == interval[GS_SIMULATE_HOST_INTERVAL_START] &&
           log[GS_SIMULATE_HOST_INTERVAL_WHAT][k] == interval[GS_SIMULATE_HOST_INTERVAL_WHAT] &&
           log[GS_SIMULATE_HOST_INTERVAL_CORE][k] == interval[GS_SIMULATE_HOST_INTERVAL_CORE] &&
           log[GS_SIMULATE_HOST_INTERVAL_JOB][k] == interval[GS_SIMULATE_HOST_INTERVAL_JOB] &&
           log[GS_SIMULATE_HOST_INTERVAL_TASK][k] == interval[GS_SIMULATE_HOST_INTERVAL_TASK];
}

static bool uses_core(int8_t what)
{
    return what == GS_SIMULATE_HOST_DOES_CPU || what == GS_SIMULATE_HOST_DOES_COPY_IN ||
           what == GS_SIMULATE_HOST_DOES_COPY_OUT || what == GS_SIMULATE_HOST_DOES_SPIN ||
           what == GS_SIMULATE_HOST_DOES_OVERHEAD;
}

/* The client for which the server works; the server itself while it wakes up. */
static const gs_simulate_host_thread_t *on_behalf(const gs_simulate_host_state_t *self,
                                                  const gs_simulate_host_thread_t *t)
{
    return t->task < 0 && self->holder >= 0 ? &self->thread[self->holder] : t;
}

void gs_simulate_host_log_change(gs_simulate_host_state_t *self, gs_simulate_host_thread_t *t,
                                 int8_t doing)
{
    const gs_simulate_host_thread_t *owner = on_behalf(self, t);
    bool shown = t->doing != GS_SIMULATE_HOST_DOES_NOTHING &&
                 t->doing != GS_SIMULATE_HOST_DOES_KERNEL &&
                 (t->task >= 0 || t->doing != GS_SIMULATE_HOST_DOES_READY);
    if (shown && self->now > t->since) {
        const int64_t interval[] = {
            [GS_SIMULATE_HOST_INTERVAL_TASK] = owner->task,
            [GS_SIMULATE_HOST_INTERVAL_JOB] = owner->task < 0 ? -1 : owner->number,
            [GS_SIMULATE_HOST_INTERVAL_WHAT] = t->doing,
            [GS_SIMULATE_HOST_INTERVAL_CORE] = uses_core(t->doing) ? self->cpu[t->was].core : -1,
            [GS_SIMULATE_HOST_INTERVAL_START] = t->since,
            [GS_SIMULATE_HOST_INTERVAL_END] = self->now,
        };
        if (t->logged >= 0 && goes_on(self->host, t->logged, interval)) {
            self->host->interval[GS_SIMULATE_HOST_INTERVAL_END][t->logged] = self->now;
        } else {
            t->logged = add(self, interval);
        }
    }
    t->doing = doing;
    t->since = self->now;
}

void gs_simulate_host_log_kernel(gs_simulate_host_state_t *self, const gs_simulate_host_thread_t *t,
                                 int64_t start, int64_t end)
{
    if (self->log_intervals && end > start) {
        const int64_t interval[] = {
            [GS_SIMULATE_HOST_INTERVAL_TASK] = t->task,
            [GS_SIMULATE_HOST_INTERVAL_JOB] = t->number,
            [GS_SIMULATE_HOST_INTERVAL_WHAT] = GS_SIMULATE_HOST_DOES_KERNEL,
            [GS_SIMULATE_HOST_INTERVAL_CORE] = -1,
            [GS_SIMULATE_HOST_INTERVAL_START] = start,
            [GS_SIMULATE_HOST_INTERVAL_END] = end,
        };
        add(self, interval);
    }
}
