/* Smaller problems that decide a large one: groups show that it is schedulable, cores that it is
 * not. In rounds: first the natural groups and cores, then some drawn at random. */
#ifndef GS_PBS_REDUCED_REDUCTIONS_H
#define GS_PBS_REDUCED_REDUCTIONS_H

#include "pbs/reduced/core_choice.h"
#include "pbs/reduced/cores.h"
#include "pbs/reduced/groups.h"

typedef struct {
    const gs_periodic_tasks_t *tasks;    /* borrowed */
    const gs_batch_table_t *table;       /* borrowed */
    int64_t wcet[GS_PERIODIC_TASKS_MAX]; /* of each task alone */
    bool idling;
    gs_rng_t rng;
    int32_t round;
} gs_pbs_reduced_reductions_t;

void gs_pbs_reduced_reductions_init(gs_pbs_reduced_reductions_t *self,
                                    const gs_periodic_tasks_t *tasks, const gs_batch_table_t *table,
                                    bool idling);

/* Runs the next round. *answer: 1 with schedule, 0 with proof (unless that is NULL), or -1. Errors
 * and spent budgets as usual. */
int gs_pbs_reduced_reductions_next(gs_pbs_reduced_reductions_t *self, gs_context_t *ctx,
                                   gs_schedule_t *schedule, gs_pbs_refutation_t *proof,
                                   int *answer);

#endif
