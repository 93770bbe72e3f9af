/* Questions about periodic tasks, for the methods that take them. */
#ifndef GS_MODEL_PERIODIC_TASKS_INTERNAL_H
#define GS_MODEL_PERIODIC_TASKS_INTERNAL_H

#include "model/periodic_tasks.h"

/* As gs_periodic_tasks_check, without a limit on n. */
int gs_periodic_tasks_check_times(gs_context_t *ctx, const gs_periodic_tasks_t *tasks);

/* Refuses rows that wait for others, for methods that take each alone. */
int gs_periodic_tasks_refuse_precedence(gs_context_t *ctx, const gs_periodic_tasks_t *tasks);

/* As gs_periodic_tasks_hyperperiod, GS_NEVER where that refuses. */
int64_t gs_periodic_tasks_hyperperiod_or_never(const gs_periodic_tasks_t *tasks);

/* The rows that wait for others; done: jobs run by each row. */
uint32_t gs_periodic_tasks_held_back(const gs_periodic_tasks_t *tasks, const int64_t *done);

/* Whether rows can have run these numbers of jobs without one that had to wait. */
bool gs_periodic_tasks_is_ordered(const gs_periodic_tasks_t *tasks, const int64_t *done);

#endif
