/* Simulator of the NVIDIA scheduling hierarchy: applications (contexts) that share the GPU by time
 * slices, streams, copies, and blocks on SMs.
 *
 * [RTAS20], section III; the queue rules are those of [RTSS17] (Amert et al.), the false
 * dependencies between channels those of [RTAS24] (Bakita and Anderson).
 *
 * Stages of an operation (a kernel or a copy):
 *
 *   launched    it enters the FIFO queue of its stream;
 *   head        all earlier operations of its stream have ended; or, for a programmatic kernel
 *               behind a kernel, its primary: all blocks of that one have started, and triggered
 *               or ended;
 *   joined      it enters the queue of its engine, as soon as
 *               - the operations it depends on (`after`) have ended;
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
 * blocks are preempted only at the end of the time slice of their context, which freezes all of
 * them. A copy engine serves the copies of all contexts one at a time: of those that wait and have
 * a direction of the engine, the one that joined first. If several idle engines could serve a copy,
 * one with fewer directions does, of these the first. A copy that waits is behind the last of those
 * that joined before it and hold, or wait for, an engine that has its direction.
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
#ifndef GS_SIMULATE_HIERARCHY_HIERARCHY_H
#define GS_SIMULATE_HIERARCHY_HIERARCHY_H

#include "core/method.h"
#include "simulate/hierarchy/hierarchy_state.h"

/* Prepares a simulation; after an error nothing is left to free. Refuses indices out of range and
 * unknown enumerators, times that are negative, zero (durations) or at least
 * GS_SIMULATE_HIERARCHY_LATEST, a block that fits no SM, two NULL streams in one partition, a
 * runlist without one of the contexts, a graph with several times or streams, a programmatic node
 * whose `after` is not one kernel of its graph, a cooperative kernel that the empty SMs of its
 * partition do not hold, a cluster that no empty GPC holds, a copy in a direction that no engine
 * has, and GPCs that do not add up to the SMs. */
int gs_simulate_hierarchy_init(gs_simulate_hierarchy_t *self, gs_context_t *ctx,
                               const gs_simulate_hierarchy_model_t *model);

/* Runs until done or until `blocks` more blocks have started. If not all operations have ended when
 * it is done, the others are in a deadlock, given by op[].why and op[].blocker. GS_ERR_OVERFLOW
 * when a block, a copy or a time slice would end at GS_NEVER or later. After an error the logs hold
 * what happened up to then, and the simulation cannot continue. */
int gs_simulate_hierarchy_run(gs_simulate_hierarchy_t *self, gs_context_t *ctx, int64_t blocks);

void gs_simulate_hierarchy_free(gs_simulate_hierarchy_t *self, gs_context_t *ctx);

extern const gs_method_t gs_simulate_hierarchy_hierarchy_method;

#endif
