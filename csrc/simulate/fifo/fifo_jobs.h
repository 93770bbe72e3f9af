/* Jobs of the FIFO simulator, from release to end: when they are released, reach the head of
 * their stream and enter the queue. */
#ifndef GS_SIMULATE_FIFO_FIFO_JOBS_H
#define GS_SIMULATE_FIFO_FIFO_JOBS_H

#include "simulate/fifo/fifo_state.h"

/* Performs the release that is due and schedules the next one of its task. */
int gs_simulate_fifo_jobs_release_due(gs_simulate_fifo_t *self, gs_context_t *ctx);

/* Releases all other tasks that their periods allow. */
int gs_simulate_fifo_jobs_release_others(gs_simulate_fifo_t *self, gs_context_t *ctx);

/* The same if this event, of GS_SIMULATE_FIFO_AT_*, is a trigger of the task under analysis. */
static inline int gs_simulate_fifo_jobs_trigger(gs_simulate_fifo_t *self, gs_context_t *ctx,
                                                int64_t task, int64_t moment)
{
    const gs_simulate_fifo_model_t *model = &self->model;
    bool triggers =
        task == model->victim && (model->triggers & moment) != 0 && self->now < model->until;
    return triggers ? gs_simulate_fifo_jobs_release_others(self, ctx) : GS_OK;
}

/* A kernel of a chain joins its queue. */
int gs_simulate_fifo_jobs_join(gs_simulate_fifo_t *self, gs_context_t *ctx, int64_t job);

/* A kernel has ended: the next one of the chain, or the end of the job. */
int gs_simulate_fifo_jobs_end_kernel(gs_simulate_fifo_t *self, gs_context_t *ctx, int64_t job);

#endif
