/* Threads on CPUs, and the steps of their jobs. */
#include "core/rng.h"
#include "core/vector.h"
#include "simulate/machine/machine_parts.h"

typedef gs_simulate_machine_thread_t thread_t;
typedef gs_simulate_machine_job_t job_t;
typedef gs_simulate_machine_cluster_t cluster_t;

/* Tasks have 20 bits of a rank, draws 40. */
enum { INDEX_BITS = 20, DRAW_BITS = 40 };

int64_t gs_simulate_machine_rank(const gs_simulate_machine_state_t *self, int64_t task)
{
    int64_t rank = task;
    if (self->model->drawn_ties) {
        uint64_t bits = gs_rng_at(self->tie_seed, (uint64_t)self->now);
        bits = gs_rng_at(bits, (uint64_t)task);
        rank += (int64_t)(bits >> (64 - DRAW_BITS)) << INDEX_BITS;
    }
    return task == self->model->victim ? rank + (INT64_C(1) << (INDEX_BITS + DRAW_BITS)) : rank;
}

static void mark(gs_simulate_machine_state_t *self, const thread_t *t)
{
    self->dirty[t->cluster / 64] |= UINT64_C(1) << t->cluster % 64;
}

/* Takes a thread off its CPU. */
static void leave_cpu(gs_simulate_machine_state_t *self, thread_t *t)
{
    mark(self, t);
    if (t->cpu < 0) {
        return;
    }
    if (t->left != GS_NEVER) {
        t->left -= self->now - t->ran;
    }
    self->cpu[t->cpu] = -1;
    t->cpu = -1;
}

static void enter_cpu(gs_simulate_machine_state_t *self, int32_t r, int32_t cpu)
{
    self->thread[r].cpu = cpu;
    self->thread[r].ran = self->now;
    self->cpu[cpu] = r;
}

static void set_left(gs_simulate_machine_state_t *self, thread_t *t, int64_t left)
{
    t->left = left;
    t->ran = self->now;
    mark(self, t);
}

void gs_simulate_machine_set_state(gs_simulate_machine_state_t *self, int32_t r, int32_t state)
{
    thread_t *t = &self->thread[r];
    cluster_t *cluster = &self->cluster[t->cluster];
    bool was_ready = t->state == GS_SIMULATE_MACHINE_READY;
    bool is_ready = state == GS_SIMULATE_MACHINE_READY;
    cluster->asking +=
        (state == GS_SIMULATE_MACHINE_ASKING) - (t->state == GS_SIMULATE_MACHINE_ASKING);
    t->state = state;
    if (was_ready == is_ready) {
        return;
    }
    int32_t to = cluster->begin + (is_ready ? cluster->ready++ : --cluster->ready);
    int32_t other = self->member[to];
    self->thread[other].place = t->place;
    self->member[t->place] = other;
    self->member[to] = r;
    t->place = to;
}

void gs_simulate_machine_wake(gs_simulate_machine_state_t *self, int32_t r)
{
    thread_t *t = &self->thread[r];
    gs_simulate_machine_set_state(self, r, GS_SIMULATE_MACHINE_READY);
    t->since = self->now;
    t->rank = gs_simulate_machine_rank(self, r);
    mark(self, t);
}

void gs_simulate_machine_suspend(gs_simulate_machine_state_t *self, int32_t r)
{
    leave_cpu(self, &self->thread[r]);
    gs_simulate_machine_set_state(self, r, GS_SIMULATE_MACHINE_SUSPENDED);
}

void gs_simulate_machine_spin(gs_simulate_machine_state_t *self, int32_t r)
{
    thread_t *t = &self->thread[r];
    if (t->state == GS_SIMULATE_MACHINE_SUSPENDED) {
        gs_simulate_machine_wake(self, r);
    }
    gs_simulate_machine_set_state(self, r, GS_SIMULATE_MACHINE_READY);
    set_left(self, t, GS_NEVER);
}

void gs_simulate_machine_give(gs_simulate_machine_state_t *self, int32_t r, int64_t work)
{
    thread_t *t = &self->thread[r];
    if (t->state == GS_SIMULATE_MACHINE_SUSPENDED) {
        gs_simulate_machine_wake(self, r);
    }
    gs_simulate_machine_set_state(self, r, GS_SIMULATE_MACHINE_READY);
    set_left(self, t, work);
}

void gs_simulate_machine_boost(gs_simulate_machine_state_t *self, int32_t r, int32_t boost,
                               int64_t key)
{
    self->thread[r].boost = boost;
    self->thread[r].boost_key = key;
    mark(self, &self->thread[r]);
}

