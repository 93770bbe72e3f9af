/* Which block starts next, and when, if blocks start in FIFO order? */
#include "simulate/fifo/fifo.h"

#include <string.h>

#include "core/vector.h"
#include "simulate/fifo/fifo_cycle.h"

/* Elementary operations of one event, for the poll. */
#define EVENT_WORK 16

/* Growing ------------------------------------------------------------------------------------- */

/* Room for one more in the ring; the entries before its head move behind the others. */
static int make_queue_room(gs_simulate_fifo_t *fifo, gs_context_t *ctx)
{
    if (fifo->queue_count < fifo->queue_room) {
        return GS_OK;
    }
    size_t before = (size_t)fifo->queue_room;
    gs_simulate_fifo_place_t *queue = gs_vector_reserve(ctx, fifo->queue, &fifo->queue_room,
                                                        fifo->queue_count + 1, sizeof *queue);
    if (queue == NULL) {
        return ctx->status;
    }
    memcpy(queue + before, queue, (size_t)fifo->queue_head * sizeof *queue);
    fifo->queue = queue;
    return GS_OK;
}

/* The queue ----------------------------------------------------------------------------------- */

static bool goes_before(const gs_simulate_fifo_t *fifo, gs_simulate_fifo_place_t a,
                        gs_simulate_fifo_place_t b)
{
    if (a.key != b.key) {
        return a.key < b.key;
    }
    const gs_simulate_fifo_job_t *job = fifo->job;
    return fifo->rank[job[a.job].task] < fifo->rank[job[b.job].task];
}

static int enqueue(gs_simulate_fifo_t *fifo, gs_context_t *ctx, int64_t job)
{
    int status = make_queue_room(fifo, ctx);
    if (status != GS_OK) {
        return status;
    }
    bool by_arrival = fifo->model.order == GS_FIFO_ORDER_HARDWARE;
    gs_simulate_fifo_place_t added = {by_arrival ? fifo->now : fifo->job[job].release, job};
    int64_t mask = fifo->queue_room - 1, at = fifo->queue_count++;
    while (at > 0) {
        gs_simulate_fifo_place_t ahead = fifo->queue[(fifo->queue_head + at - 1) & mask];
        if (!goes_before(fifo, added, ahead)) {
            break;
        }
        fifo->queue[(fifo->queue_head + at) & mask] = ahead;
        at--;
    }
    fifo->queue[(fifo->queue_head + at) & mask] = added;
    if (fifo->cycle.ahead != NULL) {
        gs_simulate_fifo_cycle_queued(fifo, at);
    }
    return GS_OK;
}

/* Jobs ---------------------------------------------------------------------------------------- */

static int trigger(gs_simulate_fifo_t *fifo, gs_context_t *ctx, int64_t task, int64_t moment);

/* The job is at its stream's head: it may run, as far as the queue lets it. */
static int reach_head(gs_simulate_fifo_t *fifo, gs_context_t *ctx, int64_t job)
{
    int64_t task = fifo->job[job].task;
    bool joins =
        fifo->model.order == GS_FIFO_ORDER_HARDWARE || fifo->model.order == GS_FIFO_ORDER_RELEASE;
    int status = joins ? enqueue(fifo, ctx, job) : GS_OK;
    return status == GS_OK ? trigger(fifo, ctx, task, GS_SIMULATE_FIFO_AT_HEAD) : status;
}

/* A record for a new job: a free one, or one more. */
static int new_record(gs_simulate_fifo_t *fifo, gs_context_t *ctx, int64_t *job)
{
    if (fifo->job_free >= 0) {
        *job = fifo->job_free;
        fifo->job_free = fifo->job[*job].next;
        return GS_OK;
    }
    if (fifo->job_count == fifo->job_room) {
        gs_simulate_fifo_job_t *grown =
            gs_vector_reserve(ctx, fifo->job, &fifo->job_room, fifo->job_count + 1, sizeof *grown);
        if (grown == NULL) {
            return ctx->status;
        }
        fifo->job = grown;
    }
    *job = fifo->job_count++;
    return GS_OK;
}

