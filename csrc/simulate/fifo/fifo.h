/* Simulator of kernels whose blocks start in FIFO order.
 *
 * [ECRTS17], section III: m threads, one queue, blocks that occupy their threads until they end; or
 * a GPU whose blocks need room on one SM, which the placement policy chooses ([RTAS20], section
 * III-C). Blocks of a kernel that start together (on one SM) form one wave, so the cost grows with
 * waves, not blocks.
 * The four orders are in model/fifo_order.h.
 *
 *     gs_simulate_fifo_t fifo;
 *     status = gs_simulate_fifo_init(&fifo, ctx, &model);
 *     while (status == GS_OK && !fifo.done) {
 *         status = gs_simulate_fifo_run(&fifo, ctx, 1000000);
 *     }
 *     ... fifo.worst[i], fifo.job ...
 *     gs_simulate_fifo_free(&fifo, ctx);
 *
 * At one instant, blocks end first, then jobs are released, then blocks start. Jobs that enter the
 * queue at the same instant do so by priority (smaller first), then by task index.
 *
 * With chains, jobs run several kernels one after the other, and only the kernel at the head of the
 * queue of the most urgent level starts blocks (analysis/priority_streams). A kernel joins its
 * queue some latency after its job has reached the head of its stream, or after the kernel before
 * it has ended; at one instant, after all releases.
 */
#ifndef GS_SIMULATE_FIFO_FIFO_H
#define GS_SIMULATE_FIFO_FIFO_H

#include "core/heap.h"
#include "core/method.h"
#include "core/rng.h"
#include "model/kernel_chains.h"
#include "model/kernel_tasks.h"
#include "model/fifo_order.h"
#include "model/placement.h"

/* All releases are before it. */
#define GS_SIMULATE_FIFO_LATEST (GS_NEVER / 4)

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
    GS_SIMULATE_FIFO_AT_TAIL = 2,  /* its last block starts */
    GS_SIMULATE_FIFO_AT_FINISH = 4 /* it finishes */
};

/* Detection of the behaviour over an infinite horizon (see gs_simulate_fifo_cycle_t). */
enum {
    GS_SIMULATE_FIFO_SETTLE_NO = 0,
    GS_SIMULATE_FIFO_SETTLE_NOTE = 1,
    GS_SIMULATE_FIFO_SETTLE_STOP = 2
};

/* Maximum number of tasks for it under GS_FIFO_ORDER_RELEASE. */
#define GS_SIMULATE_FIFO_SETTLE_TASKS 256

/* Verdict on all later jobs. */
enum {
    GS_SIMULATE_FIFO_OPEN = 0,
    GS_SIMULATE_FIFO_REPEATS = 1, /* the schedule repeats: no later response exceeds those seen */
    GS_SIMULATE_FIFO_DIVERGES = 2 /* responses of the tasks in `grows` are unbounded */
};

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
    int placement;        /* with gpu: GS_PLACEMENT_MOST_ROOM, ... */
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

typedef struct {
    int64_t release;
    int64_t start;      /* of the first block, -1 before */
    int64_t dispatched; /* start of the last block, -1 before */
    int64_t finish;     /* -1 before */
    int64_t number;     /* from 0 */
    int64_t waiting;    /* blocks that have not started */
    int64_t running;    /* blocks that have not ended */
    int64_t serial;     /* number of jobs released before; with chains, of kernels launched */
    int64_t next;       /* in its stream, or among free records; -1: none */
    int32_t task;
    int32_t kernel; /* with chains the current one, else the task: row of the kernels' columns */
} gs_simulate_fifo_job_t;

/* Blocks of one job that start and end together, with SMs those on one SM. */
typedef struct {
    int64_t task;
    int64_t job;
    int64_t blocks;
    int64_t start;
    int64_t end;
} gs_simulate_fifo_wave_t;

/* Entry of the queue, ordered by key, then by the rank of the task. */
typedef struct {
    int64_t key; /* entry instant or release */
    int64_t job;
} gs_simulate_fifo_place_t;

