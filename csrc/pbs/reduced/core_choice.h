/* Choices of the tasks of a core (cores.h), by their periods and the times of single tasks. */
#ifndef GS_PBS_REDUCED_CORE_CHOICE_H
#define GS_PBS_REDUCED_CORE_CHOICE_H

#include "core/rng.h"
#include "model/periodic_tasks.h"

enum {
    GS_PBS_REDUCED_CORE_CHOICE_MIXED = 0,   /* the longest kernels and the shortest periods */
    GS_PBS_REDUCED_CORE_CHOICE_LONGEST = 1, /* the longest kernels */
    GS_PBS_REDUCED_CORE_CHOICE_BUSIEST = 2, /* the greatest shares of the GPU */
    GS_PBS_REDUCED_CORE_CHOICE_COUNT = 3
};

/* The mask of `size` tasks, which are at most 64; wcet: the time of each task alone. */
uint64_t gs_pbs_reduced_core_choice_one(const gs_periodic_tasks_t *tasks, const int64_t *wcet,
                                        int32_t size, int choice);

/* The masks by all choices, each mask once; returns their number. */
int gs_pbs_reduced_core_choice_all(const gs_periodic_tasks_t *tasks, const int64_t *wcet,
                                   int32_t size, uint64_t core[GS_PBS_REDUCED_CORE_CHOICE_COUNT]);

/* The mask of `size` tasks, half of them by some choice and the others drawn at random. */
uint64_t gs_pbs_reduced_core_choice_draw(const gs_periodic_tasks_t *tasks, const int64_t *wcet,
                                         int32_t size, gs_rng_t *rng);

#endif
