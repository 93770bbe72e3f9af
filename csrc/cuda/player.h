/* Player of schedules and policies on a device.
 *
 * [RTNS24], section 4.1: one stream per task, all of equal priority; a frame submits the kernels of
 * one batch, each in its stream, and waits for all of them. A dedicated thread dispatches, with
 * sleeps to absolute instants, and optionally with real-time priority and locked memory.
 */
#ifndef GS_CUDA_PLAYER_H
#define GS_CUDA_PLAYER_H

#include "cuda/run.h"
#include "model/schedule.h"

enum {
    GS_CUDA_PLAY_TABLE = 0,   /* each frame at its planned instant, or later */
    GS_CUDA_PLAY_RECLAIM = 1, /* as soon as the previous frame is done and its jobs are released */
    GS_CUDA_PLAY_POLICY = 2   /* as chosen by `choose` */
};
/* Method of waiting for the end of a batch. */
enum {
    GS_CUDA_WAIT_CONTEXT = 0, /* cuCtxSynchronize, as the paper does */
    GS_CUDA_WAIT_STREAMS = 1, /* cuStreamSynchronize for each stream of the batch */
    GS_CUDA_WAIT_POLL = 2     /* polling each of them */
};

/* The batch to start at an instant (ticks in the hyperperiod), given the numbers of pending jobs;
 * or 0, with the next decision instant in *next; GS_NEVER there: neither a batch nor waiting is
 * safe. */
typedef uint32_t gs_cuda_choose_t(void *arg, int64_t instant, const int64_t *pending,
                                  int64_t *next);

typedef struct {
    gs_periodic_tasks_t tasks; /* checked; times in ticks */
    int64_t hyperperiod;
    int64_t tick;   /* ns */
    int64_t cycles; /* number of hyperperiods to play */
    /* Per task: a graph to launch (a CUgraphExec), or 0 and the columns of the spin kernel. */
    const int64_t *graph, *variant, *blocks, *threads, *smem, *ns, *iterations, *bytes;
    int strategy;
    const gs_schedule_frame_t *frames; /* of one hyperperiod; unused by a policy */
    int64_t count;
    /* Submission orders, rows of n tasks padded with -1: of each frame, or for a policy of each
     * batch (2^n rows). NULL: by increasing index. */
    const int64_t *order;
    gs_cuda_choose_t *choose;
    void *choose_arg;
    int wait;
    int64_t awake;    /* ns before an instant for which the thread busy-waits */
    int64_t lead;     /* ns from the start of the thread to the first instant */
    int32_t realtime; /* SCHED_FIFO priority of the thread; 0: unchanged */
    bool lock_memory; /* mlockall, then munlockall, which also unlocks memory locked before */
} gs_cuda_play_t;

/* Records, in columns of the caller with as many entries as gs_cuda_play_check returns jobs. Host
 * times in ns. */
typedef struct {
    int64_t *planned;   /* planned instant of the frame, GS_NEVER without a plan */
    int64_t *due;       /* earliest dispatch by plan and releases */
    int64_t *dispatch;  /* before the first launch */
    int64_t *submitted; /* after the last launch */
    int64_t *done;      /* end of the wait */
    int64_t *batch;
    int64_t *task, *job, *frame;  /* per job, in order of submission */
    int64_t *start, *end;         /* of its blocks, device ns; -1 for graphs */
    int64_t frames, jobs, unsafe; /* unsafe: frames not chosen by the policy */
    int64_t origin;               /* host ns of tick 0 */
} gs_cuda_played_t;

/* Checks a play; *jobs receives the number of jobs, an upper bound on that of frames, too. */
int gs_cuda_play_check(gs_context_t *ctx, const gs_cuda_device_t *device,
                       const gs_cuda_play_t *play, int64_t *jobs);

/* Plays; the calling thread waits and polls meanwhile. After an error or a stop, `played` holds the
 * records up to then. */
int gs_cuda_play(gs_cuda_device_t *device, gs_context_t *ctx, const gs_cuda_play_t *play,
                 gs_cuda_played_t *played);

#endif
