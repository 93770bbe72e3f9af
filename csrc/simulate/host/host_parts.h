/* What the files of the host simulator share; see host.h for the rules.
 *
 *   host.c         instants: what ends, releases, and settling who gets what
 *   host_jobs.c    jobs: their parts, from release to finish
 *   host_cpu.c     CPUs: who runs
 *   host_stgm.c    the copy engine and shared SMs
 *   host_lock.c    one lock on the GPU
 *   host_container.c  the container of the tasks that use the GPU
 *   host_server.c  the GPU server
 *   host_log.c     intervals
 *   host_setup.c   from the model to the first releases
 *
 * A thread is a task, or the server, which is the last. Threads are numbered by priority, so that
 * the number decides ties. A failure (memory, the clock) is kept in `status` and ends the run after
 * the instant; what runs until then need not make sense, only end.
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
    int64_t next;   /* of the same task, or among free records; -1: none */
    int64_t logged; /* its place in the log of jobs */
} gs_simulate_host_job_t;

typedef struct {
    int64_t key;    /* its place on its CPUs: smaller is more urgent */
    int64_t base;   /* the key of its job when it is not boosted */
    int64_t work;   /* left of what it does on a CPU; GS_NEVER: it spins; 0: its GPU segment begins
                       as soon as it would run */
    int64_t since;  /* log: when `doing` began */
    int64_t logged; /* log: its latest interval, -1: none */
    int64_t job;    /* record of its present job, -1: none */
    int64_t last;   /* record of its latest job that waits or runs */
    int64_t number; /* of its present job */
    uint64_t gap_seed;
    uint64_t time_seed;
    const int64_t *most;  /* its parts: cpu[0], copy in, kernel, copy out, cpu[1], ... */
    const int64_t *least; /* NULL where nothing is drawn */
    int32_t task;         /* -1: the server */
    int32_t part;         /* present */
    int32_t last_part;
    int32_t cluster;
    int32_t cpu;   /* that it runs on, -1: none */
    int32_t was;   /* the CPU that it ran on last */
    int32_t next;  /* in the queue that it is in, -1: none */
    int8_t what;   /* GS_SIMULATE_HOST_DOES_CPU, ...: what it does when it is on a CPU */
    int8_t doing;  /* log: what it does now */
    bool ready;    /* on its cluster's list */
    int8_t inside; /* GS_SIMULATE_HOST_OUTSIDE, or what its job in the container does */
} gs_simulate_host_thread_t;

