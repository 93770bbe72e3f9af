/* Jobs released in [0, H): arrivals, absolute deadlines and the latest end of a frame.
 *
 * Computed from the task parameters, so that a long hyperperiod costs no memory. Job k of a task is
 * released at offset + k * period.
 */
#ifndef GS_PBS_GRAPH_GRAPH_JOBS_H
#define GS_PBS_GRAPH_GRAPH_JOBS_H

#include "model/periodic_tasks.h"

typedef struct {
    int32_t n;
    int64_t hyperperiod;
    int64_t period[GS_PERIODIC_TASKS_MAX];
    int64_t deadline[GS_PERIODIC_TASKS_MAX]; /* relative */
    int64_t offset[GS_PERIODIC_TASKS_MAX];
    int64_t jobs[GS_PERIODIC_TASKS_MAX]; /* of each task in [0, H) */
} gs_pbs_graph_jobs_t;

/* Errors: those of gs_periodic_tasks_check and gs_periodic_tasks_hyperperiod. */
int gs_pbs_graph_jobs_init(gs_pbs_graph_jobs_t *self, gs_context_t *ctx,
                           const gs_periodic_tasks_t *tasks);

/* The number of jobs of each task released in [0, t]. */
void gs_pbs_graph_jobs_released(const gs_pbs_graph_jobs_t *self, int64_t t, int64_t *released);

/* The first release after those counted in released, GS_NEVER when there is none. */
int64_t gs_pbs_graph_jobs_next(const gs_pbs_graph_jobs_t *self, const int64_t *released);

/* The absolute deadline of job k, GS_NEVER when that job is not released in [0, H). */
static inline int64_t gs_pbs_graph_jobs_due(const gs_pbs_graph_jobs_t *self, int32_t i, int64_t k)
{
    return k < self->jobs[i] ? self->offset[i] + k * self->period[i] + self->deadline[i] : GS_NEVER;
}

/* The latest end of a frame that runs the oldest job of each task of batch without a miss, after
 * executed[i] jobs of task i. A job of the batch may end at its deadline; no other job may be
 * pending at its own deadline, whether it arrived during the frame or before. */
int64_t gs_pbs_graph_jobs_latest(const gs_pbs_graph_jobs_t *self, const int64_t *executed,
                                 uint32_t batch);

#endif
