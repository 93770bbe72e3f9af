/* Rules with a lock for the GPU, or for each of its SMs; and streams, which have none. */
#include <string.h>

#include "simulate/machine/machine_parts.h"

typedef gs_simulate_machine_state_t state_t;
typedef gs_simulate_machine_thread_t thread_t;

void gs_simulate_machine_ask(state_t *self, int32_t r)
{
    thread_t *t = &self->thread[r];
    t->round = self->rounds;
    t->order = gs_simulate_machine_rank(self, r);
    gs_simulate_machine_set_state(self, r, GS_SIMULATE_MACHINE_ASKING);
    self->asked[self->asked_count++] = r;
}

void gs_simulate_machine_take_request(state_t *self, int32_t k)
{
    self->asked_count--;
    memmove(self->asked + k, self->asked + k + 1,
            (size_t)(self->asked_count - k) * sizeof *self->asked);
}

bool gs_simulate_machine_let_wait(state_t *self, bool spins)
{
    bool changed = false;
    for (int32_t k = 0; k < self->asked_count; k++) {
        int32_t r = self->asked[k];
        if (self->thread[r].state != GS_SIMULATE_MACHINE_ASKING) {
            continue;
        }
        changed = true;
        if (spins) {
            gs_simulate_machine_spin(self, r);
        } else {
            gs_simulate_machine_suspend(self, r);
        }
    }
    return changed;
}

/* The first key of requests; then their rounds and ranks decide. */
static int64_t urgency(const state_t *self, const thread_t *t)
{
    if (self->rule->by_priority) {
        return t->base;
    }
    if (self->rule->by_deadline) {
        const gs_simulate_machine_job_t *job = &self->job[t->job];
        return job->deadline - self->model->tail[job->task];
    }
    return 0;
}

/* Whether a request is served before another one. */
static bool is_before(const state_t *self, const thread_t *a, const thread_t *b)
{
    int64_t of_a = urgency(self, a), of_b = urgency(self, b);
    if (of_a != of_b) {
        return of_a < of_b;
    }
    if (!self->rule->by_deadline && a->round != b->round) {
        return a->round < b->round;
    }
    return a->order < b->order;
}

/* The thread has what it asked for. */
static void give(state_t *self, int32_t r)
{
    gs_simulate_machine_give(self, r, 0);
    if (self->rule->boosts) {
        gs_simulate_machine_boost(self, r, 1, self->thread[r].base);
    }
}

/* The holder has the most urgent key of those who wait for it. Returns whether that changes. */
static bool inherit(state_t *self)
{
    if (!self->rule->inherits || self->holder < 0) {
        return false;
    }
    int64_t least = GS_NEVER;
    for (int32_t k = 0; k < self->asked_count; k++) {
        int64_t key = gs_simulate_machine_key(self, &self->thread[self->asked[k]]);
        least = key < least ? key : least;
    }
    if (least == self->thread[self->holder].lent) {
        return false;
    }
    gs_simulate_machine_lend(self, self->holder, least);
    return true;
}

static int init_lock(state_t *self)
{
    self->holder = -1;
    return GS_OK;
}

static bool begin_lock(state_t *self, int32_t r)
{
    gs_simulate_machine_ask(self, r);
    return false;
}

static bool end_lock(state_t *self, int32_t r)
{
    self->holder = -1;
    gs_simulate_machine_lend(self, r, GS_NEVER);
    gs_simulate_machine_boost(self, r, 2, 0);
    return true;
}

/* The first request, -1: none. */
static int32_t first_request(const state_t *self)
{
    int32_t best = -1;
    for (int32_t k = 0; k < self->asked_count; k++) {
        const thread_t *t = &self->thread[self->asked[k]];
        if (best < 0 || is_before(self, t, &self->thread[self->asked[best]])) {
            best = k;
        }
    }
    return best;
}

/* Gives a free lock to a request (-1: there is none); the others wait. */
static bool grant_to(state_t *self, int32_t k)
{
    bool changed = false;
    if (k >= 0 && self->holder < 0) {
        self->holder = self->asked[k];
        gs_simulate_machine_take_request(self, k);
        give(self, self->holder);
        changed = true;
    }
    changed = inherit(self) || changed;
    bool waits = gs_simulate_machine_let_wait(self, self->model->mode == GS_SIMULATE_MACHINE_SPIN);
    return waits || changed;
}

static bool grant_lock(state_t *self)
{
    return grant_to(self, self->holder < 0 ? first_request(self) : -1);
}

int64_t gs_simulate_machine_choose_busy(state_t *self, int64_t d)
{
    const gs_simulate_gpu_t *device = &self->device[d];
    for (int64_t c = 0; device->contexts > 1 && c < device->contexts; c++) {
        if (device->context[c].work > 0) {
            return c;
        }
    }
    return device->active;
}

/* OMLP ------------------------------------------------------------------------------------- */

static int init_queue(state_t *self)
{
    self->places = self->cpus;
    return init_lock(self);
}

static bool begin_queue(state_t *self, int32_t r)
{
    self->thread[r].turn = -1;
    return begin_lock(self, r);
}

static bool end_queue(state_t *self, int32_t r)
{
    self->places++;
    return end_lock(self, r);
}

/* Whether a request has its place before another one: those of this round come last, in order;
 * earlier ones wait by their keys. */
static bool enters_before(const state_t *self, const thread_t *a, const thread_t *b)
{
    bool a_is_new = a->round == self->rounds, b_is_new = b->round == self->rounds;
    if (a_is_new != b_is_new) {
        return b_is_new;
    }
    if (!a_is_new) {
        int64_t of_a = gs_simulate_machine_key(self, a), of_b = gs_simulate_machine_key(self, b);
        if (of_a != of_b) {
            return of_a < of_b;
        }
    }
    return a->round != b->round ? a->round < b->round : a->order < b->order;
}

