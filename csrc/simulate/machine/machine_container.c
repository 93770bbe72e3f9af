/* Container Method, [RTNS10], section 4.2: a server of global EDF for all tasks with sections. The
 * server has no thread: the one that it serves has its key. */
#include "simulate/machine/machine_parts.h"

typedef gs_simulate_machine_state_t state_t;
typedef gs_simulate_machine_thread_t thread_t;
typedef gs_simulate_machine_job_t job_t;

static int init_container(state_t *self)
{
    const gs_simulate_machine_model_t *m = self->model;
    self->holder = self->served = -1;
    self->was_empty = true;
    self->section_end = gs_alloc(self->ctx, (size_t)self->n, sizeof *self->section_end);
    if (self->section_end == NULL) {
        return self->ctx->status;
    }
    for (int32_t r = 0; r < self->n; r++) {
        for (int64_t s = m->step_begin[r]; s < m->step_begin[r + 1]; s++) {
            if (m->step_kind[s] == GS_SIMULATE_MACHINE_END) {
                self->section_end[r] = s - m->step_begin[r] + 1;
            }
        }
        if (self->section_end[r] > 0) {
            gs_simulate_machine_admit(self, r, GS_NEVER);
        }
    }
    return gs_poll(self->ctx, m->step_begin[m->n]);
}

/* Whether a job of one thread is before that of another: by release, priority, index. */
static bool is_first(const state_t *self, int32_t a, int64_t job_a, int32_t b, int64_t job_b)
{
    const int64_t of_a[] = {self->job[job_a].release, self->thread[a].base, a};
    const int64_t of_b[] = {self->job[job_b].release, self->thread[b].base, b};
    int k = 0;
    while (k < 2 && of_a[k] == of_b[k]) {
        k++;
    }
    return of_a[k] < of_b[k];
}

/* The GPU ---------------------------------------------------------------------------------- */

static bool begin(state_t *self, int32_t r)
{
    gs_simulate_machine_ask(self, r);
    return false;
}

static bool end(state_t *self, int32_t r)
{
    (void)r;
    self->holder = -1;
    return true;
}

/* The first job of a thread whose last section has not ended, -1: it has none. */
static int64_t user(const state_t *self, int32_t r)
{
    const thread_t *t = &self->thread[r];
    bool ahead = t->job >= 0 && self->job[t->job].at < self->section_end[r];
    return ahead ? t->job : t->queued;
}

/* The thread whose job is the first of those; -1: there is none, or it waits for an earlier job. */
static int32_t first_user(const state_t *self)
{
    int32_t first = -1;
    for (int32_t r = 0; r < self->n; r++) {
        int64_t job = self->section_end[r] > 0 ? user(self, r) : -1;
        if (job >= 0 && (first < 0 || is_first(self, r, job, first, user(self, first)))) {
            first = r;
        }
    }
    return first >= 0 && user(self, first) == self->thread[first].job ? first : -1;
}

static bool grant(state_t *self)
{
    bool changed = false;
    int32_t r = self->holder < 0 && self->asked_count > 0 ? first_user(self) : -1;
    for (int32_t k = 0; k < self->asked_count && r >= 0; k++) {
        if (self->asked[k] == r) {
            gs_simulate_machine_take_request(self, k);
            gs_simulate_machine_give(self, r, 0);
            self->holder = r;
            changed = true;
        }
    }
    bool waits = gs_simulate_machine_let_wait(self, false);
    return waits || changed;
}

/* The server ------------------------------------------------------------------------------- */

/* The server serves a thread, -1: none. */
static void serve_thread(state_t *self, int32_t r)
{
    if (self->served >= 0 && self->served != r) {
        gs_simulate_machine_admit(self, self->served, GS_NEVER);
    }
    self->served = r;
    if (r >= 0 && self->thread[r].server_key != self->server_deadline) {
        gs_simulate_machine_admit(self, r, self->server_deadline);
    }
}

/* Whether the budget is used: on a CPU, or as no thread is ready. */
static bool is_used(const state_t *self)
{
    return self->idles || (self->served >= 0 && self->thread[self->served].cpu >= 0);
}

static int64_t alarm(const state_t *self)
{
    if (is_used(self)) {
        return self->now + self->budget;
    }
    return !self->was_empty && self->budget == 0 ? self->next_budget : GS_NEVER;
}

static void passed(state_t *self, int64_t since)
{
    if (!is_used(self)) {
        return;
    }
    self->budget -= self->now - since;
    if (self->budget == 0) {
        self->idles = false;
        serve_thread(self, -1);
    }
}

/* The thread to be served, -1: none is ready. In busy mode the first job is served to its end. */
static int32_t next_served(const state_t *self, bool *empty)
{
    bool busy = self->model->mode != GS_SIMULATE_MACHINE_SUSPEND;
    int32_t first = -1;
    for (int32_t r = 0; r < self->n; r++) {
        const thread_t *t = &self->thread[r];
        if (self->section_end[r] == 0 || t->job < 0) {
            continue;
        }
        *empty = false;
        if ((busy || t->state == GS_SIMULATE_MACHINE_READY) &&
            (first < 0 || is_first(self, r, t->job, first, self->thread[first].job))) {
            first = r;
        }
    }
    bool ready = first >= 0 && self->thread[first].state == GS_SIMULATE_MACHINE_READY;
    return ready ? first : -1;
}

static void serve(state_t *self)
{
    for (int32_t k = 0; k < self->asked_count; k++) {
        if (self->thread[self->asked[k]].state == GS_SIMULATE_MACHINE_ASKING) {
            return; /* it may go on as it is */
        }
    }
    bool empty = true;
    int32_t r = next_served(self, &empty);
    self->idles = false;
    if (empty) {
        self->budget = 0;
        self->was_empty = true;
        serve_thread(self, -1);
        return;
    }
    if (self->was_empty) {
        self->was_empty = false;
        self->next_budget = self->next_budget > self->now ? self->next_budget : self->now;
    }
    if (self->budget == 0) {
        if (self->next_budget > self->now) {
            serve_thread(self, -1);
            return;
        }
        self->next_budget += self->model->server_period;
        self->server_deadline = self->next_budget;
        self->budget = self->model->server_budget;
    }
    self->idles = r < 0;
    serve_thread(self, r);
}

const gs_simulate_machine_rule_t gs_simulate_machine_container = {
    .init = init_container,
    .begin = begin,
    .end = end,
    .grant = grant,
    .alarm = alarm,
    .choose = gs_simulate_machine_choose_busy,
    .serve = serve,
    .passed = passed,
};