typedef struct {
    int64_t since;  /* when it got its thread */
    int32_t thread; /* -1: idle */
    int32_t core;   /* the number that the outside knows it by */
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

/* In the container or not. */
enum {
    GS_SIMULATE_HOST_OUTSIDE,
    GS_SIMULATE_HOST_INSIDE_IDLE,
    GS_SIMULATE_HOST_INSIDE_READY, /* needs a CPU, if only to spin */
    GS_SIMULATE_HOST_INSIDE_WAITS, /* for the GPU */
    GS_SIMULATE_HOST_INSIDE_KERNEL
};

/* The container's server; whom it may serve is in `waiting`, in order of release. */
typedef struct {
    int64_t full;      /* the budget of each of its jobs */
    int64_t budget;    /* left of its present one at the start of what it does; 0: none */
    int64_t deadline;  /* of its present job */
    int64_t again;     /* when its next job is released, or may be */
    int64_t granted;   /* of the budget, to the thread that runs */
    int64_t beyond;    /* the work of that thread beyond it, GS_NEVER: it spins */
    int64_t suspended; /* since when all its jobs are suspended, -1: they are not */
    int64_t alarm;     /* when something happens to it if nothing else does; GS_NEVER: nothing */
    int32_t runs;      /* the thread that stands for it, -1: none */
    int32_t was;       /* the CPU that it ran on last */
    bool busy;         /* there is a job in the container */
} gs_simulate_host_container_t;

typedef struct gs_simulate_host_state {
    gs_context_t *ctx;        /* of the call that runs it */
    gs_simulate_host_t *host; /* likewise */
    int status;
    int64_t now;
    int32_t n; /* tasks; thread n is the server */
    int32_t cpus, clusters;
    int32_t victim; /* its thread, -1: none */
    int gpu, mode;
    bool fixed;  /* nothing is drawn, of times */
    bool global; /* EDF; else partitioned */
    bool log_jobs, log_intervals;
    bool marked; /* a bit of `dirty` is set */
    gs_simulate_host_thread_t *thread;
    gs_simulate_host_cpu_t *cpu;
    gs_simulate_host_cluster_t *cluster;
    int32_t *ready;  /* the clusters' lists */
    uint64_t *dirty; /* a bit per cluster: its CPUs have to choose anew */
    uint64_t *began; /* a bit per cluster, while they choose: a GPU segment has begun on it since
                        what is free was given out */
    int32_t dirty_words;
    int64_t *end; /* a tree of the earliest ends: leaf leaves + c is that of CPU c, an inner node
                     k the earlier of 2 k and 2 k + 1; GS_NEVER for a CPU without a thread */
    size_t leaves;
    gs_heap_t kernels;  /* that run; item: thread */
    gs_heap_t releases; /* item: thread */
    int64_t *earliest;  /* per thread: with an adversary, when it may be released */
    int64_t *slack;     /* per thread: the most that is added to its period */
    int64_t *most;      /* the parts of all threads */
    int64_t *least;
    gs_simulate_host_job_t *job; /* records in use and free ones */
    int64_t job_count;           /* of both */
    int64_t job_free;            /* the first free record, -1: none */
    int64_t job_room;
    int64_t log_room[2]; /* of the logs of jobs and of intervals */
    gs_simulate_host_queue_t
        asking; /* who asks at this instant for the CE, the lock or the server */
    gs_simulate_host_queue_t launching; /* whose kernels are launched at this instant */
    gs_simulate_host_queue_t waiting;   /* for the CE, the lock or the server; in the container */
    gs_simulate_host_queue_t overflow;  /* OMLP: for a place in `waiting` */
    int64_t places;                     /* OMLP: free ones, of as many as there are CPUs */
    int32_t holder; /* of the CE or the lock; whom the server serves; -1: nobody */
    int32_t server; /* GS_SIMULATE_HOST_SERVER_IDLE, ... */
    gs_simulate_host_container_t container;
    /* STGM: bits per thread, `words` words in a row. */
    size_t words;
    uint64_t *conflicts; /* rows of threads: who shares an SM with it */
    uint64_t *blockers;  /* rows: the kernels that its kernel waits for */
    uint64_t *pending;   /* kernels launched that have not ended */
} gs_simulate_host_state_t;

/* Log ----------------------------------------------------------------------------------------- */

void gs_simulate_host_fail(gs_simulate_host_state_t *self, int status);

/* Something would end beyond the clock. */
void gs_simulate_host_pass_clock(gs_simulate_host_state_t *self);

/* Logs what a thread did until now and notes what it does from now on. */
void gs_simulate_host_log_change(gs_simulate_host_state_t *self, gs_simulate_host_thread_t *t,
                                 int8_t doing);
static inline void gs_simulate_host_note(gs_simulate_host_state_t *self,
                                         gs_simulate_host_thread_t *t, int8_t doing)
{
    if (self->log_intervals) {
        gs_simulate_host_log_change(self, t, doing);
    }
}

/* Logs a kernel at its start. */
void gs_simulate_host_log_kernel(gs_simulate_host_state_t *self, const gs_simulate_host_thread_t *t,
                                 int64_t end);

/* Logs a job of the thread that is released; returns its place in the log, -1 without memory. */
int64_t gs_simulate_host_log_job(gs_simulate_host_state_t *self, const gs_simulate_host_thread_t *t,
                                 int64_t number);

/* An entry of the thread's present job in the log of jobs. */
static inline int64_t *gs_simulate_host_logged(const gs_simulate_host_state_t *self,
                                               const gs_simulate_host_thread_t *t, int column)
{
    return &self->host->job[column][self->job[t->job].logged];
}

/* Notes the start of the thread's job, if this is it. */
static inline void gs_simulate_host_note_start(gs_simulate_host_state_t *self,
                                               const gs_simulate_host_thread_t *t)
{
    if (self->log_jobs && t->task >= 0) {
        int64_t *start = gs_simulate_host_logged(self, t, GS_SIMULATE_HOST_JOB_START);
        *start = *start < 0 ? self->now : *start;
    }
}

/* It lost its CPU, which it had since then: if for no time, that was no start. */
static inline void gs_simulate_host_note_no_start(gs_simulate_host_state_t *self,
                                                  const gs_simulate_host_thread_t *t, int64_t since)
{
    if (self->log_jobs && since == self->now && t->task >= 0) {
        int64_t *start = gs_simulate_host_logged(self, t, GS_SIMULATE_HOST_JOB_START);
        *start = *start == since ? -1 : *start;
    }
}

/* CPUs ---------------------------------------------------------------------------------------- */

/* Makes a thread ready with so much work, or changes what it is ready for. */
void gs_simulate_host_enter(gs_simulate_host_state_t *self, int32_t r, int64_t key, int64_t work,
                            int8_t what);

/* It needs no CPU any more: it does `doing` from now on. */
void gs_simulate_host_leave(gs_simulate_host_state_t *self, int32_t r, int8_t doing);

/* Changes the place of a thread, ready or not. */
void gs_simulate_host_rekey(gs_simulate_host_state_t *self, int32_t r, int64_t key);

/* The CPUs of a cluster have to choose anew. */
static inline void gs_simulate_host_mark(gs_simulate_host_state_t *self, int32_t cluster)
{
    uint32_t number = (uint32_t)cluster;
    self->dirty[number / 64] |= UINT64_C(1) << (number % 64);
    self->marked = true;
}

/* Lets CPUs choose, and GPU segments begin, until nothing changes. */
void gs_simulate_host_dispatch(gs_simulate_host_state_t *self);

static inline int64_t gs_simulate_host_next_end(const gs_simulate_host_state_t *self)
{
    return self->end[1];
}

/* Takes the work that ends now off its CPU, the first such; returns its thread, which is ready
 * still: it has to enter, leave or be marked. */
int32_t gs_simulate_host_take_end(gs_simulate_host_state_t *self);

/* Jobs ---------------------------------------------------------------------------------------- */

/* How long a part of the thread's present job takes. */
static inline int64_t gs_simulate_host_time(const gs_simulate_host_state_t *self,
                                            const gs_simulate_host_thread_t *t, int32_t part)
{
    int64_t most = t->most[part];
    if (self->fixed || t->least[part] == most) {
        return most;
    }
    uint64_t bits = gs_rng_at(t->time_seed, (uint64_t)t->number);
    bits = gs_rng_at(bits, (uint64_t)part + 1);
    return t->least[part] + (int64_t)gs_rng_scale(bits, (uint64_t)(most - t->least[part]) + 1);
}

void gs_simulate_host_release(gs_simulate_host_state_t *self, int32_t r);
void gs_simulate_host_release_due(gs_simulate_host_state_t *self);

/* The thread runs at the end of a CPU segment: its next GPU segment begins. */
void gs_simulate_host_begin(gs_simulate_host_state_t *self, int32_t r);

/* What a thread did on a CPU has ended. */
void gs_simulate_host_worked(gs_simulate_host_state_t *self, int32_t r);

/* The thread's GPU segment has ended: it goes on at its own priority. */
void gs_simulate_host_resume(gs_simulate_host_state_t *self, int32_t r);

/* Starts the kernel of the thread's present part, or ends it at once if it takes no time. */
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

/* Puts a thread in by priority; with `last`, that thread behind all others. */
static inline void gs_simulate_host_insert(gs_simulate_host_state_t *self,
                                           gs_simulate_host_queue_t *queue, int32_t r, int32_t last)
{
    const gs_simulate_host_thread_t *t = &self->thread[r];
    int32_t before = -1, at = queue->head;
    while (at >= 0 && at != last &&
           (r == last || self->thread[at].base < t->base ||
            (self->thread[at].base == t->base && at < r))) {
        before = at;
        at = self->thread[at].next;
    }
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

/* Protocols ----------------------------------------------------------------------------------- */

/* Each has: a GPU segment begins; a copy has ended; a kernel has ended; who gets what (called when
 * the requests of an instant are known). */
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

/* A thread of the container is at a CPU segment; its job has ended; true: what it did on a CPU was
 * not the end of a CPU segment, and is dealt with. */
void gs_simulate_host_container_enter(gs_simulate_host_state_t *self, int32_t r, int64_t work);
void gs_simulate_host_container_leave(gs_simulate_host_state_t *self, int32_t r);
bool gs_simulate_host_container_worked(gs_simulate_host_state_t *self, int32_t r);
void gs_simulate_host_container_begin(gs_simulate_host_state_t *self, int32_t r);
void gs_simulate_host_container_kernel_ended(gs_simulate_host_state_t *self, int32_t r);
void gs_simulate_host_container_grant(gs_simulate_host_state_t *self);

#endif
