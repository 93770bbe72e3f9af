/* Detection of schedules that repeat or diverge, for the FIFO simulator. */
#include "simulate/fifo/fifo_cycle.h"

#include <stdlib.h>
#include <string.h>

#include "core/vector.h"
#include "simulate/fifo/fifo_sms.h"

/* Computes the hyperperiod and the jobs in it; false when they are too large. */
static bool measure(gs_simulate_fifo_t *self)
{
    gs_simulate_fifo_cycle_t *cycle = &self->cycle;
    const gs_kernel_tasks_t *kernels = &self->model.kernels;
    int64_t h = 1, jobs = 0;
    for (int64_t i = 0; i < kernels->n; i++) {
        if (!gs_lcm(h, kernels->period[i], &h) || h >= GS_CHECK_LATEST) {
            return false;
        }
    }
    for (int64_t i = 0; i < kernels->n; i++) {
        if (!gs_add(jobs, h / kernels->period[i], &jobs)) {
            return false;
        }
    }
    cycle->hyperperiod = h;
    cycle->jobs = jobs;
    return true;
}

/* Whether the releases before an instant are those over an infinite horizon, not cut off by
 * `until`. The job of a checkpoint is released only if all those before it are. */
static bool is_complete(const gs_simulate_fifo_t *self, int64_t instant)
{
    return !gs_simulate_fifo_cycle_by_time(self) || instant <= self->model.until;
}

/* The first checkpoint, after the first release of every task: from there on the releases of one
 * hyperperiod are those of the next. */
static bool place_first(gs_simulate_fifo_t *self)
{
    gs_simulate_fifo_cycle_t *cycle = &self->cycle;
    const gs_simulate_fifo_model_t *model = &self->model;
    int64_t last = 1, before = 0;
    for (int64_t i = 0; i < model->kernels.n; i++) {
        int64_t offset = model->offset == NULL ? 0 : model->offset[i];
        last = offset + 1 > last ? offset + 1 : last;
    }
    cycle->count = (last - 1) / cycle->hyperperiod + 1;
    int64_t instant = cycle->count * cycle->hyperperiod;
    if (instant >= GS_CHECK_LATEST || !is_complete(self, instant)) {
        return false;
    }
    for (int64_t i = 0; i < model->kernels.n; i++) {
        int64_t offset = model->offset == NULL ? 0 : model->offset[i];
        if (!gs_add(before, (instant - offset - 1) / model->kernels.period[i] + 1, &before)) {
            return false;
        }
    }
    cycle->mark = before - 1;
    return true;
}

int gs_simulate_fifo_cycle_init(gs_simulate_fifo_t *self, gs_context_t *ctx)
{
    gs_simulate_fifo_cycle_t *cycle = &self->cycle;
    const gs_simulate_fifo_model_t *model = &self->model;
    size_t n = (size_t)model->kernels.n;
    cycle->saved_count = -1;
    cycle->power = 1;
    cycle->mark = -1;
    if ((cycle->grows = gs_alloc(ctx, n, 1)) == NULL ||
        (cycle->emptied = gs_alloc(ctx, n, 1)) == NULL ||
        (cycle->shared = gs_alloc(ctx, n, 1)) == NULL ||
        (cycle->aged = gs_alloc(ctx, n, sizeof *cycle->aged)) == NULL ||
        (cycle->regular = gs_alloc(ctx, n, sizeof *cycle->regular)) == NULL ||
        (cycle->pending = gs_alloc(ctx, n, sizeof *cycle->pending)) == NULL ||
        (cycle->stream_jobs = gs_alloc(ctx, n, sizeof *cycle->stream_jobs)) == NULL) {
        return ctx->status;
    }
    bool by_release = model->order == GS_FIFO_ORDER_RELEASE;
    if (model->settle == GS_SIMULATE_FIFO_SETTLE_NO ||
        (by_release && n > GS_SIMULATE_FIFO_SETTLE_TASKS) || !measure(self) || !place_first(self)) {
        cycle->hyperperiod = 0;
        cycle->mark = -1;
        return GS_OK;
    }
    if (by_release && (cycle->ahead = gs_alloc(ctx, n * n, 1)) == NULL) {
        return ctx->status;
    }
    for (size_t i = 0; i < n; i++) {
        size_t stream = model->stream == NULL ? i : (size_t)model->stream[i];
        cycle->shared[stream] = cycle->stream_jobs[stream] > 0;
        cycle->stream_jobs[stream] += cycle->hyperperiod / model->kernels.period[i];
        int64_t offset = model->offset == NULL ? 0 : model->offset[i];
        cycle->regular[stream] = offset > cycle->regular[stream] ? offset : cycle->regular[stream];
    }
    return GS_OK;
}

