/* Container Method, [RTNS10], section 4.2: the server of the tasks with GPU segments.
 *
 * The server has no thread: the task that it serves represents it among the ready threads, with the
 * deadline of the server's job as its key and at most as much work as the budget allows. The
 * remaining work is kept in `beyond`.
 */
#include "simulate/host/host_parts.h"

#include "core/rational.h"

/* Set-up -------------------------------------------------------------------------------------- */

static int check(gs_context_t *ctx, const gs_simulate_host_model_t *model)
{
    if (model->server_period < 1) {
        return gs_fail(ctx, GS_ERR_VALUE, "server_period", -1, model->server_period,
                       "a positive number");
    }
    return gs_simulate_host_check_clock(ctx, "server_period", -1, model->server_period);
}

/* Length of a job, copies and kernels included; below GS_NEVER. */
static int64_t work_of(const gs_simulate_host_model_t *model, int64_t i)
{
    const gs_host_tasks_t *hosts = &model->hosts;
    int64_t work = gs_host_tasks_cpu(hosts, i)[0];
    for (int64_t j = 0; j < hosts->segments[i]; j++) {
        work += gs_host_tasks_copy_in(hosts, i, j) + gs_host_tasks_copy_out(hosts, i, j) +
                gs_host_tasks_kernel(hosts, i, j, model->sms) + gs_host_tasks_cpu(hosts, i)[j + 1];
    }
    return work;
}

static int init(gs_simulate_host_state_t *self, gs_context_t *ctx,
                const gs_simulate_host_model_t *model)
{
    size_t n = (size_t)self->n;
    int64_t inside = 0;
    int64_t *work = gs_alloc(ctx, 4 * n, sizeof *work);
    if (work == NULL) {
        return ctx->status;
    }
    int64_t *period = work + n, *scratch = work + 2 * n;
    for (int32_t r = 0; r < self->n; r++) {
        int64_t i = self->thread[r].task;
        if (model->hosts.segments[i] > 0) {
            self->thread[r].by_way = true;
            work[inside] = work_of(model, i);
            period[inside++] = model->hosts.period[i];
        }
    }
    int status = gs_rational_share(ctx, work, period, inside, model->server_period, scratch,
                                   &self->container.full);
    gs_free(ctx, work);
    self->container.suspended = -1;
    self->container.runs = self->container.was = -1;
    return status;
}

static gs_simulate_host_job_t *record_of(const gs_simulate_host_state_t *self, int64_t job)
{
    return &self->job[job];
}

/* Service ------------------------------------------------------------------------------------- */

/* The thread no longer represents the server. */
static void stop(gs_simulate_host_state_t *self)
{
    gs_simulate_host_container_t *container = &self->container;
    int32_t r = container->runs;
    if (r < 0) {
        return;
    }
    gs_simulate_host_thread_t *t = &self->thread[r];
    container->runs = -1;
    container->was = t->was;
    gs_simulate_host_leave(self, r, GS_SIMULATE_HOST_DOES_READY);
    container->budget -= container->granted - t->work;
    t->work = container->beyond >= GS_NEVER ? GS_NEVER : t->work + container->beyond;
}

static void start(gs_simulate_host_state_t *self, int32_t r)
{
    gs_simulate_host_container_t *container = &self->container;
    gs_simulate_host_thread_t *t = &self->thread[r];
    int64_t work = t->work;
    container->runs = r;
    t->was = container->was; /* the server stays on its CPU, if possible */
    container->granted = work < container->budget ? work : container->budget;
    container->beyond = work < GS_NEVER ? work - container->granted : GS_NEVER;
    gs_simulate_host_enter(self, r, container->deadline, container->granted, t->what);
}

/* A thread needs a CPU for this much work. */
static void want(gs_simulate_host_state_t *self, int32_t r, int64_t work, int8_t what)
{
    gs_simulate_host_thread_t *t = &self->thread[r];
    if (self->container.runs == r) {
        stop(self);
    }
    t->work = work;
    t->what = what;
    t->inside = GS_SIMULATE_HOST_INSIDE_READY;
    gs_simulate_host_note(self, t, GS_SIMULATE_HOST_DOES_READY);
}

