/* Player of schedules and policies on a device. */
#define _GNU_SOURCE
#include "cuda/player.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "cuda/buffers.h"
#include "cuda/host_clock.h"
#include "cuda/streams.h"
#include "model/periodic_tasks_internal.h"

/* Maximum sleep of the dispatching thread between checks of the stop flag. */
#define NAP_NS 50000000
/* Interval at which the waiting thread polls. */
#define LOOK_NS 5000000

#define MOST_JOBS 10000000
#define MOST_AWAKE_NS 10000000

int gs_cuda_play_check(gs_context_t *ctx, const gs_cuda_device_t *device,
                       const gs_cuda_play_t *play, int64_t *jobs)
{
    int32_t n = play->tasks.n;
    int64_t total = 0, length;
    if (play->strategy < GS_CUDA_PLAY_TABLE || play->strategy > GS_CUDA_PLAY_POLICY) {
        return gs_fail(ctx, GS_ERR_VALUE, "strategy", -1, play->strategy, "a known strategy");
    }
    if (play->wait < GS_CUDA_WAIT_CONTEXT || play->wait > GS_CUDA_WAIT_POLL) {
        return gs_fail(ctx, GS_ERR_VALUE, "wait", -1, play->wait, "a known way to wait");
    }
    const struct {
        const char *name;
        int64_t value, least, most;
        const char *expected;
    } numbers[] = {
        {"tick", play->tick, 1, GS_NEVER, "1 to 2**61 - 1 ns"},
        {"cycles", play->cycles, 1, GS_NEVER, "1 to 2**61 - 1 cycles"},
        {"awake", play->awake, 0, MOST_AWAKE_NS, "0 to 10000000 ns"},
        {"lead", play->lead, 0, GS_CUDA_MAX_NS, "0 to 10000000000 ns"},
        {"realtime", play->realtime, 0, INT32_MAX, "a number of at least 0"},
    };
    for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++) {
        if (numbers[k].value < numbers[k].least || numbers[k].value > numbers[k].most) {
            return gs_fail(ctx, GS_ERR_VALUE, numbers[k].name, -1, numbers[k].value,
                           numbers[k].expected);
        }
    }
    if (!gs_mul(play->hyperperiod, play->cycles, &length) || !gs_mul(length, play->tick, &length) ||
        length > GS_NEVER / 4) {
        return gs_fail(ctx, GS_ERR_OVERFLOW, "cycles", -1, play->cycles,
                       "a play of at most 2**59 - 1 ns");
    }
    for (int32_t i = 0; i < n; i++) {
        int64_t own = gs_periodic_tasks_jobs_before(&play->tasks, i, play->hyperperiod), latest;
        if (!gs_mul(own, play->cycles, &own) || own > MOST_JOBS - total) {
            return gs_fail(ctx, GS_ERR_VALUE, "cycles", -1, play->cycles,
                           "at most 10000000 jobs in all");
        }
        total += own;
        if (!gs_mul(play->tasks.deadline[i], play->tick, &latest) || latest > GS_NEVER / 4 ||
            gs_periodic_tasks_offset(&play->tasks, i) > play->hyperperiod) {
            return gs_fail(ctx, GS_ERR_VALUE, "deadline", i, play->tasks.deadline[i],
                           "at most 2**59 - 1 ns, and an offset within the hyperperiod");
        }
    }
    for (int64_t f = 0; play->strategy != GS_CUDA_PLAY_POLICY && f < play->count; f++) {
        uint32_t batch = play->frames[f].batch;
        if (batch == 0 || batch >> n != 0) {
            return gs_fail(ctx, GS_ERR_VALUE, "batch", f, batch, "a batch of the tasks");
        }
        if (play->frames[f].start < 0 || play->frames[f].start > play->hyperperiod) {
            return gs_fail(ctx, GS_ERR_VALUE, "start", f, play->frames[f].start,
                           "an instant of the hyperperiod");
        }
    }
    /* One launch of all tasks must be a valid plan of gs_cuda_run. */
    int64_t kind[GS_PERIODIC_TASKS_MAX] = {0}, stream[GS_PERIODIC_TASKS_MAX] = {0},
            none[GS_PERIODIC_TASKS_MAX] = {0}, cluster[GS_PERIODIC_TASKS_MAX], blocks;
    int64_t one = GS_CUDA_NON_BLOCKING, zero = 0;
    for (int32_t i = 0; i < n; i++) {
        cluster[i] = 1;
    }
    gs_cuda_plan_t plan = {.count = n,
                           .kind = kind,
                           .stream = stream,
                           .at = none,
                           .variant = play->variant,
                           .blocks = play->blocks,
                           .threads = play->threads,
                           .smem = play->smem,
                           .ns = play->ns,
                           .iterations = play->iterations,
                           .bytes = play->bytes,
                           .graph = play->graph,
                           .cluster = cluster,
                           .trigger = none,
                           .programmatic = none,
                           .streams = 1,
                           .stream_kind = &one,
                           .stream_priority = &zero,
                           .stream_partition = &zero,
                           .partitions = 1,
                           .repeats = 1};
    *jobs = total;
    return gs_cuda_plan_check(ctx, device, &plan, &blocks);
}

