/* Tasks taken one by one, the greatest first. */
#include "pbs/reduced/core_choice.h"

/* The task outside of a mask with the longest kernel, the shortest period, or the greatest share of
 * the GPU; ties go to the longer kernel. */
static uint64_t greatest(const gs_periodic_tasks_t *tasks, const int64_t *wcet, uint64_t mask,
                         bool length, bool period)
{
    double best = -1, longest = -1;
    uint64_t found = 0;
    for (int32_t i = 0; i < tasks->n; i++) {
        double own = (double)wcet[i], key = length ? own : 1;
        key /= period ? (double)tasks->period[i] : 1;
        if ((mask >> i & 1) == 0 && (key > best || (key == best && own > longest))) {
            best = key;
            longest = own;
            found = UINT64_C(1) << i;
        }
    }
    return found;
}

uint64_t gs_pbs_reduced_core_choice_one(const gs_periodic_tasks_t *tasks, const int64_t *wcet,
                                        int32_t size, int choice)
{
    uint64_t mask = 0;
    for (int32_t j = 0; j < size; j++) {
        bool length = choice != GS_PBS_REDUCED_CORE_CHOICE_MIXED || j % 2 == 0;
        bool period = choice == GS_PBS_REDUCED_CORE_CHOICE_BUSIEST || !length;
        mask |= greatest(tasks, wcet, mask, length, period);
    }
    return mask;
}

int gs_pbs_reduced_core_choice_all(const gs_periodic_tasks_t *tasks, const int64_t *wcet,
                                   int32_t size, uint64_t core[GS_PBS_REDUCED_CORE_CHOICE_COUNT])
{
    int count = 0;
    for (int choice = 0; choice < GS_PBS_REDUCED_CORE_CHOICE_COUNT; choice++) {
        uint64_t mask = gs_pbs_reduced_core_choice_one(tasks, wcet, size, choice);
        bool again = false;
        for (int other = 0; other < count; other++) {
            again = again || core[other] == mask;
        }
        if (!again) {
            core[count++] = mask;
        }
    }
    return count;
}

uint64_t gs_pbs_reduced_core_choice_draw(const gs_periodic_tasks_t *tasks, const int64_t *wcet,
                                         int32_t size, gs_rng_t *rng)
{
    int choice = (int)gs_rng_below(rng, GS_PBS_REDUCED_CORE_CHOICE_COUNT);
    uint64_t mask = gs_pbs_reduced_core_choice_one(tasks, wcet, size / 2, choice);
    while (__builtin_popcountll(mask) < size) {
        mask |= UINT64_C(1) << gs_rng_below(rng, (uint64_t)tasks->n);
    }
    return mask;
}
