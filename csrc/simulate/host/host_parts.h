/* State and functions shared by the files of the host simulator; see host.h for the rules.
 *
 *   host.c            instants
 *   host_jobs.c       jobs: their parts from release to finish
 *   host_cpu.c        CPUs: ready threads, dispatching
 *   host_stgm.c       copy engine and shared SMs
 *   host_lock.c       GPU lock
 *   host_container.c  container of the tasks that use the GPU
 *   host_server.c     GPU server
 *   host_slices.c     time slices
 *   host_gcaps.c      GCAPS
 *   host_log.c        logs
 *   host_given.c      given releases and execution times
 *   host_setup.c      checks and initial state
 *
 * A thread is a task, or the server, which is the last. Threads are numbered by priority, so the
 * number decides ties. A failure (memory, overflow) is kept in `status` and ends the run after the
 * instant; until then the state need not be consistent, but every loop terminates.
 */
#ifndef GS_SIMULATE_HOST_HOST_PARTS_H
#define GS_SIMULATE_HOST_HOST_PARTS_H

#include "simulate/host/host.h"

/* More urgent than any priority or deadline. */
#define GS_SIMULATE_HOST_BOOST INT64_C(-1)

enum {
    GS_SIMULATE_HOST_PART_CPU,
    GS_SIMULATE_HOST_PART_IN,
    GS_SIMULATE_HOST_PART_KERNEL,
    GS_SIMULATE_HOST_PART_OUT,
    GS_SIMULATE_HOST_PARTS
};

/* A job that has not finished. */
typedef struct {
    int64_t release;
    int64_t number; /* from 0 */
    int64_t next;   /* next job of the task, or next free record; -1: none */
    int64_t logged; /* position in the log of jobs */
} gs_simulate_host_job_t;

typedef struct {
    int64_t key;   /* dispatching key: smaller is more urgent */
    int64_t base;  /* key of its job when it is not boosted */
    int64_t work;  /* remaining work on a CPU; GS_NEVER: it spins; 0: its GPU segment begins when it
                      is dispatched */
    int64_t since; /* log: start of `doing` */
    int64_t logged; /* log: its last interval, -1: none */
    int64_t job;    /* record of its current job, -1: none */
    int64_t last;   /* record of its last job that waits or runs */
    int64_t number; /* of its current job */
    int64_t left;   /* SLICES, GCAPS: of its kernel, without its current turn */
    int64_t level;  /* GCAPS: GPU priority */
    int64_t asked;  /* instant of its request, of those served first come, first served */
    uint64_t gap_seed;
    uint64_t time_seed;
    const int64_t *most;  /* its parts: cpu[0], copy in, kernel, copy out, cpu[1], ... */
    const int64_t *least; /* NULL if execution times are constant */
    const int64_t *given; /* rows of its given times, NULL: none */
    int32_t task;         /* -1: the server */
    int32_t part;         /* current part */
    int32_t last_part;
    int32_t cluster;
    int32_t cpu;   /* current CPU, -1: none */
    int32_t was;   /* the CPU that it ran on last */
    int32_t next;  /* next in its queue, -1: none */
    int8_t what;   /* GS_SIMULATE_HOST_DOES_CPU, ...: activity on a CPU */
    int8_t doing;  /* log: current activity */
    bool ready;    /* in the list of its cluster */
    bool open;     /* GCAPS: its segment is open */
    bool begun;    /* log: a kernel, a turn or the server has begun for its current job */
    int8_t inside; /* GS_SIMULATE_HOST_OUTSIDE, or the state of its job in the container */
} gs_simulate_host_thread_t;

typedef struct {
    int64_t since;  /* when its thread was dispatched */
    int32_t thread; /* -1: idle */
    int32_t core;   /* number of the core in the model */
} gs_simulate_host_cpu_t;

/* CPUs that share a list of ready threads: a core, or all CPUs. */
typedef struct {
    int32_t *ready; /* by key, then number; the first `width` run */
    int32_t count;
    int32_t cpu; /* its first one */
    int32_t width;
} gs_simulate_host_cluster_t;

/* A list of threads, linked by `next`. */
typedef struct {
    int32_t head; /* -1: empty */
    int32_t tail;
} gs_simulate_host_queue_t;

enum {
    GS_SIMULATE_HOST_SERVER_IDLE,
    GS_SIMULATE_HOST_SERVER_WAKES,
    GS_SIMULATE_HOST_SERVER_CHOOSES,
    GS_SIMULATE_HOST_SERVER_WORKS,
    GS_SIMULATE_HOST_SERVER_NOTIFIES
};

