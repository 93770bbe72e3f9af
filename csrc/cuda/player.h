/* Plays a schedule on the device, or follows a policy.
 *
 * [RTNS24], section 4.1: one stream per task, all of one priority; a frame submits the kernels of
 * one batch, each in its stream, and waits for all of them. A thread of its own dispatches, with
 * sleeps to absolute instants, and with real-time priority and locked memory if asked for.
 */
#ifndef GS_CUDA_PLAYER_H
#define GS_CUDA_PLAYER_H

#include "cuda/run.h"
#include "model/schedule.h"

enum {
    GS_CUDA_PLAY_TABLE = 0,   /* each frame at its planned instant, or late */
    GS_CUDA_PLAY_RECLAIM = 1, /* as soon as the frame before it is done and its jobs are there */
    GS_CUDA_PLAY_POLICY = 2   /* what choose says */
};
/* How the end of a batch is awaited. */
enum {
    GS_CUDA_WAIT_CONTEXT = 0, /* cuCtxSynchronize, as the paper does */
    GS_CUDA_WAIT_STREAMS = 1, /* cuStreamSynchronize for each stream of the batch */
    GS_CUDA_WAIT_POLL = 2     /* asking each of them until it is done */
};

/* The batch to start at an instant (ticks in the hyperperiod) with so many jobs pending, or 0 and
 * in *next the instant to wait for; GS_NEVER: no batch is safe and waiting is not. */
typedef uint32_t gs_cuda_choose_t(void *arg, int64_t instant, const int64_t *pending,
                                  int64_t *next);

typedef struct {
    gs_periodic_tasks_t tasks; /* checked; times in ticks */
    int64_t hyperperiod;
    int64_t tick;   /* ns */
    int64_t cycles; /* how many hyperperiods to play */
    /* Per task: a graph to launch (a CUgraphExec), or 0 and the spin kernel's columns. */
    const int64_t *graph, *variant, *blocks, *threads, *smem, *ns, *iterations, *bytes;
    int strategy;
    const gs_schedule_frame_t *frames; /* of one hyperperiod; not for the policy */
    int64_t count;
    /* Submission orders, rows of n tasks filled up with -1: of each frame, or with the policy of
     * each batch (2^n rows). NULL: by increasing index. */
    const int64_t *order;
    gs_cuda_choose_t *choose;
    void *choose_arg;
    int wait;
    int64_t awake;    /* ns before an instant from which on the thread no longer sleeps */
    int64_t lead;     /* ns from the start of the thread to the first instant */
    int32_t realtime; /* SCHED_FIFO priority of the thread; 0: as it is */
    bool lock_memory; /* mlockall, then munlockall: what was locked before is not afterwards */
} gs_cuda_play_t;

/* What was recorded; columns of the caller. Frames: at least gs_cuda_play_frames entries. Jobs: as
 * many as the hyperperiods have. Host times in ns. */
typedef struct {
    int64_t *planned;   /* the instant of the frame by the plan, GS_NEVER where there is none */
    int64_t *due;       /* from when on it could have been dispatched: plan and releases allow it */
    int64_t *dispatch;  /* before the first launch */
    int64_t *submitted; /* after the last launch */
    int64_t *done;      /* the wait has returned */
    int64_t *batch;
    int64_t *task, *job, *frame;  /* per job, in the order of submission */
    int64_t *start, *end;         /* of its blocks, device ns; -1 of graphs */
    int64_t frames, jobs, unsafe; /* unsafe: frames that the policy did not choose */
    int64_t origin;               /* host ns of tick 0 */
} gs_cuda_played_t;

/* The most jobs, which is the most frames, too. Refuses what cannot be played. */
int gs_cuda_play_check(gs_context_t *ctx, const gs_cuda_device_t *device,
                       const gs_cuda_play_t *play, int64_t *jobs);

/* Plays; the calling thread waits and polls meanwhile. What was recorded up to an error or a stop
 * is in played. */
int gs_cuda_play(gs_cuda_device_t *device, gs_context_t *ctx, const gs_cuda_play_t *play,
                 gs_cuda_played_t *played);

#endif
