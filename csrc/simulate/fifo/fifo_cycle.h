/* Detection of schedules that repeat or diverge; see gs_simulate_fifo_cycle_t in fifo_state.h. */
#ifndef GS_SIMULATE_FIFO_FIFO_CYCLE_H
#define GS_SIMULATE_FIFO_FIFO_CYCLE_H

#include "simulate/fifo/fifo_state.h"

/* Prepares detection; it stays off (hyperperiod 0) where the hyperperiod reaches
 * GS_CHECK_LATEST or its jobs exceed 63 bits. */
int gs_simulate_fifo_cycle_init(gs_simulate_fifo_t *self, gs_context_t *ctx);
void gs_simulate_fifo_cycle_free(gs_simulate_fifo_t *self, gs_context_t *ctx);

/* Whether checkpoints are instants (hardware, release), not jobs (strict, overlap). */
static inline bool gs_simulate_fifo_cycle_by_time(const gs_simulate_fifo_t *self)
{
    return self->model.order == GS_FIFO_ORDER_HARDWARE ||
           self->model.order == GS_FIFO_ORDER_RELEASE;
}

/* The next checkpoint that is an instant, GS_NEVER when there is none. */
static inline int64_t gs_simulate_fifo_cycle_instant(const gs_simulate_fifo_t *self)
{
    const gs_simulate_fifo_cycle_t *cycle = &self->cycle;
    bool looks = cycle->hyperperiod != 0 && gs_simulate_fifo_cycle_by_time(self);
    return looks ? cycle->count * cycle->hyperperiod : GS_NEVER;
}

/* Records the pairs of queued jobs after a job has entered the queue at this position. */
void gs_simulate_fifo_cycle_queued(gs_simulate_fifo_t *self, int64_t place);

/* Compares the state at a checkpoint: before the events of gs_simulate_fifo_cycle_instant, or when
 * the last block of the marked job has started. Sets verdict, from, length and grows. */
int gs_simulate_fifo_cycle_look(gs_simulate_fifo_t *self, gs_context_t *ctx);

#endif