typedef struct {
    gs_cuda_device_t *device;
    const gs_cuda_play_t *play;
    gs_cuda_played_t *played;
    gs_context_t ctx; /* of the dispatching thread */
    gs_cuda_streams_t streams;
    gs_cuda_api_ptr_t memory, summaries;
    uint64_t *rows; /* summaries on the host */
    int64_t offset[GS_PERIODIC_TASKS_MAX];
    int64_t executed[GS_PERIODIC_TASKS_MAX]; /* jobs in this cycle */
    int64_t own[GS_PERIODIC_TASKS_MAX];      /* jobs of a cycle */
    int64_t most;
    int64_t base; /* host ns of the cycle's tick 0 */
    int64_t cycle;
    int status;
    atomic_int stop;
    gs_cuda_host_clock_flag_t ended;
} player_t;

#define SUMMARY_BYTES (2 * (int64_t)sizeof(uint64_t))

static int launch(player_t *self, int32_t i)
{
    const gs_cuda_play_t *play = self->play;
    const gs_cuda_api_table_t *cu = &self->device->driver->cu;
    gs_cuda_api_handle_t stream = self->streams.streams[i];
    if (play->graph[i] != 0) {
        return gs_cuda_done(
            self->device, &self->ctx,
            cu->GraphLaunch((gs_cuda_api_handle_t)(uintptr_t)play->graph[i], stream),
            "cuGraphLaunch");
    }
    gs_cuda_spin_t spin = {
        .summary = self->summaries + (gs_cuda_api_ptr_t)(self->played->jobs * SUMMARY_BYTES),
        .ns = (uint64_t)play->ns[i],
        .iterations = (uint64_t)play->iterations[i],
        .memory = play->bytes[i] < 4 ? 0 : self->memory + (gs_cuda_api_ptr_t)self->offset[i],
        .words = (uint64_t)play->bytes[i] / 4,
    };
    void *parameters[] = {&spin};
    gs_cuda_api_result_t result = cu->LaunchKernel(
        self->device->spin[play->variant[i]], (unsigned)play->blocks[i], 1, 1,
        (unsigned)play->threads[i], 1, 1, (unsigned)play->smem[i], stream, parameters, NULL);
    return gs_cuda_done(self->device, &self->ctx, result, "cuLaunchKernel");
}

/* Waits for the end of a batch; polling ends at a stop, too. */
static int wait_for(player_t *self, uint32_t batch)
{
    const gs_cuda_api_table_t *cu = &self->device->driver->cu;
    if (self->play->wait == GS_CUDA_WAIT_CONTEXT) {
        return gs_cuda_done(self->device, &self->ctx, cu->CtxSynchronize(), "cuCtxSynchronize");
    }
    int status = GS_OK;
    for (int32_t i = 0; status == GS_OK && i < self->play->tasks.n; i++) {
        if ((batch >> i & 1) == 0) {
            continue;
        }
        if (self->play->wait == GS_CUDA_WAIT_STREAMS) {
            status = gs_cuda_done(self->device, &self->ctx,
                                  cu->StreamSynchronize(self->streams.streams[i]),
                                  "cuStreamSynchronize");
        } else {
            gs_cuda_api_result_t result = GS_CUDA_API_NOT_READY;
            while (result == GS_CUDA_API_NOT_READY && !atomic_load(&self->stop)) {
                result = cu->StreamQuery(self->streams.streams[i]);
            }
            result = result == GS_CUDA_API_NOT_READY ? GS_CUDA_API_SUCCESS : result;
            status = gs_cuda_done(self->device, &self->ctx, result, "cuStreamQuery");
        }
    }
    return status;
}

