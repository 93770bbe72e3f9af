/* Members of subsets. */
#include "pbs/subset.h"

void gs_pbs_subset_init(gs_pbs_subset_t *self)
{
    self->tasks = (gs_periodic_tasks_t){0, self->period, self->deadline, self->offset, 0, NULL};
}

void gs_pbs_subset_add(gs_pbs_subset_t *self, const gs_periodic_tasks_t *tasks, int32_t i)
{
    int32_t at = self->tasks.n++;
    self->period[at] = tasks->period[i];
    self->deadline[at] = tasks->deadline[i];
    self->offset[at] = gs_periodic_tasks_offset(tasks, i);
}

void gs_pbs_subset_of(gs_pbs_subset_t *self, const gs_periodic_tasks_t *tasks, uint64_t mask)
{
    gs_pbs_subset_init(self);
    for (uint64_t rest = mask; rest != 0; rest &= rest - 1) {
        gs_pbs_subset_add(self, tasks, __builtin_ctzll(rest));
    }
}

uint64_t gs_pbs_subset_members(uint64_t subset, uint32_t numbers)
{
    uint64_t batch = 0;
    for (uint64_t rest = subset; rest != 0; rest &= rest - 1, numbers >>= 1) {
        batch |= (numbers & 1) != 0 ? rest & -rest : 0;
    }
    return batch;
}

uint32_t gs_pbs_subset_numbers(uint64_t subset, uint64_t batch)
{
    uint32_t numbers = 0;
    int32_t j = 0;
    for (uint64_t rest = subset; rest != 0; rest &= rest - 1, j++) {
        numbers |= (uint32_t)(batch >> __builtin_ctzll(rest) & 1) << j;
    }
    return numbers;
}
