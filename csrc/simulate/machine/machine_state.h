/* State of the machine, and the hooks of the rules of sharing; the rules are those of machine.h.
 *
 * A failure (memory, overflow, a poll) is kept in `status` and ends the run after the instant;
 * until then the state need not be consistent, but every loop terminates.
 */
#ifndef GS_SIMULATE_MACHINE_MACHINE_STATE_H
#define GS_SIMULATE_MACHINE_MACHINE_STATE_H

#include "core/heap.h"
#include "simulate/machine/machine_record.h"

enum {
    GS_SIMULATE_MACHINE_IDLE,
    GS_SIMULATE_MACHINE_SUSPENDED,
    GS_SIMULATE_MACHINE_ASKING, /* on its CPU until the rule has answered */
    GS_SIMULATE_MACHINE_READY
};

/* A job that has not ended. */
typedef struct {
    int64_t number; /* from 0 */
    int64_t arrival;
    int64_t release;
    int64_t origin; /* its response counts from it */
    int64_t deadline;
    int64_t next; /* next job of its task, or next free record; -1: none */
    int64_t log;  /* row, -1: none */
    int64_t at;   /* next step */
    int64_t open; /* operations in flight */
    int32_t task;
    int32_t waiter; /* thread that waits for its operations, -1: none */
    bool begun;
} gs_simulate_machine_job_t;

/* A thread: that of a task, or the server, which is the last. */
typedef struct {
    int64_t base;      /* its priority */
    int64_t boost_key; /* its key while it is boosted */
    int64_t since;     /* since when it is ready */
    int64_t rank;      /* order of what coincided then */
    int64_t left;      /* work; 0: it goes on when it is on a CPU; GS_NEVER: it spins */
    int64_t ran;       /* on a CPU: the instant of `left` */
    int64_t item;      /* of its step, -1: none */
    int64_t job;       /* record, -1: none */
    int64_t queued;    /* first and last record of its jobs that wait, -1: none */
    int64_t queued_last;
    int64_t round;      /* of its request */
    int64_t order;      /* the request's rank */
    int64_t turn;       /* OMLP: its place in the FIFO queue, -1: it waits for one */
    int64_t lent;       /* the most urgent key that it inherits, GS_NEVER: none */
    int64_t server_key; /* of the server that serves it, GS_NEVER: none does, -1: it needs none */
    int32_t state;
    int32_t boost; /* 0: not preemptable, 1: above all priorities, 2: its own priority */
    int32_t cluster;
    int32_t cpu;   /* -1: none */
    int32_t place; /* in `member` */
    bool chosen;   /* scratch: it runs */
    bool after;    /* once its work is done the rule goes on */
} gs_simulate_machine_thread_t;

/* CPUs that share their threads. */
typedef struct {
    int32_t first, width; /* CPUs */
    int32_t begin, ready; /* its threads in `member`, those that are ready first */
    int32_t asking;       /* threads that ask */
} gs_simulate_machine_cluster_t;

/* An operation on its way to its stream: op of the task's device. */
typedef struct {
    int64_t op;
    int32_t task;
} gs_simulate_machine_call_t;

typedef struct gs_simulate_machine_state gs_simulate_machine_state_t;

/* A rule of sharing. Hooks may be NULL where the comment says what that means. */
typedef struct {
    /* Prepares the state of the rule; NULL: nothing to prepare. */
    int (*init)(gs_simulate_machine_state_t *self);
    /* A section of the thread's job begins or ends; false if it may not go on; NULL: it may. */
    bool (*begin)(gs_simulate_machine_state_t *self, int32_t r);
    bool (*end)(gs_simulate_machine_state_t *self, int32_t r);
    /* The work of a thread with `after` is done. */
    void (*after)(gs_simulate_machine_state_t *self, int32_t r);
    /* Threads are about to be chosen; `now` was `since` before. NULL: nothing to do. */
    void (*serve)(gs_simulate_machine_state_t *self);
    void (*passed)(gs_simulate_machine_state_t *self, int64_t since);
    /* The requests of this round are known; true if anything changed. NULL: there are none. */
    bool (*grant)(gs_simulate_machine_state_t *self);
    /* The next instant at which the rule acts, GS_NEVER: none; NULL: none. */
    int64_t (*alarm)(const gs_simulate_machine_state_t *self);
    /* Whether a kernel at the head of its stream may not join yet; NULL: it may. */
    bool (*holds)(gs_simulate_machine_state_t *self, int64_t device, int64_t op);
    /* Context that a device is to serve, -1: none; NULL: always the same. */
    int64_t (*choose)(gs_simulate_machine_state_t *self, int64_t device);
    /* A kernel has ended; `device` goes to another context. NULL: nothing to note. */
    void (*kernel_ended)(gs_simulate_machine_state_t *self, int64_t device, int64_t op);
    void (*served)(gs_simulate_machine_state_t *self, int64_t device);
    bool end_needs_cpu; /* the end of a section is executed by its thread */
    bool boosts;        /* holders of the lock */
    bool by_priority;   /* order of requests */
    bool by_deadline;
    bool inherits;    /* holders of the lock */
    bool never_spins; /* a thread that waits for its operations */
} gs_simulate_machine_rule_t;

