/* Exploration of all integer schedules of a small task set. */
#include "core/vector.h"
#include "simulate/challenge/challenge_explorer.h"

#include <string.h>

#define NOW GS_SIMULATE_CHALLENGE_NOW
#define LONGEST GS_SIMULATE_CHALLENGE_LONGEST
#define TASKS GS_SIMULATE_CHALLENGE_TASKS

/* States -------------------------------------------------------------------------------------- */

/* Adds a state unless it was visited. */
static int visit(gs_simulate_challenge_explorer_t *self, const uint8_t *state, int64_t parent)
{
    uint64_t hash = 0, word;
    for (size_t k = 0; k < self->bytes; k += 8) {
        word = 0;
        memcpy(&word, state + k, self->bytes - k < 8 ? self->bytes - k : 8);
        hash = gs_hash_index_mix(hash, word);
    }
    int64_t cursor = 0, other;
    while ((other = gs_hash_index_next(&self->index, hash, &cursor)) >= 0) {
        if (memcmp(gs_simulate_challenge_state_at(self, other), state, self->bytes) == 0) {
            return GS_OK;
        }
    }
    void *grown =
        gs_vector_reserve(self->ctx, self->state, &self->room, self->count + 1, self->bytes);
    if (grown == NULL) {
        return self->ctx->status;
    }
    self->state = grown;
    grown = gs_vector_reserve(self->ctx, self->parent, &self->parent_room, self->count + 1,
                              sizeof *self->parent);
    if (grown == NULL) {
        return self->ctx->status;
    }
    self->parent = grown;
    memcpy(self->state + (size_t)self->count * self->bytes, state, self->bytes);
    self->parent[self->count] = parent;
    return gs_hash_index_add(&self->index, self->ctx, hash, self->count++);
}

/* Search --------------------------------------------------------------------------------------- */

/* Adds the state that was reached; ends at a late job. `of`: the number of the state before. */
static int add_next(gs_simulate_challenge_explorer_t *self, void *of)
{
    self->result->states++;
    int status = gs_count_states(self->ctx, 1);
    if (status != GS_OK || gs_simulate_challenge_is_late(self)) {
        return status == GS_OK ? GS_SIMULATE_CHALLENGE_END : status;
    }
    uint8_t state[GS_SIMULATE_CHALLENGE_STATE_BYTES];
    gs_simulate_challenge_state_take(self->host.state, self->wait, state);
    return visit(self, state, *(int64_t *)of);
}

/* All --------------------------------------------------------------------------------------------
 */

/* Visits all states for one order of requests. */
static int explore(gs_simulate_challenge_explorer_t *self, int64_t last)
{
    gs_simulate_host_model_t model = self->space.model;
    model.victim = last;
    model.triggers = GS_SIMULATE_HOST_AT_RELEASE; /* without effect, as `until` is 0 */
    int status = gs_simulate_host_init(&self->host, self->ctx, &model);
    if (status != GS_OK) {
        return status;
    }
    gs_simulate_host_state_t *state = self->host.state;
    state->ctx = self->ctx;
    state->host = &self->host;
    state->worst = false;
    state->choose = gs_simulate_challenge_choose;
    state->chooser = self;
    uint8_t first[GS_SIMULATE_CHALLENGE_STATE_BYTES];
    memset(self->wait, 0, sizeof self->wait);
    state->now = NOW;
    int64_t n = self->space.n;
    gs_simulate_host_job_t *job =
        gs_vector_reserve(self->ctx, state->job, &state->job_room, n, sizeof *job);
    if (job == NULL) {
        gs_simulate_host_free(&self->host, self->ctx);
        return self->ctx->status;
    }
    state->job = job;
    state->job_count = n;
    gs_simulate_challenge_state_take(state, self->wait, first);
    self->count = 0;
    gs_hash_index_free(&self->index, self->ctx);
    status = visit(self, first, -1);
    for (int64_t k = 0; k < self->count && status == GS_OK; k++) {
        status = gs_simulate_challenge_enumerate(self, k, add_next, &k);
        if (status == GS_SIMULATE_CHALLENGE_END) {
            self->result->last = last;
            status = gs_simulate_challenge_trace_back(self, k);
            break;
        }
    }
    for (int64_t i = 0; i < n; i++) {
        int64_t *worst = &self->result->worst[i];
        *worst = self->host.worst[i] > *worst ? self->host.worst[i] : *worst;
    }
    gs_simulate_host_free(&self->host, self->ctx);
    return status;
}

