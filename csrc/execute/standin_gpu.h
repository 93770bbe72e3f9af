/* Stand-in for a GPU in real time: the devices of a machine whose operations threads launch now.
 *
 * The devices are those of simulate/machine, by the rules of simulate/gpu/gpu_device.h: what runs
 * at once, queues, priorities, channels and copy engines. Their instants are those of the clock: an
 * operation joins when it is launched, and ends exactly when its times say, however late a thread
 * sees it. A tick of the machine is a ns. A task has one thread, or several in turn.
 */
#ifndef GS_EXECUTE_STANDIN_GPU_H
#define GS_EXECUTE_STANDIN_GPU_H

#include <pthread.h>
#include <stdatomic.h>

#include "simulate/machine/machine_state.h"

/* Operations of a task that were launched since its span began. */
typedef struct {
    int64_t open;        /* that have not ended */
    int64_t first, last; /* instants: a start of the first one, the end of the last one; -1: none */
} gs_execute_span_t;

typedef struct {
    gs_simulate_machine_state_t *machine;
    pthread_mutex_t guard;
    gs_context_t ctx; /* of the devices; under the guard, as all that follows */
    int64_t origin;   /* instant of tick 0 */
    int64_t now;      /* ticks */
    int64_t ranks;
    gs_execute_span_t *span; /* per task */
    int status;
} gs_execute_standin_t;

/* Takes over the devices of a machine that has not run; `machine` stays the caller's. Refuses tasks
 * of several contexts on a device, which would need time slices. */
int gs_execute_standin_open(gs_execute_standin_t *self, gs_context_t *ctx,
                            gs_simulate_machine_t *machine);
void gs_execute_standin_close(gs_execute_standin_t *self, gs_context_t *ctx);

/* Launches items of a task at one instant. */
int gs_execute_standin_launch(gs_execute_standin_t *self, int64_t task, const int64_t *items,
                              int64_t count);

/* Waits until all operations of a task have ended: GS_RT_OK, GS_RT_TIMEOUT at an instant,
 * GS_RT_STOPPED when *stop is set, or a negative number. */
int gs_execute_standin_wait(gs_execute_standin_t *self, int64_t task, bool spin, int64_t until,
                            const _Atomic int *stop);

/* The span of a task, whose instants are those of gs_rt_now; a new one begins. */
gs_execute_span_t gs_execute_standin_take(gs_execute_standin_t *self, int64_t task);

#endif