/* Host time of an instant of this cycle. */
static int64_t host_time(const player_t *self, int64_t instant)
{
    return self->base + instant * self->play->tick;
}

/* Latest release of the jobs of a batch, in this cycle. */
static int64_t batch_release(const player_t *self, uint32_t batch)
{
    int64_t latest = 0;
    for (int32_t i = 0; i < self->play->tasks.n; i++) {
        if ((batch >> i & 1) != 0) {
            int64_t release = gs_periodic_tasks_release(&self->play->tasks, i, self->executed[i]);
            latest = release > latest ? release : latest;
        }
    }
    return latest;
}

/* Sleeps until an instant, or a stop. */
static void sleep_until(player_t *self, int64_t instant)
{
    const gs_cuda_driver_t *driver = self->device->driver;
    int64_t now = driver->now();
    while (instant - now > 2 * NAP_NS && !atomic_load(&self->stop)) {
        driver->sleep_until(now + NAP_NS);
        now = driver->now();
    }
    if (!atomic_load(&self->stop)) {
        gs_cuda_wait_until(driver, instant, self->play->awake);
    }
}

/* Submits a batch and waits for it. row: its row of the submission orders. */
static int run_frame(player_t *self, uint32_t batch, int64_t row, int64_t planned, int64_t due)
{
    const gs_cuda_play_t *play = self->play;
    gs_cuda_played_t *played = self->played;
    const gs_cuda_driver_t *driver = self->device->driver;
    int32_t n = play->tasks.n;
    int64_t f = played->frames;
    int status = GS_OK;
    if (f == self->most) {
        return gs_fail(&self->ctx, GS_ERR_VALUE, "frames", -1, f, "at most one frame per job");
    }
    played->planned[f] = planned;
    played->due[f] = due;
    played->batch[f] = batch;
    uint32_t left = batch;
    played->dispatch[f] = driver->now();
    for (int32_t k = 0; status == GS_OK && k < n && left != 0; k++) {
        int64_t i = play->order == NULL ? k : play->order[row * n + k];
        if (i < 0 || i >= n || (left >> i & 1) == 0) {
            if (play->order == NULL) {
                continue;
            }
            status = gs_fail(&self->ctx, GS_ERR_VALUE, "order", row, i,
                             "an order of the tasks of the batch");
            break;
        }
        left &= ~(1u << i);
        if (self->executed[i] == self->own[i] || played->jobs == self->most) {
            status = gs_fail(&self->ctx, GS_ERR_VALUE, "batch", f, batch,
                             "a batch of tasks with pending jobs");
            break;
        }
        int64_t j = played->jobs;
        played->task[j] = i;
        played->job[j] = self->cycle * self->own[i] + self->executed[i];
        played->frame[j] = f;
        status = launch(self, (int32_t)i);
        self->executed[i]++;
        played->jobs++;
    }
    played->submitted[f] = driver->now();
    if (status == GS_OK && left != 0) {
        status = gs_fail(&self->ctx, GS_ERR_VALUE, "order", row, left,
                         "an order with all tasks of the batch");
    }
    gs_fault_t before = self->ctx.fault;
    int waited = wait_for(self, batch);
    played->done[f] = driver->now();
    played->frames++;
    if (status != GS_OK) {
        self->ctx.fault = before;
        return status;
    }
    return waited;
}

static int play_frames(player_t *self)
{
    const gs_cuda_play_t *play = self->play;
    int status = GS_OK;
    for (int64_t f = 0; status == GS_OK && f < play->count && !atomic_load(&self->stop); f++) {
        uint32_t batch = play->frames[f].batch;
        int64_t planned = host_time(self, play->frames[f].start);
        int64_t due = planned;
        if (play->strategy == GS_CUDA_PLAY_RECLAIM) {
            due = host_time(self, batch_release(self, batch));
        }
        sleep_until(self, due);
        if (!atomic_load(&self->stop)) {
            status = run_frame(self, batch, f, planned, due);
        }
    }
    return status;
}

/* The pending task with the earliest deadline that waits for no other, as a batch. */
static uint32_t most_urgent(const player_t *self, const int64_t *pending)
{
    const gs_periodic_tasks_t *tasks = &self->play->tasks;
    int64_t earliest = INT64_MAX;
    uint32_t batch = 0, held = gs_periodic_tasks_held_back(tasks, self->executed);
    for (int32_t i = 0; i < tasks->n; i++) {
        int64_t deadline =
            gs_periodic_tasks_release(tasks, i, self->executed[i]) + tasks->deadline[i];
        if (pending[i] > 0 && deadline < earliest && (held >> i & 1) == 0) {
            earliest = deadline;
            batch = 1u << i;
        }
    }
    return batch;
}