static int release(gs_simulate_fifo_t *fifo, gs_context_t *ctx, int64_t task)
{
    int64_t job = -1;
    int status = gs_count_states(ctx, 1);
    if (status == GS_OK) {
        status = new_record(fifo, ctx, &job);
    }
    if (status != GS_OK) {
        return status;
    }
    fifo->job[job] = (gs_simulate_fifo_job_t){.release = fifo->now,
                                              .start = -1,
                                              .dispatched = -1,
                                              .finish = -1,
                                              .number = fifo->released[task]++,
                                              .waiting = fifo->model.kernels.blocks[task],
                                              .serial = fifo->serial++,
                                              .next = -1,
                                              .task = (int32_t)task};
    if (fifo->model.order == GS_FIFO_ORDER_STRICT || fifo->model.order == GS_FIFO_ORDER_OVERLAP) {
        status = enqueue(fifo, ctx, job);
    }
    if (status != GS_OK) {
        return status;
    }
    gs_simulate_fifo_stream_t *stream = &fifo->stream[fifo->task_stream[task]];
    stream->pending++;
    if (fifo->model.order == GS_FIFO_ORDER_OVERLAP) { /* a stream for itself alone */
        return reach_head(fifo, ctx, job);
    }
    if (stream->head < 0) {
        stream->head = stream->tail = job;
        return reach_head(fifo, ctx, job);
    }
    fifo->job[stream->tail].next = job;
    stream->tail = job;
    return GS_OK;
}

/* Releases all other tasks that may be, when something happened to the victim. */
static int trigger(gs_simulate_fifo_t *fifo, gs_context_t *ctx, int64_t task, int64_t moment)
{
    const gs_simulate_fifo_model_t *model = &fifo->model;
    if (task != model->victim || (model->triggers & moment) == 0 || fifo->now >= model->until) {
        return GS_OK;
    }
    int status = gs_poll(ctx, model->kernels.n);
    for (int64_t r = 0; r < model->kernels.n - 1 && status == GS_OK; r++) {
        int64_t i = fifo->by_rank[r]; /* the victim is the last */
        if (fifo->earliest[i] <= fifo->now) {
            fifo->earliest[i] = fifo->now + model->kernels.period[i];
            status = release(fifo, ctx, i);
        }
    }
    return status;
}

/* The release that is due, and the next of its task. */
static int release_due(gs_simulate_fifo_t *fifo, gs_context_t *ctx)
{
    const gs_simulate_fifo_model_t *model = &fifo->model;
    int64_t rank = fifo->releases.entry[0].item, task = fifo->by_rank[rank];
    int64_t next = fifo->now + model->kernels.period[task];
    if (model->slack != NULL && model->slack[task] != 0) {
        uint64_t bits = gs_rng_at(fifo->gap_seed[task], (uint64_t)fifo->released[task]);
        next += (int64_t)gs_rng_scale(bits, (uint64_t)model->slack[task] + 1);
    }
    if (next < model->until) {
        gs_heap_replace(&fifo->releases, next, rank);
    } else {
        gs_heap_pop(&fifo->releases);
    }
    return release(fifo, ctx, task);
}

static int finish(gs_simulate_fifo_t *fifo, gs_context_t *ctx, int64_t job)
{
    gs_simulate_fifo_job_t *record = &fifo->job[job];
    int64_t task = record->task, response = fifo->now - record->release;
    gs_simulate_fifo_stream_t *stream = &fifo->stream[fifo->task_stream[task]];
    record->finish = fifo->now;
    fifo->finished[task]++;
    if (response > fifo->worst[task]) {
        fifo->worst[task] = response;
    }
    int64_t next = record->next;
    if (!fifo->model.log_jobs) {
        record->next = fifo->job_free;
        fifo->job_free = job;
    }
    stream->pending--;
    int status = trigger(fifo, ctx, task, GS_SIMULATE_FIFO_AT_FINISH);
    if (status != GS_OK || fifo->model.order == GS_FIFO_ORDER_OVERLAP) {
        return status;
    }
    stream->head = next;
    if (next >= 0) {
        return reach_head(fifo, ctx, next);
    }
    stream->tail = -1;
    if (gs_simulate_fifo_cycle_by_time(fifo)) {
        fifo->cycle.emptied[fifo->task_stream[task]] = 1;
    }
    return GS_OK;
}

