/* Options of an execution, and their check. */
#ifndef GS_EXECUTE_EXECUTE_OPTIONS_H
#define GS_EXECUTE_EXECUTE_OPTIONS_H

#include "simulate/machine/machine_model.h"

enum {
    GS_EXECUTE_FREE = 0, /* sections begin and end at once */
    GS_EXECUTE_LOCKED = 1,
    GS_EXECUTE_SERVED = 2,
    GS_EXECUTE_PLANNED = 3,
    GS_EXECUTE_SHARINGS
};

#define GS_EXECUTE_LOCKS 64 /* most locks */

/* Arrays have an entry per task unless it says otherwise; they belong to the caller. */
typedef struct {
    const char *log;          /* path of the log, which is replaced */
    const char *const *names; /* of the tasks in the log */
    const int64_t *row;       /* of each task in the log: a permutation */
    int64_t events;           /* of a ring of the log, a power of 2 */
    const int64_t *jobs;
    const int64_t *cpu;     /* -1: any */
    const int64_t *fifo;    /* SCHED_FIFO priority; 0: none */
    const int64_t *ceiling; /* from a request to its release; 0: unchanged */
    const int64_t *urgency; /* larger is more urgent */
    const int64_t *lock;    /* that sections take; -1: none */
    const int64_t *due;     /* with `by_due`: from a release to what orders requests, ns */
    bool by_due;            /* requests of the server: the earlier due, the more urgent */
    int sharing;
    int order;                   /* GS_RT_ORDER_* */
    bool boosts;                 /* sections run at the ceiling, also without a lock */
    bool spins;                  /* threads spin while they wait for the lock */
    bool spins_on_gpu;           /* and while they wait for operations */
    int server_cpu, server_fifo; /* of the server, or the player */
    const char *plan;            /* path of a schedule file, whose tasks are the first rows */
    int64_t cycles;              /* of the plan */
    const int64_t *kernel; /* per item of the machine: number of the plan's kernel of its task that
                              it belongs to; -1: none */
    int64_t lead;          /* from the call to tick 0 of the releases, ns */
    int supervisor; /* SCHED_FIFO priority of the calling thread and of control threads; 0: none */
    int64_t controls; /* CPUs that have a control thread */
    const int64_t *control_cpu;
} gs_execute_options_t;

/* Refuses options outside of their ranges, tasks without cores, plans whose kernels are apart, and
 * more jobs than the tasks before them release. */
int gs_execute_check_options(gs_context_t *ctx, const gs_simulate_machine_model_t *m,
                             const gs_execute_options_t *o);

#endif
