/* When do the blocks of concurrent kernels run, if they start in FIFO order?
 *
 * Paper 000, section III: m threads, one queue, blocks that occupy their threads until they end.
 * Blocks of a kernel that start together are one wave, so the cost follows waves, not blocks.
 * The four orders are in model/fifo_order.h.
 *
 *     gs_simulate_fifo_t fifo;
 *     status = gs_simulate_fifo_init(&fifo, ctx, &model);
 *     while (status == GS_OK && !fifo.done) {
 *         status = gs_simulate_fifo_run(&fifo, ctx, 1000000);
 *     }
 *     ... fifo.worst[i], fifo.jobs ...
 *     gs_simulate_fifo_free(&fifo, ctx);
 *
 * At one instant, blocks end first, then jobs are released, then blocks start. Jobs that join the
 * queue at the same instant join it by priority (smaller first), then by task index.
 */
#ifndef GS_SIMULATE_FIFO_FIFO_H
#define GS_SIMULATE_FIFO_FIFO_H

#include "core/heap.h"
#include "core/method.h"
#include "core/rng.h"
#include "model/kernel_tasks.h"
#include "model/fifo_order.h"

/* No job is released at or after it. */
#define GS_SIMULATE_FIFO_LATEST (GS_NEVER / 4)

/* What execution times below the worst case are drawn for. */
enum {
    GS_SIMULATE_FIFO_PER_JOB = 0,
    GS_SIMULATE_FIFO_PER_WAVE = 1,
    GS_SIMULATE_FIFO_PER_BLOCK = 2
};

/* When an adversary releases the other tasks, as far as their periods allow: bits of `triggers`. */
enum {
    GS_SIMULATE_FIFO_AT_HEAD = 1,  /* when a job of the victim gets to its stream's head */
    GS_SIMULATE_FIFO_AT_TAIL = 2,  /* when its last block starts */
    GS_SIMULATE_FIFO_AT_FINISH = 4 /* when it finishes */
};

/* Whether to find out what happens for ever (see gs_simulate_fifo_cycle_t). */
enum {
    GS_SIMULATE_FIFO_SETTLE_NO = 0,
    GS_SIMULATE_FIFO_SETTLE_NOTE = 1,
    GS_SIMULATE_FIFO_SETTLE_STOP = 2
};

/* The most tasks with which it is looked for where releases decide. */
#define GS_SIMULATE_FIFO_SETTLE_TASKS 256

/* What is known about all jobs to come. */
enum {
    GS_SIMULATE_FIFO_OPEN = 0,
    GS_SIMULATE_FIFO_REPEATS = 1, /* the schedule repeats: no later response is above those seen */
    GS_SIMULATE_FIFO_DIVERGES = 2 /* the responses of the growing tasks have no bound */
};

/* What is simulated; all arrays belong to the caller and must outlive the simulation. */
typedef struct {
    gs_kernel_tasks_t kernels;
    const int64_t *offset;   /* of the first release; NULL: 0 */
    const int64_t *priority; /* among jobs of one instant; NULL: all equal */
    const int64_t *stream;   /* 0 .. n-1, equal for tasks that share one; NULL: one for each */
    const int64_t *least;    /* blocks take least .. block_time ticks, each as likely; NULL: the
                                block_time */
    const int64_t *slack;    /* 0 .. slack ticks, each as likely, are added to the time between two
                                releases; NULL: none */
    int64_t m;               /* threads */
    int order;               /* GS_FIFO_ORDER_HARDWARE, ... */
    int draw;                /* GS_SIMULATE_FIFO_PER_JOB, ... */
    int settle;              /* GS_SIMULATE_FIFO_SETTLE_NO, ... */
    int64_t until;           /* jobs released before it run to their end */
    int64_t victim;          /* whose jobs trigger all other releases; -1: no adversary */
    int64_t triggers;        /* GS_SIMULATE_FIFO_AT_* */
    uint64_t key[4];         /* of the random numbers */
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
    int64_t serial;     /* how many jobs were released before */
    int64_t next;       /* in its stream, or among free records; -1: none */
    int32_t task;
} gs_simulate_fifo_job_t;

/* Blocks of one job that start and end together. */
typedef struct {
    int64_t task;
    int64_t job;
    int64_t blocks;
    int64_t start;
    int64_t end;
} gs_simulate_fifo_wave_t;

/* A position in the queue, ordered by key, then by the rank of the task. */
typedef struct {
    int64_t key; /* the instant or the release that counts */
    int64_t job;
} gs_simulate_fifo_place_t;

typedef struct {
    int64_t job;
    int64_t blocks;
} gs_simulate_fifo_flight_t;

typedef struct {
    int64_t head; /* the job that may run, -1: idle */
    int64_t tail;
    int64_t pending; /* jobs released and not finished */
} gs_simulate_fifo_stream_t;

