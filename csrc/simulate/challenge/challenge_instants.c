/* Instants of the exploration: releases and execution times in all ways. */
#include "simulate/challenge/challenge_explorer.h"

#include <string.h>

#define NOW GS_SIMULATE_CHALLENGE_NOW

/* Parts --------------------------------------------------------------------------------------- */

void gs_simulate_challenge_map_parts(const gs_simulate_challenge_space_t *space, int64_t i,
                                     int32_t *entry)
{
    const int64_t *most = gs_simulate_challenge_most(space, i);
    int32_t last = 0;
    for (int32_t j = 0; j < space->model.hosts.segments[i]; j++) {
        if (most[4 * j + 1] + most[4 * j + 2] + most[4 * j + 3] > 0) {
            for (int32_t k = 1; k <= 4; k++) {
                entry[last + k] = 4 * j + k;
            }
            last += 4;
        }
    }
}

int64_t gs_simulate_challenge_joined(const gs_simulate_challenge_space_t *space, int64_t i,
                                     int64_t at)
{
    const int64_t *most = gs_simulate_challenge_most(space, i);
    bool omitted = at % 4 == 0 && at / 4 < space->model.hosts.segments[i] &&
                   most[at + 1] + most[at + 2] + most[at + 3] == 0;
    return omitted ? at + 4 : -1;
}

int64_t gs_simulate_challenge_least_time(const gs_simulate_challenge_explorer_t *self, int64_t i,
                                         int32_t part)
{
    const gs_simulate_challenge_space_t *space = &self->space;
    int64_t least = 0, at = self->entry[i * space->width + part];
    for (; at >= 0; at = gs_simulate_challenge_joined(space, i, at)) {
        least += gs_simulate_challenge_most(space, i)[at] > 0;
    }
    return least;
}

/* Instants ------------------------------------------------------------------------------------ */

int64_t gs_simulate_challenge_choose(void *of, int32_t r, int32_t part, int64_t most)
{
    gs_simulate_challenge_explorer_t *self = of;
    if (most <= 0 || self->chosen >= GS_SIMULATE_CHALLENGE_CHOICES) {
        return most;
    }
    gs_simulate_challenge_choice_t *choice = &self->choice[self->chosen++];
    if (self->chosen > self->fixed) {
        int64_t ways =
            most - gs_simulate_challenge_least_time(self, self->host.state->thread[r].task, part) +
            1;
        *choice = (gs_simulate_challenge_choice_t){r, part, most, ways, 0};
    }
    return most - choice->less;
}

/* The next combination of choices of the instant; false after the last. */
static bool next_choices(gs_simulate_challenge_explorer_t *self)
{
    int32_t k = self->chosen - 1;
    while (k >= 0 && self->choice[k].less + 1 >= self->choice[k].ways) {
        k--;
    }
    if (k < 0) {
        return false;
    }
    self->choice[k].less++;
    self->fixed = k + 1;
    return true;
}

/* Threads whose period has passed at the next instant. */
static uint32_t eligible(const gs_simulate_challenge_explorer_t *self)
{
    uint32_t set = 0;
    for (int32_t r = 0; r < self->space.n; r++) {
        set |= self->wait[r] <= 1 ? UINT32_C(1) << r : 0;
    }
    return set;
}

/* Passes the instant after a state with releases and the choices to be repeated. */
static int pass(gs_simulate_challenge_explorer_t *self, const uint8_t *from, uint32_t released)
{
    gs_simulate_host_state_t *state = self->host.state;
    int status = gs_simulate_challenge_state_restore(state, self->ctx, from, self->wait);
    for (int32_t r = 0; r < state->n && status == GS_OK; r++) {
        self->wait[r] -= self->wait[r] > 0;
        if ((released >> r & 1) != 0) {
            self->wait[r] = state->host->model.hosts.period[state->thread[r].task];
            status = gs_heap_push(&state->releases, self->ctx, NOW + 1, r);
        }
    }
    if (status != GS_OK) {
        return status;
    }
    self->chosen = 0;
    self->released = released;
    self->host.now = state->now = NOW + 1;
    int64_t states = self->ctx->states, limit = self->ctx->states_limit;
    self->ctx->states_limit = 0; /* the simulator counts jobs */
    gs_simulate_host_pass_instant(state);
    self->ctx->states = states;
    self->ctx->states_limit = limit;
    return state->status == GS_OK ? gs_poll(self->ctx, 64) : state->status;
}

bool gs_simulate_challenge_is_late(const gs_simulate_challenge_explorer_t *self)
{
    const gs_simulate_host_state_t *state = self->host.state;
    for (int32_t r = 0; r < state->n; r++) {
        const gs_simulate_host_thread_t *t = &state->thread[r];
        if (t->job >= 0 &&
            state->now - state->job[t->job].release >= state->host->model.hosts.deadline[t->task]) {
            return true;
        }
    }
    return false;
}

/* Enumeration --------------------------------------------------------------------------------- */

int gs_simulate_challenge_enumerate(gs_simulate_challenge_explorer_t *self, int64_t k,
                                    gs_simulate_challenge_after_t *after, void *of)
{
    uint8_t from[GS_SIMULATE_CHALLENGE_STATE_BYTES];
    memcpy(from, gs_simulate_challenge_state_at(self, k), self->bytes);
    int status = gs_simulate_challenge_state_restore(self->host.state, self->ctx, from, self->wait);
    if (status != GS_OK) {
        return status;
    }
    uint32_t all = eligible(self), released = all;
    for (;;) { /* subsets from the whole set to none */
        self->fixed = 0;
        do {
            status = pass(self, from, released);
            if (status != GS_OK || (status = after(self, of)) != GS_SIMULATE_CHALLENGE_GO_ON) {
                return status;
            }
        } while (next_choices(self));
        if (released == 0) {
            return GS_OK;
        }
        released = (released - 1) & all;
    }
}