/* State with respect to the container. */
enum {
    GS_SIMULATE_HOST_OUTSIDE,
    GS_SIMULATE_HOST_INSIDE_IDLE,
    GS_SIMULATE_HOST_INSIDE_READY, /* needs a CPU (also to spin) */
    GS_SIMULATE_HOST_INSIDE_WAITS, /* for the GPU */
    GS_SIMULATE_HOST_INSIDE_KERNEL
};

/* Server of the container; the threads to serve are in `waiting`, in order of release. */
typedef struct {
    int64_t full;      /* budget of each of its jobs */
    int64_t budget;    /* remaining budget at the start of its current activity; 0: none */
    int64_t deadline;  /* of its current job */
    int64_t again;     /* earliest release of its next job */
    int64_t granted;   /* part of the budget given to the running thread */
    int64_t beyond;    /* further work of that thread, GS_NEVER: it spins */
    int64_t suspended; /* since when all its jobs are suspended, -1: not all are */
    int64_t alarm;     /* time of its next own event; GS_NEVER: none */
    int32_t runs;      /* thread that represents it, -1: none */
    int32_t was;       /* the CPU that it ran on last */
    bool busy;         /* the container is not empty */
} gs_simulate_host_container_t;

/* The GPU with a context per task (SLICES, GCAPS). */
typedef struct {
    int64_t alarm; /* time of its next own event; GS_NEVER: none */
    int64_t since; /* when the turn began */
    int32_t runs;  /* thread whose kernel has the GPU, -1: none */
    int32_t last;  /* the last one, -1: none yet */
    bool switches; /* it is switching to `runs` */
} gs_simulate_host_turn_t;

typedef struct gs_simulate_host_state {
    gs_context_t *ctx;        /* of the current call */
    gs_simulate_host_t *host; /* likewise */
    int status;
    int64_t now;
    int32_t n; /* tasks; thread n is the server */
    int32_t cpus, clusters;
    int32_t victim; /* thread of the task under analysis, -1: none */
    int gpu, mode;
    bool fixed;  /* execution times are constant, unless they are given or chosen */
    bool worst;  /* every part takes its worst case */
    bool global; /* EDF; else partitioned */
    bool log_jobs, log_intervals;
    bool marked; /* a bit of `dirty` is set */
    gs_simulate_host_thread_t *thread;
    gs_simulate_host_cpu_t *cpu;
    gs_simulate_host_cluster_t *cluster;
    int32_t *ready;  /* the clusters' lists */
    uint64_t *dirty; /* bit per cluster: to be dispatched */
    uint64_t *began; /* bit per cluster, during dispatching: a GPU segment has begun on it since the
                        last grant */
    int32_t dirty_words;
    int64_t *end; /* tournament tree of ends: leaf leaves + c is the end of CPU c, inner node k the
                     minimum of 2 k and 2 k + 1; GS_NEVER for an idle CPU */
    size_t leaves;
    gs_heap_t kernels;  /* running kernels; item: thread */
    gs_heap_t releases; /* item: thread */
    int64_t *earliest;  /* per thread: earliest next release by a trigger */
    int64_t *slack;     /* per thread: maximum added to its period */
    int64_t *most;      /* the parts of all threads */
    int64_t *least;
    int64_t *given; /* given times, a row for each release */
    int64_t (*choose)(void *of, int32_t r, int32_t part, int64_t most); /* execution times, by an
                                                                           exploration; NULL */
    void *chooser;                                                      /* its first argument */
    gs_simulate_host_job_t *job; /* records in use and free ones */
    int64_t job_count;           /* of both */
    int64_t job_free;            /* the first free record, -1: none */
    int64_t job_room;
    int64_t log_room[2]; /* of the logs of jobs and of intervals */
    gs_simulate_host_queue_t
        asking; /* requests of this instant for the CE, the lock or the server */
    gs_simulate_host_queue_t launching; /* threads with kernels launched at this instant */
    gs_simulate_host_queue_t
        waiting; /* for the CE, the lock or the server; with a container: its threads */
    gs_simulate_host_queue_t overflow; /* OMLP: for a place in `waiting` */
    int64_t places;                    /* OMLP: free places in `waiting`, of `cpus` */
    int32_t holder; /* holder of the CE or the lock; client of the server; -1: none */
    int32_t server; /* GS_SIMULATE_HOST_SERVER_IDLE, ... */
    gs_simulate_host_container_t container;
    gs_simulate_host_turn_t turn;
    /* STGM: bits per thread, `words` words in a row. */
    size_t words;
    uint64_t *conflicts; /* rows: threads that share an SM with it */
    uint64_t *blockers;  /* rows: kernels that its kernel waits for */
    uint64_t *pending;   /* launched kernels that have not ended */
} gs_simulate_host_state_t;

