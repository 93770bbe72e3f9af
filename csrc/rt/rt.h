/* Runtime for programs that share a GPU in a way that gpusched has analysed; C11 and C++.
 *
 * It needs no CUDA header: what a job does on the GPU is a pair of callbacks. Times are ns of
 * CLOCK_MONOTONIC. Functions return GS_RT_OK, a positive event or a negative error, whose text
 * gs_rt_error has. Memory is allocated by calls of _open, _create, _join of a log, and _read alone.
 * Structures of options may grow at their end; members that are left out are 0.
 */
#ifndef GS_RT_RT_H
#define GS_RT_RT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GPUSCHED_RT_VERSION 1 /* of this header; gs_rt_version has that of the library */

enum {
    GS_RT_OK = 0,
    GS_RT_TIMEOUT = 1,    /* the instant came before what was waited for */
    GS_RT_OWNER_DIED = 2, /* lock acquired; the holder before died and its process has ended */
    GS_RT_LATE = 3,       /* done after the deadline */
    GS_RT_SKIPPED = 4,    /* not run, by the overrun policy */
    GS_RT_STOPPED = 5,    /* the player has stopped */
    GS_RT_ERR_VALUE = -1, /* an argument or a file is not valid */
    GS_RT_ERR_SYSTEM = -2,
    GS_RT_ERR_FULL = -3,  /* all places are taken */
    GS_RT_ERR_STATE = -4, /* not allowed now */
    GS_RT_ERR_WORK = -5,  /* a callback failed */
    GS_RT_ERR_HANG = -6   /* work did not end within hang_ns */
};

int gs_rt_version(void);
/* The last error of the calling thread; "" without one. */
const char *gs_rt_error(void);
int64_t gs_rt_now(void);

/* Threads and timers -------------------------------------------------------------------------- */

/* Pins the calling thread to a CPU, gives it a SCHED_FIFO priority and a timer slack of 1 ns. A CPU
 * of -1 and a priority of 0 leave it as it is. */
int gs_rt_thread(int cpu, int fifo);
/* Locks all memory, present and future, and touches so many bytes of the calling thread's stack. */
int gs_rt_lock_memory(size_t stack);

/* Releases of a periodic task at absolute instants. */
typedef struct {
    int64_t next, period;       /* the next release */
    int64_t releases, skipped;  /* counts */
    int64_t late_max, late_sum; /* wake-up after release */
    int64_t histogram[32];      /* wake-ups by the number of bits of their lateness in ns */
} gs_rt_timer_t;

void gs_rt_timer_start(gs_rt_timer_t *self, int64_t first, int64_t period);
/* Sleeps until awake_ns before the next release, and waits busily from there on. Where several
 * releases have passed, skip_missed leaves out all but the last. The release is next - period. */
int gs_rt_timer_wait(gs_rt_timer_t *self, int64_t awake_ns, int skip_missed);

/* Jobs and their work ------------------------------------------------------------------------- */

/* A kernel (0 without chains) of a job of a task, with the job's release and absolute deadline. */
typedef struct {
    int32_t task, kernel;
    int64_t job, release, deadline;
} gs_rt_job_t;

/* The GPU work of a task. submit enqueues it and returns. wait returns GS_RT_OK when what submit
 * enqueued for the job has ended, and GS_RT_TIMEOUT at an instant; with one that has passed it only
 * looks. Both return a negative number for an error. Without wait, the work has ended when submit
 * returns. */
typedef struct {
    void *arg;
    int (*submit)(void *arg, const gs_rt_job_t *job);
    int (*wait)(void *arg, const gs_rt_job_t *job, int64_t until);
} gs_rt_work_t;

/* Jobs that are late: not ready at the planned start of their frame, or in a frame that would end
 * after their deadline if it began now. A frame that begins late by no more than the overhead in
 * the plan is in time. A job that needs one that was not run is not run either, whatever its
 * policy.
 */
enum {
    GS_RT_OVERRUN_CONTINUE = 0, /* run late, as do the frames behind it */
    GS_RT_OVERRUN_SKIP = 1,     /* not run */
    GS_RT_OVERRUN_ABORT = 2     /* the player stops with GS_RT_ERR_STATE */
};

