/* Parts that the forms of the graph share: jobs, counts, edges, frames. */
#ifndef GS_PBS_GRAPH_GRAPH_ENGINE_H
#define GS_PBS_GRAPH_GRAPH_ENGINE_H

#include "model/periodic_tasks.h"
#include "pbs/graph/graph_result.h"

/* Jobs released in [0, H): arrivals, absolute deadlines and the latest end of a frame.
 *
 * Computed from the task parameters, so that a long hyperperiod costs no memory. Job k of a task is
 * released at offset + k * period.
 */

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

/* Shared parts of the explorations of the scheduling graph; internal to csrc/pbs/graph. */

typedef struct {
    gs_context_t *ctx;
    gs_pbs_graph_jobs_t jobs;
    const int64_t *completion; /* 2^n */
    const gs_pbs_graph_options_t *options;
    gs_pbs_graph_result_t *result;
    bool cut; /* a vertex at the depth limit was not expanded */
    int64_t depth_capacity;
    int64_t edge_capacity;
} gs_pbs_graph_engine_t;

/* Each returns when it is done (GS_OK), first_only is satisfied (GS_OK with result->schedulable =
 * 1), a budget is spent (GS_SPENT_*) or an error occurs. They set the counts of the result in every
 * case, and schedulable = 1 with the schedule when they find one. */
int gs_pbs_graph_repaired(gs_pbs_graph_engine_t *self); /* merging of times: exact */
int gs_pbs_graph_tree(gs_pbs_graph_engine_t *self);  /* no merging: exact, exponentially larger */
int gs_pbs_graph_paper(gs_pbs_graph_engine_t *self); /* as printed, with or without merging */

/* Counts a vertex with depth executed jobs, in result->vertices and per_depth. */
int gs_pbs_graph_count(gs_pbs_graph_engine_t *self, int64_t depth);

/* Counts an edge, and stores it if options.keep. */
int gs_pbs_graph_edge(gs_pbs_graph_engine_t *self, int64_t source, int64_t target, uint32_t batch);

/* Appends the frame of an edge to the schedule; waiting and splits have none. */
int gs_pbs_graph_frame(gs_pbs_graph_engine_t *self, int64_t start, uint32_t batch);

/* Reverses a schedule collected backwards. */
void gs_pbs_graph_reverse(gs_schedule_t *schedule);

/* Allocates the zeroed arrays of a graph of known size. */
int gs_pbs_graph_keep(gs_pbs_graph_engine_t *self, int64_t vertices, int64_t points);

#endif
