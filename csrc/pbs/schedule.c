/* Does a schedule keep every rule of the Parallel Batch Scheduler? */
#include "pbs/schedule.h"

void gs_schedule_init(gs_schedule_t *self)
{
    self->frames = NULL;
    self->count = 0;
    self->capacity = 0;
}

void gs_schedule_free(gs_schedule_t *self, gs_env_t *env)
{
    gs_free(env, self->frames);
    gs_schedule_init(self);
}

int gs_schedule_append(gs_schedule_t *self, gs_env_t *env, int64_t start, int64_t end,
                       uint32_t batch)
{
    if (self->count == self->capacity) {
        int64_t capacity = self->capacity == 0 ? 16 : 2 * self->capacity;
        gs_frame_t *frames =
            gs_grow(env, self->frames, (size_t)capacity, sizeof *self->frames);
        if (frames == NULL) {
            return env->status;
        }
        self->frames = frames;
        self->capacity = capacity;
    }
    self->frames[self->count++] = (gs_frame_t){start, end, batch};
    return GS_OK;
}

/* One task's jobs during a replay: the oldest job that was not executed, and how many there are
 * in [0, H). Jobs are numbered from 0. */
typedef struct {
    int64_t oldest;
    int64_t jobs;
    int64_t release; /* of the oldest job, GS_NEVER when all were executed */
} progress_t;

static void next_job(progress_t *p, const gs_tasks_t *tasks, int32_t i)
{
    p->oldest++;
    p->release = p->oldest < p->jobs ? p->release + tasks->period[i] : GS_NEVER;
}

static int verdict(gs_replay_t *result, int rule, int64_t frame, int32_t task, int64_t instant)
{
    *result = (gs_replay_t){rule, frame, task, instant};
    return GS_OK;
}

int gs_schedule_replay(gs_env_t *env, const gs_tasks_t *tasks, const gs_table_t *table,
                       const gs_frame_t *frames, int64_t count, bool idling, gs_replay_t *result)
{
    int64_t hyperperiod;
    int status = gs_tasks_check(env, tasks);
    if (status == GS_OK) {
        status = gs_tasks_hyperperiod(env, tasks, &hyperperiod);
    }
    if (status != GS_OK) {
        return status;
    }
    progress_t progress[GS_MAX_TASKS];
    for (int32_t i = 0; i < tasks->n; i++) {
        int64_t offset = gs_tasks_offset(tasks, i);
        int64_t jobs = offset >= hyperperiod ? 0 : (hyperperiod - offset - 1) / tasks->period[i] + 1;
        progress[i] = (progress_t){0, jobs, jobs > 0 ? offset : GS_NEVER};
    }
    int64_t now = 0;
    for (int64_t f = 0; f < count; f++) {
        const gs_frame_t *frame = &frames[f];
        if (frame->start < now) {
            return verdict(result, GS_REPLAY_OVERLAP, f, -1, frame->start);
        }
        if (frame->batch == 0 || frame->batch >> tasks->n != 0 ||
            table->completion[frame->batch] == 0) {
            return verdict(result, GS_REPLAY_INELIGIBLE, f, -1, frame->start);
        }
        if (frame->start >= GS_NEVER / 2 ||
            frame->end != frame->start + table->completion[frame->batch]) {
            return verdict(result, GS_REPLAY_LENGTH, f, -1, frame->end);
        }
        for (int32_t i = 0; i < tasks->n; i++) {
            progress_t *p = &progress[i];
            /* The GPU may be idle up to the next release, not longer. */
            int64_t idle_until = p->release > now ? p->release : now;
            if (!idling && idle_until < frame->start) {
                return verdict(result, GS_REPLAY_IDLE, f, i, idle_until);
            }
            if ((frame->batch >> i & 1) != 0) {
                if (p->release > frame->start) {
                    return verdict(result, GS_REPLAY_NOT_READY, f, i, frame->start);
                }
                if (frame->end > p->release + tasks->deadline[i]) {
                    return verdict(result, GS_REPLAY_MISS, f, i, p->release + tasks->deadline[i]);
                }
                next_job(p, tasks, i);
            }
            if (p->release < GS_NEVER && p->release + tasks->deadline[i] <= frame->end) {
                return verdict(result, GS_REPLAY_MISS, f, i, p->release + tasks->deadline[i]);
            }
        }
        now = frame->end;
        status = gs_poll(env, tasks->n);
        if (status != GS_OK) {
            return status;
        }
    }
    for (int32_t i = 0; i < tasks->n; i++) {
        if (progress[i].oldest < progress[i].jobs) {
            return verdict(result, GS_REPLAY_UNFINISHED, count, i, progress[i].release);
        }
    }
    return verdict(result, GS_REPLAY_OK, count, -1, now);
}