/* Does the schedule repeat, or do responses grow for ever?
 *
 * With strictly periodic releases and constant execution times the future depends on the state
 * alone. At checkpoints, one per hyperperiod, the state is compared with a saved one (Brent's
 * cycle detection: saved anew at powers of two). Equal states: the schedule repeats. States that
 * differ only in longer backlogs, where no stream with a longer one ran empty in between: what
 * happened in between happens again and again with ever longer backlogs.
 *
 * hardware, release: a checkpoint is a multiple of the hyperperiod, and the state what runs, what
 * is queued, and each stream's backlog, which may hold no job from before all tasks of the stream
 * are released: else its length does not say which jobs these are. Where releases decide, a longer
 * backlog also makes the jobs at its head older: the order of two queued jobs stays what it was if
 * the one ahead has aged no less than the one behind. strict, overlap: a checkpoint is the start of
 * the last block of the last job released before a multiple of the hyperperiod, and the state what
 * runs, and the lag behind that multiple. */
typedef struct {
    int64_t hyperperiod; /* 0: nothing is looked for */
    int64_t jobs;        /* released in a hyperperiod */
    int64_t count;       /* the number of the next checkpoint's hyperperiod */
    int64_t mark;        /* strict, overlap: the serial of the job that it belongs to */
    int64_t saved_count; /* -1: nothing is saved yet */
    int64_t power;
    int64_t *state; /* scratch: the present state, *length words */
    int64_t length, room;
    int64_t *saved;
    int64_t saved_length, saved_room;
    int64_t *pending;       /* per stream, when saved (strict, overlap: [0] is the lag) */
    int64_t *stream_jobs;   /* per stream, in a hyperperiod */
    unsigned char *shared;  /* per stream: by several tasks */
    unsigned char *emptied; /* per stream, since saved: whether it ran empty */
    unsigned char *ahead;   /* release: per two streams (s, x), since saved: whether a job of x
                               was queued ahead of one of s; NULL elsewhere */
    int64_t *regular;       /* per stream: from when on all its tasks are released */
    int64_t *aged;        /* per stream: by how much the job at its head is older than when saved */
    unsigned char *grows; /* per stream, once responses diverge */
} gs_simulate_fifo_cycle_t;

typedef struct {
    gs_simulate_fifo_model_t model;
    int64_t now;
    bool done;    /* every job released before `until` has finished, or settle stopped the run */
    int verdict;  /* GS_SIMULATE_FIFO_OPEN, ... */
    int64_t from; /* with a verdict: the cycle's first instant, and its length; where the schedule
                     repeats, the waves that start from then on recur every `length` ticks */
    int64_t length;
    int64_t waves;     /* started so far */
    int64_t *worst;    /* per task: the largest response so far, 0 before the first */
    int64_t *finished; /* per task: jobs that have finished */
    int64_t *released; /* per task: jobs that were released */
    gs_simulate_fifo_job_t
        *job; /* with log_jobs in order of release, else records in use and free ones */
    int64_t job_count;
    gs_simulate_fifo_wave_t *wave; /* with log_waves, in order of start */
    int64_t wave_count;
    /* The rest is the simulator's own. */
    int64_t serial;
    int64_t threads_free;
    int64_t *rank;        /* per task: its place among jobs of one instant */
    int64_t *by_rank;     /* the inverse */
    int64_t *task_stream; /* per task */
    int64_t *earliest;    /* per task: with an adversary, when it may be released */
    uint64_t *gap_seed;   /* per task */
    uint64_t *time_seed;  /* per task */
    gs_heap_t releases;   /* item: rank */
    gs_heap_t ends;       /* item: flight */
    gs_simulate_fifo_flight_t *flight;
    int64_t *flight_free; /* a stack of free ones */
    int64_t flight_room, flight_free_count;
    gs_simulate_fifo_place_t *queue; /* a ring of queue_room (a power of two) places */
    int64_t queue_head, queue_count, queue_room;
    gs_simulate_fifo_stream_t *stream;
    int64_t job_free; /* the first free record, -1: none */
    int64_t job_room, wave_room;
    gs_simulate_fifo_cycle_t cycle;
} gs_simulate_fifo_t;

/* Prepares a simulation; on an error it is freed already (freeing it again does no harm). Refuses
 * what gs_kernel_tasks_check refuses, least outside 1 .. block_time, negative offsets and slacks,
 * times beyond the clock (GS_SIMULATE_FIFO_LATEST), a stream outside 0 .. n-1, streams where jobs
 * overlap, an unknown order, draw or trigger, a victim that is no task or an adversary with several
 * tasks in one stream, and settle with anything random or adversarial. */
int gs_simulate_fifo_init(gs_simulate_fifo_t *self, gs_context_t *ctx,
                          const gs_simulate_fifo_model_t *model);

/* Goes on until done or until `waves` more waves have started. Counts jobs as states of the ctx's
 * budget. GS_ERR_OVERFLOW when a block would end beyond the clock. After an error or a spent budget
 * the logs hold what happened up to then, and the simulation cannot go on. */
int gs_simulate_fifo_run(gs_simulate_fifo_t *self, gs_context_t *ctx, int64_t waves);

void gs_simulate_fifo_free(gs_simulate_fifo_t *self, gs_context_t *ctx);

extern const gs_method_t gs_simulate_fifo_fifo_method;

#endif
