/* Schedules of the Parallel Batch Scheduler, and their check by replay. */
#include "model/schedule.h"

#include "core/vector.h"
#include "model/periodic_tasks_internal.h"

void gs_schedule_free(gs_schedule_t *self, gs_context_t *ctx)
{
    gs_free(ctx, self->frames);
    *self = (gs_schedule_t){0};
}

int gs_schedule_append(gs_schedule_t *self, gs_context_t *ctx, int64_t start, int64_t end,
                       uint32_t batch)
{
    if (self->count == self->capacity) {
        gs_schedule_frame_t *frames =
            gs_vector_reserve(ctx, self->frames, &self->capacity, self->count + 1, sizeof *frames);
        if (frames == NULL) {
            return ctx->status;
        }
        self->frames = frames;
    }
    self->frames[self->count++] = (gs_schedule_frame_t){start, end, batch};
    return GS_OK;
}

/* Jobs of one task during a replay: the oldest job not executed, and the number of jobs in [0, H).
 * Jobs are numbered from 0. */
typedef struct {
    int64_t oldest;
    int64_t jobs;
    int64_t release; /* of the oldest job, GS_NEVER when all were executed */
} progress_t;

static void next_job(progress_t *p, const gs_periodic_tasks_t *tasks, int32_t i)
{
    p->oldest++;
    p->release = p->oldest < p->jobs ? p->release + tasks->period[i] : GS_NEVER;
}

static int verdict(gs_schedule_replay_t *result, int rule, int64_t frame, int32_t task,
                   int64_t instant)
{
    *result = (gs_schedule_replay_t){rule, frame, task, instant};
    return GS_OK;
}

/* A replay between frames. */
typedef struct {
    const gs_periodic_tasks_t *tasks;
    const gs_batch_table_t *table;
    bool idling;
    int64_t now;
    progress_t progress[GS_PERIODIC_TASKS_MAX];
} player_t;

/* infinite_horizon: all jobs count, not only those of [0, H). */
static int start_replay(player_t *self, gs_context_t *ctx, const gs_periodic_tasks_t *tasks,
                        const gs_batch_table_t *table, bool idling, bool infinite_horizon)
{
    int64_t hyperperiod;
    int status = gs_periodic_tasks_check(ctx, tasks);
    if (status == GS_OK) {
        status = gs_periodic_tasks_hyperperiod(ctx, tasks, &hyperperiod);
    }
    if (status != GS_OK) {
        return status;
    }
    *self = (player_t){.tasks = tasks, .table = table, .idling = idling};
    for (int32_t i = 0; i < tasks->n; i++) {
        int64_t offset = gs_periodic_tasks_offset(tasks, i);
        int64_t jobs =
            infinite_horizon ? INT64_MAX : gs_periodic_tasks_jobs_before(tasks, i, hyperperiod);
        self->progress[i] = (progress_t){0, jobs, jobs > 0 ? offset : GS_NEVER};
    }
    return GS_OK;
}

/* The tasks that wait for others. */
static uint32_t held_back(const player_t *self)
{
    int64_t done[GS_PERIODIC_TASKS_MAX];
    for (int32_t i = 0; i < self->tasks->n; i++) {
        done[i] = self->progress[i].oldest;
    }
    return gs_periodic_tasks_held_back(self->tasks, done);
}

/* Plays frame number f; result->rule says whether it keeps the rules. */
static int play_frame(player_t *self, const gs_schedule_frame_t *frame, int64_t f,
                      gs_schedule_replay_t *result)
{
    const gs_periodic_tasks_t *tasks = self->tasks;
    if (frame->start < self->now) {
        return verdict(result, GS_SCHEDULE_REPLAY_OVERLAP, f, -1, frame->start);
    }
    if (frame->batch == 0 || frame->batch >> tasks->n != 0 ||
        self->table->completion[frame->batch] == 0) {
        return verdict(result, GS_SCHEDULE_REPLAY_INELIGIBLE, f, -1, frame->start);
    }
    if (frame->start >= GS_NEVER / 2 ||
        frame->end != frame->start + self->table->completion[frame->batch]) {
        return verdict(result, GS_SCHEDULE_REPLAY_LENGTH, f, -1, frame->end);
    }
    uint32_t held = gs_periodic_tasks_has_precedence(tasks) ? held_back(self) : 0;
    for (int32_t i = 0; i < tasks->n; i++) {
        progress_t *p = &self->progress[i];
        /* The GPU may be idle up to the next release, not longer. */
        int64_t idle_until = p->release > self->now ? p->release : self->now;
        if (!self->idling && idle_until < frame->start) {
            return verdict(result, GS_SCHEDULE_REPLAY_IDLE, f, i, idle_until);
        }
        if ((frame->batch >> i & 1) != 0) {
            if (p->release > frame->start || (held >> i & 1) != 0) {
                return verdict(result, GS_SCHEDULE_REPLAY_NOT_READY, f, i, frame->start);
            }
            if (frame->end > p->release + tasks->deadline[i]) {
                return verdict(result, GS_SCHEDULE_REPLAY_MISS, f, i,
                               p->release + tasks->deadline[i]);
            }
            next_job(p, tasks, i);
        }
        if (p->release < GS_NEVER && p->release + tasks->deadline[i] <= frame->end) {
            return verdict(result, GS_SCHEDULE_REPLAY_MISS, f, i, p->release + tasks->deadline[i]);
        }
    }
    self->now = frame->end;
    return verdict(result, GS_SCHEDULE_REPLAY_OK, f, -1, frame->end);
}

