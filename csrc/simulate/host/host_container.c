/* Which of the tasks in the container runs, and when may it? Paper 004, section 4.2.
 *
 * The server is no thread of its own: the task that it serves stands for it among the ready ones,
 * with the deadline of the server's job as its key and no more work than the budget allows. What
 * it has beyond that is kept in `beyond`.
 */
#include "simulate/host/host_parts.h"

static gs_simulate_host_job_t *record_of(const gs_simulate_host_state_t *s, int64_t job)
{
    return &s->job[job];
}

/* Whom it serves -------------------------------------------------------------------------------
 */

/* The thread does not stand for the server any more. */
static void stop(gs_simulate_host_state_t *s)
{
    gs_simulate_host_container_t *box = &s->container;
    int32_t r = box->runs;
    if (r < 0) {
        return;
    }
    gs_simulate_host_thread_t *t = &s->thread[r];
    box->runs = -1;
    box->was = t->was;
    gs_simulate_host_leave(s, r, GS_SIMULATE_HOST_DOES_READY);
    box->budget -= box->granted - t->work;
    t->work = box->beyond >= GS_NEVER ? GS_NEVER : t->work + box->beyond;
}

static void start(gs_simulate_host_state_t *s, int32_t r)
{
    gs_simulate_host_container_t *box = &s->container;
    gs_simulate_host_thread_t *t = &s->thread[r];
    int64_t work = t->work;
    box->runs = r;
    t->was = box->was; /* the server stays where it is, if it can */
    box->granted = work < box->budget ? work : box->budget;
    box->beyond = work < GS_NEVER ? work - box->granted : GS_NEVER;
    gs_simulate_host_enter(s, r, box->deadline, box->granted, t->what);
}

/* A thread needs a CPU for so much work. */
static void want(gs_simulate_host_state_t *s, int32_t r, int64_t work, int8_t what)
{
    gs_simulate_host_thread_t *t = &s->thread[r];
    if (s->container.runs == r) {
        stop(s);
    }
    t->work = work;
    t->what = what;
    t->inside = GS_SIMULATE_HOST_INSIDE_READY;
    gs_simulate_host_note(s, t, GS_SIMULATE_HOST_DOES_READY);
}

/* A thread does not need a CPU. */
static void need_none(gs_simulate_host_state_t *s, int32_t r, int8_t inside, int8_t doing)
{
    gs_simulate_host_thread_t *t = &s->thread[r];
    if (s->container.runs == r) {
        stop(s);
    }
    t->inside = inside;
    gs_simulate_host_note(s, t, doing);
}

void gs_simulate_host_container_enter(gs_simulate_host_state_t *s, int32_t r, int64_t work)
{
    if (s->thread[r].inside == GS_SIMULATE_HOST_INSIDE_IDLE) {
        gs_simulate_host_insert(s, &s->waiting, r, -1);
    }
    want(s, r, work, GS_SIMULATE_HOST_DOES_CPU);
}

void gs_simulate_host_container_leave(gs_simulate_host_state_t *s, int32_t r)
{
    if (s->thread[r].inside == GS_SIMULATE_HOST_INSIDE_IDLE) {
        return; /* a job without any work */
    }
    need_none(s, r, GS_SIMULATE_HOST_INSIDE_IDLE, GS_SIMULATE_HOST_DOES_NOTHING);
    int32_t before = -1, at = s->waiting.head;
    while (at != r) {
        before = at;
        at = s->thread[at].next;
    }
    int32_t next = s->thread[r].next;
    if (before < 0) {
        s->waiting.head = next;
    } else {
        s->thread[before].next = next;
    }
    if (next < 0) {
        s->waiting.tail = before;
    }
}

/* GPU segments ---------------------------------------------------------------------------------
 */

void gs_simulate_host_container_begin(gs_simulate_host_state_t *s, int32_t r)
{
    need_none(s, r, GS_SIMULATE_HOST_INSIDE_WAITS, GS_SIMULATE_HOST_DOES_WAIT_GPU);
}

static void run_kernel(gs_simulate_host_state_t *s, int32_t r)
{
    gs_simulate_host_thread_t *t = &s->thread[r];
    t->part++;
    if (t->most[t->part] == 0) {
        gs_simulate_host_container_kernel_ended(s, r);
        return;
    }
    if (s->mode == GS_SIMULATE_HOST_MODE_BUSY) {
        want(s, r, GS_NEVER, GS_SIMULATE_HOST_DOES_SPIN);
    } else {
        need_none(s, r, GS_SIMULATE_HOST_INSIDE_KERNEL, GS_SIMULATE_HOST_DOES_KERNEL);
    }
    gs_simulate_host_start_kernel(s, r);
}

static void end_segment(gs_simulate_host_state_t *s, int32_t r)
{
    s->holder = -1;
    gs_simulate_host_resume(s, r);
}

