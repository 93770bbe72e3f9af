/* Subsets of tasks, as bit masks, and their members as tasks of their own.
 *
 * The members of a subset are numbered by rising index of the task.
 */
#ifndef GS_PBS_SUBSET_H
#define GS_PBS_SUBSET_H

#include "model/periodic_tasks.h"

/* Some of the tasks, at most GS_PERIODIC_TASKS_MAX, with columns of their own; none waits for
 * others. */
typedef struct {
    int64_t period[GS_PERIODIC_TASKS_MAX];
    int64_t deadline[GS_PERIODIC_TASKS_MAX];
    int64_t offset[GS_PERIODIC_TASKS_MAX];
    gs_periodic_tasks_t tasks; /* of these columns: a subset must not be copied */
} gs_pbs_subset_t;

/* The empty subset. */
void gs_pbs_subset_init(gs_pbs_subset_t *self);

/* Adds task i of a set. */
void gs_pbs_subset_add(gs_pbs_subset_t *self, const gs_periodic_tasks_t *tasks, int32_t i);

/* The subset of the tasks of a mask. */
void gs_pbs_subset_of(gs_pbs_subset_t *self, const gs_periodic_tasks_t *tasks, uint64_t mask);

/* The tasks whose numbers in a subset are given. */
uint64_t gs_pbs_subset_members(uint64_t subset, uint32_t numbers);

/* The numbers in a subset of those of its members that a batch has. */
uint32_t gs_pbs_subset_numbers(uint64_t subset, uint64_t batch);

/* The next batch of members of a subset, in the order of their numbers; after the last one, 0. */
static inline uint32_t gs_pbs_subset_next(uint32_t subset, uint32_t batch)
{
    return (batch - subset) & subset;
}

#endif
