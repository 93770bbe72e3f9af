/* System that the FIFO simulator takes: kernels, streams, releases, times and GPU. */
#ifndef GS_SIMULATE_FIFO_FIFO_MODEL_H
#define GS_SIMULATE_FIFO_FIFO_MODEL_H

#include "model/fifo_order.h"
#include "model/gpu.h"
#include "model/kernel_chains.h"
#include "model/kernel_tasks.h"

/* Unit for which an execution time is drawn. */
enum {
    GS_SIMULATE_FIFO_PER_JOB = 0,
    GS_SIMULATE_FIFO_PER_WAVE = 1,
    GS_SIMULATE_FIFO_PER_BLOCK = 2
};

/* Events of the task under analysis at which all other tasks are released, as far as their periods
 * allow: bits of `triggers`. With chains, events of each kernel, which joins its queue then. */
enum {
    GS_SIMULATE_FIFO_AT_HEAD =
        1, /* a job of the task under analysis reaches the head of its stream */
    GS_SIMULATE_FIFO_AT_TAIL = 2, /* its last block starts */
    GS_SIMULATE_FIFO_AT_END = 4   /* it finishes */
};

/* Detection of the behaviour over an infinite horizon (see gs_simulate_fifo_cycle_t). */
enum {
    GS_SIMULATE_FIFO_SETTLE_NO = 0,
    GS_SIMULATE_FIFO_SETTLE_NOTE = 1,
    GS_SIMULATE_FIFO_SETTLE_STOP = 2
};

/* Maximum number of tasks for it under GS_FIFO_ORDER_RELEASE. */
#define GS_SIMULATE_FIFO_SETTLE_TASKS 256

/* System to simulate. All arrays belong to the caller and must outlive the simulation. */
typedef struct {
    gs_kernel_tasks_t kernels;        /* with chains: ignored */
    const gs_kernel_chains_t *chains; /* jobs are chains of kernels, and least, regs and smem have
                                         an entry per kernel; NULL: jobs are single kernels */
    const int64_t *soonest;  /* with chains: latencies are soonest .. latency ticks, equally likely,
                                per kernel; NULL: the latency */
    const int64_t *offset;   /* of the first release; NULL: 0 */
    const int64_t *priority; /* among jobs of one instant; NULL: all equal */
    const int64_t *stream;   /* 0 .. n-1, equal for tasks that share one; NULL: one for each */
    const int64_t
        *least; /* blocks take least .. block_time ticks, equally likely; NULL: the block_time */
    const int64_t *slack; /* 0 .. slack ticks, equally likely, are added to the time between two
                             releases; NULL: none */
    const int64_t *release_begin; /* n + 1 offsets into release: releases of each task, ascending,
                                     instead of periodic ones; NULL: none are given */
    const int64_t *release;
    const int64_t *given; /* block times of these jobs, 1 .. block_time; NULL: as above */
    bool closer;          /* given releases may be closer than the period */
    const gs_gpu_t *gpu;  /* blocks need room on an SM; NULL: one pool of threads */
    const int64_t *regs;  /* with gpu: per thread */
    const int64_t *smem;  /* with gpu: bytes per block */
    int placement;        /* with gpu: GS_BLOCK_PLACEMENT_MOST_ROOM, ... */
    int64_t m;            /* threads; ignored with gpu */
    int order;            /* GS_FIFO_ORDER_HARDWARE, ... */
    int draw;             /* GS_SIMULATE_FIFO_PER_JOB, ... */
    int settle;           /* GS_SIMULATE_FIFO_SETTLE_NO, ... */
    int64_t until;        /* jobs released before it run to their end */
    int64_t victim;       /* task under analysis; its jobs trigger the other releases; -1: periodic
                             releases */
    int64_t triggers;     /* GS_SIMULATE_FIFO_AT_* */
    uint64_t key[4];      /* of the random numbers */
    uint64_t index;
    bool log_jobs;
    bool log_waves;
} gs_simulate_fifo_model_t;

/* Number of rows of the kernels' columns: of tasks, or with chains of kernels. */
static inline int64_t gs_simulate_fifo_kernel_count(const gs_simulate_fifo_model_t *model)
{
    return model->chains == NULL ? model->kernels.n : model->chains->begin[model->kernels.n];
}

#endif
