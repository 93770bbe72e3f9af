/* State of the FIFO simulator, with its logs. */
#ifndef GS_SIMULATE_FIFO_FIFO_STATE_H
#define GS_SIMULATE_FIFO_FIFO_STATE_H

#include "core/heap.h"
#include "model/block_placement.h"
#include "simulate/fifo/fifo_model.h"

/* Verdict on all later jobs. */
enum {
    GS_SIMULATE_FIFO_OPEN = 0,
    GS_SIMULATE_FIFO_REPEATS = 1, /* the schedule repeats: no later response exceeds those seen */
    GS_SIMULATE_FIFO_DIVERGES = 2 /* responses of the tasks in `grows` are unbounded */
};

typedef struct {
    int64_t release;
    int64_t start;      /* of the first block, -1 before */
    int64_t dispatched; /* start of the last block, -1 before */
    int64_t end;        /* -1 before */
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
    gs_block_placement_t placer;
    gs_occupancy_footprint_t *take; /* per task, with chains per kernel */
    int64_t placed;                 /* serial of the job whose blocks were placed last, -1: none */
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

#endif