void gs_simulate_fifo_cycle_free(gs_simulate_fifo_t *self, gs_context_t *ctx)
{
    gs_simulate_fifo_cycle_t *cycle = &self->cycle;
    gs_free(ctx, cycle->grows);
    gs_free(ctx, cycle->emptied);
    gs_free(ctx, cycle->ahead);
    gs_free(ctx, cycle->aged);
    gs_free(ctx, cycle->regular);
    gs_free(ctx, cycle->shared);
    gs_free(ctx, cycle->pending);
    gs_free(ctx, cycle->stream_jobs);
    gs_free(ctx, cycle->state);
    gs_free(ctx, cycle->saved);
    memset(cycle, 0, sizeof *cycle);
}

/* Words of the state for each running wave. */
#define FLIGHT_WORDS 5

static int by_words(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;
    for (int k = 0; k < FLIGHT_WORDS; k++) {
        if (x[k] != y[k]) {
            return x[k] < y[k] ? -1 : 1;
        }
    }
    return 0;
}

/* Running waves: for each its remaining time, the stream of its job (or the job itself: its task,
 * and its release relative to the multiple of the hyperperiod), its blocks and its SM; sorted, as
 * the order of the heap depends on history. */
static int64_t *write_flights(const gs_simulate_fifo_t *self, int64_t instant, int64_t *word)
{
    int64_t multiple = self->cycle.count * self->cycle.hyperperiod;
    bool by_time = gs_simulate_fifo_cycle_by_time(self);
    int64_t *first = word;
    for (int64_t e = 0; e < self->ends.count; e++) {
        const gs_simulate_fifo_flight_t *flight = &self->flight[self->ends.entry[e].item];
        const gs_simulate_fifo_job_t *job = &self->job[flight->job];
        *word++ = self->ends.entry[e].time - instant;
        *word++ = by_time ? self->task_stream[job->task] : job->task;
        *word++ = by_time ? 0 : job->release - multiple;
        *word++ = flight->blocks;
        *word++ = self->model.gpu == NULL ? 0 : self->sms.of_flight[self->ends.entry[e].item];
    }
    qsort(first, (size_t)self->ends.count, FLIGHT_WORDS * sizeof *first, by_words);
    return word;
}

static int write_state(gs_simulate_fifo_t *self, gs_context_t *ctx, int64_t instant)
{
    gs_simulate_fifo_cycle_t *cycle = &self->cycle;
    int64_t n = self->model.kernels.n;
    int64_t needed = FLIGHT_WORDS * self->ends.count + self->queue_count + 2 * n + 2;
    needed += self->model.gpu == NULL ? 0 : gs_simulate_fifo_sms_words(self);
    int64_t *grown = gs_vector_reserve(ctx, cycle->state, &cycle->room, needed, sizeof *grown);
    if (grown == NULL) {
        return ctx->status;
    }
    cycle->state = grown;
    int64_t *word = cycle->state;
    *word++ = self->ends.count;
    word = write_flights(self, instant, word);
    if (gs_simulate_fifo_cycle_by_time(self)) {
        *word++ = self->queue_count;
        for (int64_t q = 0; q < self->queue_count; q++) {
            const gs_simulate_fifo_place_t *place =
                &self->queue[(self->queue_head + q) & (self->queue_room - 1)];
            *word++ = self->task_stream[self->job[place->job].task];
        }
        for (int64_t s = 0; s < n; s++) {
            int64_t head = self->stream[s].head;
            *word++ = head < 0 ? -1 : self->job[head].task;
            *word++ = head < 0 ? 0 : self->job[head].waiting;
        }
    }
    if (self->model.gpu != NULL) {
        word = gs_simulate_fifo_sms_write(self, word);
    }
    cycle->length = word - cycle->state;
    return GS_OK;
}