int64_t gs_simulate_machine_key(const gs_simulate_machine_state_t *self, const thread_t *t)
{
    if (t->server_key >= 0) {
        return t->server_key;
    }
    int64_t key = t->base;
    if (self->model->policy == GS_SIMULATE_MACHINE_GLOBAL_EDF && t->job >= 0) {
        key = self->job[t->job].deadline;
    }
    return t->lent < key ? t->lent : key;
}

void gs_simulate_machine_lend(gs_simulate_machine_state_t *self, int32_t r, int64_t key)
{
    self->thread[r].lent = key;
    mark(self, &self->thread[r]);
}

void gs_simulate_machine_admit(gs_simulate_machine_state_t *self, int32_t r, int64_t key)
{
    self->thread[r].server_key = key;
    mark(self, &self->thread[r]);
}

int64_t gs_simulate_machine_next_step(const gs_simulate_machine_state_t *self, int64_t job)
{
    const job_t *of = &self->job[job];
    return self->model->step_kind[self->model->step_begin[of->task] + of->at];
}

/* Gives an idle thread its next job, if there is one. */
static void take_job(gs_simulate_machine_state_t *self, int32_t r)
{
    thread_t *t = &self->thread[r];
    t->job = t->queued;
    if (t->job < 0) {
        gs_simulate_machine_set_state(self, r, GS_SIMULATE_MACHINE_IDLE);
        return;
    }
    t->queued = self->job[t->job].next;
    if (t->queued < 0) {
        t->queued_last = -1;
    }
    t->item = -1;
    set_left(self, t, 0);
    gs_simulate_machine_wake(self, r);
}

/* Whether other tasks release the jobs of i. */
static bool is_sent(const gs_simulate_machine_model_t *m, int64_t i)
{
    return m->after_begin != NULL && m->after_begin[i] < m->after_begin[i + 1];
}

/* Whether all jobs have ended that release the next job of task i that is not released yet. */
static bool is_due(const gs_simulate_machine_state_t *self, int64_t i)
{
    const gs_simulate_machine_model_t *m = self->model;
    bool due = true;
    for (int64_t k = m->after_begin[i]; k < m->after_begin[i + 1] && due; k++) {
        int64_t ended = self->ended[m->after[k]];
        due = ended > 0 && (ended - 1) / m->every[i] >= self->sent[i];
    }
    return due;
}

/* Releases now the jobs that the end of a job of task r releases. */
static void send(gs_simulate_machine_state_t *self, int32_t r, int64_t arrival)
{
    self->ended[r]++;
    for (int64_t k = self->sends_begin[r]; k < self->sends_begin[r + 1]; k++) {
        int64_t i = self->sends[k];
        if (is_due(self, i)) {
            self->sent[i]++;
            self->arrival[i] = arrival;
            int status = gs_heap_push(&self->releases, self->ctx, self->now, i);
            gs_simulate_machine_fail(self, status);
        }
    }
}

static void end_job(gs_simulate_machine_state_t *self, int32_t r)
{
    thread_t *t = &self->thread[r];
    job_t *job = &self->job[t->job];
    gs_simulate_machine_t *machine = self->machine;
    gs_simulate_machine_count_response(self, job);
    machine->ended++;
    if (job->log >= 0) {
        machine->job[GS_SIMULATE_MACHINE_JOB_END][job->log] = self->now;
    }
    if (self->sends_begin != NULL) {
        send(self, r, job->arrival);
    }
    leave_cpu(self, t);
    t->boost = 2;
    job->task = -1;
    job->next = self->job_free;
    self->job_free = t->job;
    take_job(self, r);
}

/* The thread waits for the operations of a job. */
static void wait_for_operations(gs_simulate_machine_state_t *self, int32_t r, int64_t job)
{
    self->job[job].waiter = r;
    if (self->model->mode == GS_SIMULATE_MACHINE_SUSPEND ||
        (self->rule->never_spins && r == self->n)) {
        gs_simulate_machine_suspend(self, r);
    } else {
        gs_simulate_machine_spin(self, r);
    }
}