/* A thread needs no CPU. */
static void need_none(gs_simulate_host_state_t *self, int32_t r, int8_t inside, int8_t doing)
{
    gs_simulate_host_thread_t *t = &self->thread[r];
    if (self->container.runs == r) {
        stop(self);
    }
    t->inside = inside;
    gs_simulate_host_note(self, t, doing);
}

static void enter(gs_simulate_host_state_t *self, int32_t r, int64_t work)
{
    gs_simulate_host_thread_t *t = &self->thread[r];
    if (t->inside == GS_SIMULATE_HOST_INSIDE_IDLE) {
        t->base = record_of(self, t->job)->release; /* its key in the container */
        gs_simulate_host_insert(self, &self->waiting, r, -1);
    }
    want(self, r, work, GS_SIMULATE_HOST_DOES_CPU);
}

static void leave(gs_simulate_host_state_t *self, int32_t r)
{
    if (self->thread[r].inside == GS_SIMULATE_HOST_INSIDE_IDLE) {
        return; /* a job without work */
    }
    need_none(self, r, GS_SIMULATE_HOST_INSIDE_IDLE, GS_SIMULATE_HOST_DOES_NOTHING);
    int32_t before = -1, at = self->waiting.head;
    while (at != r) {
        before = at;
        at = self->thread[at].next;
    }
    int32_t next = self->thread[r].next;
    if (before < 0) {
        self->waiting.head = next;
    } else {
        self->thread[before].next = next;
    }
    if (next < 0) {
        self->waiting.tail = before;
    }
}

/* GPU segments ---------------------------------------------------------------------------------
 */

static void begin(gs_simulate_host_state_t *self, int32_t r)
{
    need_none(self, r, GS_SIMULATE_HOST_INSIDE_WAITS, GS_SIMULATE_HOST_DOES_WAIT_GPU);
}

static void end_segment(gs_simulate_host_state_t *self, int32_t r)
{
    self->holder = -1;
    gs_simulate_host_resume(self, r);
}

static void kernel_ended(gs_simulate_host_state_t *self, int32_t r)
{
    gs_simulate_host_thread_t *t = &self->thread[r];
    t->part++;
    if (t->most[t->part] == 0) {
        end_segment(self, r);
    } else {
        want(self, r, gs_simulate_host_time(self, t, t->part), GS_SIMULATE_HOST_DOES_COPY_OUT);
    }
}

static void run_kernel(gs_simulate_host_state_t *self, int32_t r)
{
    gs_simulate_host_thread_t *t = &self->thread[r];
    t->part++;
    if (t->most[t->part] == 0) {
        kernel_ended(self, r);
        return;
    }
    if (self->mode == GS_SIMULATE_HOST_MODE_BUSY) {
        want(self, r, GS_NEVER, GS_SIMULATE_HOST_DOES_SPIN);
    } else {
        need_none(self, r, GS_SIMULATE_HOST_INSIDE_KERNEL, GS_SIMULATE_HOST_DOES_KERNEL);
    }
    gs_simulate_host_start_kernel(self, r);
}

/* The budget is used up, or the work has ended. */
static void worked(gs_simulate_host_state_t *self, int32_t r)
{
    gs_simulate_host_container_t *container = &self->container;
    const gs_simulate_host_thread_t *t = &self->thread[r];
    bool ended = container->beyond == 0;
    if (!ended || container->budget == container->granted) {
        stop(self); /* the budget is used up */
    }
    if (!ended) {
        return;
    }
    if (t->part % GS_SIMULATE_HOST_PARTS == GS_SIMULATE_HOST_PART_CPU) {
        gs_simulate_host_end_cpu_segment(self, r);
    } else if (t->part % GS_SIMULATE_HOST_PARTS == GS_SIMULATE_HOST_PART_IN) {
        run_kernel(self, r);
    } else {
        end_segment(self, r);
    }
}

/* The thread whose job was released first among those with a GPU segment that has not ended; -1:
 * none, or not the current job of its task. */