/* Log ----------------------------------------------------------------------------------------- */

void gs_simulate_host_fail(gs_simulate_host_state_t *self, int status);

/* Records that a part would end at GS_NEVER or later. */
void gs_simulate_host_pass_clock(gs_simulate_host_state_t *self);

/* Logs the activity of a thread until now and sets the new one. */
void gs_simulate_host_log_change(gs_simulate_host_state_t *self, gs_simulate_host_thread_t *t,
                                 int8_t doing);
static inline void gs_simulate_host_note(gs_simulate_host_state_t *self,
                                         gs_simulate_host_thread_t *t, int8_t doing)
{
    if (self->log_intervals) {
        gs_simulate_host_log_change(self, t, doing);
    }
}

/* Logs a kernel, or a turn of it. */
void gs_simulate_host_log_kernel(gs_simulate_host_state_t *self, const gs_simulate_host_thread_t *t,
                                 int64_t start, int64_t end);

/* Logs a released job of the thread; returns its position in the log, -1 without memory. */
int64_t gs_simulate_host_log_job(gs_simulate_host_state_t *self, const gs_simulate_host_thread_t *t,
                                 int64_t number);

/* Log entry of the current job of the thread. */
static inline int64_t *gs_simulate_host_logged(const gs_simulate_host_state_t *self,
                                               const gs_simulate_host_thread_t *t, int column)
{
    return &self->host->job[column][self->job[t->job].logged];
}

/* Records the start of the current job, unless it has started; `begun` as in the thread. */
static inline void gs_simulate_host_note_start(gs_simulate_host_state_t *self,
                                               gs_simulate_host_thread_t *t, bool begun)
{
    if (self->log_jobs && t->task >= 0) {
        int64_t *start = gs_simulate_host_logged(self, t, GS_SIMULATE_HOST_JOB_START);
        *start = *start < 0 ? self->now : *start;
        t->begun |= begun;
    }
}

/* Withdraws a start at `since` if the thread lost its CPU at the same instant, unless its GPU
 * segment goes on without the CPU. */
static inline void gs_simulate_host_note_no_start(gs_simulate_host_state_t *self,
                                                  const gs_simulate_host_thread_t *t, int64_t since)
{
    if (self->log_jobs && since == self->now && t->task >= 0 && !t->begun) {
        int64_t *start = gs_simulate_host_logged(self, t, GS_SIMULATE_HOST_JOB_START);
        *start = *start == since ? -1 : *start;
    }
}

/* Instants ------------------------------------------------------------------------------------ */

/* Handles everything that happens at the instant `now`. */
void gs_simulate_host_pass_instant(gs_simulate_host_state_t *self);

/* CPUs ---------------------------------------------------------------------------------------- */

/* Makes a thread ready with this much work, or changes its work and activity. */
void gs_simulate_host_enter(gs_simulate_host_state_t *self, int32_t r, int64_t key, int64_t work,
                            int8_t what);

/* The thread needs no CPU any more; its activity is `doing`. */
void gs_simulate_host_leave(gs_simulate_host_state_t *self, int32_t r, int8_t doing);

/* Changes the key of a thread, ready or not. */
void gs_simulate_host_rekey(gs_simulate_host_state_t *self, int32_t r, int64_t key);

/* Marks a cluster for dispatching. */
static inline void gs_simulate_host_mark(gs_simulate_host_state_t *self, int32_t cluster)
{
    uint32_t number = (uint32_t)cluster;
    self->dirty[number / 64] |= UINT64_C(1) << (number % 64);
    self->marked = true;
}

/* Dispatches the marked clusters, and begins GPU segments, until nothing changes. */
void gs_simulate_host_dispatch(gs_simulate_host_state_t *self);

static inline int64_t gs_simulate_host_next_end(const gs_simulate_host_state_t *self)
{
    return self->end[1];
}

/* Takes the first thread whose work ends now off its CPU and returns it. It is still ready: the
 * caller makes it enter or leave, or marks its cluster. */
int32_t gs_simulate_host_take_end(gs_simulate_host_state_t *self);

/* Set-up -------------------------------------------------------------------------------------- */

