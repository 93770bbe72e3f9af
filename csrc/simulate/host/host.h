/* What happens when, on CPUs and a GPU, if tasks compute on both?
 *
 * Tasks of model/host_tasks.h; [RTCSA19] (partitioned fixed priorities) and 004 (global EDF). The
 * rules are those that the response-time tests assume; where the papers are silent the rule is
 * ours, and says so.
 *
 *     gs_simulate_host_t host;
 *     status = gs_simulate_host_init(&host, ctx, &model);
 *     while (status == GS_OK && !host.done) {
 *         status = gs_simulate_host_run(&host, ctx, 100000);
 *     }
 *     ... host.worst[i], host.job, host.interval ...
 *     gs_simulate_host_free(&host, ctx);
 *
 * Jobs. The jobs of a task run one after the other, in order of release. A job does its parts in
 * order: cpu[0], then for each GPU segment a copy in, a kernel, a copy out and the next CPU
 * segment. A part of length 0 is none: nothing is asked for. A GPU segment without any part is none
 * either, and the CPU segments around it are one; a job that ends with a GPU segment and no CPU
 * work ends with its last part on the GPU.
 *
 * CPUs. GS_SIMULATE_HOST_PARTITIONED: each task has a core, where the ready task of the smallest
 * priority runs (no two tasks have the same); what is less urgent is preempted at once and at no
 * cost. GS_SIMULATE_HOST_GEDF: of all ready jobs, those of the `cpus` earliest absolute deadlines
 * run (ties: the smaller priority, then the smaller index), on any CPU, and may migrate.
 *
 * When a GPU segment begins. A task asks for the GPU by executing, so its GPU segment begins when
 * the task is the one that its core runs and has no CPU work left before the segment: not while
 * something more urgent is ready. After a GPU segment it is back at its own priority, so of two
 * GPU segments in a row the second begins by the same rule.
 *
 * Boosted: more urgent than any priority on the core. With partitioned priorities, no two tasks of
 * a core are boosted at once, whatever the protocol, so that what is boosted never waits for its
 * core:
 *
 * GS_SIMULATE_HOST_GPU_STGM, suspend mode. A copy needs the copy engine (CE) and its task's core,
 * boosted, for its whole length. The CE serves requests in the order in which they were made,
 * whatever the core; while a copy waits for it, and during the kernel, the task is suspended. The
 * copy out is requested the instant the kernel ends. Nobody holds the CE while waiting for a core:
 * only copies are boosted, whoever copies holds the CE, and there is one CE; so while the CE is
 * free nothing is boosted anywhere, and the copy that gets it preempts what its core runs, at once.
 * (Hence a copy waits for copies alone, at most one of each other task: notebook 06, Lemma 1.) A
 * kernel is launched when its copy in has ended. It needs all SMs of its task's set, and starts
 * when all kernels launched before that share an SM with it have ended; kernels on disjoint sets
 * run at the same time, and do not slow each other down.
 *
 * GS_SIMULATE_HOST_GPU_STGM, busy mode. The same, but from the beginning of a GPU segment to its
 * end the task is boosted and keeps its core: it spins while it waits for the CE, for SMs and for
 * the kernel. So on a core one GPU segment is open at most.
 *
 * GS_SIMULATE_HOST_GPU_MPCP, GS_SIMULATE_HOST_GPU_FMLP: a lock on the GPU, CE and all SMs together
 * (kernels take their time on `sms` SMs). It is requested when a GPU segment begins and released
 * when it has ended. MPCP gives it to the waiting task of the smallest priority, FMLP+ to the one
 * that asked first. The holder is boosted whenever it needs its core; as only the holder of the one
 * lock is boosted anywhere, it gets its core at once. Suspend mode: tasks that wait are suspended,
 * the holder is during its kernel. Busy: tasks that wait are suspended, the holder spins during its
 * kernel. Spin: tasks that wait spin at their own priority (and can be preempted, which does not
 * cost them their place), the holder spins during its kernel.
 *
 * GS_SIMULATE_HOST_GPU_SERVER: one server task does all GPU segments, on core `server`, where it is
 * more urgent than all others (server == cpus: a core of its own). The client is suspended from its
 * request to the server's notice. The server copies on its core, is suspended during kernels, and
 * finishes a segment before it looks for the next; of the requests it then has, it takes that of
 * the smallest priority. It computes for `overhead` ticks when a request arrives while it has
 * nothing to do, before it takes one; and after each segment, before it notifies the client and, at
 * the same instant, takes the next request: so once between two segments, twice for one alone.
 *
 * With global EDF the GPU has a lock as well ([RTNS10]): a GPU segment is a critical section of
 * two copies on a CPU and a kernel, during which the job is suspended. Jobs that wait are
 * suspended, and the holder inherits the earliest deadline of those that wait (ties: its own
 * place). It is not boosted beyond that, and its copies can be preempted.
 *
 * GS_SIMULATE_HOST_GPU_FMLP (FMLP-Long): first come, first served. GS_SIMULATE_HOST_GPU_OMLP: a
 * FIFO queue of at most `cpus` jobs, the holder included; who finds it full waits in a queue by
 * deadline, whose first moves to the end of the FIFO queue when the lock is released, ahead of the
 * requests of that instant.
 *
 * GS_SIMULATE_HOST_GPU_DRIVER: no lock, but a driver that serves GPU segments one after the other,
 * in the order in which they begin: the copies and the kernel of one are one piece of work of the
 * GPU, which goes on whether or not the job has a CPU. From the beginning of the segment to its end
 * the job spins at its own deadline. Nothing is inherited.
 *
 * GS_SIMULATE_HOST_GPU_CONTAINER (the Container Method): all tasks with GPU segments are in a
 * container, which one server serves. Among the other tasks the server is one more task of global
 * EDF, with jobs of its own: a budget of w P (rounded up to a tick, at most P), P the server's
 * period and w the utilization of its tasks, copies and kernels included; and a deadline P after
 * their release. While there are jobs in the container, the server's jobs are released P apart; a
 * server's job ends when its budget is used up or the container is empty; the first after that is
 * released with the next job in the container, P after the server's last release at the earliest.
 * (So the server never asks for more than a sporadic task of its period and budget, and a container
 * that is not empty has all jobs of a periodic one after P at most: what
 * analysis/global_edf/container.h takes for granted, of a whole budget.) Ties of deadlines are
 * decided by the priority of the task that is served. Busy mode: the server serves the job released
 * first (ties: priority) to its end, and keeps its CPU, if it has one, during kernels. Suspend
 * mode, the paper's work-conserving variant: of the jobs that are not suspended it serves the one
 * released first; who asks for the GPU is suspended until it is free and all GPU segments of jobs
 * released before have ended, so that nobody ever waits for the GPU who has come before its holder.
 * While all jobs in the container are suspended so is the server, and other tasks can have its CPU,
 * but the budget is used up by time. Kernels go on whether or not the server has a CPU or any
 * budget.
 *
 * One instant. First what is due ends: kernels, copies, CPU segments, overheads; a task whose job
 * ended goes on with its next. Then jobs are released. Then, until nothing changes: cores choose
 * whom to run, GPU segments begin, and the CE, SMs, lock or server are given out; on a core, one
 * segment begins before it is known whether its task gets what it asks for, and no other. So what
 * is released at an instant is ahead of a GPU segment that would begin there at lower priority, and
 * a resource that becomes free is given to the best request of that instant, old or new. Requests
 * of one instant are in order of priority (then index); the victim's (below) are last.
 *
 * Times. Releases are a period apart, plus up to `gap` of it, drawn uniformly. Each part takes its
 * worst case, times a number drawn from low .. high: uniform over the ticks from ceil(low x) to
 * floor(high x), at least one. What is drawn depends on the key, the index, task, job and part
 * alone, not on what the others do.
 */
