/* State of the host simulator: threads, CPUs, jobs and what each protocol keeps.
 *
 * A thread is a task, or the server, which is the last. Threads are numbered by priority, so the
 * number decides ties. A failure (memory, overflow) is kept in `status` and ends the run after the
 * instant; until then the state need not be consistent, but every loop terminates.
 */
#ifndef GS_SIMULATE_HOST_HOST_STATE_H
#define GS_SIMULATE_HOST_HOST_STATE_H

#include "core/heap.h"
#include "simulate/host/host_record.h"

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
    int64_t left;   /* time slices, GCAPS: of its kernel, without its current turn */
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
    bool by_way;   /* the way handles all its work on CPUs: in the container, or the server */
    int8_t inside; /* state of its job in the container */
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

/* State in the container. */
enum {
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
    int32_t runs;      /* thread that represents it, -1: none */
    int32_t was;       /* the CPU that it ran on last */
    bool busy;         /* the container is not empty */
} gs_simulate_host_container_t;

/* The GPU with a context per task (time slices, GCAPS). */
typedef struct {
    int64_t since; /* when the turn began */
    int32_t runs;  /* thread whose kernel has the GPU, -1: none */
    int32_t last;  /* the last one, -1: none yet; n: a switch to it was interrupted */
    int32_t over;  /* time slices: its slice has ended at this instant, -1: of none */
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
    int mode;
    const gs_simulate_host_way_t *way;
    int64_t alarm; /* time of the next own event of the way; GS_NEVER: none */
    bool fixed;    /* execution times are constant, unless they are given or chosen */
    bool worst;    /* every part takes its worst case */
    bool global;   /* EDF; else partitioned */
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

#endif
