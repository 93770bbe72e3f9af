/* Schedules of the Parallel Batch Scheduler: frames of one batch each, checked by replay.
 *
 * [RTNS24], sections 2.4 and 4.1. A frame runs one batch, the set of tasks whose oldest pending
 * jobs it executes, from start to end = start + completion[batch].
 */
#ifndef GS_MODEL_SCHEDULE_H
#define GS_MODEL_SCHEDULE_H

#include "core/context.h"
#include "model/periodic_tasks.h"
#include "model/batch_table.h"

typedef struct {
    int64_t start;
    int64_t end;
    uint32_t batch; /* bit i: task i */
} gs_schedule_frame_t;

/* All zero before its first frame. */
typedef struct {
    gs_schedule_frame_t *frames; /* owned, from gs_alloc */
    int64_t count;
    int64_t capacity;
} gs_schedule_t;

void gs_schedule_free(gs_schedule_t *self, gs_context_t *ctx);
int gs_schedule_append(gs_schedule_t *self, gs_context_t *ctx, int64_t start, int64_t end,
                       uint32_t batch);

/* The first rule that a schedule breaks. */
enum {
    GS_SCHEDULE_REPLAY_OK = 0,
    GS_SCHEDULE_REPLAY_OVERLAP = 1, /* a frame starts before the one before it ended, or before 0 */
    GS_SCHEDULE_REPLAY_INELIGIBLE = 2, /* its batch is empty or not eligible */
    GS_SCHEDULE_REPLAY_LENGTH = 3,     /* its length is not the table's completion time */
    GS_SCHEDULE_REPLAY_NOT_READY = 4,  /* a task of the batch has no pending job, or a kernel
                                          runs before another one of its chain */
    GS_SCHEDULE_REPLAY_MISS = 5,       /* a job ends after its deadline, or still waits at it */
    GS_SCHEDULE_REPLAY_IDLE = 6,       /* the GPU idles although work is ready (unless idling) */
    GS_SCHEDULE_REPLAY_UNFINISHED = 7, /* jobs of [0, H) are left */
    GS_SCHEDULE_REPLAY_CYCLE = 8 /* the state at the end of the cycle is not that at its start */
};

typedef struct {
    int rule;        /* GS_SCHEDULE_REPLAY_* */
    int64_t frame;   /* the frame that breaks it, or the frame count at the end */
    int32_t task;    /* the task concerned, or -1 */
    int64_t instant; /* when */
} gs_schedule_replay_t;

/* Replays a schedule of the jobs released in [0, H) against tasks and table. Errors: those of
 * gs_periodic_tasks_check and gs_periodic_tasks_hyperperiod. */
int gs_schedule_replay(gs_context_t *ctx, const gs_periodic_tasks_t *tasks,
                       const gs_batch_table_t *table, const gs_schedule_frame_t *frames,
                       int64_t count, bool idling, gs_schedule_replay_t *result);

/* Replays a schedule of all jobs whose frames from the instant `from` on repeat every `length`
 * ticks: the frames up to the end of the first cycle, and one more cycle after it. */
int gs_schedule_replay_cycle(gs_context_t *ctx, const gs_periodic_tasks_t *tasks,
                             const gs_batch_table_t *table, const gs_schedule_frame_t *frames,
                             int64_t count, bool idling, int64_t from, int64_t length,
                             gs_schedule_replay_t *result);

#endif
