/* System that the host simulator takes: tasks, cores, GPU, protocol, releases and times. */
#ifndef GS_SIMULATE_HOST_HOST_MODEL_H
#define GS_SIMULATE_HOST_HOST_MODEL_H

#include "model/host_tasks.h"
#include "simulate/host/host_way.h"

/* Order of the contexts with launched kernels. */
enum { GS_SIMULATE_HOST_RING_FIFO = 0, GS_SIMULATE_HOST_RING_CYCLIC = 1 };

/* Events of the task under analysis at which all other tasks are released, as far as their periods
 * allow: bits of `triggers`. */
enum {
    GS_SIMULATE_HOST_AT_RELEASE = 1, /* a job of the task under analysis becomes its current job */
    GS_SIMULATE_HOST_AT_REQUEST = 2, /* a GPU segment of it begins */
    GS_SIMULATE_HOST_AT_RESUME = 4,  /* a GPU segment of it has ended */
    GS_SIMULATE_HOST_AT_END = 8      /* it finishes */
};

/* A share as a fraction, over / under. */
typedef struct {
    int64_t over;
    int64_t under;
} gs_simulate_host_share_t;

/* System to simulate. All arrays belong to the caller and must outlive the simulation. */
typedef struct gs_simulate_host_model {
    gs_host_tasks_t hosts;
    const int64_t *offset; /* of the first release; NULL: 0 */
    const int64_t *core;   /* per task, 0 .. cpus - 1; partitioned only */
    const uint8_t *sm;     /* n rows of sms: whether the task uses the SM; STGM only */
    int64_t cpus;
    int64_t sms;                       /* of the GPU */
    int policy;                        /* GS_SIMULATE_HOST_PARTITIONED, ... */
    const gs_simulate_host_way_t *way; /* how the GPU is shared */
    int mode;                          /* GS_SIMULATE_HOST_MODE_SUSPEND, ... */
    int64_t server;                    /* the server's core, 0 .. cpus; server only */
    int64_t overhead;  /* of the server, a switch (time slices) or an update (GCAPS), in ticks */
    int64_t switching; /* GCAPS: of a switch to another context, in ticks */
    int64_t slice;     /* time slices: longest time of a turn, in ticks */
    int ring;          /* time slices: GS_SIMULATE_HOST_RING_FIFO, ... */
    bool stall;        /* GCAPS: every update stops the GPU */
    const int64_t *gpu_priority; /* GCAPS: per task, smaller is more urgent; NULL: as priority */
    int64_t server_period;       /* of the container's server */
    gs_simulate_host_share_t low, high; /* range of execution times relative to the worst case, 0 <=
                                           low <= high <= 1, high > 0 */
    gs_simulate_host_share_t gap;       /* of the period, >= 0 */
    int64_t until;                      /* jobs released before it run to their end */
    int64_t victim;   /* task under analysis; its jobs trigger the other releases; -1: periodic
                         releases */
    int64_t triggers; /* GS_SIMULATE_HOST_AT_* */
    const int64_t *release_begin; /* given releases: n + 1 positions in `release`; NULL: none */
    const int64_t *release;       /* of task i from release_begin[i] to release_begin[i + 1] - 1 */
    const int64_t *time; /* a row of 4 width + 1 numbers per release: cpu[0], copy in, kernel, copy
                            out, cpu[1], ...; each part 1 to its worst case, 0 where that is 0;
                            NULL: none */
    uint64_t key[4];     /* of the random numbers */
    uint64_t index;
    bool log_jobs;
    bool log_intervals;
} gs_simulate_host_model_t;

/* The number of SMs that the kernels of a task run on. */
static inline int64_t gs_simulate_host_sms(const gs_simulate_host_model_t *model, int64_t i)
{
    if (!model->way->own_sms || model->hosts.segments[i] == 0) {
        return model->sms;
    }
    int64_t count = 0;
    for (int64_t k = 0; k < model->sms; k++) {
        count += model->sm[i * model->sms + k] != 0;
    }
    return count;
}

#endif