void gs_simulate_host_container_kernel_ended(gs_simulate_host_state_t *s, int32_t r)
{
    gs_simulate_host_thread_t *t = &s->thread[r];
    t->part++;
    if (t->most[t->part] == 0) {
        end_segment(s, r);
    } else {
        want(s, r, gs_simulate_host_time(s, t, t->part), GS_SIMULATE_HOST_DOES_COPY_OUT);
    }
}

bool gs_simulate_host_container_worked(gs_simulate_host_state_t *s, int32_t r)
{
    gs_simulate_host_container_t *box = &s->container;
    const gs_simulate_host_thread_t *t = &s->thread[r];
    bool ended = box->beyond == 0;
    if (!ended || box->budget == box->granted) {
        stop(s); /* the budget is used up */
    }
    if (!ended) {
        return true;
    }
    if (t->part % GS_SIMULATE_HOST_PARTS == GS_SIMULATE_HOST_PART_CPU) {
        return false;
    }
    if (t->part % GS_SIMULATE_HOST_PARTS == GS_SIMULATE_HOST_PART_IN) {
        run_kernel(s, r);
    } else {
        end_segment(s, r);
    }
    return true;
}

/* The thread whose job, of all that have a GPU segment to come or to end, was released first; -1:
 * none, or one that is no task's present job. */
static int32_t next_on_gpu(const gs_simulate_host_state_t *s)
{
    int32_t first = -1;
    int64_t release = GS_NEVER;
    bool present = false;
    for (int32_t r = s->waiting.head; r >= 0; r = s->thread[r].next) {
        const gs_simulate_host_thread_t *t = &s->thread[r];
        bool ahead = t->part < t->last_part;
        int64_t next = ahead ? t->job : record_of(s, t->job)->next;
        if (next < 0 || t->last_part == 0) {
            continue;
        }
        int64_t at = record_of(s, next)->release;
        if (at < release || (at == release && r < first)) {
            first = r;
            release = at;
            present = ahead;
        }
    }
    return present ? first : -1;
}

static void give_gpu(gs_simulate_host_state_t *s)
{
    int32_t r = s->holder < 0 ? next_on_gpu(s) : -1;
    if (r < 0 || s->thread[r].inside != GS_SIMULATE_HOST_INSIDE_WAITS) {
        return;
    }
    const gs_simulate_host_thread_t *t = &s->thread[r];
    s->holder = r;
    if (t->most[t->part] == 0) {
        run_kernel(s, r);
    } else {
        want(s, r, gs_simulate_host_time(s, t, t->part), GS_SIMULATE_HOST_DOES_COPY_IN);
    }
}

/* The server -----------------------------------------------------------------------------------
 */

/* Something happens to the server then, if nothing does before. */
static void set_alarm(gs_simulate_host_state_t *s, int64_t at)
{
    s->container.alarm = at;
    if (at >= GS_NEVER) {
        gs_simulate_host_fail(s, gs_fail(s->ctx, GS_ERR_OVERFLOW, "until", -1, s->host->model.until,
                                         "a schedule that ends before tick 2**61 - 1"));
    }
}

/* Uses up the budget for the time in which all jobs were suspended. */
static void charge_suspension(gs_simulate_host_state_t *s)
{
    gs_simulate_host_container_t *box = &s->container;
    if (box->suspended >= 0) {
        int64_t time = s->now - box->suspended;
        box->budget -= time < box->budget ? time : box->budget;
        box->suspended = -1;
    }
}

/* Whom it serves: the job released first, or the first that needs a CPU; -1: nobody. */
static int32_t choose(const gs_simulate_host_state_t *s)
{
    int32_t r = s->waiting.head;
    while (r >= 0 && s->thread[r].inside != GS_SIMULATE_HOST_INSIDE_READY) {
        r = s->mode == GS_SIMULATE_HOST_MODE_BUSY ? -1 : s->thread[r].next;
    }
    return r;
}

/* The server's next job, once it is released. */
static void replenish(gs_simulate_host_state_t *s)
{
    gs_simulate_host_container_t *box = &s->container;
    box->deadline = box->again + s->host->model.server_period;
    box->again = box->deadline;
    box->budget = box->full;
}

void gs_simulate_host_container_grant(gs_simulate_host_state_t *s)
{
    gs_simulate_host_container_t *box = &s->container;
    box->alarm = GS_NEVER;
    give_gpu(s);
    charge_suspension(s);
    if (s->waiting.head < 0) {
        box->budget = 0;
        box->busy = false;
        return;
    }
    if (!box->busy) {
        box->busy = true;
        box->again = box->again > s->now ? box->again : s->now;
    }
    if (box->runs < 0 && box->budget == 0) {
        if (box->again > s->now) {
            set_alarm(s, box->again);
            return;
        }
        replenish(s);
    }
    int32_t r = choose(s);
    if (r >= 0 && r != box->runs) {
        stop(s);
        if (box->budget > 0) {
            start(s, r);
        } else {
            gs_simulate_host_container_grant(s); /* it stopped when the budget was used up */
        }
    } else if (r < 0) {
        box->suspended = s->now;
        set_alarm(s, s->now + box->budget);
    }
}