/* Waves --------------------------------------------------------------------------------------- */

/* How long blocks of a job run. */
static int64_t actual_time(const gs_simulate_fifo_t *fifo, const gs_simulate_fifo_job_t *job)
{
    const gs_simulate_fifo_model_t *model = &fifo->model;
    int64_t most = model->kernels.block_time[job->task];
    int64_t least = model->least == NULL ? most : model->least[job->task];
    if (least == most) {
        return most;
    }
    uint64_t bits = gs_rng_at(fifo->time_seed[job->task], (uint64_t)job->number);
    if (model->draw != GS_SIMULATE_FIFO_PER_JOB) {
        int64_t block = model->kernels.blocks[job->task] - job->waiting;
        bits = gs_rng_at(bits, (uint64_t)block + 1);
    }
    return least + (int64_t)gs_rng_scale(bits, (uint64_t)(most - least) + 1);
}

static int log_wave(gs_simulate_fifo_t *fifo, gs_context_t *ctx, const gs_simulate_fifo_job_t *job,
                    int64_t blocks, int64_t end)
{
    if (fifo->wave_count == fifo->wave_room) {
        gs_simulate_fifo_wave_t *grown = gs_vector_reserve(ctx, fifo->wave, &fifo->wave_room,
                                                           fifo->wave_count + 1, sizeof *grown);
        if (grown == NULL) {
            return ctx->status;
        }
        fifo->wave = grown;
    }
    fifo->wave[fifo->wave_count++] =
        (gs_simulate_fifo_wave_t){job->task, job->number, blocks, fifo->now, end};
    return GS_OK;
}

/* A place for a wave that runs. */
static int new_flight(gs_simulate_fifo_t *fifo, gs_context_t *ctx, int64_t *flight)
{
    if (fifo->flight_free_count > 0) {
        *flight = fifo->flight_free[--fifo->flight_free_count];
        return GS_OK;
    }
    int64_t count = fifo->ends.count;
    if (count == fifo->flight_room) {
        int64_t room = fifo->flight_room;
        gs_simulate_fifo_flight_t *grown =
            gs_vector_reserve(ctx, fifo->flight, &room, count + 1, sizeof *grown);
        if (grown == NULL) {
            return ctx->status;
        }
        fifo->flight = grown;
        int64_t *spare =
            gs_vector_reserve(ctx, fifo->flight_free, &fifo->flight_room, count + 1, sizeof *spare);
        if (spare == NULL) {
            return ctx->status;
        }
        fifo->flight_free = spare;
    }
    *flight = count;
    return GS_OK;
}

static int start_wave(gs_simulate_fifo_t *fifo, gs_context_t *ctx, int64_t job, int64_t blocks)
{
    gs_simulate_fifo_job_t *record = &fifo->job[job];
    int64_t end = fifo->now + actual_time(fifo, record), flight = 0;
    if (end >= GS_NEVER) {
        return gs_fail(ctx, GS_ERR_OVERFLOW, "block_time", record->task,
                       fifo->model.kernels.block_time[record->task],
                       "a schedule that ends before tick 2**61 - 1");
    }
    int status = new_flight(fifo, ctx, &flight);
    if (status == GS_OK && fifo->model.log_waves) {
        status = log_wave(fifo, ctx, record, blocks, end);
    }
    if (status == GS_OK) {
        fifo->flight[flight] = (gs_simulate_fifo_flight_t){job, blocks};
        status = gs_heap_push(&fifo->ends, ctx, end, flight);
    }
    if (status != GS_OK) {
        return status;
    }
    if (record->start < 0) {
        record->start = fifo->now;
    }
    record->waiting -= blocks;
    record->running += blocks;
    fifo->threads_free -= blocks * fifo->model.kernels.threads[record->task];
    fifo->waves++;
    return GS_OK;
}

