/* Model of the machine: programs of tasks, CPUs, devices, rooms, a rule of sharing, times. */
#ifndef GS_SIMULATE_MACHINE_MACHINE_MODEL_H
#define GS_SIMULATE_MACHINE_MACHINE_MODEL_H

#include "model/gpu.h"

/* Step of a program. A thread executes the steps of its job in order:
 *
 * WORK    needs a CPU for the time of its item;
 * BEGIN   begins a section: the rule may let the thread wait;
 * CALL    the operation of its item is on its way to its stream;
 * WAIT    until all operations that the job has called have ended;
 * END     ends the section;
 * STOP    ends the job: the last step of every program, and only that. */
enum {
    GS_SIMULATE_MACHINE_WORK = 0,
    GS_SIMULATE_MACHINE_BEGIN = 1,
    GS_SIMULATE_MACHINE_CALL = 2,
    GS_SIMULATE_MACHINE_WAIT = 3,
    GS_SIMULATE_MACHINE_END = 4,
    GS_SIMULATE_MACHINE_STOP = 5,
    GS_SIMULATE_MACHINE_STEPS
};

/* Kind of an item. */
enum {
    GS_SIMULATE_MACHINE_ITEM_CPU = 0,
    GS_SIMULATE_MACHINE_ITEM_COPY = 1,
    GS_SIMULATE_MACHINE_ITEM_KERNEL = 2,
    GS_SIMULATE_MACHINE_ITEMS
};

/* Rule by which the GPU is shared; machine.h has the rules. */
enum {
    GS_SIMULATE_MACHINE_RULE_STREAMS = 0, /* also of one stream, MPS, parts of the GPU, MIG */
    GS_SIMULATE_MACHINE_RULE_TIME_SLICES = 1,
    GS_SIMULATE_MACHINE_RULE_GCAPS = 2,
    GS_SIMULATE_MACHINE_RULE_MPCP = 3,
    GS_SIMULATE_MACHINE_RULE_FMLP_PLUS = 4,
    GS_SIMULATE_MACHINE_RULE_SRM = 5,
    GS_SIMULATE_MACHINE_RULE_DRIVER = 6,
    GS_SIMULATE_MACHINE_RULE_EDF_SERIAL = 7,
    GS_SIMULATE_MACHINE_RULE_STGM = 8,
    GS_SIMULATE_MACHINE_RULE_GPU_SERVER = 9,
    GS_SIMULATE_MACHINE_RULE_FRAMES = 10,
    GS_SIMULATE_MACHINE_RULE_OMLP = 11,
    GS_SIMULATE_MACHINE_RULE_CONTAINER = 12,
    GS_SIMULATE_MACHINE_RULES
};

/* Rules by which threads share the CPUs. */
enum {
    GS_SIMULATE_MACHINE_PARTITIONED = 0, /* fixed priorities on the core of each */
    GS_SIMULATE_MACHINE_GLOBAL_FP = 1,   /* fixed priorities on all CPUs */
    GS_SIMULATE_MACHINE_GLOBAL_EDF = 2,  /* by the deadlines of jobs on all CPUs */
    GS_SIMULATE_MACHINE_POLICIES
};

/* While a thread waits: it leaves its CPU; it keeps it while the GPU works for it; it also keeps it
 * while it waits for a lock. */
enum {
    GS_SIMULATE_MACHINE_SUSPEND = 0,
    GS_SIMULATE_MACHINE_BUSY = 1,
    GS_SIMULATE_MACHINE_SPIN = 2,
    GS_SIMULATE_MACHINE_MODES
};

/* Times that are drawn apart. */
enum {
    GS_SIMULATE_MACHINE_DRAW_OPERATION = 0, /* all blocks of a kernel take the same time */
    GS_SIMULATE_MACHINE_DRAW_BLOCK = 1,
    GS_SIMULATE_MACHINE_DRAW_JOB = 2, /* all items of a job are shortened alike */
    GS_SIMULATE_MACHINE_DRAWS
};

/* Order of the contexts that wait for a time slice. */
enum { GS_SIMULATE_MACHINE_RING_FIFO = 0, GS_SIMULATE_MACHINE_RING_CYCLIC = 1 };

/* Most copy engines of a device. */
enum { GS_SIMULATE_MACHINE_ENGINES = 31 };

/* A share as a fraction, over / under. */
typedef struct {
    int64_t over;
    int64_t under;
} gs_simulate_machine_share_t;

