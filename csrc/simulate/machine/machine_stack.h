/* A stack of simulations of one machine: runs that differ in what is drawn, one after the other.
 *
 * Run r has the draws of index `index + r`. There are no logs: of a run remain numbers of each
 * task, of all runs together a histogram of the responses of each. Times of results are in units of
 * the model's grain, ends rounded up.
 */
#ifndef GS_SIMULATE_MACHINE_MACHINE_STACK_H
#define GS_SIMULATE_MACHINE_MACHINE_STACK_H

#include "simulate/machine/machine.h"

typedef struct {
    gs_simulate_machine_model_t model; /* of the next run */
    int64_t runs;
    int64_t done;
    bool open; /* `machine` is the next run */
    gs_simulate_machine_t machine;
    /* Rows of the runs that are done, a number per task: the largest response (a job that has not
     * ended counts as what it had taken; -1: there was no job), late jobs, jobs. */
    int64_t *worst, *late, *released;
    int64_t *left;             /* per run: jobs that had not ended */
    gs_histogram_t *responses; /* per task, of all these jobs */
} gs_simulate_machine_stack_t;

/* Prepares so many runs (at least 1), of a model without logs; after an error nothing is left to
 * free. What gs_simulate_machine_init refuses the first run refuses. */
int gs_simulate_machine_stack_init(gs_simulate_machine_stack_t *self, gs_context_t *ctx,
                                   const gs_simulate_machine_model_t *model, int64_t runs);

/* Runs until all are done or for about `instants` more instants, of which the beginning of a run is
 * one. An error ends the stack; the rows of the runs that were done before remain. */
int gs_simulate_machine_stack_run(gs_simulate_machine_stack_t *self, gs_context_t *ctx,
                                  int64_t instants);

void gs_simulate_machine_stack_free(gs_simulate_machine_stack_t *self, gs_context_t *ctx);

#endif