/* Log of jobs --------------------------------------------------------------------------------- */

/* Kinds of events, with their value. */
enum {
    GS_RT_EV_RELEASE = 1,   /* instant of the release */
    GS_RT_EV_READY = 2,     /* CPU work before the GPU is done */
    GS_RT_EV_REQUEST = 3,   /* of the lock or the server: urgency */
    GS_RT_EV_ACQUIRE = 4,   /* instant at which the lock, or the server, was given */
    GS_RT_EV_SUBMIT = 5,    /* index of the kernel */
    GS_RT_EV_GPU_BEGIN = 6, /* index of the segment or kernel */
    GS_RT_EV_GPU_END = 7,   /* the same */
    GS_RT_EV_RELEASE_LOCK = 8,
    GS_RT_EV_COMPLETE = 9,    /* end of the job: deadline */
    GS_RT_EV_MISS = 10,       /* lateness */
    GS_RT_EV_SKIP = 11,       /* not run, or a request withdrawn: index of the kernel */
    GS_RT_EV_ABORT = 12,      /* lateness */
    GS_RT_EV_FRAME = 13,      /* a frame begins (job: its number): planned instant */
    GS_RT_EV_FRAME_DONE = 14, /* planned end */
    GS_RT_EV_OWNER_DIED = 15, /* the lock was acquired after a holder's death */
    GS_RT_EV_CPU = 16         /* CPU time of the job, ns */
};

typedef struct {
    int64_t t;
    int64_t job; /* number of the job of its task, or of the frame */
    int64_t value;
    uint16_t kind;
    uint16_t task;
    uint32_t thread; /* index of the ring */
} gs_rt_event_t;

#define GS_RT_NAME_BYTES 64 /* of a name in a log, with its end */
#define GS_RT_NO_TASK 65535 /* the task of events about frames */

typedef struct gs_rt_log gs_rt_log_t;
typedef struct {
    const char *const *names; /* of the tasks, in the order of their indices */
    int tasks;
    int threads;       /* rings; 0: 16 */
    int events;        /* of a ring, a power of two; 0: 65536 */
    const char *about; /* what the log is compared with, such as a digest; at most 63 bytes */
} gs_rt_log_options_t;

/* A new log in a file that replaces an earlier one. It has one ring of events per thread, which
 * claims it by its first event. A full ring overwrites its oldest events, and counts them. */
int gs_rt_log_create(const char *path, const gs_rt_log_options_t *options, gs_rt_log_t **log);
/* The same log in another process. */
int gs_rt_log_join(const char *path, gs_rt_log_t **log);
/* Adds an event; a log that is NULL is left alone. */
void gs_rt_log_event(gs_rt_log_t *log, int kind, int task, int64_t job, int64_t value);
void gs_rt_log_event_at(gs_rt_log_t *log, int64_t t, int kind, int task, int64_t job,
                        int64_t value);
/* CPU time of the calling thread, for the value of GS_RT_EV_CPU: the difference within a job. */
int64_t gs_rt_cpu_time(void);
void gs_rt_log_close(gs_rt_log_t *log);

/* Jobs of a task ------------------------------------------------------------------------------- */

#define GS_RT_ENDS 64 /* most ended jobs of a task that wait to release one of another task */

/* Ends of the jobs of a task, which release jobs of other tasks of this process. */
typedef struct gs_rt_ends gs_rt_ends_t;
int gs_rt_ends_open(gs_rt_ends_t **ends);
void gs_rt_ends_close(gs_rt_ends_t *ends);

typedef struct {
    int task;              /* its index in the log */
    int64_t first, period; /* the first arrival, and ns between two; not of a task with `after` */
    int64_t deadline;      /* from an arrival, or from a release by others */
    int64_t jobs;          /* their number; 0: until stopped */
    gs_rt_log_t *log;      /* or NULL */
    void *arg;
    /* Runs a job: GS_RT_OK, GS_RT_STOPPED to end the loop, or a negative number. *waited: CPU time
     * that it spent in busy waits, which the log does not count as work; 0 unless it is set. */
    int (*run)(void *arg, const gs_rt_job_t *job, int64_t *waited);
    int (*stopped)(void *arg);  /* looked at every 20 ms in waits for releases; NULL: never */
    gs_rt_ends_t *ends;         /* of its jobs, for those that they release; NULL: none */
    gs_rt_ends_t *const *after; /* `afters` of them: job j is released when job j * every of each
                                   has ended; every 0 is 1 */
    int32_t afters, every;
    int64_t (*delay)(void *arg, int64_t job); /* ns from an arrival to the release; NULL: none */
} gs_rt_jobs_t;

