/* Result of the machine: largest responses, and the logs. */
#ifndef GS_SIMULATE_MACHINE_MACHINE_RECORD_H
#define GS_SIMULATE_MACHINE_MACHINE_RECORD_H

#include "core/histogram.h"
#include "simulate/gpu/gpu_state.h"
#include "simulate/machine/machine_model.h"

/* Columns of the logs; -1: not reached. */
enum {
    GS_SIMULATE_MACHINE_JOB_TASK,
    GS_SIMULATE_MACHINE_JOB_NUMBER,
    GS_SIMULATE_MACHINE_JOB_ARRIVAL,
    GS_SIMULATE_MACHINE_JOB_RELEASE,
    GS_SIMULATE_MACHINE_JOB_START,
    GS_SIMULATE_MACHINE_JOB_END,
    GS_SIMULATE_MACHINE_JOB_COLUMNS
};

enum {
    GS_SIMULATE_MACHINE_OP_TASK,
    GS_SIMULATE_MACHINE_OP_JOB, /* number */
    GS_SIMULATE_MACHINE_OP_ITEM,
    GS_SIMULATE_MACHINE_OP_CALLED,
    GS_SIMULATE_MACHINE_OP_ARRIVED,
    GS_SIMULATE_MACHINE_OP_HEAD, /* from here on in the order of GS_SIMULATE_GPU_TIME_* */
    GS_SIMULATE_MACHINE_OP_JOINED,
    GS_SIMULATE_MACHINE_OP_FIRST,
    GS_SIMULATE_MACHINE_OP_DISPATCHED,
    GS_SIMULATE_MACHINE_OP_END,
    GS_SIMULATE_MACHINE_OP_COLUMNS
};

/* Activity of a thread on a CPU. */
enum {
    GS_SIMULATE_MACHINE_DOES_WORK = 0,
    GS_SIMULATE_MACHINE_DOES_SPIN = 1,
    GS_SIMULATE_MACHINE_DOES_UPDATE = 2, /* of GCAPS, or the overhead of the server */
    GS_SIMULATE_MACHINE_DOES
};

enum {
    GS_SIMULATE_MACHINE_CPU_CPU,
    GS_SIMULATE_MACHINE_CPU_TASK, /* n: the server */
    GS_SIMULATE_MACHINE_CPU_JOB,  /* number; of the server: -1 */
    GS_SIMULATE_MACHINE_CPU_ITEM, /* -1: none */
    GS_SIMULATE_MACHINE_CPU_WHAT,
    GS_SIMULATE_MACHINE_CPU_FROM,
    GS_SIMULATE_MACHINE_CPU_TO,
    GS_SIMULATE_MACHINE_CPU_COLUMNS
};

/* Interval in which a device with several contexts serves one, or switches to it; also with one
 * context, if updates stop it. */
enum {
    GS_SIMULATE_MACHINE_SLICE_DEVICE,
    GS_SIMULATE_MACHINE_SLICE_CONTEXT,
    GS_SIMULATE_MACHINE_SLICE_SWITCH, /* 1: it switches */
    GS_SIMULATE_MACHINE_SLICE_FROM,
    GS_SIMULATE_MACHINE_SLICE_TO,
    GS_SIMULATE_MACHINE_SLICE_COLUMNS
};

struct gs_simulate_machine_state;

typedef struct {
    gs_simulate_machine_model_t model;
    int64_t now;
    bool done;
    int64_t instants; /* played */
    int64_t ended;    /* jobs */
    /* Per task, of jobs from the arrival on; of one that has not ended what it has taken so far. */
    int64_t *worst;
    int64_t *late;
    int64_t *released;
    gs_histogram_t *responses; /* with count_responses, per task, in units of the grain: ends are
                                  rounded up, arrivals down */
    int64_t *job[GS_SIMULATE_MACHINE_JOB_COLUMNS]; /* with log_jobs, in order of release */
    int64_t job_count;
    int64_t *op[GS_SIMULATE_MACHINE_OP_COLUMNS]; /* with log_operations, in order of calls */
    int64_t op_count;
    gs_simulate_gpu_block_log_t block_log;         /* with log_blocks; the rows of operations are
                                                      those of their log */
    int64_t *cpu[GS_SIMULATE_MACHINE_CPU_COLUMNS]; /* with log_cpus */
    int64_t cpu_count;
    int64_t *slice[GS_SIMULATE_MACHINE_SLICE_COLUMNS]; /* with log_operations */
    int64_t slice_count;
    struct gs_simulate_machine_state *state;
} gs_simulate_machine_t;

#endif