/* All arrays belong to the caller and outlive the simulation. */
typedef struct {
    int64_t n;
    const int64_t *period;
    const int64_t *deadline; /* from the arrival */
    const int64_t *offset;
    const int64_t *jitter;   /* most ticks from the arrival to the release, drawn */
    const int64_t *priority; /* of the thread; smaller is more urgent */
    const int64_t *core;     /* 0 .. cpus - 1; partitioned only */
    /* Programs: the items of task i are item_begin[i] .. item_begin[i + 1] - 1, its steps likewise.
     */
    const int64_t *item_begin;
    const int64_t *item_kind;
    const int64_t *item_time;   /* at most: CPU work, a copy, a block */
    const int64_t *item_least;  /* at least */
    const int64_t *item_engine; /* of a copy: 0 into the GPU, 1 out of it; 2 .. 5: no copy, but
                                   work on DLA 0 .. 3, which the device has beside its engines */
    const int64_t *item_blocks;
    const int64_t *item_threads;
    const int64_t *item_regs; /* per thread */
    const int64_t *item_smem; /* bytes per block */
    /* Of kernels with shapes; each may be NULL. The rules are those of simulate/gpu/gpu_device.h.
     */
    const int64_t *item_cluster;      /* blocks of a cluster; NULL: 1 */
    const int64_t *item_cooperative;  /* 0 or 1; NULL: none is */
    const int64_t *item_interference; /* rows of four factors in thousandths; NULL: off */
    const int64_t *item_whole; /* > 0: one block that takes so many empty SMs; 0: blocks with shapes
                                */
    const int64_t *step_begin;
    const int64_t *step_kind;
    const int64_t *step_item; /* of WORK and CALL: from 0 in its task; else -1 */
    /* Room of the operations of each task. */
    const int64_t *device;
    const int64_t *stream;    /* number among those of the device */
    const int64_t *context;   /* likewise; -1: it has no kernels */
    const int64_t *group;     /* of queues in its context: each starts blocks beside the others */
    const int64_t *level;     /* of the stream; smaller is more urgent */
    const int64_t *channel;   /* number among those of the device; -1: it has no kernels */
    const int64_t *client;    /* number: tasks of one share a limit */
    const int64_t *limit;     /* SMs that may hold blocks of the client at once; 0: no limit */
    const int64_t *set_begin; /* n + 1 offsets into set */
    const int64_t *set;       /* SMs that the blocks of a task may use; none: all */
    int64_t cpus;
    int policy;
    /* Devices: a GPU, or the instances of one. */
    int64_t devices;
    const gs_gpu_t *gpu;
    const int64_t *grids;   /* kernels that run at once at most; 0: no limit */
    const int64_t *engines; /* directions of the copy engines, two bits for each, from the first on:
                               1 into the GPU, 2 out of it, 3 both; 0: there is none */
    const int64_t *gpc_begin; /* devices + 1 offsets into gpc_sms; NULL: each device is one GPC */
    const int64_t *gpc_sms;   /* SMs of each GPC, with consecutive ids */
    /* Rule and costs. */
    int rule;
    int mode;
    int ring;
    int64_t latency;      /* from a call to the stream */
    int64_t kernel_gap;   /* from the first place in its stream until a kernel may join */
    int64_t wake_latency; /* from the end of operations to the thread, if it is suspended */
    int64_t timeslice;
    int64_t context_switch;
    int64_t update_cost; /* GCAPS */
    bool stall;          /* GCAPS: every update stops the GPU */
    int64_t server_overhead;
    int64_t server_core;                  /* 0 .. cpus; cpus: a core of its own */
    int64_t server_period, server_budget; /* of the container, 1 <= budget <= period */
    bool until_end; /* a channel lets its next kernel join when the one before has ended;
                       else when it is dispatched */
    const int64_t *gpu_priority; /* GCAPS: smaller is more urgent, all different */
    const int64_t *tail; /* EDF: what shortens the deadline by which the task's units are ordered
                          */
    /* Frames: the kernels entry_begin[f] .. entry_begin[f + 1] - 1 of frame f join in this order,
     * not before its start, nor before all kernels of all earlier frames have ended. Repeated. */
    int64_t frames;
    int64_t frame_period;
    const int64_t *frame_start;
    const int64_t *entry_begin;
    const int64_t *entry_task;
    const int64_t *entry_job;    /* number in the period of the table */
    const int64_t *entry_kernel; /* number among the kernels of the job */
    /* Releases and times. */
    int64_t until; /* releases are before it */
    int64_t last;  /* the last instant that is played; GS_NEVER: until nothing is left */
    gs_simulate_machine_share_t gap; /* most that is added to a period, as a share of it */
    int64_t grain;                   /* gaps and delays of releases are multiples of it */
    const int64_t *drawn_as;         /* number by which the draws of each task depend on it */
    int draw;
    /* Times of items with a distribution, which they have in place of those from item_least on: the
     * knots knot_begin[k] .. knot_begin[k + 1] - 1 of item k (numbered through all tasks). With
     * probability knot_rank / 2^63 a time is at most knot_time, and always at most item_time; it is
     * uniform between two knots, and the first one below that. Both ascend, the ranks strictly.
     * Items of a task with the same item_drawn, a number of an item, take equal draws. NULL: no
     * item has a distribution. */
    const int64_t *knot_begin;
    const int64_t *knot_rank;
    const int64_t *knot_time;
    const int64_t *item_drawn;
    const int64_t *release_begin; /* n + 1 offsets: given arrivals and releases, ascending; NULL:
                                     a period apart */
    const int64_t *arrival;
    const int64_t *release;
    const int64_t *given_begin; /* n + 1 offsets: given times, a row of the task's items per job,
                                   the first ones; NULL: none */
    const int64_t *given;
    /* Tasks that others release: job j when the jobs j * every of all tasks in after[after_begin[i]
     * .. after_begin[i + 1] - 1] have ended. Its arrival is that of these jobs; its deadline and
     * its response count from the release. NULL: none. A task with others before it has no releases
     * of its own. */
    const int64_t *after_begin;
    const int64_t *after;
    const int64_t *every;
    int64_t victim;  /* task whose requests come last where several coincide; -1: by index */
    bool drawn_ties; /* else by index */
    uint64_t key[4];
    uint64_t index;
    bool log_jobs, log_operations, log_blocks, log_cpus;
    bool count_responses; /* in histograms */
} gs_simulate_machine_model_t;

#endif
