/* Simulator of kernels whose blocks start in FIFO order: events, queue, jobs and waves. */
#include "simulate/fifo/fifo.h"

#include <string.h>

#include "core/vector.h"
#include "simulate/fifo/fifo_cycle.h"
#include "simulate/fifo/fifo_sms.h"

/* Elementary operations of one event, for the poll. */
#define EVENT_WORK 16

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

static int trigger(gs_simulate_fifo_t *self, gs_context_t *ctx, int64_t task, int64_t moment);

/* A kernel of a chain joins its queue. */
static int join(gs_simulate_fifo_t *self, gs_context_t *ctx, int64_t job)
{
    int64_t task = self->job[job].task;
    int status = enqueue(self, ctx, job);
    return status == GS_OK ? trigger(self, ctx, task, GS_SIMULATE_FIFO_AT_HEAD) : status;
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
    return instant == self->now ? join(self, ctx, job)
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
    return status == GS_OK ? trigger(self, ctx, task, GS_SIMULATE_FIFO_AT_HEAD) : status;
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
                                              .finish = -1,
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

/* Releases all other tasks that their periods allow, at a trigger of the task under analysis. */
static int trigger(gs_simulate_fifo_t *self, gs_context_t *ctx, int64_t task, int64_t moment)
{
    const gs_simulate_fifo_model_t *model = &self->model;
    if (task != model->victim || (model->triggers & moment) == 0 || self->now >= model->until) {
        return GS_OK;
    }
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

/* Performs the release that is due and schedules the next one of its task. */
static int release_due(gs_simulate_fifo_t *self, gs_context_t *ctx)
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

static int finish(gs_simulate_fifo_t *self, gs_context_t *ctx, int64_t job)
{
    gs_simulate_fifo_job_t *record = &self->job[job];
    int64_t task = record->task, response = self->now - record->release;
    gs_simulate_fifo_stream_t *stream = &self->stream[self->task_stream[task]];
    record->finish = self->now;
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
    int status = trigger(self, ctx, task, GS_SIMULATE_FIFO_AT_FINISH);
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

/* A kernel has ended: the next one of the chain, or the end of the job. */
static int end_kernel(gs_simulate_fifo_t *self, gs_context_t *ctx, int64_t job)
{
    gs_simulate_fifo_job_t *record = &self->job[job];
    const gs_kernel_chains_t *chains = self->model.chains;
    if (chains == NULL || record->kernel + 1 == chains->begin[record->task + 1]) {
        return finish(self, ctx, job);
    }
    record->kernel++;
    int status = trigger(self, ctx, record->task, GS_SIMULATE_FIFO_AT_FINISH);
    return status == GS_OK ? launch(self, ctx, job) : status;
}

/* Waves --------------------------------------------------------------------------------------- */

/* Execution time of the next blocks of a job. */
static int64_t actual_time(const gs_simulate_fifo_t *self, const gs_simulate_fifo_job_t *job)
{
    const gs_simulate_fifo_model_t *model = &self->model;
    int64_t most = model->kernels.block_time[job->kernel], least = self->least[job->kernel];
    if (least == most) {
        return most;
    }
    if (model->given != NULL) {
        return model->given[model->release_begin[job->task] + job->number];
    }
    uint64_t bits = gs_rng_at(self->time_seed[job->task], (uint64_t)job->number);
    if (model->draw != GS_SIMULATE_FIFO_PER_JOB) {
        if (model->chains != NULL) {
            bits = gs_rng_at(bits, (uint64_t)(job->kernel - model->chains->begin[job->task]));
        }
        bool by_wave = model->gpu != NULL && model->draw == GS_SIMULATE_FIFO_PER_WAVE;
        int64_t waiting = by_wave ? self->sms.waiting : job->waiting;
        int64_t block = model->kernels.blocks[job->kernel] - waiting;
        bits = gs_rng_at(bits, (uint64_t)block + 1);
    }
    return least + (int64_t)gs_rng_scale(bits, (uint64_t)(most - least) + 1);
}

static int log_wave(gs_simulate_fifo_t *self, gs_context_t *ctx, const gs_simulate_fifo_job_t *job,
                    int64_t blocks, int64_t end)
{
    if (self->wave_count == self->wave_room) {
        gs_simulate_fifo_wave_t *grown = gs_vector_reserve(ctx, self->wave, &self->wave_room,
                                                           self->wave_count + 1, sizeof *grown);
        if (grown == NULL) {
            return ctx->status;
        }
        self->wave = grown;
    }
    if (self->model.chains != NULL) {
        int32_t *grown = gs_vector_reserve(ctx, self->wave_kernel, &self->kernel_room,
                                           self->wave_count + 1, sizeof *grown);
        if (grown == NULL) {
            return ctx->status;
        }
        self->wave_kernel = grown;
        grown[self->wave_count] = (int32_t)(job->kernel - self->model.chains->begin[job->task]);
    }
    self->wave[self->wave_count++] =
        (gs_simulate_fifo_wave_t){job->task, job->number, blocks, self->now, end};
    return GS_OK;
}

/* A free entry for a running wave. */
static int new_flight(gs_simulate_fifo_t *self, gs_context_t *ctx, int64_t *flight)
{
    if (self->flight_free_count > 0) {
        *flight = self->flight_free[--self->flight_free_count];
        return GS_OK;
    }
    int64_t count = self->ends.count;
    if (count == self->flight_room) {
        int64_t room = self->flight_room;
        gs_simulate_fifo_flight_t *grown =
            gs_vector_reserve(ctx, self->flight, &room, count + 1, sizeof *grown);
        if (grown == NULL) {
            return ctx->status;
        }
        self->flight = grown;
        int64_t *spare =
            gs_vector_reserve(ctx, self->flight_free, &self->flight_room, count + 1, sizeof *spare);
        if (spare == NULL) {
            return ctx->status;
        }
        self->flight_free = spare;
    }
    *flight = count;
    return GS_OK;
}

static int start_wave(gs_simulate_fifo_t *self, gs_context_t *ctx, int64_t job, int64_t blocks)
{
    gs_simulate_fifo_job_t *record = &self->job[job];
    int64_t end = self->now + actual_time(self, record), flight = 0;
    if (end >= GS_NEVER) {
        return gs_fail(ctx, GS_ERR_OVERFLOW, "block_time", record->kernel,
                       self->model.kernels.block_time[record->kernel],
                       "a schedule that ends before tick 2**61 - 1");
    }
    int status = new_flight(self, ctx, &flight);
    if (status == GS_OK && self->model.log_waves) {
        status = log_wave(self, ctx, record, blocks, end);
    }
    if (status == GS_OK) {
        self->flight[flight] = (gs_simulate_fifo_flight_t){job, blocks};
        status = gs_heap_push(&self->ends, ctx, end, flight);
    }
    if (self->model.gpu != NULL && status == GS_OK) {
        status = gs_simulate_fifo_sms_note(self, ctx, flight);
    }
    if (status != GS_OK) {
        return status;
    }
    if (record->start < 0) {
        record->start = self->now;
    }
    record->waiting -= blocks;
    record->running += blocks;
    self->threads_free -= blocks * self->model.kernels.threads[record->kernel];
    self->waves++;
    return GS_OK;
}

static int end_wave(gs_simulate_fifo_t *self, gs_context_t *ctx)
{
    int64_t slot = self->ends.entry[0].item;
    gs_simulate_fifo_flight_t flight = self->flight[slot];
    gs_heap_pop(&self->ends);
    self->flight_free[self->flight_free_count++] = slot;
    gs_simulate_fifo_job_t *record = &self->job[flight.job];
    record->running -= flight.blocks;
    if (self->model.gpu != NULL) {
        gs_simulate_fifo_sms_remove(self, record->kernel, slot, flight.blocks);
    }
    self->threads_free += flight.blocks * self->model.kernels.threads[record->kernel];
    return record->running == 0 && record->waiting == 0 ? end_kernel(self, ctx, flight.job) : GS_OK;
}

/* The job at the head of the queue has started its last block. */
static int leave_queue(gs_simulate_fifo_t *self, gs_context_t *ctx, int64_t job)
{
    self->job[job].dispatched = self->now;
    self->queue_head = (self->queue_head + 1) & (self->queue_room - 1);
    self->queue_count--;
    int status = GS_OK;
    if (!gs_simulate_fifo_cycle_by_time(self)) {
        if (self->job[job].serial == self->cycle.mark) {
            status = gs_simulate_fifo_cycle_look(self, ctx);
        }
        if (self->queue_count == 0) {
            self->cycle.emptied[0] = 1;
        }
    }
    return status == GS_OK ? trigger(self, ctx, self->job[job].task, GS_SIMULATE_FIFO_AT_TAIL)
                           : status;
}

/* Number of blocks of this job that fit now. */
static int64_t fitting(const gs_simulate_fifo_t *self, const gs_simulate_fifo_job_t *job)
{
    /* Both are below 2^32, where division is several times faster. */
    uint32_t width = (uint32_t)self->model.kernels.threads[job->kernel];
    int64_t room = (int64_t)((uint32_t)self->threads_free / width);
    int64_t most = self->model.draw == GS_SIMULATE_FIFO_PER_BLOCK ? 1 : job->waiting;
    return room < most ? room : most;
}

static int dispatch(gs_simulate_fifo_t *self, gs_context_t *ctx)
{
    int status = GS_OK;
    while (status == GS_OK && self->queue_count > 0 && !self->done) {
        int64_t job = self->queue[self->queue_head].job;
        const gs_simulate_fifo_job_t *record = &self->job[job];
        if (self->model.order == GS_FIFO_ORDER_STRICT &&
            self->stream[self->task_stream[record->task]].head != job) {
            break;
        }
        int64_t blocks;
        if (self->model.gpu == NULL) {
            blocks = fitting(self, record);
        } else {
            status = gs_simulate_fifo_sms_next(self, ctx, record);
            blocks = self->sms.blocks;
        }
        if (blocks == 0) {
            break;
        }
        status = start_wave(self, ctx, job, blocks);
        if (status == GS_OK && self->job[job].waiting == 0) {
            status = leave_queue(self, ctx, job);
        } else if (self->model.gpu == NULL && self->model.draw != GS_SIMULATE_FIFO_PER_BLOCK) {
            break; /* as many as fit have started */
        }
        if (status == GS_OK) {
            status = gs_poll(ctx, EVENT_WORK);
        }
    }
    return status;
}

/* All events of the next instant. */
static int advance(gs_simulate_fifo_t *self, gs_context_t *ctx, int64_t instant)
{
    int status = GS_OK;
    self->now = instant;
    while (status == GS_OK && gs_heap_time(&self->ends) == instant) {
        status = end_wave(self, ctx);
    }
    while (status == GS_OK && gs_heap_time(&self->releases) == instant) {
        status = release_due(self, ctx);
    }
    while (status == GS_OK && gs_heap_time(&self->joins) == instant) {
        int64_t job = self->joins.entry[0].item;
        gs_heap_pop(&self->joins);
        status = join(self, ctx, job);
    }
    return status == GS_OK ? dispatch(self, ctx) : status;
}

int gs_simulate_fifo_run(gs_simulate_fifo_t *self, gs_context_t *ctx, int64_t waves)
{
    int64_t last;
    if (!gs_add(self->waves, waves, &last)) {
        last = INT64_MAX;
    }
    int status = GS_OK;
    while (status == GS_OK && !self->done && self->waves < last) {
        int64_t end = gs_heap_time(&self->ends), due = gs_heap_time(&self->releases);
        int64_t instant = end < due ? end : due, joined = gs_heap_time(&self->joins);
        instant = joined < instant ? joined : instant;
        if (instant == GS_NEVER) {
            self->done = true;
        } else if (gs_simulate_fifo_cycle_instant(self) <= instant) {
            status = gs_simulate_fifo_cycle_look(self, ctx);
        } else {
            status = advance(self, ctx, instant);
        }
        if (status == GS_OK) {
            status = gs_poll(ctx, EVENT_WORK);
        }
    }
    return status;
}

static const char *const FIFO_ORDER[] = {"hardware", "release", "strict", "overlap", NULL};
static const char *const FIFO_DRAW[] = {"job", "wave", "block", NULL};
static const char *const FIFO_PLACEMENT[] = {"most_room", "olmedo", "round_robin", NULL};
static const gs_method_option_t FIFO_OPTIONS[] = {
    {"order", "choice", FIFO_ORDER, "hardware", "interpretation of FIFO order"},
    {"draw", "choice", FIFO_DRAW, "job", "unit for which an execution time is drawn"},
    {"placement", "choice", FIFO_PLACEMENT, "most_room",
     "rule that chooses the SM of a block, with gpu"},
    {"closer", "boolean", NULL, "False", "whether given releases may be less than a period apart"},
};

const gs_method_t gs_simulate_fifo_fifo_method = {
    .name = "fifo",
    .model = "KernelTasks",
    .function = "simulate.fifo",
    .claim = "simulation",
    .source = "[ECRTS17], section III",
    .summary =
        "Kernels in one stream per task, with blocks started in FIFO order on threads or SMs.",
    .options = FIFO_OPTIONS,
    .option_count = sizeof FIFO_OPTIONS / sizeof *FIFO_OPTIONS,
};
