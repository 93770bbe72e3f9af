/* Stand-in for the CUDA driver, with simple GPUs and a clock of its own.
 *
 * A library that exports the functions of the driver that gpusched uses. standin_gpu.c has the GPU,
 * standin_driver.c the functions. What a driver leaves open until later is left open here, too: a
 * memset or a copy changes memory when it ends, a block writes its log when it ends, a wait for a
 * stream waits for that stream alone, a thread has contexts of its own, the first launch of a
 * kernel loads it, and a stream takes a limited number of launches. What is not given (a stream
 * that was destroyed, memory that was released) is an error.
 *
 * The clock is virtual: every call takes a fixed time on it, so that all times are known
 * beforehand; with the setting "clock" 1 it is the system's. Any number of threads may call.
 *
 * standin_set and standin_fail, or GPUSCHED_STANDIN="devices=2,fail=cuMemAlloc_v2:3:2", configure
 * it; standin_live returns what has not been released. The rules of the GPU are settings.
 */
#ifndef STANDIN_H
#define STANDIN_H

#include <stdbool.h>
#include <stdint.h>

#include "cuda/api.h"
#include "cuda/device.h"

#define MAX_DEVICES 4
#define MAX_SMS 256
#define NEVER INT64_MAX
#define RANDOM 9 /* value of a rule: drawn anew for each kernel */

/* Name, usual value, and what it is. */
#define SETTINGS(X)                                                                                \
    X(devices, 1)                                                                                  \
    X(version, 13000)                                                                              \
    X(clock, 0)     /* 0: virtual, 1: that of the system */                                        \
    X(call, 200)    /* ns that a call takes, */                                                    \
    X(launch, 2500) /* a launch, */                                                                \
    X(first, 20000) /* the first launch of a kernel, which waits for all others, */                \
    X(latency, 3000)                                                                               \
    X(wake, 1500)    /* from the end of a kernel to the return of the wait for it, */              \
    X(memset, 20000) /* and a memset that the host does not wait for */                            \
    X(queue, 1024)   /* operations of a stream that a launch does not wait for */                  \
    X(memory, 1 << 30)                                                                             \
    X(occupancy, 0) /* what the driver counts too much */                                          \
    X(resolution, 32)                                                                              \
    X(skew, 1000000007)                                                                            \
    X(drift, 0)   /* of the device's clock, parts per million */                                   \
    X(unit, 2)    /* ns of an iteration */                                                         \
    X(ramp, 0)    /* percent that work takes longer on an idle device, */                          \
    X(ramp_ns, 0) /* and the time until it does not */                                             \
    X(active, 0)                                                                                   \
    X(fault, 700)                                                                                  \
    X(sms, 16)                                                                                     \
    X(gpc, 4)        /* SMs of a GPC */                                                            \
    X(gpc_rule, 0)   /* SMs of a GPC 0: follow each other, 1: lie apart */                         \
    X(gpc_choice, 0) /* cluster: GPC that hosts 0: most of them, 1: the first that hosts one */    \
    X(order, 0)      /* SMs 0: evens, odds, 1: ascending, 2: from where the last kernel ended */   \
    X(policy, 0)     /* 0: most room, 1: in turn */                                                \
    X(carveouts,                                                                                   \
      1)           /* kernels with different ones 0: share SMs, 1: do not, 2: the smaller joins */ \
    X(channels, 0) /* 0: one for each stream */                                                    \
    X(release, 0)  /* a kernel leaves its channel 0: dispatched, 1: ended */                       \
    X(priorities, 0)  /* of streams 0: count, 1: do not */                                         \
    X(grids, 128)     /* kernels that run at once; a head that waits for one of them to end */     \
    X(grids_rule, 0)  /* 0: does not hold up less urgent ones that run, 1: does */                 \
    X(green_rule, 0)  /* green contexts have 0: queues of their own, 1: one queue */               \
    X(engines, 1)     /* copy engines */                                                           \
    X(engine_rule, 0) /* 0: one for each direction, 1: the first that is free */                   \
    X(pdl, 0)         /* a programmatic kernel starts 0: at all triggers, 1: at the end */         \
    X(share_unit, 1)  /* shares of a client of MPS are multiples of so many SMs, */                \
    X(share_rule, 0)  /* rounded 0: down, 1: up */                                                 \
    X(slice, 0)       /* ns of a process in turn with those in GPUSCHED_STANDIN_PROCESSES */       \
    X(context_switch, 0)

#define NAMED(name, usual) S_##name,
enum { SETTINGS(NAMED) NUMBER_OF_SETTINGS };

extern int64_t setting[NUMBER_OF_SETTINGS];

typedef struct stream {
    struct stream *next; /* of the list of all */
    int device, blocking, priority, channel;
    int first, sms; /* of its green context; sms 0: none */
    int group;      /* of its block queue */
} stream_t;

typedef struct op {
    struct op *next;  /* in the order of launches */
    stream_t *stream; /* NULL: the NULL stream */
    bool kernel, logs, done, programmatic;
    /* Rules, drawn when it is launched. */
    bool releases_at_end, ignores_triggers, holds_all;
    int share;
    int64_t arrival, joined, end; /* joined -1: not yet; end of a copy */
    int64_t blocks, assigned, finished;
    int warps, regs, smem, carveout, cluster, priority, group;
    gs_cuda_spin_t spin;
    int engine;        /* 0: in, 1: out, of a copy */
    uint64_t to, from; /* addresses of a copy; from 0: a memset */
    int64_t bytes, takes;
    unsigned char value;
} op_t;

typedef struct {
    int64_t start, trigger, end, number;
    op_t *op;
    int sm;
} block_t;

typedef struct {
    int retained, lost, streams, modules;
    int64_t used;      /* bytes */
    op_t *ops, **last; /* not done */
    block_t *blocks;
    int resident, room;
    int warps[MAX_SMS], slots[MAX_SMS], smem[MAX_SMS], regs[MAX_SMS], traffic[MAX_SMS];
    int carveout[MAX_SMS]; /* of the first block of those that run */
    int next;              /* of round robin, and of the rotating order */
    int64_t engine_free[8];
    int64_t time;       /* of the simulation */
    int64_t warm, idle; /* since when it is busy; when it last was */
} device_t;

extern device_t devices[MAX_DEVICES];

/* GPU (standin_gpu.c) -------------------------------------------------------------------------- */

void gpu_reset(void);
/* Simulates up to an instant. */
void gpu_advance(device_t *device, int64_t instant);
/* The next instant at which something happens; NEVER. */
int64_t gpu_next(const device_t *device);
/* Adds an operation, launched at an instant. */
void gpu_add(device_t *device, op_t op);
/* Blocks of a kernel that fit an empty SM. */
int gpu_occupancy(const op_t *op);
/* Bytes of an SM that a block with so many of shared memory takes. */
int gpu_smem(int64_t smem);
/* Carve-out of a kernel; percent: the preferred one, -1: the least that costs no occupancy. */
int gpu_carveout(const op_t *op, int percent, bool has_smem);
/* Whether work of this process can run, and the next instant at which it can. */
int64_t gpu_turn(int64_t instant);
/* A rule, drawn if it is RANDOM. */
int gpu_rule(int rule);
/* The device's clock. */
int64_t gpu_timer(int64_t instant);

/* Driver (standin_driver.c) -------------------------------------------------------------------- */

/* Whether all these bytes are memory of the device that was not released. */
bool memory_has(uint64_t address, int64_t bytes);
/* Number of this process among those that share the GPU, and how many there are. */
void processes_of(int *own, int *all);

#endif