typedef struct {
    int64_t job;
    int64_t blocks;
} gs_simulate_fifo_flight_t;

typedef struct {
    int64_t head; /* its first job, -1: idle */
    int64_t tail;
    int64_t pending; /* jobs released and not finished */
} gs_simulate_fifo_stream_t;

/* Detection of schedules that repeat or diverge.
 *
 * With strictly periodic releases and constant execution times the future depends on the state
 * alone. At checkpoints, one per hyperperiod, the state is compared with a saved one (Brent's
 * cycle detection: saved anew at powers of two). Equal states: the schedule repeats. States that
 * differ only in longer backlogs, where no stream with a longer one ran empty in between: the
 * interval between them recurs with ever longer backlogs.
 *
 * hardware, release: a checkpoint is a multiple of the hyperperiod. The state consists of the
 * running waves, the queue, the history of the placement, and the backlog of each stream; no
 * backlog may contain a job from before all tasks of its stream are released, or its length would
 * not determine its jobs. With release, a longer backlog also makes the jobs at its head older: the
 * order of two queued jobs is kept if the age of the first grew by no less than that of the second.
 * strict, overlap: a checkpoint is the start of the last block of the last job released before a
 * multiple of the hyperperiod. The state consists of the running waves, the history of the
 * placement and the lag behind that multiple. */
typedef struct {
    int64_t hyperperiod; /* 0: detection is off */
    int64_t jobs;        /* released in a hyperperiod */
    int64_t count;       /* number of hyperperiods at the next checkpoint */
    int64_t mark;        /* strict, overlap: serial of the job of the next checkpoint */
    int64_t saved_count; /* -1: no state is saved */
    int64_t power;
    int64_t *state; /* scratch: current state, length words */
    int64_t length, room;
    int64_t *saved;
    int64_t saved_length, saved_room;
    int64_t *pending;       /* per stream, when saved (strict, overlap: [0] is the lag) */
    int64_t *stream_jobs;   /* per stream, in a hyperperiod */
    unsigned char *shared;  /* per stream: whether several tasks share it */
    unsigned char *emptied; /* per stream: whether it ran empty since the state was saved */
    unsigned char *ahead;   /* release: per pair of streams (s, x): whether a job of x was queued
                               ahead of one of s since the state was saved; NULL with other orders */
    int64_t *regular;       /* per stream: instant from which all its tasks are released */
    int64_t *aged; /* per stream: increase of the age of its first job since the state was saved */
    unsigned char *grows; /* per stream: its responses diverge */
} gs_simulate_fifo_cycle_t;

/* Blocks on SMs; all zero for a pool of threads. */
typedef struct {
    gs_placement_t placer;
    gs_gpu_footprint_t *take; /* per task, with chains per kernel */
    int64_t placed;           /* serial of the job whose blocks were placed last, -1: none */
    int64_t stuck;      /* serial of a job that has no room as long as no block ends, -1: none */
    int32_t *of_flight; /* SM of each running wave */
    int64_t flight_room, wave_room;
    int32_t *at; /* SMs of the blocks that start */
    int64_t room;
    int64_t *on_sm;  /* their number per SM, 0 once they have started */
    int64_t next;    /* position in at: those before it have started */
    int64_t groups;  /* entries of at */
    int64_t blocks;  /* those that start next, together */
    int32_t sm;      /* and where */
    int64_t waiting; /* blocks of that job that had not started before them */
} gs_simulate_fifo_sms_t;