void gs_simulate_fifo_cycle_queued(gs_simulate_fifo_t *self, int64_t place)
{
    int64_t n = self->model.kernels.n, mask = self->queue_room - 1, stream[2];
    for (int64_t q = 0; q < self->queue_count; q++) {
        int64_t pair[2] = {q < place ? q : place, q < place ? place : q}; /* ahead, behind */
        for (int k = 0; k < 2; k++) {
            int64_t job = self->queue[(self->queue_head + pair[k]) & mask].job;
            stream[k] = self->task_stream[self->job[job].task];
        }
        self->cycle.ahead[stream[1] * n + stream[0]] = 1;
    }
}

/* Whether the age of each job queued ahead of another grew by no less. */
static bool keeps_order(const gs_simulate_fifo_t *self)
{
    const gs_simulate_fifo_cycle_t *cycle = &self->cycle;
    int64_t n = self->model.kernels.n;
    for (int64_t s = 0; s < n; s++) {
        for (int64_t x = 0; x < n && cycle->aged[s] > 0; x++) {
            if (cycle->ahead[s * n + x] && cycle->aged[x] < cycle->aged[s]) {
                return false;
            }
        }
    }
    return true;
}

/* Increase of the age of the first job of a stream whose backlog has grown by `more` jobs. The same
 * jobs are released in every hyperperiod. -1 where the jobs of other tasks would follow, or the age
 * exceeds 63 bits. */
static int64_t aging(const gs_simulate_fifo_t *self, int64_t stream, int64_t more)
{
    const gs_simulate_fifo_cycle_t *cycle = &self->cycle;
    int64_t jobs = cycle->stream_jobs[stream], age;
    if (more % jobs == 0) {
        return gs_mul(more / jobs, cycle->hyperperiod, &age) ? age : -1;
    }
    if (cycle->shared[stream]) {
        return -1;
    }
    return gs_mul(more, cycle->hyperperiod / jobs, &age) ? age : -1; /* its period */
}

/* Fills grows with the streams whose backlogs are longer than in the saved state, otherwise equal.
 * Returns their number, or -1 when the change proves nothing. */
static int64_t compare_backlogs(gs_simulate_fifo_t *self)
{
    gs_simulate_fifo_cycle_t *cycle = &self->cycle;
    int64_t growing = 0;
    for (int64_t s = 0; s < self->model.kernels.n; s++) {
        int64_t more = self->stream[s].pending - cycle->pending[s];
        cycle->aged[s] = more > 0 ? aging(self, s, more) : 0;
        if (more < 0 || cycle->aged[s] < 0 || (more > 0 && cycle->emptied[s])) {
            return -1;
        }
        cycle->grows[s] = more > 0;
        growing += more > 0;
    }
    return cycle->ahead == NULL || keeps_order(self) ? growing : -1;
}

/* The same for the lag behind the multiples of the hyperperiod; emptied[0]: the queue ran empty.
 * All tasks wait in one queue, so all responses grow with it. */
static int64_t compare_lags(gs_simulate_fifo_t *self, int64_t lag)
{
    gs_simulate_fifo_cycle_t *cycle = &self->cycle;
    int64_t more = lag - cycle->pending[0];
    if (more < 0 || (more > 0 && cycle->emptied[0])) {
        return -1;
    }
    memset(cycle->grows, more > 0, (size_t)self->model.kernels.n);
    return more > 0;
}

