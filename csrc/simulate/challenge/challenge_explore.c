/* Exploration of all integer schedules of a small task set. */
#include "core/hash_index.h"
#include "core/vector.h"
#include "simulate/challenge/challenge_scenario.h"
#include "simulate/challenge/challenge_state.h"

#include <string.h>

#define NOW GS_SIMULATE_CHALLENGE_NOW
#define LONGEST GS_SIMULATE_CHALLENGE_LONGEST
#define TASKS GS_SIMULATE_CHALLENGE_TASKS

/* Most execution times chosen at one instant: each thread begins few parts. */
enum { CHOICES = 64 };

/* A part that begins at an instant, with its time. */
typedef struct {
    int32_t thread;
    int32_t part;
    int64_t most;
    int64_t ways; /* numbers of ticks from the least time to `most` */
    int64_t less; /* below `most` */
} choice_t;

typedef struct {
    gs_context_t *ctx;
    gs_simulate_challenge_t *result;
    gs_simulate_challenge_space_t space;
    gs_simulate_host_t host;
    size_t bytes;    /* of a state */
    uint8_t *state;  /* visited ones, in order */
    int64_t room;    /* of both arrays */
    int64_t *parent; /* number of the state before */
    int64_t parent_room;
    int64_t count;
    gs_hash_index_t index;
    int64_t wait[TASKS];
    int32_t *entry;    /* per task: where its parts stand in a row of times */
    uint32_t released; /* bits of threads */
    choice_t choice[CHOICES];
    int32_t chosen; /* of this instant */
    int32_t fixed;  /* choices that this pass repeats */
} explorer_t;

/* Parts --------------------------------------------------------------------------------------- */

/* The entries of a row of times for the parts of a thread: segments without any part are left
 * out. */
static void map_parts(const gs_simulate_challenge_space_t *space, int64_t i, int32_t *entry)
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

/* The CPU segment after one whose GPU segment is left out, -1: none. */
static int64_t joined(const gs_simulate_challenge_space_t *space, int64_t i, int64_t at)
{
    const int64_t *most = gs_simulate_challenge_most(space, i);
    bool omitted = at % 4 == 0 && at / 4 < space->model.hosts.segments[i] &&
                   most[at + 1] + most[at + 2] + most[at + 3] == 0;
    return omitted ? at + 4 : -1;
}

/* The least time of a part: a tick for each CPU segment in it. */
static int64_t least_time(const explorer_t *self, int64_t i, int32_t part)
{
    const gs_simulate_challenge_space_t *space = &self->space;
    int64_t least = 0, at = self->entry[i * space->width + part];
    for (; at >= 0; at = joined(space, i, at)) {
        least += gs_simulate_challenge_most(space, i)[at] > 0;
    }
    return least;
}

/* Instants ------------------------------------------------------------------------------------ */

static int64_t choose(void *of, int32_t r, int32_t part, int64_t most)
{
    explorer_t *self = of;
    if (most <= 0 || self->chosen >= CHOICES) {
        return most;
    }
    choice_t *choice = &self->choice[self->chosen++];
    if (self->chosen > self->fixed) {
        int64_t ways = most - least_time(self, self->host.state->thread[r].task, part) + 1;
        *choice = (choice_t){r, part, most, ways, 0};
    }
    return most - choice->less;
}

/* The next combination of choices of the instant; false after the last. */
static bool next_choices(explorer_t *self)
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
static uint32_t eligible(const explorer_t *self)
{
    uint32_t set = 0;
    for (int32_t r = 0; r < self->space.n; r++) {
        set |= self->wait[r] <= 1 ? UINT32_C(1) << r : 0;
    }
    return set;
}

/* Passes the instant after a state with releases and the choices to be repeated. */
static int pass(explorer_t *self, const uint8_t *from, uint32_t released)
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

/* Whether a job has reached its deadline without finishing. */
static bool is_late(const explorer_t *self)
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

/* States -------------------------------------------------------------------------------------- */

static const uint8_t *state_at(const explorer_t *self, int64_t k)
{
    return self->state + (size_t)k * self->bytes;
}

