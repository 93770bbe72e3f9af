/* Groups of tasks that always run as one: a smaller problem whose schedules serve the whole.
 *
 * Where the tasks of a part have equal periods, deadlines and offsets, and each part runs as one,
 * the unions of parts form a table with as many tasks as there are parts. The tasks of a part are
 * ready, due and done together, so a schedule of the parts is a schedule of the tasks. The reverse
 * does not hold.
 */
#ifndef GS_PBS_REDUCED_GROUPS_H
#define GS_PBS_REDUCED_GROUPS_H

#include "core/rng.h"
#include "pbs/search.h"

/* Most parts of a partition. */
#define GS_PBS_REDUCED_GROUPS_MAX 13

typedef struct {
    int32_t count;
    uint32_t part[GS_PBS_REDUCED_GROUPS_MAX]; /* masks of tasks */
} gs_pbs_reduced_groups_t;

/* Parts of tasks with equal periods, deadlines and offsets; each such set is split into `split`
 * parts by length, and further where a part is not eligible. False when there are too many. */
bool gs_pbs_reduced_groups_by_length(gs_pbs_reduced_groups_t *self,
                                     const gs_periodic_tasks_t *tasks,
                                     const gs_batch_table_t *table, int32_t split);

/* At most `most` parts, from single tasks on: the two parts whose union takes least time beyond the
 * longer of them become one. rng: NULL, or multiplies these times by random factors. False when
 * there are no more eligible unions. */
bool gs_pbs_reduced_groups_merge(gs_pbs_reduced_groups_t *self, const gs_periodic_tasks_t *tasks,
                                 const gs_batch_table_t *table, int32_t most, gs_rng_t *rng);

/* Searches for a schedule of the parts, with at most `work` in the lazy search. *found: schedule
 * has the frames, in batches of tasks. Errors and spent budgets as usual. */
int gs_pbs_reduced_groups_try(const gs_pbs_reduced_groups_t *self, gs_context_t *ctx,
                              const gs_periodic_tasks_t *tasks, const gs_batch_table_t *table,
                              bool idling, int64_t work, gs_schedule_t *schedule, bool *found);

#endif