/* Whether the exploration takes the set: its number of tasks and its times. */
static bool is_explorable(const gs_simulate_host_model_t *model)
{
    const gs_host_tasks_t *hosts = &model->hosts;
    if (hosts->n > TASKS || model->overhead > LONGEST || model->switching > LONGEST) {
        return false;
    }
    for (int64_t i = 0; i < hosts->n; i++) {
        if (hosts->period[i] > LONGEST) {
            return false;
        }
    }
    return true;
}

/* Refuses parts that are too long, and more of them than a byte numbers. */
static int check_parts(const gs_simulate_challenge_explorer_t *self,
                       const gs_simulate_host_model_t *model)
{
    const gs_simulate_challenge_space_t *space = &self->space;
    if (!is_explorable(model)) {
        return gs_fail(self->ctx, GS_ERR_VALUE, "hosts", -1, model->hosts.n,
                       "at most 8 tasks with times of at most 250 ticks for an exploration");
    }
    for (int64_t k = 0; k < space->n * space->width; k++) {
        if (space->most[k] > LONGEST) {
            return gs_fail(self->ctx, GS_ERR_VALUE, "hosts", k / space->width, space->most[k],
                           "parts of at most 250 ticks for an exploration");
        }
    }
    if (space->width > LONGEST) {
        return gs_fail(self->ctx, GS_ERR_VALUE, "hosts", -1, space->width,
                       "at most 250 parts of a job for an exploration");
    }
    return GS_OK;
}

int gs_simulate_challenge_explore(gs_simulate_challenge_t *self, gs_context_t *ctx,
                                  const gs_simulate_host_model_t *model)
{
    memset(self, 0, sizeof *self);
    self->last = -1;
    gs_simulate_challenge_explorer_t explorer = {.ctx = ctx, .result = self};
    gs_hash_index_init(&explorer.index);
    int status = gs_simulate_challenge_space_init(&explorer.space, ctx, model, 0);
    if (status == GS_OK) {
        status = check_parts(&explorer, model);
    }
    if (status == GS_OK &&
        ((self->worst = gs_alloc(ctx, (size_t)explorer.space.n, sizeof(int64_t))) == NULL ||
         (explorer.entry = gs_alloc(ctx, (size_t)explorer.space.n,
                                    (size_t)explorer.space.width * sizeof(int32_t))) == NULL)) {
        status = ctx->status;
    }
    for (int64_t i = 0; i < explorer.space.n && status == GS_OK; i++) {
        gs_simulate_challenge_map_parts(&explorer.space, i,
                                        explorer.entry + i * explorer.space.width);
    }
    self->width = explorer.space.width;
    explorer.bytes = gs_simulate_challenge_state_bytes(explorer.space.n);
    bool ties = status == GS_OK && model->way->by_arrival != NULL && model->way->by_arrival(model);
    int64_t orders = ties ? explorer.space.n : 0;
    for (int64_t last = -1; last < orders && status == GS_OK && !self->found; last++) {
        status = explore(&explorer, last);
    }
    gs_hash_index_free(&explorer.index, ctx);
    gs_free(ctx, explorer.state);
    gs_free(ctx, explorer.parent);
    gs_free(ctx, explorer.entry);
    gs_simulate_challenge_space_free(&explorer.space, ctx);
    return status;
}
