/* Jobs of the FIFO simulator: releases, streams, chains of kernels, and the queue. */
#include "simulate/fifo/fifo_jobs.h"

#include <string.h>

#include "core/rng.h"
#include "core/vector.h"
#include "simulate/fifo/fifo_cycle.h"

/* Growing ------------------------------------------------------------------------------------- */

/* Grows the ring by doubling; the entries before its head move behind the others. */
static int make_queue_room(gs_simulate_fifo_t *self, gs_context_t *ctx)
{
    if (self->queue_count < self->queue_room) {
        return GS_OK;
    }
    size_t before = (size_t)self->queue_room;
    gs_simulate_fifo_place_t *queue = gs_vector_reserve(ctx, self->queue, &self->queue_room,
                                                        self->queue_count + 1, sizeof *queue);
    if (queue == NULL) {
        return ctx->status;
    }
    memcpy(queue + before, queue, (size_t)self->queue_head * sizeof *queue);
    self->queue = queue;
    return GS_OK;
}

/* The queue ----------------------------------------------------------------------------------- */

static bool goes_before(const gs_simulate_fifo_t *self, gs_simulate_fifo_place_t a,
                        gs_simulate_fifo_place_t b)
{
    const gs_simulate_fifo_job_t *job = self->job;
    if (self->model.chains != NULL) {
        const int64_t *level = self->model.chains->level;
        int64_t first = level[job[a.job].task], second = level[job[b.job].task];
        if (first != second) {
            return first < second;
        }
    }
    if (a.key != b.key) {
        return a.key < b.key;
    }
    return self->rank[job[a.job].task] < self->rank[job[b.job].task];
}

static int enqueue(gs_simulate_fifo_t *self, gs_context_t *ctx, int64_t job)
{
    int status = make_queue_room(self, ctx);
    if (status != GS_OK) {
        return status;
    }
    bool by_arrival = self->model.order == GS_FIFO_ORDER_HARDWARE;
    gs_simulate_fifo_place_t added = {by_arrival ? self->now : self->job[job].release, job};
    int64_t mask = self->queue_room - 1, at = self->queue_count++;
    while (at > 0) {
        gs_simulate_fifo_place_t ahead = self->queue[(self->queue_head + at - 1) & mask];
        if (!goes_before(self, added, ahead)) {
            break;
        }
        self->queue[(self->queue_head + at) & mask] = ahead;
        at--;
    }
    self->queue[(self->queue_head + at) & mask] = added;
    if (self->cycle.ahead != NULL) {
        gs_simulate_fifo_cycle_queued(self, at);
    }
    return GS_OK;
}

/* Jobs ---------------------------------------------------------------------------------------- */

int gs_simulate_fifo_jobs_join(gs_simulate_fifo_t *self, gs_context_t *ctx, int64_t job)
{
    int64_t task = self->job[job].task;
    int status = enqueue(self, ctx, job);
    return status == GS_OK
               ? gs_simulate_fifo_jobs_trigger(self, ctx, task, GS_SIMULATE_FIFO_AT_HEAD)
               : status;
}

/* Ticks until the current kernel of the job joins its queue. */
static int64_t actual_latency(const gs_simulate_fifo_t *self, const gs_simulate_fifo_job_t *job)
{
    int64_t most = self->model.chains->latency[job->kernel];
    int64_t least = self->model.soonest == NULL ? most : self->model.soonest[job->kernel];
    if (least == most) {
        return most;
    }
    int64_t place = job->kernel - self->model.chains->begin[job->task];
    uint64_t bits = gs_rng_at(self->gap_seed[job->task], ~(uint64_t)job->number);
    bits = gs_rng_at(bits, (uint64_t)place);
    return least + (int64_t)gs_rng_scale(bits, (uint64_t)(most - least) + 1);
}

/* The current kernel of the job may join its queue once its latency has passed. */
static int launch(gs_simulate_fifo_t *self, gs_context_t *ctx, int64_t job)
{
    gs_simulate_fifo_job_t *record = &self->job[job];
    int64_t instant = self->now + actual_latency(self, record);
    record->serial = self->serial++;
    record->waiting = self->model.kernels.blocks[record->kernel];
    if (instant >= GS_NEVER) {
        return gs_fail(ctx, GS_ERR_OVERFLOW, "latency", record->kernel,
                       self->model.chains->latency[record->kernel],
                       "a schedule that ends before tick 2**61 - 1");
    }
    return instant == self->now ? gs_simulate_fifo_jobs_join(self, ctx, job)
                                : gs_heap_push(&self->joins, ctx, instant, job);
}

/* The job reaches the head of its stream. */
static int reach_head(gs_simulate_fifo_t *self, gs_context_t *ctx, int64_t job)
{
    if (self->model.chains != NULL) {
        return launch(self, ctx, job);
    }
    int64_t task = self->job[job].task;
    bool joins =
        self->model.order == GS_FIFO_ORDER_HARDWARE || self->model.order == GS_FIFO_ORDER_RELEASE;
    int status = joins ? enqueue(self, ctx, job) : GS_OK;
    return status == GS_OK
               ? gs_simulate_fifo_jobs_trigger(self, ctx, task, GS_SIMULATE_FIFO_AT_HEAD)
               : status;
}