static int end_wave(gs_simulate_fifo_t *fifo, gs_context_t *ctx)
{
    int64_t slot = fifo->ends.entry[0].item;
    gs_simulate_fifo_flight_t flight = fifo->flight[slot];
    gs_heap_pop(&fifo->ends);
    fifo->flight_free[fifo->flight_free_count++] = slot;
    gs_simulate_fifo_job_t *record = &fifo->job[flight.job];
    record->running -= flight.blocks;
    fifo->threads_free += flight.blocks * fifo->model.kernels.threads[record->task];
    return record->running == 0 && record->waiting == 0 ? finish(fifo, ctx, flight.job) : GS_OK;
}

/* The job at the queue's head has started its last block. */
static int leave_queue(gs_simulate_fifo_t *fifo, gs_context_t *ctx, int64_t job)
{
    fifo->job[job].dispatched = fifo->now;
    fifo->queue_head = (fifo->queue_head + 1) & (fifo->queue_room - 1);
    fifo->queue_count--;
    int status = GS_OK;
    if (!gs_simulate_fifo_cycle_by_time(fifo)) {
        if (fifo->job[job].serial == fifo->cycle.mark) {
            status = gs_simulate_fifo_cycle_look(fifo, ctx);
        }
        if (fifo->queue_count == 0) {
            fifo->cycle.emptied[0] = 1;
        }
    }
    return status == GS_OK ? trigger(fifo, ctx, fifo->job[job].task, GS_SIMULATE_FIFO_AT_TAIL)
                           : status;
}

/* How many blocks of this job fit now. */
static int64_t fitting(const gs_simulate_fifo_t *fifo, const gs_simulate_fifo_job_t *job)
{
    /* Both fit 32 bits, where division is several times faster. */
    uint32_t width = (uint32_t)fifo->model.kernels.threads[job->task];
    int64_t room = (int64_t)((uint32_t)fifo->threads_free / width);
    int64_t most = fifo->model.draw == GS_SIMULATE_FIFO_PER_BLOCK ? 1 : job->waiting;
    return room < most ? room : most;
}

static int dispatch(gs_simulate_fifo_t *fifo, gs_context_t *ctx)
{
    int status = GS_OK;
    while (status == GS_OK && fifo->queue_count > 0 && !fifo->done) {
        int64_t job = fifo->queue[fifo->queue_head].job;
        const gs_simulate_fifo_job_t *record = &fifo->job[job];
        if (fifo->model.order == GS_FIFO_ORDER_STRICT &&
            fifo->stream[fifo->task_stream[record->task]].head != job) {
            break;
        }
        int64_t blocks = fitting(fifo, record);
        if (blocks == 0) {
            break;
        }
        status = start_wave(fifo, ctx, job, blocks);
        if (status == GS_OK && fifo->job[job].waiting == 0) {
            status = leave_queue(fifo, ctx, job);
        }
        if (status == GS_OK) {
            status = gs_poll(ctx, EVENT_WORK);
        }
    }
    return status;
}

/* Everything that happens at the next instant. */
static int advance(gs_simulate_fifo_t *fifo, gs_context_t *ctx, int64_t instant)
{
    int status = GS_OK;
    fifo->now = instant;
    while (status == GS_OK && gs_heap_time(&fifo->ends) == instant) {
        status = end_wave(fifo, ctx);
    }
    while (status == GS_OK && gs_heap_time(&fifo->releases) == instant) {
        status = release_due(fifo, ctx);
    }
    return status == GS_OK ? dispatch(fifo, ctx) : status;
}

int gs_simulate_fifo_run(gs_simulate_fifo_t *fifo, gs_context_t *ctx, int64_t waves)
{
    int64_t last;
    if (!gs_add(fifo->waves, waves, &last)) {
        last = INT64_MAX;
    }
    int status = GS_OK;
    while (status == GS_OK && !fifo->done && fifo->waves < last) {
        int64_t end = gs_heap_time(&fifo->ends), due = gs_heap_time(&fifo->releases);
        int64_t instant = end < due ? end : due;
        if (instant == GS_NEVER) {
            fifo->done = true;
        } else if (gs_simulate_fifo_cycle_instant(fifo) <= instant) {
            status = gs_simulate_fifo_cycle_look(fifo, ctx);
        } else {
            status = advance(fifo, ctx, instant);
        }
        if (status == GS_OK) {
            status = gs_poll(ctx, EVENT_WORK);
        }
    }
    return status;
}
