/* What did a job do, and what did it wait for, from when to when? */
#include "sim/host_parts.h"

void gs_host_fail(gs_host_state_t *s, int status)
{
    if (s->status == GS_OK) {
        s->status = status;
    }
}

void gs_host_pass_clock(gs_host_state_t *s)
{
    gs_host_fail(s, gs_fail(s->env, GS_ERR_OVERFLOW, "until", -1, s->host->model.until,
                            "the schedule goes beyond the clock"));
}

static gs_host_interval_t *add(gs_host_state_t *s)
{
    gs_host_t *host = s->host;
    if ((size_t)host->interval_count == s->interval_room) {
        size_t room = s->interval_room == 0 ? 64 : 2 * s->interval_room;
        void *grown = gs_grow(s->env, host->interval, room, sizeof *host->interval);
        if (grown == NULL) {
            gs_host_fail(s, s->env->status);
            return NULL;
        }
        host->interval = grown;
        s->interval_room = room;
    }
    return &host->interval[host->interval_count++];
}

static bool uses_core(int8_t what)
{
    return what == GS_HOST_DOES_CPU || what == GS_HOST_DOES_COPY_IN ||
           what == GS_HOST_DOES_COPY_OUT || what == GS_HOST_DOES_SPIN ||
           what == GS_HOST_DOES_OVERHEAD;
}

/* The server works for a client, except when it wakes up. */
static const gs_host_thread_t *on_behalf(const gs_host_state_t *s, const gs_host_thread_t *t)
{
    return t->task < 0 && s->holder >= 0 ? &s->thread[s->holder] : t;
}

void gs_host_log_change(gs_host_state_t *s, gs_host_thread_t *t, int8_t doing)
{
    const gs_host_thread_t *owner = on_behalf(s, t);
    bool shown = t->doing != GS_HOST_DOES_NOTHING && t->doing != GS_HOST_DOES_KERNEL &&
                 (t->task >= 0 || t->doing != GS_HOST_DOES_READY);
    if (shown && s->now > t->since) {
        int32_t core = uses_core(t->doing) ? s->cpu[t->was].core : -1;
        gs_host_interval_t *last = t->logged < 0 ? NULL : &s->host->interval[t->logged];
        int64_t job = owner->task < 0 ? -1 : owner->number;
        if (last != NULL && last->end == t->since && last->what == t->doing && last->core == core &&
            last->job == job && last->task == owner->task) {
            last->end = s->now; /* it goes on with what it did */
        } else {
            gs_host_interval_t *added = add(s);
            if (added != NULL) {
                *added = (gs_host_interval_t){job, t->since, s->now, owner->task, t->doing, core};
                t->logged = s->host->interval_count - 1;
            }
        }
    }
    t->doing = doing;
    t->since = s->now;
}

void gs_host_log_kernel(gs_host_state_t *s, const gs_host_thread_t *t, int64_t end)
{
    gs_host_interval_t *added = s->log_intervals ? add(s) : NULL;
    if (added != NULL) {
        *added = (gs_host_interval_t){t->number, s->now, end, t->task, GS_HOST_DOES_KERNEL, -1};
    }
}
