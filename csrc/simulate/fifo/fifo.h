/* Simulator of kernels whose blocks start in FIFO order.
 *
 * [ECRTS17], section III: m threads, one queue, blocks that occupy their threads until they end; or
 * a GPU whose blocks need room on one SM, which the placement policy chooses ([RTAS20], section
 * III-C). Blocks of a kernel that start together (on one SM) form one wave, so the cost grows with
 * waves, not blocks.
 * The four orders are in model/fifo_order.h.
 *
 *     gs_simulate_fifo_t fifo;
 *     status = gs_simulate_fifo_init(&fifo, ctx, &model);
 *     while (status == GS_OK && !fifo.done) {
 *         status = gs_simulate_fifo_run(&fifo, ctx, 1000000);
 *     }
 *     ... fifo.worst[i], fifo.job ...
 *     gs_simulate_fifo_free(&fifo, ctx);
 *
 * At one instant, blocks end first, then jobs are released, then blocks start. Jobs that enter the
 * queue at the same instant do so by priority (smaller first), then by task index.
 *
 * With chains, jobs run several kernels one after the other, and only the kernel at the head of the
 * queue of the most urgent level starts blocks (analysis/priority_streams). A kernel joins its
 * queue some latency after its job has reached the head of its stream, or after the kernel before
 * it has ended; at one instant, after all releases.
 */
#ifndef GS_SIMULATE_FIFO_FIFO_H
#define GS_SIMULATE_FIFO_FIFO_H

#include "core/method.h"
#include "simulate/fifo/fifo_state.h"

/* Prepares a simulation; after an error nothing is left to free. Refuses what gs_kernel_tasks_check
 * refuses, least outside 1 .. block_time, negative offsets and slacks, times of
 * GS_CHECK_LATEST and more, a stream outside 0 .. n-1, streams with GS_FIFO_ORDER_OVERLAP,
 * an unknown order, draw or trigger, a victim that is not a task index, streams with a victim, and
 * settle with random times, a victim or given releases. Of given releases (row: the position in
 * release): those that are negative, GS_CHECK_LATEST or more, before the previous one of
 * their task, or, unless closer, less than a period after it, slack or a victim with them, and
 * given times outside 1 .. block_time. With gpu: what gs_gpu_check refuses, an unknown placement,
 * and blocks that fit no SM. With chains: what gs_kernel_chains_check refuses, another order than
 * GS_FIFO_ORDER_HARDWARE, streams, given times, settle, and soonest outside 0 .. latency. */
int gs_simulate_fifo_init(gs_simulate_fifo_t *self, gs_context_t *ctx,
                          const gs_simulate_fifo_model_t *model);

/* Runs until done or until `waves` more waves have started. Jobs count as states of the budget.
 * GS_ERR_OVERFLOW when a block would end at GS_NEVER or later. After an error or a used up budget
 * the logs hold what happened up to then, and the simulation cannot continue. */
int gs_simulate_fifo_run(gs_simulate_fifo_t *self, gs_context_t *ctx, int64_t waves);

void gs_simulate_fifo_free(gs_simulate_fifo_t *self, gs_context_t *ctx);

extern const gs_method_t gs_simulate_fifo_fifo_method;

#endif