/* Executes a step; false if the thread does not go on at once. */
static bool execute(gs_simulate_machine_state_t *self, int32_t r, int64_t kind, int64_t item)
{
    thread_t *t = &self->thread[r];
    int64_t job = t->job;
    const job_t *of = &self->job[job];
    switch (kind) {
    case GS_SIMULATE_MACHINE_WORK:
        set_left(self, t, gs_simulate_machine_actual(self, of->task, of->number, item, 0));
        return false;
    case GS_SIMULATE_MACHINE_CALL:
        gs_simulate_machine_call(self, job, item);
        return true;
    case GS_SIMULATE_MACHINE_BEGIN:
        return self->rule->begin == NULL || self->rule->begin(self, r);
    case GS_SIMULATE_MACHINE_END:
        if (self->rule->end != NULL && !self->rule->end(self, r)) {
            return false;
        }
        /* Its key may have changed: the next step needs a CPU, but for the end of the job. */
        return !self->end_needs_cpu ||
               gs_simulate_machine_next_step(self, job) == GS_SIMULATE_MACHINE_STOP;
    case GS_SIMULATE_MACHINE_WAIT:
        if (of->open == 0) {
            return true;
        }
        wait_for_operations(self, r, job);
        return false;
    default:
        end_job(self, r);
        return false;
    }
}

void gs_simulate_machine_go_on(gs_simulate_machine_state_t *self, int32_t r)
{
    thread_t *t = &self->thread[r];
    mark(self, t);
    if (t->after) {
        t->after = false;
        self->rule->after(self, r);
        if (t->state != GS_SIMULATE_MACHINE_READY || t->left != 0 || t->job < 0) {
            return;
        }
        if (gs_simulate_machine_next_step(self, t->job) == GS_SIMULATE_MACHINE_BEGIN) {
            return; /* its key has changed: the next section needs a CPU */
        }
    }
    bool goes_on = t->job >= 0;
    while (goes_on && self->status == GS_OK) {
        job_t *job = &self->job[t->job];
        int64_t step = self->model->step_begin[job->task] + job->at;
        if (!job->begun) {
            job->begun = true;
            if (job->log >= 0) {
                self->machine->job[GS_SIMULATE_MACHINE_JOB_START][job->log] = self->now;
            }
        }
        job->at++;
        t->item = self->model->step_item[step];
        goes_on = execute(self, r, self->model->step_kind[step], t->item);
    }
}

void gs_simulate_machine_set_alarm(gs_simulate_machine_state_t *self, int64_t at, int64_t item)
{
    gs_simulate_machine_fail(self, gs_heap_push(&self->alarms, self->ctx, at, item));
}

void gs_simulate_machine_ring(gs_simulate_machine_state_t *self)
{
    while (self->status == GS_OK && gs_heap_time(&self->alarms) <= self->now) {
        int64_t item = self->alarms.entry[0].item;
        gs_heap_pop(&self->alarms);
        if (item < 0) {
            self->join = true;
        } else {
            gs_simulate_machine_give(self, (int32_t)item, 0);
        }
    }
}

void gs_simulate_machine_answer(gs_simulate_machine_state_t *self, int64_t job)
{
    job_t *of = &self->job[job];
    int32_t r = of->waiter;
    of->open--;
    if (of->open > 0 || r < 0) {
        return;
    }
    of->waiter = -1;
    int64_t step = self->model->step_begin[of->task] + of->at;
    bool ends = self->model->step_kind[step] == GS_SIMULATE_MACHINE_END && !self->end_needs_cpu;
    bool stops = self->model->step_kind[step + ends] == GS_SIMULATE_MACHINE_STOP;
    if (self->thread[r].state == GS_SIMULATE_MACHINE_SUSPENDED && !stops &&
        self->model->wake_latency > 0) {
        gs_simulate_machine_set_alarm(self, self->now + self->model->wake_latency, r);
    } else {
        gs_simulate_machine_give(self, r, 0);
    }
    if (stops) {
        gs_simulate_machine_go_on(self, r); /* it needs no CPU */
    } else if (ends) {
        if (self->rule->end != NULL) {
            self->rule->end(self, r);
        }
        self->job[job].at++;
    }
}

/* Dispatching ------------------------------------------------------------------------------ */

/* Whether a thread is more urgent than another one. */
static bool precedes(const gs_simulate_machine_state_t *self, const thread_t *a, const thread_t *b)
{
    if (a->boost != b->boost) {
        return a->boost < b->boost;
    }
    bool boosted = a->boost < 2;
    int64_t of_a = boosted ? a->boost_key : gs_simulate_machine_key(self, a);
    int64_t of_b = boosted ? b->boost_key : gs_simulate_machine_key(self, b);
    if (of_a != of_b) {
        return of_a < of_b;
    }
    return a->since != b->since ? a->since < b->since : a->rank < b->rank;
}