/* Gives the next free place to a request. Returns whether there was one for it. */
static bool give_place(state_t *self)
{
    thread_t *next = NULL;
    for (int32_t k = 0; k < self->asked_count && self->places > 0; k++) {
        thread_t *t = &self->thread[self->asked[k]];
        if (t->turn < 0 && (next == NULL || enters_before(self, t, next))) {
            next = t;
        }
    }
    if (next == NULL) {
        return false;
    }
    self->places--;
    next->turn = self->turns++;
    return true;
}

static bool grant_queue(state_t *self)
{
    while (give_place(self)) {
    }
    int32_t best = -1;
    for (int32_t k = 0; k < self->asked_count; k++) {
        int64_t turn = self->thread[self->asked[k]].turn;
        if (turn >= 0 && (best < 0 || turn < self->thread[self->asked[best]].turn)) {
            best = k;
        }
    }
    return grant_to(self, best);
}

/* STGM ------------------------------------------------------------------------------------- */

static int init_sets(state_t *self)
{
    int64_t sms = self->model->gpu[0].sms;
    self->holds = gs_alloc(self->ctx, (size_t)self->n + 1, sizeof *self->holds);
    self->taken = gs_alloc(self->ctx, (size_t)sms, sizeof *self->taken);
    return self->holds == NULL || self->taken == NULL ? self->ctx->status : GS_OK;
}

/* Marks the SMs of a thread's task. Returns whether none of them was. */
static bool mark_set(state_t *self, int32_t r)
{
    bool free = true;
    const int64_t *begin = self->model->set_begin;
    int64_t sms = self->model->gpu[0].sms;
    bool all = begin[r] == begin[r + 1];
    for (int64_t k = all ? 0 : begin[r]; k < (all ? sms : begin[r + 1]); k++) {
        int64_t sm = all ? k : self->model->set[k];
        free = free && !self->taken[sm];
        self->taken[sm] = true;
    }
    return free;
}

static bool begin_set(state_t *self, int32_t r)
{
    gs_simulate_machine_boost(self, r, 1, self->thread[r].base);
    gs_simulate_machine_ask(self, r);
    return false;
}

static bool end_set(state_t *self, int32_t r)
{
    gs_simulate_machine_boost(self, r, 2, 0);
    self->holds[r] = false;
    return true;
}

/* Requests are in the order of their rounds; those of one round are put in order of rank. */
static void sort_requests(state_t *self)
{
    for (int32_t k = 1; k < self->asked_count; k++) {
        int32_t r = self->asked[k], place = k;
        while (place > 0 &&
               is_before(self, &self->thread[r], &self->thread[self->asked[place - 1]])) {
            self->asked[place] = self->asked[place - 1];
            place--;
        }
        self->asked[place] = r;
    }
}

static bool grant_sets(state_t *self)
{
    if (self->asked_count == 0) {
        return false;
    }
    bool changed = false;
    memset(self->taken, 0, (size_t)self->model->gpu[0].sms * sizeof *self->taken);
    for (int32_t r = 0; r < self->n; r++) {
        if (self->holds[r]) {
            mark_set(self, r);
        }
    }
    sort_requests(self);
    for (int32_t k = 0; k < self->asked_count;) {
        int32_t r = self->asked[k];
        if (!mark_set(self, r)) {
            k++;
            continue;
        }
        gs_simulate_machine_take_request(self, k);
        self->holds[r] = true;
        gs_simulate_machine_give(self, r, 0);
        changed = true;
    }
    bool waits =
        gs_simulate_machine_let_wait(self, self->model->mode != GS_SIMULATE_MACHINE_SUSPEND);
    return waits || changed;
}

const gs_simulate_machine_rule_t gs_simulate_machine_streams = {.init = NULL};

const gs_simulate_machine_rule_t gs_simulate_machine_mpcp = {
    .init = init_lock,
    .begin = begin_lock,
    .end = end_lock,
    .grant = grant_lock,
    .choose = gs_simulate_machine_choose_busy,
    .end_needs_cpu = true,
    .boosts = true,
    .by_priority = true,
};

const gs_simulate_machine_rule_t gs_simulate_machine_fmlp_plus = {
    .init = init_lock,
    .begin = begin_lock,
    .end = end_lock,
    .grant = grant_lock,
    .choose = gs_simulate_machine_choose_busy,
    .end_needs_cpu = true,
    .boosts = true,
};

const gs_simulate_machine_rule_t gs_simulate_machine_srm = {
    .init = init_lock,
    .begin = begin_lock,
    .end = end_lock,
    .grant = grant_lock,
    .choose = gs_simulate_machine_choose_busy,
    .end_needs_cpu = true,
    .inherits = true,
};

const gs_simulate_machine_rule_t gs_simulate_machine_omlp = {
    .init = init_queue,
    .begin = begin_queue,
    .end = end_queue,
    .grant = grant_queue,
    .choose = gs_simulate_machine_choose_busy,
    .end_needs_cpu = true,
    .inherits = true,
};

const gs_simulate_machine_rule_t gs_simulate_machine_driver = {.choose =
                                                                   gs_simulate_machine_choose_busy};

const gs_simulate_machine_rule_t gs_simulate_machine_edf_serial = {
    .init = init_lock,
    .begin = begin_lock,
    .end = end_lock,
    .grant = grant_lock,
    .choose = gs_simulate_machine_choose_busy,
    .by_deadline = true,
};

const gs_simulate_machine_rule_t gs_simulate_machine_stgm = {
    .init = init_sets,
    .begin = begin_set,
    .end = end_set,
    .grant = grant_sets,
    .end_needs_cpu = true,
};