typedef struct {
    gs_simulate_fifo_model_t model;
    int64_t now;
    bool done;    /* all jobs released before `until` have finished, or a verdict ended the run */
    int verdict;  /* GS_SIMULATE_FIFO_OPEN, ... */
    int64_t from; /* with a verdict: first instant and length of the cycle. If the schedule repeats,
                     the waves that start from then on recur every `length` ticks */
    int64_t length;
    int64_t waves;     /* started so far */
    int64_t *worst;    /* per task: largest response so far, 0 before the first */
    int64_t *finished; /* per task: finished jobs */
    int64_t *released; /* per task: released jobs */
    gs_simulate_fifo_job_t
        *job; /* with log_jobs in order of release, else records in use and free ones */
    int64_t job_count;
    gs_simulate_fifo_wave_t *wave; /* with log_waves, in order of start */
    int64_t wave_count;
    int32_t *wave_sm;     /* with log_waves and gpu: their SMs */
    int32_t *wave_kernel; /* with log_waves and chains: their kernels, from 0 in each job */
    /* Internal state. */
    int64_t serial;
    int64_t threads_free;
    int64_t *rank;        /* per task: its rank among jobs of one instant */
    int64_t *by_rank;     /* the inverse */
    int64_t *task_stream; /* per task */
    int64_t *least;       /* per task: shortest block time, 0 where the times are given */
    int64_t *earliest;    /* per task: earliest next release by a trigger */
    uint64_t *gap_seed;   /* per task */
    uint64_t *time_seed;  /* per task */
    gs_heap_t releases;   /* item: rank */
    gs_heap_t ends;       /* item: flight */
    gs_heap_t joins;      /* item: job whose kernel joins its queue after a latency */
    gs_simulate_fifo_flight_t *flight;
    int64_t *flight_free; /* stack of free entries */
    int64_t flight_room, flight_free_count;
    gs_simulate_fifo_place_t *queue; /* ring of queue_room (a power of two) entries */
    int64_t queue_head, queue_count, queue_room;
    gs_simulate_fifo_stream_t *stream;
    int64_t job_free; /* the first free record, -1: none */
    int64_t job_room, wave_room, kernel_room;
    gs_simulate_fifo_sms_t sms;
    gs_simulate_fifo_cycle_t cycle;
} gs_simulate_fifo_t;

/* Number of rows of the kernels' columns: of tasks, or with chains of kernels. */
static inline int64_t gs_simulate_fifo_kernel_count(const gs_simulate_fifo_model_t *model)
{
    return model->chains == NULL ? model->kernels.n : model->chains->begin[model->kernels.n];
}

/* Prepares a simulation; after an error nothing is left to free. Refuses what gs_kernel_tasks_check
 * refuses, least outside 1 .. block_time, negative offsets and slacks, times of
 * GS_SIMULATE_FIFO_LATEST and more, a stream outside 0 .. n-1, streams with GS_FIFO_ORDER_OVERLAP,
 * an unknown order, draw or trigger, a victim that is not a task index, streams with a victim, and
 * settle with random times, a victim or given releases. Of given releases (row: the position in
 * release): those that are negative, GS_SIMULATE_FIFO_LATEST or more, before the previous one of
 * their task, or, unless closer, less than a period after it, slack or a victim with them, and
 * given times outside 1 .. block_time. With gpu: what gs_gpu_check refuses, an unknown placement,
 * and blocks that fit no SM. With chains: what gs_kernel_chains_check refuses, another order than
 * GS_FIFO_ORDER_HARDWARE, streams, given times, settle, and soonest outside 0 .. latency. */
int gs_simulate_fifo_init(gs_simulate_fifo_t *self, gs_context_t *ctx,
                          const gs_simulate_fifo_model_t *model);

/* Runs until done or until `waves` more waves have started. Jobs count as states of the budget.
 * GS_ERR_OVERFLOW when a block would end at GS_NEVER or later. After an error or a used up budget
 * the logs hold what happened up to then, and the simulation cannot continue. */
int gs_simulate_fifo_run(gs_simulate_fifo_t *self, gs_context_t *ctx, int64_t waves);

void gs_simulate_fifo_free(gs_simulate_fifo_t *self, gs_context_t *ctx);

extern const gs_method_t gs_simulate_fifo_fifo_method;

#endif
