/* A simulated GPU: streams, channels, copy engines, contexts, and blocks on SMs.
 *
 * [RTAS20], section III; the queue rules are those of [RTSS17] (Amert et al.), the false
 * dependencies between channels those of [RTAS24] (Bakita and Anderson).
 *
 * Its owner launches operations and says which context has the GPU; it is told which operations
 * have ended. simulate/hierarchy does so for given launches, simulate/machine for those of threads.
 *
 * Stages of an operation (a kernel or a copy):
 *
 *   launched    it enters the FIFO queue of its stream;
 *   head        all earlier operations of its stream have ended; or, for a programmatic kernel
 *               behind a kernel, its primary: all blocks of that one have started, and triggered
 *               or ended;
 *   joined      it enters the queue of its engine, as soon as
 *               - its owner does not let it wait for others (`after`);
 *               - the legacy NULL stream permits: a head of the NULL stream waits for every
 *                 operation of the partition's blocking streams that was launched before it,
 *                 and a head of a blocking stream for every such one of the NULL stream;
 *               - a kernel is the oldest one in its channel that is not fully dispatched;
 *   dispatched  all its blocks have started: it leaves the queue and its channel (or the channel
 *               when it ends, with channels_until_end);
 *   ended       all its blocks have ended, or the copy is done.
 *
 * A graph is one operation of its stream: its nodes are launched together, become heads together,
 * and the operation behind it becomes a head when all of them have ended. Among each other they are
 * ordered by `after` alone. In its channel the graph is one kernel as well: its kernels wait for
 * those launched before it, not for each other, and later ones wait until all of them are fully
 * dispatched. (Assumed, for a GPU to settle: the launch and the end of a graph go through its
 * stream's channel.) So a graph of one node, and one whose nodes form a chain, run as the same
 * operations do in the stream. A programmatic node needs one entry in `after`, a kernel of its
 * graph, which is its primary.
 *
 * A block triggers `trigger` ticks after its start, on its own clock: while it is frozen or slowed
 * down, so is the time up to the trigger. A block that is not longer triggers at its end. What
 * follows a programmatic kernel waits for it and for all operations before it.
 *
 * Only the kernel at the head of the most urgent queue starts blocks, as long as the placement
 * policy finds room; a block that does not fit delays all later and less urgent ones. Running
 * blocks are preempted only where another context gets the GPU, which freezes all of them. A copy
 * engine serves the copies of all contexts one at a time: of those that wait and have a direction
 * of the engine, the one that joined first. If several idle engines could serve a copy, one with
 * fewer directions does, of these the first. A copy that waits is behind the last of those that
 * joined before it and hold, or wait for, an engine that has its direction.
 *
 * Streams belong to partitions of their context: clients of MPS or green contexts. The blocks of a
 * partition may start on the SMs of its set, if it has one, and on no more of them at once than its
 * limit, if it has one. The rules of the NULL stream hold within a partition, and so do those of
 * channels, unless the partitions of a context share them: their streams then take the channels in
 * turn, in the order of the streams of the context.
 * Partitions with queues of their own form a group each, the other ones of a context form one;
 * every group starts blocks as above, beside the others. Of the heads of several groups the more
 * urgent one is served first, then that of the group with the smallest partition.
 *
 * A GPU runs at most `resident_grids` kernels at once (CUDA C++ Programming Guide, technical
 * specifications per compute capability: "Maximum number of resident grids per device (Concurrent
 * Kernel Execution)"). The rest of this rule is inferred. A kernel is resident from the start of
 * its first block to the end of its last one, also while its context has no time slice; copies do
 * not count. The limit holds for the resident kernels of each context, as the GPU is one context's
 * at a time, and for all partitions of a context together. While it is reached, a kernel at the
 * head of its queue that is not resident starts no block and holds up its queue, as one without
 * room does. It does not hold up a less urgent kernel that is resident: that one is needed for a
 * place to become free. A place that becomes free is taken by the kernel that starts blocks next,
 * in the order above; one without room on the SMs takes none.
 *
 * A cooperative kernel starts all its blocks at one instant. If its partition has a limit, they
 * take the SMs that hold blocks of the partition and as many others as may be added: those with
 * most room; with clusters, GPC by GPC, the one that can host most clusters first. The blocks of a
 * cluster start at one instant on SMs of one GPC: the one that can host most clusters of the kernel
 * now (an assumption), then the first in the SM order.
 *
 * Interference, if enabled: a block is slowed down by the first of these factors that applies,
 * while it applies: blocks of another kernel run on its SM; on another SM of its GPC; on another
 * GPC. A fourth factor applies in addition while a copy engine is busy. ([RTAS20], section V.)
 *
 * Order of the events of one instant: blocks and copies end; operations are launched; those that
 * may enter their queues do so in the order of launch; contexts change; blocks start. A kernel that
 * is fully dispatched lets the next one of its channel, and a secondary that waits for no triggers
 * any more, enter at the same instant.
 */
#ifndef GS_SIMULATE_GPU_GPU_DEVICE_H
#define GS_SIMULATE_GPU_GPU_DEVICE_H

#include "simulate/gpu/gpu_state.h"

/* Prepares a GPU whose model is set and was checked. gs_simulate_gpu_free is due also after an
 * error. */
int gs_simulate_gpu_init(gs_simulate_gpu_t *self, gs_context_t *ctx);
void gs_simulate_gpu_free(gs_simulate_gpu_t *self, gs_context_t *ctx);

/* Limits a partition of a GPU that is initialised, and whose client is set, to `count` SMs of its
 * own (0: all) and to `limit` SMs at once (0: any number). */
int gs_simulate_gpu_confine(gs_simulate_gpu_t *self, gs_context_t *ctx, int64_t partition,
                            const int64_t *set, int64_t count, int64_t limit);

/* A new operation, of which the owner sets owner, log, shape, room, rank and graph; -1: no memory.
 */
int64_t gs_simulate_gpu_new_op(gs_simulate_gpu_t *self, gs_context_t *ctx);

/* The operation enters its stream. */
int gs_simulate_gpu_launch(gs_simulate_gpu_t *self, gs_context_t *ctx, int64_t op);

/* An operation that was put aside may join again. */
int gs_simulate_gpu_resume(gs_simulate_gpu_t *self, gs_context_t *ctx, int64_t op);

/* Heads of streams enter their queues where they may, in the order of `heads`; *changed: any did.
 */
int gs_simulate_gpu_join(gs_simulate_gpu_t *self, gs_context_t *ctx, bool *changed);

/* Gives the GPU to a context, -1: to none. Another one than the last costs a switch. */
void gs_simulate_gpu_serve(gs_simulate_gpu_t *self, int64_t context);

/* Whether a context has the GPU (after the switch) and may start blocks. */
bool gs_simulate_gpu_runs(const gs_simulate_gpu_t *self);

/* Starts the blocks that fit; *any: some did. */
int gs_simulate_gpu_start_blocks(gs_simulate_gpu_t *self, gs_context_t *ctx, bool *any);

/* All of this instant has started: updates the speeds of blocks, and the reasons of waits. */
int gs_simulate_gpu_settle(gs_simulate_gpu_t *self, gs_context_t *ctx);

/* Ends the blocks, then the copies, that end now. */
int gs_simulate_gpu_end(gs_simulate_gpu_t *self, gs_context_t *ctx);

/* Its next event, GS_SIMULATE_GPU_NO_EVENT: none. */
int64_t gs_simulate_gpu_next(const gs_simulate_gpu_t *self);

#endif
