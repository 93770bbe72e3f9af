/* A server thread that runs the sections of all tasks, the most urgent client first. */
#include "simulate/machine/machine_parts.h"

typedef gs_simulate_machine_state_t state_t;
typedef gs_simulate_machine_thread_t thread_t;

static int init_server(state_t *self)
{
    self->client = -1;
    gs_simulate_machine_boost(self, self->n, 0, 0);
    return GS_OK;
}

static bool begin(state_t *self, int32_t r)
{
    gs_simulate_machine_ask(self, r);
    return false;
}

/* The server spends its overhead, then turns to the next request. */
static void spend(state_t *self)
{
    thread_t *server = &self->thread[self->n];
    server->job = -1;
    server->item = -1;
    if (server->cpu < 0) {
        gs_simulate_machine_wake(self, self->n);
    }
    gs_simulate_machine_give(self, self->n, self->model->server_overhead);
    server->after = true;
}

static bool end(state_t *self, int32_t r)
{
    self->client = self->job[self->thread[r].job].task;
    spend(self);
    return false;
}

static bool grant(state_t *self)
{
    bool changed = gs_simulate_machine_let_wait(self, false);
    if (self->asked_count > 0 && self->thread[self->n].state == GS_SIMULATE_MACHINE_IDLE) {
        spend(self);
        changed = true;
    }
    return changed;
}

/* Notifies the client whose section has ended. */
static void notify(state_t *self)
{
    int32_t client = self->client;
    if (client < 0) {
        return;
    }
    self->client = -1;
    gs_simulate_machine_give(self, client, 0);
    if (gs_simulate_machine_next_step(self, self->thread[client].job) == GS_SIMULATE_MACHINE_STOP) {
        gs_simulate_machine_go_on(self, client);
    }
}

static void turn(state_t *self, int32_t r)
{
    notify(self);
    if (self->asked_count == 0) {
        gs_simulate_machine_suspend(self, r);
        gs_simulate_machine_set_state(self, r, GS_SIMULATE_MACHINE_IDLE);
        return;
    }
    int32_t best = 0;
    for (int32_t k = 1; k < self->asked_count; k++) {
        const thread_t *t = &self->thread[self->asked[k]];
        const thread_t *first = &self->thread[self->asked[best]];
        if (t->base < first->base || (t->base == first->base && t->order < first->order)) {
            best = k;
        }
    }
    int32_t client = self->asked[best];
    gs_simulate_machine_take_request(self, best);
    if (self->thread[client].state == GS_SIMULATE_MACHINE_ASKING) {
        gs_simulate_machine_suspend(self, client);
    }
    gs_simulate_machine_give(self, r, 0);
    self->thread[r].job = self->thread[client].job;
}

const gs_simulate_machine_rule_t gs_simulate_machine_gpu_server = {
    .init = init_server,
    .begin = begin,
    .end = end,
    .after = turn,
    .grant = grant,
    .end_needs_cpu = true,
    .never_spins = true,
};