#ifndef GS_SIMULATE_HOST_HOST_H
#define GS_SIMULATE_HOST_HOST_H

#include "core/heap.h"
#include "core/rng.h"
#include "model/host_tasks.h"

/* No job is released at or after it. */
#define GS_SIMULATE_HOST_LATEST (GS_NEVER / 4)

enum { GS_SIMULATE_HOST_PARTITIONED = 0, GS_SIMULATE_HOST_GEDF = 1 };

/* How the GPU is shared: the first four where partitioned; the others and FMLP with global EDF.
 */
enum {
    GS_SIMULATE_HOST_GPU_STGM = 0,
    GS_SIMULATE_HOST_GPU_MPCP = 1,
    GS_SIMULATE_HOST_GPU_FMLP = 2, /* FMLP+ where partitioned, FMLP-Long with global EDF */
    GS_SIMULATE_HOST_GPU_SERVER = 3,
    GS_SIMULATE_HOST_GPU_OMLP = 4,
    GS_SIMULATE_HOST_GPU_DRIVER = 5,
    GS_SIMULATE_HOST_GPU_CONTAINER = 6
};

enum {
    GS_SIMULATE_HOST_MODE_SUSPEND = 0,
    GS_SIMULATE_HOST_MODE_BUSY = 1,
    GS_SIMULATE_HOST_MODE_SPIN = 2
};