static int32_t next_on_gpu(const gs_simulate_host_state_t *self)
{
    int32_t first = -1;
    int64_t release = GS_NEVER;
    bool present = false;
    for (int32_t r = self->waiting.head; r >= 0; r = self->thread[r].next) {
        const gs_simulate_host_thread_t *t = &self->thread[r];
        bool ahead = t->part < t->last_part;
        int64_t next = ahead ? t->job : record_of(self, t->job)->next;
        if (next < 0 || t->last_part == 0) {
            continue;
        }
        int64_t at = record_of(self, next)->release;
        if (at < release || (at == release && r < first)) {
            first = r;
            release = at;
            present = ahead;
        }
    }
    return present ? first : -1;
}

static void give_gpu(gs_simulate_host_state_t *self)
{
    int32_t r = self->holder < 0 ? next_on_gpu(self) : -1;
    if (r < 0 || self->thread[r].inside != GS_SIMULATE_HOST_INSIDE_WAITS) {
        return;
    }
    const gs_simulate_host_thread_t *t = &self->thread[r];
    self->holder = r;
    if (t->most[t->part] == 0) {
        run_kernel(self, r);
    } else {
        want(self, r, gs_simulate_host_time(self, t, t->part), GS_SIMULATE_HOST_DOES_COPY_IN);
    }
}

/* The server -----------------------------------------------------------------------------------
 */

/* Sets the next event of the server, unless another one comes before. */
static void set_alarm(gs_simulate_host_state_t *self, int64_t at)
{
    self->alarm = at;
    if (at >= GS_NEVER) {
        gs_simulate_host_fail(self, gs_fail(self->ctx, GS_ERR_OVERFLOW, "until", -1,
                                            self->host->model.until,
                                            "a schedule that ends before tick 2**61 - 1"));
    }
}

/* Consumes the budget for the time in which all jobs were suspended. */
static void charge_suspension(gs_simulate_host_state_t *self)
{
    gs_simulate_host_container_t *container = &self->container;
    if (container->suspended >= 0) {
        int64_t time = self->now - container->suspended;
        container->budget -= time < container->budget ? time : container->budget;
        container->suspended = -1;
    }
}

/* The thread to serve: the job released first, in suspend mode among those that need a CPU; -1:
 * none. */
static int32_t choose(const gs_simulate_host_state_t *self)
{
    int32_t r = self->waiting.head;
    while (r >= 0 && self->thread[r].inside != GS_SIMULATE_HOST_INSIDE_READY) {
        r = self->mode == GS_SIMULATE_HOST_MODE_BUSY ? -1 : self->thread[r].next;
    }
    return r;
}

/* Releases the next job of the server. */
static void replenish(gs_simulate_host_state_t *self)
{
    gs_simulate_host_container_t *container = &self->container;
    container->deadline = container->again + self->host->model.server_period;
    container->again = container->deadline;
    container->budget = container->full;
}

static void grant(gs_simulate_host_state_t *self)
{
    gs_simulate_host_container_t *container = &self->container;
    self->alarm = GS_NEVER;
    give_gpu(self);
    charge_suspension(self);
    if (self->waiting.head < 0) {
        container->budget = 0;
        container->busy = false;
        return;
    }
    if (!container->busy) {
        container->busy = true;
        container->again = container->again > self->now ? container->again : self->now;
    }
    if (container->runs < 0 && container->budget == 0) {
        if (container->again > self->now) {
            set_alarm(self, container->again);
            return;
        }
        replenish(self);
    }
    int32_t r = choose(self);
    if (r >= 0 && r != container->runs) {
        stop(self);
        if (container->budget > 0) {
            start(self, r);
        } else {
            grant(self); /* it stopped as the budget was used up */
        }
    } else if (r < 0) {
        container->suspended = self->now;
        set_alarm(self, self->now + container->budget);
    }
}

const gs_simulate_host_way_t gs_simulate_host_container = {
    .name = "container",
    .modes = {[GS_SIMULATE_HOST_GEDF] = GS_SIMULATE_HOST_SUSPEND | GS_SIMULATE_HOST_BUSY},
    .expected_modes = GS_SIMULATE_HOST_MODES_OF_GEDF,
    .cpus_first = true, /* if a budget and the kernel for which its CPU spins end together */
    .check = check,
    .init = init,
    .begin = begin,
    .worked = worked,
    .kernel_ended = kernel_ended,
    .released = grant, /* releases the job of the server of this instant */
    .grant = grant,
    .enter = enter,
    .leave = leave,
};
