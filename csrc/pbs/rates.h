/* Overload in the long run: prices of jobs whose rates ask for more than all of the time.
 *
 * Task i has a job every T_i ticks. With prices y of either sign such that no eligible batch is
 * worth more than its time, jobs worth sum y_i / T_i arrive per tick; if that exceeds 1, no
 * schedule goes on without end. In a window of X ticks the numbers of jobs that must and that may
 * run differ from X / T_i by a bounded amount, so a window that is long enough shows it in whole
 * jobs, and the jobs of [0, H) cannot all be in time either. No hyperperiod is needed.
 */
#ifndef GS_PBS_RATES_H
#define GS_PBS_RATES_H

#include "core/context.h"
#include "model/batch_table.h"
#include "model/periodic_tasks.h"

/* The window of an infinite horizon. */
#define GS_PBS_RATES_LONG_RUN (-1)

/* Most tasks with prices: more than a table has where batch times are a function (pbs/large/). */
#define GS_PBS_RATES_TASKS 64

typedef struct {
    bool proven;
    int64_t scale; /* prices are in units of 1/scale ticks */
    int64_t price[GS_PBS_RATES_TASKS];
    int64_t window; /* [0, window) is overloaded; or GS_PBS_RATES_LONG_RUN */
    double load;    /* worth of the jobs per tick; 0 where no program was solved */
} gs_pbs_rates_t;

/* Numbers of jobs of a task in a window [0, deadline]: those due in it, which must run in it, and
 * those released in it, which may. Only jobs released before limit count. */
typedef struct {
    int64_t must;
    int64_t may;
} gs_pbs_rates_count_t;
gs_pbs_rates_count_t gs_pbs_rates_count(const gs_periodic_tasks_t *tasks, int32_t i,
                                        int64_t deadline, int64_t limit);

/* Solves the program where the tasks overload the GPU one at a time. infinite: all jobs are asked
 * about, not only those of [0, H). Tasks and table must have been checked. Errors: GS_ERR_MEMORY,
 * GS_ERR_INTERRUPTED. */
int gs_pbs_rates_find(gs_pbs_rates_t *self, gs_context_t *ctx, const gs_periodic_tasks_t *tasks,
                      const gs_batch_table_t *table, bool infinite);

/* Whether the time of the tasks one at a time, per tick, exceeds 1: otherwise the rates prove
 * nothing. */
bool gs_pbs_rates_matter(const gs_periodic_tasks_t *tasks, const gs_batch_table_t *table);

/* Whether jobs at the prices and scale of self overload the long run and, unless infinite, some
 * window. Sets self->window and self->proven. */
bool gs_pbs_rates_prove(gs_pbs_rates_t *self, const gs_periodic_tasks_t *tasks, bool infinite);

/* Checks a certificate in integers. */
bool gs_pbs_rates_check(const gs_pbs_rates_t *self, const gs_periodic_tasks_t *tasks,
                        const gs_batch_table_t *table);

#endif
