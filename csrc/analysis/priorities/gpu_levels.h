/* GPU priorities of GCAPS by Audsley's algorithm, the CPU priorities being given.
 *
 * With deadlines for the assumed responses (DEADLINES), W of a task depends on which tasks have a
 * higher GPU priority, in no order, and does not grow when there are fewer. So levels are filled
 * from the lowest one up. GPU priorities must agree with the CPU priorities of each core: the
 * candidates of a level are the least urgent task with GPU segments of each core that is left.
 * Putting one that meets its deadline at the lowest level of an accepted order keeps the order of
 * the others, that constraint, and their bounds. In mode busy a task without GPU segments waits for
 * the GPU as the nearest more urgent one with GPU segments of its core does, and is looked at with
 * it. Not with `stall`, which charges tasks of lower GPU priority.
 */
#ifndef GS_ANALYSIS_PRIORITIES_GPU_LEVELS_H
#define GS_ANALYSIS_PRIORITIES_GPU_LEVELS_H

#include "analysis/priorities/order_levels.h"

/* Sets `order` to the tasks by CPU priority and self->level to GPU priorities, 0 for the highest,
 * those of tasks without GPU segments after all others; found: whether every level has a task that
 * meets its deadline there. Otherwise they are in the order of the CPU priorities. Errors:
 * those of the test. */
int gs_analysis_priorities_gpu_levels(gs_analysis_priorities_order_levels_t *self,
                                      gs_context_t *ctx, bool *found);

#endif