struct gs_simulate_machine_state {
    gs_context_t *ctx; /* of the current call */
    gs_simulate_machine_t *machine;
    const gs_simulate_machine_model_t *model;
    const gs_simulate_machine_rule_t *rule;
    int status;
    int64_t now;
    int64_t rounds, serial;
    bool end_needs_cpu; /* the end of a section is executed by its thread */
    bool join;          /* heads of streams may join that could not before */
    int32_t n;          /* tasks; thread n is the server */
    int32_t threads, clusters, cpus;
    gs_simulate_machine_thread_t *thread;
    gs_simulate_machine_cluster_t *cluster;
    int32_t *member;  /* threads by cluster, ready ones first */
    uint64_t *dirty;  /* bit per cluster: its threads may have to change CPUs */
    int32_t *chosen;  /* scratch: threads that run */
    int32_t *cpu;     /* thread on each CPU, -1: none */
    int64_t *cpu_log; /* row of each CPU's last interval, -1: none */
    int32_t *done;    /* scratch: threads whose work has ended */
    int32_t *asked;   /* threads with requests */
    int32_t asked_count;
    gs_heap_t releases; /* item: task */
    gs_heap_t alarms;   /* item: thread to be woken, or -1: a gap is over, heads may join */
    int64_t *arrival;   /* of the next job of each task */
    int64_t *ended;     /* per task: jobs that have ended */
    int64_t *sent;      /* per task: jobs that others have released, or release now */
    /* Tasks that each task may release; NULL: none. */
    int64_t *sends_begin;
    int64_t *sends;
    int64_t *number; /* of the next job of each task */
    gs_simulate_machine_job_t *job;
    int64_t job_room, job_used, job_free;
    gs_simulate_machine_call_t *flying; /* ring of operations in the order of calls */
    int64_t flying_room, flying_head, flying_count;
    struct gs_simulate_machine_place *sorted; /* scratch: what coincides */
    int64_t sorted_room;
    gs_simulate_gpu_shape_t *shape; /* per item */
    int64_t *kernel;                /* per item: number among the kernels of its job */
    gs_simulate_gpu_t *device;
    int64_t *slice_log; /* per device: row of its last interval, -1: none */
    uint64_t time_seed, release_seed, tie_seed;
    int64_t room[3]; /* of the logs of jobs, operations, CPUs */
    int64_t slice_room;
    /* Locks. */
    int32_t holder; /* -1: none */
    int64_t places; /* OMLP: free ones in the FIFO queue, of `cpus` */
    int64_t turns;  /* OMLP: places that were taken */
    bool *holds;    /* STGM: per thread */
    bool *taken;    /* STGM, scratch: per SM */
    /* Time slices. */
    int64_t slice_end;
    bool gave_up;
    int64_t *ring;
    int64_t ring_count;
    /* GCAPS. */
    bool *is_open;   /* per task */
    bool *opens;     /* per thread with a request: it is the first one of its section */
    int32_t updates; /* thread whose update runs, -1: none */
    /* Server. */
    int32_t client; /* whose section has ended, -1: none */
    /* Container. */
    int64_t *section_end; /* per task: its steps up to the end of the last section, 0: none */
    int64_t budget;       /* that is left of the server's job */
    int64_t server_deadline, next_budget;
    int32_t served; /* thread, -1: none */
    bool idles;     /* the server has budget, and no thread of it is ready */
    bool was_empty; /* no task with sections had a job */
    /* Frames. */
    int64_t frame, repetition, left; /* the current one, its kernels that have not ended */
    int64_t repetitions;
    int8_t *entry; /* per entry of the table: 0 waits, 1 has joined, 2 has ended */
};

/* Something with its place in an order. */
typedef struct gs_simulate_machine_place {
    int64_t level, rank, number, serial, op, task;
} gs_simulate_machine_place_t;

extern const gs_simulate_machine_rule_t gs_simulate_machine_streams;
extern const gs_simulate_machine_rule_t gs_simulate_machine_time_slices;
extern const gs_simulate_machine_rule_t gs_simulate_machine_gcaps;
extern const gs_simulate_machine_rule_t gs_simulate_machine_mpcp;
extern const gs_simulate_machine_rule_t gs_simulate_machine_fmlp_plus;
extern const gs_simulate_machine_rule_t gs_simulate_machine_srm;
extern const gs_simulate_machine_rule_t gs_simulate_machine_omlp;
extern const gs_simulate_machine_rule_t gs_simulate_machine_driver;
extern const gs_simulate_machine_rule_t gs_simulate_machine_edf_serial;
extern const gs_simulate_machine_rule_t gs_simulate_machine_stgm;
extern const gs_simulate_machine_rule_t gs_simulate_machine_gpu_server;
extern const gs_simulate_machine_rule_t gs_simulate_machine_frames;
extern const gs_simulate_machine_rule_t gs_simulate_machine_container;

#endif
