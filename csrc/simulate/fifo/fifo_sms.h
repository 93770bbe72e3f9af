/* Blocks on SMs, for the FIFO simulator; see gs_simulate_fifo_sms_t in fifo_state.h. The blocks of
 * a job that has some left are placed in several calls, as in simulate/hierarchy. */
#ifndef GS_SIMULATE_FIFO_FIFO_SMS_H
#define GS_SIMULATE_FIFO_FIFO_SMS_H

#include "simulate/fifo/fifo_state.h"

/* Prepares the placement on a checked GPU. Refuses an unknown placement and blocks that fit no
 * SM. */
int gs_simulate_fifo_sms_init(gs_simulate_fifo_t *self, gs_context_t *ctx);
void gs_simulate_fifo_sms_free(gs_simulate_fifo_t *self, gs_context_t *ctx);

/* Sets sms.blocks and sms.sm to the next blocks of the job at the head of the queue to start
 * together on one SM; 0 blocks: none of those that wait finds room. Places all that do at the first
 * call, and hands them out by SM, or, with times drawn per block, one by one. */
int gs_simulate_fifo_sms_next(gs_simulate_fifo_t *self, gs_context_t *ctx,
                              const gs_simulate_fifo_job_t *job);

/* Records the SM of these blocks, a wave that has started, and has been logged if waves are. */
int gs_simulate_fifo_sms_note(gs_simulate_fifo_t *self, gs_context_t *ctx, int64_t flight);

/* The blocks of this wave, of this row of the kernels' columns, have ended. */
void gs_simulate_fifo_sms_remove(gs_simulate_fifo_t *self, int32_t kernel, int64_t flight,
                                 int64_t blocks);

/* The history on which later placements depend, beside the running blocks: at most so many words,
 * and writes them; returns the position behind them. */
int64_t gs_simulate_fifo_sms_words(const gs_simulate_fifo_t *self);
int64_t *gs_simulate_fifo_sms_write(const gs_simulate_fifo_t *self, int64_t *word);

#endif
