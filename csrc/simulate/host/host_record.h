/* Record of a run of the host simulator: responses, counts and logs. */
#ifndef GS_SIMULATE_HOST_HOST_RECORD_H
#define GS_SIMULATE_HOST_HOST_RECORD_H

#include "simulate/host/host_model.h"

/* Activity during an interval of a job. */
enum {
    GS_SIMULATE_HOST_DOES_NOTHING = 0,
    GS_SIMULATE_HOST_DOES_CPU = 1,
    GS_SIMULATE_HOST_DOES_COPY_IN = 2, /* on a core and the CE */
    GS_SIMULATE_HOST_DOES_KERNEL = 3,  /* on SMs */
    GS_SIMULATE_HOST_DOES_COPY_OUT = 4,
    GS_SIMULATE_HOST_DOES_SPIN = 5,     /* on a core: spins */
    GS_SIMULATE_HOST_DOES_OVERHEAD = 6, /* of the server, or an update */
    GS_SIMULATE_HOST_DOES_READY = 7,    /* for its core */
    GS_SIMULATE_HOST_DOES_WAIT_COPY = 8,
    GS_SIMULATE_HOST_DOES_WAIT_SM = 9,
    GS_SIMULATE_HOST_DOES_WAIT_GPU = 10, /* for the lock or the server */
    GS_SIMULATE_HOST_DOES_SERVED = 11    /* by the server; the client is suspended */
};

/* The logs are columns, one array each, which Python takes over.
 *
 * Jobs, in order of release. */
enum {
    GS_SIMULATE_HOST_JOB_TASK,
    GS_SIMULATE_HOST_JOB_NUMBER, /* from 0 */
    GS_SIMULATE_HOST_JOB_RELEASE,
    GS_SIMULATE_HOST_JOB_START, /* of its first part (in the server's hands, or its own), -1 before
                                 */
    GS_SIMULATE_HOST_JOB_END,   /* -1 before */
    GS_SIMULATE_HOST_JOB_COLUMNS
};

/* Activity of a job (task -1: the server) from start to end. The intervals of a job do not overlap,
 * except kernels and those on the core of a server. */
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
    bool done;         /* all jobs released before `until` have finished */
    int64_t instants;  /* at which something happened */
    int64_t *worst;    /* per task: largest response so far, 0 before the first */
    int64_t *finished; /* per task: finished jobs */
    int64_t *released; /* per task: released jobs */
    int64_t *late;     /* per task: jobs finished after their deadline */
    int64_t *job[GS_SIMULATE_HOST_JOB_COLUMNS]; /* with log_jobs */
    int64_t job_count;
    /* With log_intervals; an interval is logged when it ends, a kernel when it starts (time slices,
     * GCAPS: when it ends or stops). */
    int64_t *interval[GS_SIMULATE_HOST_INTERVAL_COLUMNS];
    int64_t interval_count;
    struct gs_simulate_host_state *state; /* internal */
} gs_simulate_host_t;

#endif