/* Plays frames, moved by shift, until one breaks a rule. */
static int play_frames(player_t *self, gs_context_t *ctx, const gs_schedule_frame_t *frames,
                       int64_t begin, int64_t end, int64_t shift, gs_schedule_replay_t *result)
{
    int status = verdict(result, GS_SCHEDULE_REPLAY_OK, begin, -1, self->now);
    for (int64_t f = begin; f < end && status == GS_OK && result->rule == GS_SCHEDULE_REPLAY_OK;
         f++) {
        gs_schedule_frame_t frame = frames[f];
        if (shift != 0) {
            frame.start += shift;
            frame.end += shift;
        }
        status = play_frame(self, &frame, f, result);
        if (status == GS_OK) {
            status = gs_poll(ctx, self->tasks->n);
        }
    }
    return status;
}

int gs_schedule_replay(gs_context_t *ctx, const gs_periodic_tasks_t *tasks,
                       const gs_batch_table_t *table, const gs_schedule_frame_t *frames,
                       int64_t count, bool idling, gs_schedule_replay_t *result)
{
    player_t player;
    int status = start_replay(&player, ctx, tasks, table, idling, false);
    if (status == GS_OK) {
        status = play_frames(&player, ctx, frames, 0, count, 0, result);
    }
    if (status != GS_OK || result->rule != GS_SCHEDULE_REPLAY_OK) {
        return status;
    }
    for (int32_t i = 0; i < tasks->n; i++) {
        if (player.progress[i].oldest < player.progress[i].jobs) {
            return verdict(result, GS_SCHEDULE_REPLAY_UNFINISHED, count, i,
                           player.progress[i].release);
        }
    }
    return verdict(result, GS_SCHEDULE_REPLAY_OK, count, -1, player.now);
}

int gs_schedule_replay_cycle(gs_context_t *ctx, const gs_periodic_tasks_t *tasks,
                             const gs_batch_table_t *table, const gs_schedule_frame_t *frames,
                             int64_t count, bool idling, int64_t from, int64_t length,
                             gs_schedule_replay_t *result)
{
    player_t player;
    int64_t first = 0;
    int status = start_replay(&player, ctx, tasks, table, idling, true);
    if (status != GS_OK) {
        return status;
    }
    if (from < 0 || length < 1 || from >= GS_NEVER / 4 || length >= GS_NEVER / 4) {
        return gs_fail(
            ctx, GS_ERR_VALUE, "cycle", -1, length,
            "a cycle from an instant of at least 0, at least one tick long, both below 2**59 - 1");
    }
    while (first < count && frames[first].start < from) {
        first++;
    }
    status = play_frames(&player, ctx, frames, 0, first, 0, result);
    if (status != GS_OK || result->rule != GS_SCHEDULE_REPLAY_OK) {
        return status;
    }
    if (player.now > from) {
        return verdict(result, GS_SCHEDULE_REPLAY_CYCLE, first, -1, player.now);
    }
    player_t began = player;
    status = play_frames(&player, ctx, frames, first, count, 0, result);
    if (status != GS_OK || result->rule != GS_SCHEDULE_REPLAY_OK) {
        return status;
    }
    for (int32_t i = 0; i < tasks->n; i++) {
        int64_t jobs = player.progress[i].oldest - began.progress[i].oldest;
        if (player.now > from + length || length % tasks->period[i] != 0 ||
            jobs != length / tasks->period[i]) {
            return verdict(result, GS_SCHEDULE_REPLAY_CYCLE, count, i, from + length);
        }
    }
    /* The transition to the next cycle obeys the same rules. */
    return play_frames(&player, ctx, frames, first, count, length, result);
}