/* Adds a state unless it was visited. */
static int visit(explorer_t *self, const uint8_t *state, int64_t parent)
{
    uint64_t hash = 0, word;
    for (size_t k = 0; k < self->bytes; k += 8) {
        word = 0;
        memcpy(&word, state + k, self->bytes - k < 8 ? self->bytes - k : 8);
        hash = gs_hash_index_mix(hash, word);
    }
    int64_t cursor = 0, other;
    while ((other = gs_hash_index_next(&self->index, hash, &cursor)) >= 0) {
        if (memcmp(state_at(self, other), state, self->bytes) == 0) {
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

/* Called after each instant that follows a state; a positive result ends the enumeration. */
enum { GO_ON = 0, END = 100 };
typedef int after_t(explorer_t *self, void *of);

/* Passes the instant after a state in all ways: every subset of the possible releases, all
 * execution times of the parts that begin. */
static int enumerate(explorer_t *self, int64_t k, after_t *after, void *of)
{
    uint8_t from[GS_SIMULATE_CHALLENGE_STATE_BYTES];
    memcpy(from, state_at(self, k), self->bytes);
    int status = gs_simulate_challenge_state_restore(self->host.state, self->ctx, from, self->wait);
    if (status != GS_OK) {
        return status;
    }
    uint32_t all = eligible(self), released = all;
    for (;;) { /* subsets from the whole set to none */
        self->fixed = 0;
        do {
            status = pass(self, from, released);
            if (status != GS_OK || (status = after(self, of)) != GO_ON) {
                return status;
            }
        } while (next_choices(self));
        if (released == 0) {
            return GS_OK;
        }
        released = (released - 1) & all;
    }
}

/* Search --------------------------------------------------------------------------------------- */

/* Adds the state that was reached; ends at a late job. `of`: the number of the state before. */
static int add_next(explorer_t *self, void *of)
{
    self->result->states++;
    int status = gs_count_states(self->ctx, 1);
    if (status != GS_OK || is_late(self)) {
        return status == GS_OK ? END : status;
    }
    uint8_t state[GS_SIMULATE_CHALLENGE_STATE_BYTES];
    gs_simulate_challenge_state_take(self->host.state, self->wait, state);
    return visit(self, state, *(int64_t *)of);
}

/* Ends at the state that `of` points to. */
static int compare_next(explorer_t *self, void *of)
{
    uint8_t state[GS_SIMULATE_CHALLENGE_STATE_BYTES];
    gs_simulate_challenge_state_take(self->host.state, self->wait, state);
    return memcmp(state, of, self->bytes) == 0 ? END : GO_ON;
}

/* Ends at a late job. */
static int find_late(explorer_t *self, void *of)
{
    (void)of;
    return is_late(self) ? END : GO_ON;
}

/* The counterexample ----------------------------------------------------------------------------
 */

/* A path of instants as releases and times per thread. */
typedef struct {
    int64_t *count;   /* per task */
    int64_t *release; /* per task, `most` of them */
    int64_t *time;    /* rows of the same */
    int64_t most;
} path_t;

/* Sets the time of a part; that of joined CPU segments is divided. */
static void set_time(const explorer_t *self, int64_t i, const choice_t *choice, int64_t *row)
{
    const gs_simulate_challenge_space_t *space = &self->space;
    const int64_t *most = gs_simulate_challenge_most(space, i);
    int64_t time = choice->most - choice->less, rest = time - least_time(self, i, choice->part);
    for (int64_t at = self->entry[i * space->width + choice->part]; at >= 0;
         at = joined(space, i, at)) {
        int64_t more = most[at] > 0 ? most[at] - 1 : 0;
        more = more < rest ? more : rest;
        row[at] = (most[at] > 0) + more;
        rest -= more;
    }
}

/* Adds the releases and choices of the instant that was passed last. */
static void record(const explorer_t *self, path_t *path, int64_t instant)
{
    const gs_simulate_challenge_space_t *space = &self->space;
    const gs_simulate_host_state_t *state = self->host.state;
    for (int32_t r = 0; r < state->n; r++) {
        int64_t i = state->thread[r].task;
        if ((self->released >> r & 1) != 0) {
            int64_t row = i * path->most + path->count[i]++;
            path->release[row] = instant;
            memcpy(path->time + row * space->width, gs_simulate_challenge_most(space, i),
                   (size_t)space->width * sizeof(int64_t));
        }
    }
    for (int32_t c = 0; c < self->chosen; c++) {
        const choice_t *choice = &self->choice[c];
        int64_t i = state->thread[choice->thread].task;
        int64_t row = i * path->most + path->count[i] - 1;
        set_time(self, i, choice, path->time + row * space->width);
    }
}

/* Writes the path as given releases and times. */
static int keep_path(explorer_t *self, const path_t *path)
{
    gs_simulate_challenge_t *result = self->result;
    gs_context_t *ctx = self->ctx;
    int64_t n = self->space.n, width = self->space.width, jobs = 0;
    for (int64_t i = 0; i < n; i++) {
        jobs += path->count[i];
    }
    result->release_begin = gs_alloc(ctx, (size_t)n + 1, sizeof(int64_t));
    result->release = gs_alloc(ctx, (size_t)jobs, sizeof(int64_t));
    result->time = gs_alloc(ctx, (size_t)jobs, (size_t)width * sizeof(int64_t));
    if (result->release_begin == NULL || result->release == NULL || result->time == NULL) {
        return ctx->status;
    }
    for (int64_t i = 0, to = 0; i < n; i++) {
        int64_t from = i * path->most;
        size_t count = (size_t)path->count[i];
        memcpy(result->release + to, path->release + from, count * sizeof(int64_t));
        memcpy(result->time + to * width, path->time + from * width,
               count * (size_t)width * sizeof(int64_t));
        to += path->count[i];
        result->release_begin[i + 1] = to;
    }
    result->found = true;
    return GS_OK;
}

/* Follows the path to the late job that comes after a state. */
static int follow(explorer_t *self, path_t *path, int64_t *order, int64_t length)
{
    int status = GS_OK;
    for (int64_t k = 0; k < length && status == GS_OK; k++) {
        bool last = k == length - 1;
        uint8_t next[GS_SIMULATE_CHALLENGE_STATE_BYTES];
        if (!last) {
            memcpy(next, state_at(self, order[k + 1]), self->bytes);
        }
        status = enumerate(self, order[k], last ? find_late : compare_next, next);
        if (status == END) {
            record(self, path, k);
            status = GS_OK;
        }
    }
    self->result->until = length;
    return status == GS_OK ? keep_path(self, path) : status;
}

static int trace_back(explorer_t *self, int64_t end)
{
    gs_context_t *ctx = self->ctx;
    int64_t length = 0;
    for (int64_t k = end; k >= 0; k = self->parent[k]) {
        length++;
    }
    size_t n = (size_t)self->space.n, width = (size_t)self->space.width;
    size_t most = (size_t)length;
    path_t path = {.most = length};
    int64_t *order = gs_alloc(ctx, most, sizeof *order);
    path.count = gs_alloc(ctx, n, sizeof(int64_t));
    path.release = gs_alloc(ctx, n * most, sizeof(int64_t));
    path.time = gs_alloc(ctx, n * most, width * sizeof(int64_t));
    int status = GS_OK;
    if (order == NULL || path.count == NULL || path.release == NULL || path.time == NULL) {
        status = ctx->status;
    } else {
        for (int64_t k = end, at = length; k >= 0; k = self->parent[k]) {
            order[--at] = k;
        }
        status = follow(self, &path, order, length);
    }
    void *const own[] = {order, path.count, path.release, path.time};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        gs_free(ctx, own[i]);
    }
    return status;
}

/* All --------------------------------------------------------------------------------------------
 */

/* Visits all states for one order of requests. */
static int explore(explorer_t *self, int64_t last)
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
    state->choose = choose;
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
        status = enumerate(self, k, add_next, &k);
        if (status == END) {
            self->result->last = last;
            status = trace_back(self, k);
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

bool gs_simulate_challenge_explorable(const gs_simulate_host_model_t *model)
{
    const gs_host_tasks_t *hosts = &model->hosts;
    if (hosts->n > TASKS || model->overhead > LONGEST) {
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
static int check_parts(const explorer_t *self, const gs_simulate_host_model_t *model)
{
    const gs_simulate_challenge_space_t *space = &self->space;
    if (!gs_simulate_challenge_explorable(model)) {
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

/* Whether the order of requests of one instant matters. */
static bool has_ties(const gs_simulate_host_model_t *model)
{
    return model->gpu == GS_SIMULATE_HOST_GPU_STGM || model->gpu == GS_SIMULATE_HOST_GPU_FMLP ||
           (model->gpu == GS_SIMULATE_HOST_GPU_SLICES && model->ring == GS_SIMULATE_HOST_RING_FIFO);
}

int gs_simulate_challenge_explore(gs_simulate_challenge_t *self, gs_context_t *ctx,
                                  const gs_simulate_host_model_t *model)
{
    memset(self, 0, sizeof *self);
    self->last = -1;
    explorer_t explorer = {.ctx = ctx, .result = self};
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
        map_parts(&explorer.space, i, explorer.entry + i * explorer.space.width);
    }
    self->width = explorer.space.width;
    explorer.bytes = gs_simulate_challenge_state_bytes(explorer.space.n);
    int64_t orders = status == GS_OK && has_ties(model) ? explorer.space.n : 0;
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