/* Runs the jobs in the calling thread, each from its release on, or behind the one before it. Logs
 * their releases, CPU times, completions and lateness. A task that others release ends with
 * GS_RT_STOPPED where the loop of one of them has ended, and with GS_RT_ERR_FULL where it is more
 * than GS_RT_ENDS jobs behind. */
int gs_rt_jobs_run(const gs_rt_jobs_t *jobs);

/* Lock on the GPU, across threads and processes (Linux) --------------------------------------- */
/* Its processes are those of one user and of one PID namespace: containers share the host's, or
 * that of one of them. */

enum {
    GS_RT_ORDER_PRIORITY = 0, /* MPCP: the most urgent request, then the earliest */
    GS_RT_ORDER_FIFO = 1      /* FMLP+: the earliest request */
};

typedef struct gs_rt_lock gs_rt_lock_t;
typedef struct {
    const char *name; /* of the shared memory, such as "/gpusched-0" */
    int order;
    int64_t check_ns; /* a waiter looks so often whether the holder lives; 0: 1 ms */
    gs_rt_log_t *log; /* or NULL */
} gs_rt_lock_options_t;

#define GS_RT_LOCK_SLOTS 64

int gs_rt_lock_open(const gs_rt_lock_options_t *options, gs_rt_lock_t **lock);
/* Takes a slot for the calling thread. A larger urgency is more urgent. ceiling: the thread's
 * SCHED_FIFO priority from a request to the release; 0: unchanged. */
int gs_rt_lock_join(gs_rt_lock_t *lock, int urgency, int ceiling, int *slot);
/* Waits for the lock, asleep or spinning, until an instant (INT64_MAX: without a limit). job is
 * logged; NULL without a log. GS_RT_OWNER_DIED is given also while the GPU may still be running
 * work of the process that ended: wait for an event of the device before relying on a bound. */
int gs_rt_lock_acquire(gs_rt_lock_t *lock, int slot, const gs_rt_job_t *job, int spin,
                       int64_t until);
/* The same; `stopped` is looked at every 20 ms while it waits. If it returns other than 0, the
 * request is withdrawn: GS_RT_STOPPED. */
int gs_rt_lock_acquire_or_stop(gs_rt_lock_t *lock, int slot, const gs_rt_job_t *job, int spin,
                               int64_t until, int (*stopped)(void *arg), void *arg);
int gs_rt_lock_release(gs_rt_lock_t *lock, int slot, const gs_rt_job_t *job);
/* Gives the slot back, and the lock if the slot holds it. */
int gs_rt_lock_leave(gs_rt_lock_t *lock, int slot);
void gs_rt_lock_close(gs_rt_lock_t *lock);
/* Removes the shared memory's name: later calls of gs_rt_lock_open make a new lock. */
int gs_rt_lock_remove(const char *name);

/* Server: one thread runs the GPU segments of all tasks, the most urgent first ----------------- */

typedef struct gs_rt_server gs_rt_server_t;
typedef struct {
    int cpu, fifo;   /* of the server's thread; cpu -1: any */
    int spin;        /* how the server waits for a segment */
    int overrun;     /* GS_RT_OVERRUN_SKIP drops segments that begin after their deadline */
    int64_t hang_ns; /* a segment longer than this ends the server; 0: no limit */
    gs_rt_log_t *log;
} gs_rt_server_options_t;

int gs_rt_server_open(const gs_rt_server_options_t *options, gs_rt_server_t **server);
/* Runs a segment; the calling thread sleeps until it has ended. A larger urgency is more urgent,
 * such as the negative of the instant at which the segment is due. */
int gs_rt_server_run(gs_rt_server_t *server, int64_t urgency, const gs_rt_work_t *work,
                     const gs_rt_job_t *job);
/* Ends the server behind the segment that runs; those that wait return GS_RT_STOPPED. */
void gs_rt_server_close(gs_rt_server_t *server);