/* The most urgent thread of a cluster that is ready, -1: none. */
static int32_t choose_one(const gs_simulate_machine_state_t *self, const cluster_t *cluster)
{
    const thread_t *first = NULL;
    for (int32_t m = cluster->begin; m < cluster->begin + cluster->ready; m++) {
        const thread_t *t = &self->thread[self->member[m]];
        if (t->server_key != GS_NEVER && (first == NULL || precedes(self, t, first))) {
            first = t;
        }
    }
    return first == NULL ? -1 : (int32_t)(first - self->thread);
}

/* The most urgent threads of a cluster that are ready, at most as many as it has CPUs. */
static int32_t choose(const gs_simulate_machine_state_t *self, const cluster_t *cluster)
{
    int32_t count = 0;
    for (int32_t m = cluster->begin; m < cluster->begin + cluster->ready; m++) {
        const thread_t *t = &self->thread[self->member[m]];
        if (t->server_key == GS_NEVER) {
            continue;
        }
        int32_t k = count < cluster->width ? count++ : count;
        bool fits = k < cluster->width;
        if (!fits) { /* in place of the last one? */
            k--;
            fits = precedes(self, t, &self->thread[self->chosen[k]]);
        }
        if (!fits) {
            continue;
        }
        while (k > 0 && precedes(self, t, &self->thread[self->chosen[k - 1]])) {
            self->chosen[k] = self->chosen[k - 1];
            k--;
        }
        self->chosen[k] = self->member[m];
    }
    return count;
}

/* Gives the CPUs of a cluster to the chosen threads. */
static void assign(gs_simulate_machine_state_t *self, const cluster_t *cluster, int32_t count)
{
    for (int32_t k = 0; k < count; k++) {
        self->thread[self->chosen[k]].chosen = true;
    }
    for (int32_t c = cluster->first; c < cluster->first + cluster->width; c++) {
        int32_t r = self->cpu[c];
        if (r >= 0 && !self->thread[r].chosen) {
            leave_cpu(self, &self->thread[r]);
        }
    }
    int32_t c = cluster->first;
    for (int32_t k = 0; k < count; k++) {
        self->thread[self->chosen[k]].chosen = false;
        if (self->thread[self->chosen[k]].cpu < 0) {
            while (self->cpu[c] >= 0) {
                c++;
            }
            enter_cpu(self, self->chosen[k], c);
        }
    }
}

/* Gives the CPU of a cluster to its most urgent thread, which is put into `chosen`. Returns 0
 * without one. */
static int32_t dispatch_one(gs_simulate_machine_state_t *self, const cluster_t *cluster)
{
    int32_t r = choose_one(self, cluster), runs = self->cpu[cluster->first];
    if (runs >= 0 && runs != r) {
        leave_cpu(self, &self->thread[runs]);
    }
    if (r >= 0 && runs != r) {
        enter_cpu(self, r, cluster->first);
    }
    self->chosen[0] = r;
    return r >= 0;
}

/* Chooses the threads of a cluster; those with nothing left go on. True if one did. */
static bool dispatch(gs_simulate_machine_state_t *self, const cluster_t *cluster)
{
    int32_t count;
    if (cluster->width == 1) {
        count = dispatch_one(self, cluster);
    } else {
        count = choose(self, cluster);
        assign(self, cluster, count);
    }
    self->dirty[(cluster - self->cluster) / 64] &= ~(UINT64_C(1) << (cluster - self->cluster) % 64);
    bool changed = false;
    for (int32_t k = 0; k < count; k++) {
        const thread_t *t = &self->thread[self->chosen[k]];
        if (t->state == GS_SIMULATE_MACHINE_READY && t->left == 0) {
            gs_simulate_machine_go_on(self, self->chosen[k]);
            changed = true;
        }
    }
    return changed;
}

bool gs_simulate_machine_dispatch(gs_simulate_machine_state_t *self)
{
    bool changed = false;
    for (int32_t word = 0; word <= self->clusters / 64; word++) {
        for (uint64_t todo = self->dirty[word], later; todo != 0;
             todo = self->dirty[word] & later) {
            int bit = __builtin_ctzll(todo);
            const cluster_t *cluster = &self->cluster[64 * word + bit];
            later = ~(UINT64_C(1) << bit | ((UINT64_C(1) << bit) - 1));
            if (cluster->asking == 0) { /* else it waits for an answer */
                changed |= dispatch(self, cluster);
            }
            if (self->status != GS_OK) {
                return changed;
            }
        }
    }
    return changed;
}