/* When an adversary releases the other tasks, as far as their periods allow: bits of `triggers`. */
enum {
    GS_SIMULATE_HOST_AT_RELEASE = 1, /* when a job of the victim becomes the one that runs */
    GS_SIMULATE_HOST_AT_REQUEST = 2, /* when a GPU segment of it begins */
    GS_SIMULATE_HOST_AT_RESUME = 4,  /* when a GPU segment of it has ended */
    GS_SIMULATE_HOST_AT_FINISH = 8   /* when it finishes */
};

/* What an interval of a job was, or a core's. */
enum {
    GS_SIMULATE_HOST_DOES_NOTHING = 0,
    GS_SIMULATE_HOST_DOES_CPU = 1,
    GS_SIMULATE_HOST_DOES_COPY_IN = 2, /* on a core and the CE */
    GS_SIMULATE_HOST_DOES_KERNEL = 3,  /* on SMs */
    GS_SIMULATE_HOST_DOES_COPY_OUT = 4,
    GS_SIMULATE_HOST_DOES_SPIN = 5,     /* on a core: spins */
    GS_SIMULATE_HOST_DOES_OVERHEAD = 6, /* of the server */
    GS_SIMULATE_HOST_DOES_READY = 7,    /* waits for its core */
    GS_SIMULATE_HOST_DOES_WAIT_COPY = 8,
    GS_SIMULATE_HOST_DOES_WAIT_SM = 9,
    GS_SIMULATE_HOST_DOES_WAIT_GPU = 10, /* for the lock or the server */
    GS_SIMULATE_HOST_DOES_SERVED = 11    /* by the server, while the client is suspended */
};

/* A share as a fraction: over / under. */
typedef struct {
    int64_t over;
    int64_t under;
} gs_simulate_host_share_t;

/* What is simulated; all arrays belong to the caller and must outlive the simulation. */
typedef struct {
    gs_host_tasks_t hosts;
    const int64_t *offset; /* of the first release; NULL: 0 */
    const int64_t *core;   /* per task, 0 .. cpus - 1; partitioned only */
    const uint8_t *sm;     /* n rows of sms: whether the task may use the SM; STGM only */
    int64_t cpus;
    int64_t sms;           /* of the GPU; elsewhere than with STGM all kernels run on all of them */
    int policy;            /* GS_SIMULATE_HOST_PARTITIONED, ... */
    int gpu;               /* GS_SIMULATE_HOST_GPU_STGM, ... */
    int mode;              /* GS_SIMULATE_HOST_MODE_SUSPEND, ... */
    int64_t server;        /* the server's core, 0 .. cpus; server only */
    int64_t overhead;      /* of the server, in ticks */
    int64_t server_period; /* of the container's server */
    gs_simulate_host_share_t low,
        high; /* of the worst case that parts take, 0 <= low <= high <= 1, high > 0 */
    gs_simulate_host_share_t gap; /* of the period, >= 0 */
    int64_t until;                /* jobs released before it run to their end */
    int64_t victim;               /* whose jobs trigger all other releases; -1: no adversary */
    int64_t triggers;             /* GS_SIMULATE_HOST_AT_* */
    uint64_t key[4];              /* of the random numbers */
    uint64_t index;
    bool log_jobs;
    bool log_intervals;
} gs_simulate_host_model_t;

