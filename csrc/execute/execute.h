/* Execution of a machine's programs for real: threads on CPUs, and a stand-in for the GPU.
 *
 * Each task has a thread that runs the steps of simulate/machine: WORK takes CPU time of the
 * thread, CALL launches on the stand-in, WAIT waits for it. BEGIN and END take the lock of rt/
 * (MPCP's or FMLP+'s order), or have the steps between them run by its server. With a plan, its
 * player launches the kernels of frames, and a thread says when what precedes them is done. Jobs
 * are released at the instants of the machine's tasks, behind a drawn jitter, or by the ends of
 * others, and are logged as programs of the runtime log theirs.
 */
#ifndef GS_EXECUTE_EXECUTE_H
#define GS_EXECUTE_EXECUTE_H

#include "execute/execute_options.h"
#include "simulate/machine/machine.h"

typedef struct {
    int64_t origin; /* instant of tick 0 */
    int64_t late;   /* longest time by which a control thread woke after its instant, ns */
    int failed;     /* GS_RT_ERR_* of the thread that failed first; 0: none */
    char text[240]; /* its error */
} gs_execute_record_t;

/* Runs the jobs of a machine that has not run and cannot run then. Polls every 20 ms; everything
 * has ended when it returns. GS_OK, or an error of the arguments or the poll; record->failed has
 * those of threads. */
int gs_execute_run(gs_simulate_machine_t *machine, gs_context_t *ctx,
                   const gs_execute_options_t *options, gs_execute_record_t *record);

#endif