static int play_policy(player_t *self)
{
    const gs_cuda_play_t *play = self->play;
    const gs_cuda_driver_t *driver = self->device->driver;
    int32_t n = play->tasks.n;
    int64_t due = self->base;
    int status = GS_OK;
    sleep_until(self, self->base);
    while (status == GS_OK && !atomic_load(&self->stop)) {
        /* Rounded up: a decision that is safe at an instant is not taken before it. */
        int64_t instant = (driver->now() - self->base + play->tick - 1) / play->tick;
        int64_t pending[GS_PERIODIC_TASKS_MAX], next = GS_NEVER, release = GS_NEVER;
        bool waits = false;
        for (int32_t i = 0; i < n; i++) {
            int64_t arrived = gs_periodic_tasks_jobs_before(&play->tasks, i, instant + 1);
            arrived = arrived < self->own[i] ? arrived : self->own[i];
            pending[i] = arrived - self->executed[i];
            waits = waits || pending[i] > 0;
            if (pending[i] == 0 && self->executed[i] < self->own[i]) {
                int64_t r = gs_periodic_tasks_release(&play->tasks, i, self->executed[i]);
                release = r < release ? r : release;
            }
        }
        uint32_t batch = 0;
        if (waits) {
            batch = play->choose(play->choose_arg, instant, pending, &next);
            if (batch == 0 && next == GS_NEVER) {
                batch = most_urgent(self, pending);
                self->played->unsafe++;
            }
        } else if (release == GS_NEVER) {
            break;
        } else {
            next = release;
        }
        if (batch == 0) {
            due = host_time(self, next);
            sleep_until(self, due);
        } else {
            status = run_frame(self, batch, batch, GS_NEVER, due);
            due = 0; /* the next frame is due at once, unless the policy waits */
        }
    }
    return status;
}

/* Locks memory and sets the real-time priority, if requested. */
static int prepare_thread(player_t *self)
{
    if (self->play->lock_memory && mlockall(MCL_CURRENT | MCL_FUTURE) != 0) {
        return gs_fail(&self->ctx, GS_CUDA_ERR_SYSTEM, "lock_memory", -1, errno,
                       "memory could not be locked (see ulimit -l)");
    }
    if (self->play->realtime != 0) {
        struct sched_param param = {.sched_priority = self->play->realtime};
        int error = pthread_setschedparam(pthread_self(), SCHED_FIFO, &param);
        if (error != 0) {
            return gs_fail(&self->ctx, GS_CUDA_ERR_SYSTEM, "realtime", -1, error,
                           "the system grants no such real-time priority (see ulimit -r)");
        }
    }
    return GS_OK;
}

static int dispatch(player_t *self)
{
    const gs_cuda_play_t *play = self->play;
    int status = prepare_thread(self);
    if (status == GS_OK) {
        status = gs_cuda_enter(self->device, &self->ctx);
    }
    if (status != GS_OK) {
        return status;
    }
    self->played->origin = self->device->driver->now() + play->lead;
    for (int64_t c = 0; status == GS_OK && c < play->cycles && !atomic_load(&self->stop); c++) {
        self->cycle = c;
        self->base = self->played->origin + c * play->hyperperiod * play->tick;
        memset(self->executed, 0, sizeof self->executed);
        status = play->strategy == GS_CUDA_PLAY_POLICY ? play_policy(self) : play_frames(self);
    }
    return gs_cuda_leave(self->device, &self->ctx, status);
}

static void *dispatcher(void *arg)
{
    player_t *self = arg;
    self->status = dispatch(self);
    if (self->play->lock_memory) {
        munlockall();
    }
    gs_cuda_host_clock_flag_raise(&self->ended);
    return NULL;
}

/* Starts the thread and waits for its end. Returns the status of the poll that stopped it, or
 * GS_OK. */
static int run_thread(player_t *self, gs_context_t *ctx)
{
    pthread_t thread;
    int stopped = GS_OK;
    gs_cuda_host_clock_flag_init(&self->ended);
    int error = pthread_create(&thread, NULL, dispatcher, self);
    if (error != 0) {
        stopped = gs_fail(ctx, GS_CUDA_ERR_SYSTEM, "thread", -1, error,
                          "the dispatching thread could not be started");
    } else {
        while (!gs_cuda_host_clock_flag_wait(&self->ended, LOOK_NS)) {
            if (stopped == GS_OK) {
                stopped = gs_poll_now(ctx);
                atomic_store(&self->stop, stopped != GS_OK);
            }
        }
        pthread_join(thread, NULL);
    }
    gs_cuda_host_clock_flag_free(&self->ended);
    return stopped;
}