/* Whether the length of the backlog of each stream determines its jobs: not while some are from
 * before the first release of another task of that stream. */
static bool is_regular(const gs_simulate_fifo_t *self)
{
    const gs_simulate_fifo_cycle_t *cycle = &self->cycle;
    for (int64_t s = 0; s < self->model.kernels.n && gs_simulate_fifo_cycle_by_time(self); s++) {
        int64_t head = self->stream[s].head;
        if (head >= 0 && cycle->shared[s] && self->job[head].release < cycle->regular[s]) {
            return false;
        }
    }
    return true;
}

static int save(gs_simulate_fifo_t *self, gs_context_t *ctx, int64_t lag)
{
    gs_simulate_fifo_cycle_t *cycle = &self->cycle;
    int64_t *grown =
        gs_vector_reserve(ctx, cycle->saved, &cycle->saved_room, cycle->length, sizeof *grown);
    if (grown == NULL) {
        return ctx->status;
    }
    cycle->saved = grown;
    memcpy(cycle->saved, cycle->state, (size_t)cycle->length * sizeof *cycle->saved);
    cycle->saved_length = cycle->length;
    cycle->saved_count = cycle->count;
    cycle->power *= 2;
    for (int64_t s = 0; s < self->model.kernels.n; s++) {
        cycle->pending[s] = self->stream[s].pending;
        cycle->emptied[s] = 0;
    }
    if (cycle->ahead != NULL) {
        size_t n = (size_t)self->model.kernels.n;
        memset(cycle->ahead, 0, n * n);
        for (int64_t q = 0; q < self->queue_count; q++) {
            gs_simulate_fifo_cycle_queued(self, q); /* current pairs */
        }
    }
    if (!gs_simulate_fifo_cycle_by_time(self)) {
        cycle->pending[0] = lag;
    }
    return GS_OK;
}

int gs_simulate_fifo_cycle_look(gs_simulate_fifo_t *self, gs_context_t *ctx)
{
    gs_simulate_fifo_cycle_t *cycle = &self->cycle;
    int64_t instant = cycle->count * cycle->hyperperiod;
    bool by_time = gs_simulate_fifo_cycle_by_time(self);
    int64_t lag = self->now - instant;
    int status = write_state(self, ctx, by_time ? instant : self->now);
    if (status == GS_OK) {
        status = gs_poll(ctx, cycle->length);
    }
    if (status != GS_OK) {
        return status;
    }
    if (cycle->saved_count >= 0 && cycle->length == cycle->saved_length &&
        memcmp(cycle->state, cycle->saved, (size_t)cycle->length * sizeof *cycle->state) == 0) {
        int64_t growing = by_time ? compare_backlogs(self) : compare_lags(self, lag);
        if (growing >= 0) {
            self->verdict = growing > 0 ? GS_SIMULATE_FIFO_DIVERGES : GS_SIMULATE_FIFO_REPEATS;
            self->from = cycle->saved_count * cycle->hyperperiod;
            self->length = instant - self->from;
            if (!by_time && cycle->pending[0] > 0) { /* waves that lagged behind may not recur */
                self->from += cycle->pending[0];
            }
            self->done = self->model.settle == GS_SIMULATE_FIFO_SETTLE_STOP;
            cycle->hyperperiod = 0;
            cycle->mark = -1;
            return GS_OK;
        }
        memset(cycle->grows, 0, (size_t)self->model.kernels.n);
    }
    if ((cycle->saved_count < 0 || cycle->count - cycle->saved_count >= cycle->power) &&
        is_regular(self)) {
        status = save(self, ctx, lag);
    }
    cycle->count++;
    instant += cycle->hyperperiod;
    if (instant >= GS_CHECK_LATEST || !is_complete(self, instant) ||
        !gs_add(cycle->mark, cycle->jobs, &cycle->mark)) {
        cycle->hyperperiod = 0;
        cycle->mark = -1;
    }
    return status;
}
