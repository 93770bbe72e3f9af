/* Cores: a few of the tasks that cannot be scheduled even with all the help of the others.
 *
 * For a set Q of tasks let C'(q) be the least time of an eligible batch b with b and Q having q in
 * common. A schedule restricted to Q is one with these times and inserted idle time. So if Q is not
 * schedulable that way, the whole is not, with or without inserted idle time.
 *
 * The search of Q takes the jobs that are released in the hyperperiod of Q. Where that is shorter
 * than the hyperperiod of all tasks, and one of these jobs may end after it, a batch may hold later
 * jobs of Q as well, and take longer without them: such a Q says nothing.
 */
#ifndef GS_PBS_REDUCED_CORES_H
#define GS_PBS_REDUCED_CORES_H

#include "pbs/search.h"

/* Whether a core that is not schedulable shows that the whole is not. */
bool gs_pbs_reduced_cores_apply(const gs_periodic_tasks_t *core, const gs_periodic_tasks_t *whole);

/* Asks whether a core is schedulable, with at most `work` in the lazy search. *dead: it is not;
 * proof, unless NULL, receives the proof. Errors and spent budgets as usual. */
int gs_pbs_reduced_cores_try(gs_context_t *ctx, const gs_periodic_tasks_t *tasks,
                             const gs_batch_table_t *table, uint32_t core, int64_t work,
                             gs_pbs_refutation_t *proof, bool *dead);

#endif
