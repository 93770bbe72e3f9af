/* Cores: a few of the tasks that cannot be scheduled even with all the help of the others.
 *
 * For a set Q of tasks let C'(q) be the least time of an eligible batch b with b and Q having q in
 * common. A schedule restricted to Q is one with these times and inserted idle time. So if Q is not
 * schedulable that way, the whole is not, with or without inserted idle time. Jobs that a shorter
 * hyperperiod of Q leaves out must not share a batch with others: a core is tried only where all
 * its jobs end by its hyperperiod, or this is that of all tasks.
 */
#ifndef GS_PBS_REDUCED_CORES_H
#define GS_PBS_REDUCED_CORES_H

#include "core/rng.h"
#include "pbs/search.h"

/* Choices of the tasks of a core. */
enum {
    GS_PBS_REDUCED_CORES_MIXED = 0,   /* the longest kernels and the shortest periods */
    GS_PBS_REDUCED_CORES_LONGEST = 1, /* the longest kernels */
    GS_PBS_REDUCED_CORES_BUSIEST = 2, /* the greatest shares of the GPU */
    GS_PBS_REDUCED_CORES_CHOICES = 3
};

/* The mask of `size` tasks. */
uint32_t gs_pbs_reduced_cores_choose(const gs_periodic_tasks_t *tasks,
                                     const gs_batch_table_t *table, int32_t size, int choice);

/* The same, half of the tasks by some choice and the others drawn at random. */
uint32_t gs_pbs_reduced_cores_draw(const gs_periodic_tasks_t *tasks, const gs_batch_table_t *table,
                                   int32_t size, gs_rng_t *rng);

/* Asks whether a core is schedulable, with at most `work` in the lazy search. *dead: it is not;
 * proof, unless NULL, receives the proof. Errors and spent budgets as usual. */
int gs_pbs_reduced_cores_try(gs_context_t *ctx, const gs_periodic_tasks_t *tasks,
                             const gs_batch_table_t *table, uint32_t core, int64_t work,
                             gs_pbs_refutation_t *proof, bool *dead);

#endif
