/* Simulator of kernels whose blocks start in FIFO order: waves, and events of an instant. */
#include "simulate/fifo/fifo.h"

#include "core/rng.h"
#include "core/vector.h"
#include "simulate/fifo/fifo_cycle.h"
#include "simulate/fifo/fifo_jobs.h"
#include "simulate/fifo/fifo_sms.h"

/* Elementary operations of one event, for the poll. */
#define EVENT_WORK 16

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
    return record->running == 0 && record->waiting == 0
               ? gs_simulate_fifo_jobs_end_kernel(self, ctx, flight.job)
               : GS_OK;
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
    return status == GS_OK ? gs_simulate_fifo_jobs_trigger(self, ctx, self->job[job].task,
                                                           GS_SIMULATE_FIFO_AT_TAIL)
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
        status = gs_simulate_fifo_jobs_release_due(self, ctx);
    }
    while (status == GS_OK && gs_heap_time(&self->joins) == instant) {
        int64_t job = self->joins.entry[0].item;
        gs_heap_pop(&self->joins);
        status = gs_simulate_fifo_jobs_join(self, ctx, job);
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
static const char *const FIFO_SETTLE[] = {"no", "note", "stop", NULL};
static const gs_method_option_t FIFO_OPTIONS[] = {
    {"order", "choice", FIFO_ORDER, "hardware", "interpretation of FIFO order"},
    {"draw", "choice", FIFO_DRAW, "job", "unit for which an execution time is drawn"},
    {"placement", "choice", FIFO_PLACEMENT, "most_room",
     "rule that chooses the SM of a block, with gpu"},
    {"closer", "boolean", NULL, "False", "whether given releases may be less than a period apart"},
    {"until", "time", NULL, NULL, "end of the interval in which jobs are released"},
    {"releases", "data", NULL, NULL, "release times; default: periodic, from the offsets"},
    {"times", "data", NULL, NULL, "execution times of the jobs of given releases"},
    {"stream", "integers", NULL, NULL, "stream of each task; default: one of its own"},
    {"execution", "number", NULL, "1.0",
     "execution times as a share of the worst case, or a range"},
    {"gap", "number", NULL, "0.0", "most time beyond a period between releases, as a share of it"},
    {"latency", "number", NULL, "1.0", "execution times of first blocks, as a share or a range"},
    {"victim", "integer", NULL, NULL, "task for which other releases are chosen to be bad"},
    {"triggers", "data", NULL, NULL, "events of the victim at which other tasks release jobs"},
    {"seed", "data", NULL, NULL, "seed of random numbers"},
    {"index", "integer", NULL, "0", "number of the set under the seed"},
    {"settle", "choice", FIFO_SETTLE, NULL, "whether repeating and diverging schedules are noted"},
    {"waves", "boolean", NULL, "True", "whether the intervals of blocks are kept"},
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
