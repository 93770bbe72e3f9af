/* Counterexample of the exploration: the shortest path to a late job as releases and times. */
#include "simulate/challenge/challenge_explorer.h"

#include <string.h>

/* Ends at the state that `of` points to. */
static int compare_next(gs_simulate_challenge_explorer_t *self, void *of)
{
    uint8_t state[GS_SIMULATE_CHALLENGE_STATE_BYTES];
    gs_simulate_challenge_state_take(self->host.state, self->wait, state);
    return memcmp(state, of, self->bytes) == 0 ? GS_SIMULATE_CHALLENGE_END
                                               : GS_SIMULATE_CHALLENGE_GO_ON;
}

/* Ends at a late job. */
static int find_late(gs_simulate_challenge_explorer_t *self, void *of)
{
    (void)of;
    return gs_simulate_challenge_is_late(self) ? GS_SIMULATE_CHALLENGE_END
                                               : GS_SIMULATE_CHALLENGE_GO_ON;
}

/* A path of instants as releases and times per thread. */
typedef struct {
    int64_t *count;   /* per task */
    int64_t *release; /* per task, `most` of them */
    int64_t *time;    /* rows of the same */
    int64_t most;
} path_t;

/* Sets the time of a part; that of joined CPU segments is divided. */
static void set_time(const gs_simulate_challenge_explorer_t *self, int64_t i,
                     const gs_simulate_challenge_choice_t *choice, int64_t *row)
{
    const gs_simulate_challenge_space_t *space = &self->space;
    const int64_t *most = gs_simulate_challenge_most(space, i);
    int64_t time = choice->most - choice->less,
            rest = time - gs_simulate_challenge_least_time(self, i, choice->part);
    for (int64_t at = self->entry[i * space->width + choice->part]; at >= 0;
         at = gs_simulate_challenge_joined(space, i, at)) {
        int64_t more = most[at] > 0 ? most[at] - 1 : 0;
        more = more < rest ? more : rest;
        row[at] = (most[at] > 0) + more;
        rest -= more;
    }
}

/* Adds the releases and choices of the instant that was passed last. */
static void record(const gs_simulate_challenge_explorer_t *self, path_t *path, int64_t instant)
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
        const gs_simulate_challenge_choice_t *choice = &self->choice[c];
        int64_t i = state->thread[choice->thread].task;
        int64_t row = i * path->most + path->count[i] - 1;
        set_time(self, i, choice, path->time + row * space->width);
    }
}

/* Writes the path as given releases and times. */
static int keep_path(gs_simulate_challenge_explorer_t *self, const path_t *path)
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
static int follow(gs_simulate_challenge_explorer_t *self, path_t *path, int64_t *order,
                  int64_t length)
{
    int status = GS_OK;
    for (int64_t k = 0; k < length && status == GS_OK; k++) {
        bool last = k == length - 1;
        uint8_t next[GS_SIMULATE_CHALLENGE_STATE_BYTES];
        if (!last) {
            memcpy(next, gs_simulate_challenge_state_at(self, order[k + 1]), self->bytes);
        }
        status =
            gs_simulate_challenge_enumerate(self, order[k], last ? find_late : compare_next, next);
        if (status == GS_SIMULATE_CHALLENGE_END) {
            record(self, path, k);
            status = GS_OK;
        }
    }
    self->result->until = length;
    return status == GS_OK ? keep_path(self, path) : status;
}

int gs_simulate_challenge_trace_back(gs_simulate_challenge_explorer_t *self, int64_t end)
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
