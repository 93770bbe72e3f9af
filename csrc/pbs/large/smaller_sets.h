/* Smaller problems that decide a large one, as in pbs/reduced/, with the batch function.
 *
 * Groups: where tasks of equal periods, deadlines and offsets always run as one, the unions of such
 * parts form a table of as many tasks as there are parts (pbs/reduced/groups.h). Cores: some of the
 * tasks with the least times that the function allows for batches that contain them are not
 * schedulable even with inserted idle time; then the whole is not (pbs/reduced/cores.h: the least
 * time of the function is at most the least time of the batches of a table). Both are asked of the
 * exact search.
 */
#ifndef GS_PBS_LARGE_SMALLER_SETS_H
#define GS_PBS_LARGE_SMALLER_SETS_H

#include "pbs/large/dispatch_search.h"
#include "pbs/search.h"

/* Most parts of a partition, most tasks of a core. */
#define GS_PBS_LARGE_GROUPS_MAX 13
#define GS_PBS_LARGE_CORE_MAX 12

typedef struct {
    int32_t count;
    uint64_t part[GS_PBS_LARGE_GROUPS_MAX]; /* masks of tasks */
} gs_pbs_large_groups_t;

/* Parts of tasks with equal periods, deadlines and offsets; each such set is split into `split`
 * parts by length, and further where a part is not eligible. *fits: there are not too many. */
int gs_pbs_large_groups_by_length(gs_pbs_large_groups_t *self, gs_context_t *ctx,
                                  const gs_periodic_tasks_t *tasks,
                                  gs_pbs_large_function_t *function, int32_t split, bool *fits);

/* At most `most` parts, from single tasks on: the two parts whose union takes least time beyond the
 * longer of them become one. rng: NULL, or multiplies these times by random factors. *fits: there
 * were enough eligible unions. */
int gs_pbs_large_groups_merge(gs_pbs_large_groups_t *self, gs_context_t *ctx,
                              const gs_periodic_tasks_t *tasks, gs_pbs_large_function_t *function,
                              int32_t most, gs_rng_t *rng, bool *fits);

/* Searches for a schedule of the parts, with at most `work` in the lazy search. *found: schedule
 * has the frames, in batches of tasks. Errors and spent budgets, also that of bytes, which another
 * partition may not need. */
int gs_pbs_large_groups_try(const gs_pbs_large_groups_t *self, gs_context_t *ctx,
                            const gs_periodic_tasks_t *tasks, gs_pbs_large_function_t *function,
                            bool idling, int64_t work, gs_pbs_large_schedule_t *schedule,
                            bool *found);

/* Asks whether a core is schedulable, with at most `work` in the lazy search. *dead: it is not, and
 * proof says why, about these tasks renumbered (kind GS_PBS_REFUTATION_NONE where no proof was
 * found within the budgets). Errors and spent budgets as above. */
int gs_pbs_large_core_try(gs_context_t *ctx, const gs_periodic_tasks_t *tasks,
                          const gs_pbs_large_function_t *function, uint64_t core, int64_t work,
                          gs_pbs_refutation_t *proof, bool *dead);

#endif