/* Plan and player ------------------------------------------------------------------------------ */

/* A schedule of frames, as files of versions 3 and 4 and headers made from schedules have it. Times
 * are in ticks of tick ns. */
typedef struct {
    const char *name;
    int64_t period;
    int64_t offset;   /* release of the GPU work after the start of the period */
    int64_t deadline; /* of the GPU work after that */
    int32_t kernels;  /* of a job */
} gs_rt_plan_task_t;

typedef struct {
    int32_t task, kernel;
} gs_rt_plan_entry_t;

typedef struct {
    int64_t start, end;
    int32_t first, count;  /* its entries, in the order of submission */
    int32_t lacks, lacked; /* first and number of its masks */
} gs_rt_plan_frame_t;

/* A job of a task starts after the job with its number of another task of the same period. */
typedef struct {
    int32_t task, needs;
} gs_rt_plan_need_t;

#define GS_RT_PLAN_BATCH 32 /* most entries of a frame */

typedef struct {
    int64_t tick;        /* ns */
    int64_t hyperperiod; /* ticks, after which the frames repeat */
    int64_t overhead;    /* ticks of the length of each frame that are kept for its dispatch */
    int32_t tasks, frames, entries, masks;
    const gs_rt_plan_task_t *task;
    const gs_rt_plan_frame_t *frame;
    const gs_rt_plan_entry_t *entry;
    /* Sets of entries (bit i: entry i of the frame) without which the others take no longer. */
    const uint32_t *mask;
    int32_t needs;
    const gs_rt_plan_need_t *need; /* in the order of the tasks */
} gs_rt_plan_t;

/* Reads a schedule file of version 3 or 4. */
int gs_rt_plan_read(const char *path, gs_rt_plan_t **plan);
void gs_rt_plan_free(gs_rt_plan_t *plan);

typedef struct gs_rt_player gs_rt_player_t;
typedef struct {
    int cpu, fifo;    /* of the thread that calls gs_rt_player_run; cpu -1: any */
    int reclaim;      /* 0: frames begin at their planned instants; 1: as soon as the frame before
                         has ended and all jobs are ready, in the order of the plan */
    int spin;         /* how to wait for a frame's work */
    int64_t awake_ns; /* busy wait before an instant */
    int overrun;      /* of every task, unless gs_rt_player_overrun says otherwise */
    int64_t hang_ns;  /* work that ends, or gets ready, so much later than planned ends the play
                         with GS_RT_ERR_HANG; 0: no limit */
    gs_rt_log_t *log;
    int (*stopped)(void *arg); /* looked at every 50 ms in waits for frames: other than 0 stops the
                                  play; NULL: never */
    void *arg;
} gs_rt_player_options_t;

/* The plan is not copied. */
int gs_rt_player_open(const gs_rt_plan_t *plan, const gs_rt_player_options_t *options,
                      gs_rt_player_t **player);
/* Index of a task, or an error. */
int gs_rt_player_find(const gs_rt_player_t *player, const char *task);
/* Sets the work of a task. handshake: its frames wait for gs_rt_player_ready; otherwise a job is
 * ready at its release. */
int gs_rt_player_work(gs_rt_player_t *player, int task, const gs_rt_work_t *work, int handshake);
int gs_rt_player_overrun(gs_rt_player_t *player, int task, int overrun);
/* Plays whole hyperperiods (0: until stopped) from an instant on, in the calling thread. */
int gs_rt_player_run(gs_rt_player_t *player, int64_t first, int64_t cycles);
/* Says that the CPU work before the GPU work of a job is done. */
int gs_rt_player_ready(gs_rt_player_t *player, int task, int64_t job);
/* Sleeps until the GPU work of a job has ended: GS_RT_OK, LATE, SKIPPED, STOPPED or TIMEOUT. Knows
 * the last 64 jobs of a task. */
int gs_rt_player_done(gs_rt_player_t *player, int task, int64_t job, int64_t until);
/* May be called by any thread. A frame that has begun is waited for. */
void gs_rt_player_stop(gs_rt_player_t *player);
void gs_rt_player_close(gs_rt_player_t *player);

#ifdef __cplusplus
}
#endif
#endif