/* A free record for a new job. */
static int new_record(gs_simulate_fifo_t *self, gs_context_t *ctx, int64_t *job)
{
    if (self->job_free >= 0) {
        *job = self->job_free;
        self->job_free = self->job[*job].next;
        return GS_OK;
    }
    if (self->job_count == self->job_room) {
        gs_simulate_fifo_job_t *grown =
            gs_vector_reserve(ctx, self->job, &self->job_room, self->job_count + 1, sizeof *grown);
        if (grown == NULL) {
            return ctx->status;
        }
        self->job = grown;
    }
    *job = self->job_count++;
    return GS_OK;
}

static int release(gs_simulate_fifo_t *self, gs_context_t *ctx, int64_t task)
{
    int64_t job = -1;
    int status = gs_count_states(ctx, 1);
    if (status == GS_OK) {
        status = new_record(self, ctx, &job);
    }
    if (status != GS_OK) {
        return status;
    }
    const gs_kernel_chains_t *chains = self->model.chains;
    int64_t kernel = chains == NULL ? task : chains->begin[task];
    self->job[job] = (gs_simulate_fifo_job_t){.release = self->now,
                                              .start = -1,
                                              .dispatched = -1,
                                              .end = -1,
                                              .number = self->released[task]++,
                                              .waiting = self->model.kernels.blocks[kernel],
                                              .serial = self->serial++,
                                              .next = -1,
                                              .task = (int32_t)task,
                                              .kernel = (int32_t)kernel};
    if (self->model.order == GS_FIFO_ORDER_STRICT || self->model.order == GS_FIFO_ORDER_OVERLAP) {
        status = enqueue(self, ctx, job);
    }
    if (status != GS_OK) {
        return status;
    }
    gs_simulate_fifo_stream_t *stream = &self->stream[self->task_stream[task]];
    stream->pending++;
    if (self->model.order == GS_FIFO_ORDER_OVERLAP) { /* its own stream */
        return reach_head(self, ctx, job);
    }
    if (stream->head < 0) {
        stream->head = stream->tail = job;
        return reach_head(self, ctx, job);
    }
    self->job[stream->tail].next = job;
    stream->tail = job;
    return GS_OK;
}

int gs_simulate_fifo_jobs_release_others(gs_simulate_fifo_t *self, gs_context_t *ctx)
{
    const gs_simulate_fifo_model_t *model = &self->model;
    int status = gs_poll(ctx, model->kernels.n);
    for (int64_t r = 0; r < model->kernels.n - 1 && status == GS_OK; r++) {
        int64_t i = self->by_rank[r]; /* the task under analysis is the last */
        if (self->earliest[i] <= self->now) {
            self->earliest[i] = self->now + model->kernels.period[i];
            status = release(self, ctx, i);
        }
    }
    return status;
}

int gs_simulate_fifo_jobs_release_due(gs_simulate_fifo_t *self, gs_context_t *ctx)
{
    const gs_simulate_fifo_model_t *model = &self->model;
    int64_t rank = self->releases.entry[0].item, task = self->by_rank[rank];
    int64_t next = self->now + model->kernels.period[task];
    if (model->release_begin != NULL) {
        int64_t at = model->release_begin[task] + self->released[task] + 1;
        next = at < model->release_begin[task + 1] ? model->release[at] : GS_NEVER;
    } else if (model->slack != NULL && model->slack[task] != 0) {
        uint64_t bits = gs_rng_at(self->gap_seed[task], (uint64_t)self->released[task]);
        next += (int64_t)gs_rng_scale(bits, (uint64_t)model->slack[task] + 1);
    }
    if (next < model->until) {
        gs_heap_replace(&self->releases, next, rank);
    } else {
        gs_heap_pop(&self->releases);
    }
    return release(self, ctx, task);
}

static int end_job(gs_simulate_fifo_t *self, gs_context_t *ctx, int64_t job)
{
    gs_simulate_fifo_job_t *record = &self->job[job];
    int64_t task = record->task, response = self->now - record->release;
    gs_simulate_fifo_stream_t *stream = &self->stream[self->task_stream[task]];
    record->end = self->now;
    self->finished[task]++;
    if (response > self->worst[task]) {
        self->worst[task] = response;
    }
    int64_t next = record->next;
    if (!self->model.log_jobs) {
        record->next = self->job_free;
        self->job_free = job;
    }
    stream->pending--;
    int status = gs_simulate_fifo_jobs_trigger(self, ctx, task, GS_SIMULATE_FIFO_AT_END);
    if (status != GS_OK || self->model.order == GS_FIFO_ORDER_OVERLAP) {
        return status;
    }
    stream->head = next;
    if (next >= 0) {
        return reach_head(self, ctx, next);
    }
    stream->tail = -1;
    if (gs_simulate_fifo_cycle_by_time(self)) {
        self->cycle.emptied[self->task_stream[task]] = 1;
    }
    return GS_OK;
}

int gs_simulate_fifo_jobs_end_kernel(gs_simulate_fifo_t *self, gs_context_t *ctx, int64_t job)
{
    gs_simulate_fifo_job_t *record = &self->job[job];
    const gs_kernel_chains_t *chains = self->model.chains;
    if (chains == NULL || record->kernel + 1 == chains->begin[record->task + 1]) {
        return end_job(self, ctx, job);
    }
    record->kernel++;
    int status = gs_simulate_fifo_jobs_trigger(self, ctx, record->task, GS_SIMULATE_FIFO_AT_END);
    return status == GS_OK ? launch(self, ctx, job) : status;
}