/* Releases --------------------------------------------------------------------------------- */

/* Up to `most` ticks, a multiple of the grain, drawn for job `number` of task i. */
static int64_t drawn(const gs_simulate_machine_state_t *self, int64_t i, uint64_t purpose,
                     int64_t number, int64_t most)
{
    const gs_simulate_machine_model_t *m = self->model;
    if (most < m->grain) {
        return 0;
    }
    uint64_t bits = gs_rng_at(self->release_seed, (uint64_t)m->drawn_as[i]);
    bits = gs_rng_at(gs_rng_at(bits, purpose), (uint64_t)number);
    return (int64_t)gs_rng_scale(bits, (uint64_t)(most / m->grain) + 1) * m->grain;
}

int64_t gs_simulate_machine_delay(const gs_simulate_machine_state_t *self, int64_t i,
                                  int64_t number)
{
    return drawn(self, i, 1, number, self->model->jitter[i]);
}

/* Enters the release of a task's next job, if there is one. `least`: not before it. */
static int plan_release(gs_simulate_machine_state_t *self, int64_t i, int64_t least)
{
    const gs_simulate_machine_model_t *m = self->model;
    int64_t release;
    if (m->release_begin != NULL) {
        int64_t k = m->release_begin[i] + self->number[i];
        if (k >= m->release_begin[i + 1]) {
            return GS_OK;
        }
        self->arrival[i] = m->arrival[k];
        release = m->release[k];
    } else {
        release = self->arrival[i] + gs_simulate_machine_delay(self, i, self->number[i]);
        release = release < least ? least : release;
    }
    return release < m->until ? gs_heap_push(&self->releases, self->ctx, release, i) : GS_OK;
}

int gs_simulate_machine_first_releases(gs_simulate_machine_state_t *self)
{
    int status = GS_OK;
    for (int64_t i = 0; i < self->n && status == GS_OK; i++) {
        self->arrival[i] = self->model->offset[i];
        status = is_sent(self->model, i) ? GS_OK : plan_release(self, i, 0);
    }
    return status;
}

/* A new record of a job, -1 without memory. */
static int64_t new_job(gs_simulate_machine_state_t *self)
{
    int64_t k = self->job_free;
    if (k >= 0) {
        self->job_free = self->job[k].next;
        return k;
    }
    if (self->job_used == self->job_room) {
        job_t *jobs = gs_vector_reserve(self->ctx, self->job, &self->job_room, self->job_used + 1,
                                        sizeof *jobs);
        if (jobs == NULL) {
            gs_simulate_machine_fail(self, self->ctx->status);
            return -1;
        }
        self->job = jobs;
    }
    return self->job_used++;
}

static void release(gs_simulate_machine_state_t *self, int32_t i)
{
    thread_t *t = &self->thread[i];
    const bool sent = is_sent(self->model, i);
    int64_t k = new_job(self);
    if (k < 0) {
        return;
    }
    job_t *job = &self->job[k];
    int64_t origin = sent ? self->now : self->arrival[i];
    *job = (job_t){.number = self->number[i],
                   .arrival = self->arrival[i],
                   .release = self->now,
                   .origin = origin,
                   .deadline = origin + self->model->deadline[i],
                   .next = -1,
                   .log = -1,
                   .task = i,
                   .waiter = -1};
    self->machine->released[i]++;
    gs_simulate_machine_fail(self, gs_count_states(self->ctx, 1));
    job->log = gs_simulate_machine_log_job(self, job);
    if (t->queued_last >= 0) {
        self->job[t->queued_last].next = k;
    } else {
        t->queued = k;
    }
    t->queued_last = k;
    if (t->job < 0) {
        take_job(self, i);
    }
    int64_t period = self->model->period[i], gap = 0;
    if (self->model->gap.over > 0) {
        gap = period / self->model->gap.under * self->model->gap.over +
              period % self->model->gap.under * self->model->gap.over / self->model->gap.under;
    }
    self->number[i]++;
    if (!sent) {
        self->arrival[i] += period + drawn(self, i, 2, self->number[i], gap);
        gs_simulate_machine_fail(self, plan_release(self, i, self->now));
    }
}

void gs_simulate_machine_release(gs_simulate_machine_state_t *self)
{
    while (self->status == GS_OK && gs_heap_time(&self->releases) <= self->now) {
        int32_t i = (int32_t)self->releases.entry[0].item;
        gs_heap_pop(&self->releases);
        release(self, i);
    }
}