/* Checks a model; checks that a time is not negative and not too large. */
int gs_simulate_host_check(gs_context_t *ctx, const gs_simulate_host_model_t *model);
int gs_simulate_host_check_clock(gs_context_t *ctx, const char *field, int64_t i, int64_t value);

/* The number of SMs that the kernels of a task run on. */
int64_t gs_simulate_host_sms(const gs_simulate_host_model_t *model, int64_t i);

int gs_simulate_host_given_check(gs_context_t *ctx, const gs_simulate_host_model_t *model);
int gs_simulate_host_given_times(gs_simulate_host_state_t *self, gs_context_t *ctx,
                                 const gs_simulate_host_model_t *model);

/* Jobs ---------------------------------------------------------------------------------------- */

/* Execution time of a part of the current job of the thread. */
static inline int64_t gs_simulate_host_time(const gs_simulate_host_state_t *self,
                                            const gs_simulate_host_thread_t *t, int32_t part)
{
    int64_t most = t->most[part];
    if (self->worst) {
        return most;
    }
    if (self->choose != NULL) {
        return self->choose(self->chooser, (int32_t)(t - self->thread), part, most);
    }
    if (t->given != NULL) {
        return t->given[t->number * (4 * self->host->model.hosts.width + 1) + part];
    }
    if (self->fixed || t->least[part] == most) {
        return most;
    }
    uint64_t bits = gs_rng_at(t->time_seed, (uint64_t)t->number);
    bits = gs_rng_at(bits, (uint64_t)part + 1);
    return t->least[part] + (int64_t)gs_rng_scale(bits, (uint64_t)(most - t->least[part]) + 1);
}

void gs_simulate_host_release(gs_simulate_host_state_t *self, int32_t r);
void gs_simulate_host_release_due(gs_simulate_host_state_t *self);

/* Begins the next GPU segment of a thread that is dispatched at the end of a CPU segment. */
void gs_simulate_host_begin(gs_simulate_host_state_t *self, int32_t r);

/* Handles the end of the work of a thread on a CPU. */
void gs_simulate_host_worked(gs_simulate_host_state_t *self, int32_t r);

/* Continues a thread after its GPU segment, at its own priority. */
void gs_simulate_host_resume(gs_simulate_host_state_t *self, int32_t r);

/* Starts the kernel of the current part of the thread, which has a positive length. */
void gs_simulate_host_start_kernel(gs_simulate_host_state_t *self, int32_t r);

/* Queues -------------------------------------------------------------------------------------- */

static inline void gs_simulate_host_append(gs_simulate_host_state_t *self,
                                           gs_simulate_host_queue_t *queue, int32_t r)
{
    self->thread[r].next = -1;
    if (queue->head < 0) {
        queue->head = r;
    } else {
        self->thread[queue->tail].next = r;
    }
    queue->tail = r;
}

static inline int32_t gs_simulate_host_pop(gs_simulate_host_state_t *self,
                                           gs_simulate_host_queue_t *queue)
{
    int32_t r = queue->head;
    queue->head = self->thread[r].next;
    return r;
}

/* Whether a thread precedes another one by priority; the thread `last` is behind all others. */
static inline bool gs_simulate_host_precedes(const gs_simulate_host_state_t *self, int32_t a,
                                             int32_t b, int32_t last)
{
    int64_t key_a = self->thread[a].base, key_b = self->thread[b].base;
    return a != last && (b == last || key_a < key_b || (key_a == key_b && a < b));
}

/* Inserts a thread into a queue behind the thread `before`; -1: as the first one. */
static inline void gs_simulate_host_put(gs_simulate_host_state_t *self,
                                        gs_simulate_host_queue_t *queue, int32_t r, int32_t before)
{
    int32_t at = before < 0 ? queue->head : self->thread[before].next;
    self->thread[r].next = at;
    if (before < 0) {
        queue->head = r;
    } else {
        self->thread[before].next = r;
    }
    if (at < 0) {
        queue->tail = r;
    }
}

/* Inserts a thread by priority; the thread `last` goes behind all others. */
static inline void gs_simulate_host_insert(gs_simulate_host_state_t *self,
                                           gs_simulate_host_queue_t *queue, int32_t r, int32_t last)
{
    int32_t before = -1, at = queue->head;
    while (at >= 0 && gs_simulate_host_precedes(self, at, r, last)) {
        before = at;
        at = self->thread[at].next;
    }
    gs_simulate_host_put(self, queue, r, before);
}

/* Inserts the request of a thread, which it makes now, into a queue that is first come, first
 * served: behind those made before, and by priority among those of this instant. */