/* The logs are columns, each an array, which Python takes over as they are.
 *
 * Jobs, in order of release. */
enum {
    GS_SIMULATE_HOST_JOB_TASK,
    GS_SIMULATE_HOST_JOB_NUMBER, /* from 0 */
    GS_SIMULATE_HOST_JOB_RELEASE,
    GS_SIMULATE_HOST_JOB_START,  /* of its first part (in the server's hands, or its own), -1 before
                                  */
    GS_SIMULATE_HOST_JOB_FINISH, /* -1 before */
    GS_SIMULATE_HOST_JOB_COLUMNS
};

/* What a job (task -1: the server) did from start to end. The intervals of a job other than
 * GS_SIMULATE_HOST_DOES_KERNEL and those of another's core (a server's) do not overlap. */
enum {
    GS_SIMULATE_HOST_INTERVAL_TASK,
    GS_SIMULATE_HOST_INTERVAL_JOB,
    GS_SIMULATE_HOST_INTERVAL_WHAT, /* GS_SIMULATE_HOST_DOES_CPU, ... */
    GS_SIMULATE_HOST_INTERVAL_CORE, /* -1: on none */
    GS_SIMULATE_HOST_INTERVAL_START,
    GS_SIMULATE_HOST_INTERVAL_END,
    GS_SIMULATE_HOST_INTERVAL_COLUMNS
};

struct gs_simulate_host_state;

typedef struct {
    gs_simulate_host_model_t model;
    int64_t now;
    bool done;         /* every job released before `until` has finished */
    int64_t instants;  /* at which something happened */
    int64_t *worst;    /* per task: the largest response so far, 0 before the first */
    int64_t *finished; /* per task: jobs that have finished */
    int64_t *released; /* per task: jobs that were released */
    int64_t *late;     /* per task: jobs that finished after their deadline */
    int64_t *job[GS_SIMULATE_HOST_JOB_COLUMNS]; /* with log_jobs */
    int64_t job_count;
    /* With log_intervals, each in the log once it has ended; kernels once they have started. */
    int64_t *interval[GS_SIMULATE_HOST_INTERVAL_COLUMNS];
    int64_t interval_count;
    struct gs_simulate_host_state *state; /* the simulator's own */
} gs_simulate_host_t;

/* Prepares a simulation; on an error it is freed already (freeing it again does no harm). Refuses
 * what gs_host_tasks_check refuses, no CPUs or SMs (or beyond 31 bits), a core or server's core
 * that is none, with STGM a task with kernels and no SM, times beyond the clock
 * (GS_SIMULATE_HOST_LATEST), equal priorities unless global EDF, unknown options or such that do
 * not go together, shares that are none, and a victim that is no task. */
int gs_simulate_host_init(gs_simulate_host_t *self, gs_context_t *ctx,
                          const gs_simulate_host_model_t *model);

/* Goes on until done or for so many more instants. Counts jobs as states of the ctx's budget.
 * GS_ERR_OVERFLOW when something would end beyond the clock. After an error or a spent budget the
 * logs hold what happened up to then, and the simulation cannot go on. */
int gs_simulate_host_run(gs_simulate_host_t *self, gs_context_t *ctx, int64_t instants);

void gs_simulate_host_free(gs_simulate_host_t *self, gs_context_t *ctx);

#endif
