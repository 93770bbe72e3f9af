/* Simulator of the NVIDIA scheduling hierarchy: given launches on a GPU (simulate/gpu) whose
 * applications (contexts) share it by time slices.
 *
 * An operation that waits for others by `after` does so at the head of its stream. A programmatic
 * node of a graph needs one entry in `after`, a kernel of its graph, which is its primary.
 *
 * Contexts with work have the GPU in the order of the runlist, each for its time slice, which is
 * extended by whole slices while no other context has work. The first one costs no switch.
 *
 * Order of the events of one instant: blocks and copies end; operations are launched; those that
 * may enter their queues do so in the order of launch; contexts change; blocks start. A kernel that
 * is fully dispatched lets the next one of its channel, and a secondary that waits for no triggers
 * any more, enter at the same instant.
 *
 * Source: [RTAS20], section III; [RTSS17]; [RTAS24].
 */
#ifndef GS_SIMULATE_HIERARCHY_HIERARCHY_H
#define GS_SIMULATE_HIERARCHY_HIERARCHY_H

#include "core/method.h"
#include "simulate/hierarchy/hierarchy_state.h"

/* Prepares a simulation; after an error nothing is left to free. Refuses indices out of range and
 * unknown enumerators, times that are negative, zero (durations) or at least
 * GS_CHECK_LATEST, a block that fits no SM, two NULL streams in one partition, a
 * runlist without one of the contexts, a graph with several times or streams, a programmatic node
 * whose `after` is not one kernel of its graph, a cooperative kernel that the empty SMs of its
 * partition do not hold, a cluster that no empty GPC holds, a copy in a direction that no engine
 * has, and GPCs that do not add up to the SMs. */
int gs_simulate_hierarchy_init(gs_simulate_hierarchy_t *self, gs_context_t *ctx,
                               const gs_simulate_hierarchy_model_t *model);

/* Runs until done or until `blocks` more blocks have started. If not all operations have ended when
 * it is done, the others are in a deadlock, given by `why` and `blocker`. GS_ERR_OVERFLOW
 * when a block, a copy or a time slice would end at GS_NEVER or later. After an error the logs hold
 * what happened up to then, and the simulation cannot continue. */
int gs_simulate_hierarchy_run(gs_simulate_hierarchy_t *self, gs_context_t *ctx, int64_t blocks);

/* Times and places of a launch; after an error, too. */
gs_simulate_hierarchy_op_t gs_simulate_hierarchy_op(const gs_simulate_hierarchy_t *self,
                                                    int64_t launch);

void gs_simulate_hierarchy_free(gs_simulate_hierarchy_t *self, gs_context_t *ctx);

extern const gs_method_t gs_simulate_hierarchy_hierarchy_method;

#endif