static inline void gs_simulate_host_line_up(gs_simulate_host_state_t *self,
                                            gs_simulate_host_queue_t *queue, int32_t r)
{
    int32_t before = -1, at = queue->head;
    while (at >= 0 && (self->thread[at].asked < self->now ||
                       gs_simulate_host_precedes(self, at, r, self->victim))) {
        before = at;
        at = self->thread[at].next;
    }
    self->thread[r].asked = self->now;
    gs_simulate_host_put(self, queue, r, before);
}

/* Protocols ----------------------------------------------------------------------------------- */

/* Events of a protocol: set-up; a GPU segment begins; a copy has ended; a kernel has ended; grant
 * resources (called when the requests of an instant are known). */
int gs_simulate_host_stgm_init(gs_simulate_host_state_t *self, gs_context_t *ctx,
                               const gs_simulate_host_model_t *model);
void gs_simulate_host_stgm_begin(gs_simulate_host_state_t *self, int32_t r);
void gs_simulate_host_stgm_copied(gs_simulate_host_state_t *self, int32_t r);
void gs_simulate_host_stgm_kernel_ended(gs_simulate_host_state_t *self, int32_t r);
void gs_simulate_host_stgm_grant(gs_simulate_host_state_t *self);

void gs_simulate_host_lock_begin(gs_simulate_host_state_t *self, int32_t r);
void gs_simulate_host_lock_copied(gs_simulate_host_state_t *self, int32_t r);
void gs_simulate_host_lock_kernel_ended(gs_simulate_host_state_t *self, int32_t r);
void gs_simulate_host_lock_grant(gs_simulate_host_state_t *self);

void gs_simulate_host_server_begin(gs_simulate_host_state_t *self, int32_t r);
void gs_simulate_host_server_worked(gs_simulate_host_state_t *self);
void gs_simulate_host_server_kernel_ended(gs_simulate_host_state_t *self);
void gs_simulate_host_server_grant(gs_simulate_host_state_t *self);

/* The tasks of the container and its budget. */
int gs_simulate_host_container_init(gs_simulate_host_state_t *self, gs_context_t *ctx,
                                    const gs_simulate_host_model_t *model);

/* A thread of the container begins a CPU segment; its job has ended; its work on a CPU has ended
 * (true: it was not the end of a CPU segment, and has been handled). */
void gs_simulate_host_container_enter(gs_simulate_host_state_t *self, int32_t r, int64_t work);
void gs_simulate_host_container_leave(gs_simulate_host_state_t *self, int32_t r);
bool gs_simulate_host_container_worked(gs_simulate_host_state_t *self, int32_t r);
void gs_simulate_host_container_begin(gs_simulate_host_state_t *self, int32_t r);
void gs_simulate_host_container_kernel_ended(gs_simulate_host_state_t *self, int32_t r);
void gs_simulate_host_container_grant(gs_simulate_host_state_t *self);

/* Contexts: the turn of a kernel begins or ends now. */
void gs_simulate_host_begin_turn(gs_simulate_host_state_t *self, int32_t r);
void gs_simulate_host_end_turn(gs_simulate_host_state_t *self);

/* Contexts: the thread waits for the GPU or for its kernel, by mode; does CPU work of a segment. */
void gs_simulate_host_wait_turn(gs_simulate_host_state_t *self, int32_t r);
void gs_simulate_host_copy(gs_simulate_host_state_t *self, int32_t r);

/* Time slices: the end of a switch, of a turn. */
void gs_simulate_host_slices_begin(gs_simulate_host_state_t *self, int32_t r);
void gs_simulate_host_slices_copied(gs_simulate_host_state_t *self, int32_t r);
void gs_simulate_host_slices_ended(gs_simulate_host_state_t *self);
void gs_simulate_host_slices_grant(gs_simulate_host_state_t *self);

/* GCAPS: an update is requested; a copy or an update has ended; a kernel has ended; the GPU goes to
 * the owner, at the end of an instant. */
int gs_simulate_host_gcaps_init(gs_simulate_host_state_t *self, gs_context_t *ctx,
                                const gs_simulate_host_model_t *model);
void gs_simulate_host_gcaps_begin(gs_simulate_host_state_t *self, int32_t r);
void gs_simulate_host_gcaps_worked(gs_simulate_host_state_t *self, int32_t r);
void gs_simulate_host_gcaps_kernel_ended(gs_simulate_host_state_t *self);
void gs_simulate_host_gcaps_grant(gs_simulate_host_state_t *self);
void gs_simulate_host_gcaps_settle(gs_simulate_host_state_t *self);

#endif