static int take_all(player_t *self, gs_context_t *ctx)
{
    const gs_cuda_play_t *play = self->play;
    int64_t total = 0;
    self->rows = gs_alloc(ctx, (size_t)self->most, (size_t)SUMMARY_BYTES);
    if (self->rows == NULL) {
        return ctx->status;
    }
    int status = gs_cuda_streams_init(&self->streams, ctx, self->device, play->tasks.n, 0, 1);
    for (int32_t i = 0; status == GS_OK && i < play->tasks.n; i++) {
        self->offset[i] = total;
        total += (play->bytes[i] + 255) / 256 * 256;
        self->own[i] = gs_periodic_tasks_jobs_before(&play->tasks, i, play->hyperperiod);
        status =
            gs_cuda_streams_make(&self->streams, ctx, i, 0, GS_CUDA_API_STREAM_NON_BLOCKING, 0);
    }
    if (status == GS_OK) {
        status = gs_cuda_take(self->device, ctx, total, &self->memory);
    }
    if (status == GS_OK) {
        status = gs_cuda_take(self->device, ctx, self->most * SUMMARY_BYTES, &self->summaries);
    }
    const gs_cuda_api_table_t *cu = &self->device->driver->cu;
    if (status == GS_OK && total != 0) {
        status = gs_cuda_done(self->device, ctx, cu->MemsetD8(self->memory, 0, (size_t)total),
                              "cuMemsetD8");
    }
    if (status == GS_OK && self->most != 0) {
        status =
            gs_cuda_done(self->device, ctx,
                         cu->MemsetD8(self->summaries, 0xff, (size_t)(self->most * SUMMARY_BYTES)),
                         "cuMemsetD8");
    }
    if (status == GS_OK) {
        status = gs_cuda_done(self->device, ctx, cu->CtxSynchronize(), "cuCtxSynchronize");
    }
    return status;
}

/* Reads the device times of the jobs. */
static int read_summaries(player_t *self, gs_context_t *ctx)
{
    gs_cuda_played_t *played = self->played;
    int status = GS_OK;
    if (played->jobs != 0) {
        gs_cuda_api_result_t result = self->device->driver->cu.MemcpyDtoH(
            self->rows, self->summaries, (size_t)(played->jobs * SUMMARY_BYTES));
        status = gs_cuda_done(self->device, ctx, result, "cuMemcpyDtoH");
    }
    for (int64_t j = 0; status == GS_OK && j < played->jobs; j++) {
        bool none = self->rows[2 * j] == UINT64_MAX; /* a graph, or a launch that failed */
        played->start[j] = none ? -1 : (int64_t)self->rows[2 * j];
        played->end[j] = none ? -1 : (int64_t)~self->rows[2 * j + 1];
    }
    return status;
}

int gs_cuda_play(gs_cuda_device_t *device, gs_context_t *ctx, const gs_cuda_play_t *play,
                 gs_cuda_played_t *played)
{
    player_t self;
    memset(&self, 0, sizeof self);
    self.device = device;
    self.play = play;
    self.played = played;
    atomic_init(&self.stop, 0);
    gs_context_init(&self.ctx);
    played->frames = played->jobs = played->unsafe = 0;
    int status = gs_cuda_play_check(ctx, device, play, &self.most);
    if (status == GS_OK) {
        status = gs_cuda_enter(device, ctx);
    }
    if (status != GS_OK) {
        return status;
    }
    status = take_all(&self, ctx);
    if (status == GS_OK) {
        status = run_thread(&self, ctx);
        if (self.status != GS_OK && status == GS_OK) {
            status = self.status;
            ctx->fault = self.ctx.fault;
        }
        if (status == GS_OK) {
            status = read_summaries(&self, ctx);
        }
    }
    status = gs_cuda_drop(device, ctx, self.memory, status);
    status = gs_cuda_drop(device, ctx, self.summaries, status);
    status = gs_cuda_streams_free(&self.streams, ctx, status);
    gs_free(ctx, self.rows);
    return gs_cuda_leave(device, ctx, status);
}
