/* The parts of the FIFO simulator that look for repetition; see gs_simulate_fifo_cycle_t in
 * simulate/fifo/fifo.h. */
#ifndef GS_SIMULATE_FIFO_FIFO_CYCLE_H
#define GS_SIMULATE_FIFO_FIFO_CYCLE_H

#include "simulate/fifo/fifo.h"

/* Prepares the search, or leaves it off (hyperperiod 0) where the hyperperiod or the jobs in it do
 * not fit the clock. */
int gs_simulate_fifo_cycle_init(gs_simulate_fifo_t *self, gs_context_t *ctx);
void gs_simulate_fifo_cycle_free(gs_simulate_fifo_t *self, gs_context_t *ctx);

/* Whether checkpoints are instants (hardware, release) and not jobs (strict, overlap). */
static inline bool gs_simulate_fifo_cycle_by_time(const gs_simulate_fifo_t *self)
{
    return self->model.order == GS_FIFO_ORDER_HARDWARE ||
           self->model.order == GS_FIFO_ORDER_RELEASE;
}

/* The next instant at which to look, GS_NEVER when there is none. */
static inline int64_t gs_simulate_fifo_cycle_instant(const gs_simulate_fifo_t *self)
{
    const gs_simulate_fifo_cycle_t *cycle = &self->cycle;
    bool looks = cycle->hyperperiod != 0 && gs_simulate_fifo_cycle_by_time(self);
    return looks ? cycle->count * cycle->hyperperiod : GS_NEVER;
}

/* Notes which jobs are queued ahead of which, when the job at this place has joined the queue. */
void gs_simulate_fifo_cycle_queued(gs_simulate_fifo_t *self, int64_t place);

/* Looks at the state: before the events of gs_simulate_fifo_cycle_instant, or when the last block
 * of the marked job has started. Sets verdict, from, length and the streams that grow. */
int gs_simulate_fifo_cycle_look(gs_simulate_fifo_t *self, gs_context_t *ctx);

#endif
