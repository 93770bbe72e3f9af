/* Placement over time: the blocks of a kernel are placed in several calls, with a footprint from
 * gs_occupancy_footprint, and removed when they end. */
#ifndef GS_MODEL_BLOCK_PLACEMENT_INTERNAL_H
#define GS_MODEL_BLOCK_PLACEMENT_INTERNAL_H

#include "model/block_placement.h"

/* Empties all SMs and resets the history. */
void gs_block_placement_clear(gs_block_placement_t *self);

/* The following blocks belong to a new kernel. */
void gs_block_placement_change_kernel(gs_block_placement_t *self);

/* Like gs_block_placement_kernel for blocks of the current kernel: places as many as fit on the SMs
 * at the positions `at` in the SM order, ascending (NULL: all). */
int gs_block_placement_resume(gs_block_placement_t *self, gs_context_t *ctx,
                              const gs_occupancy_footprint_t *take, int64_t blocks,
                              const int32_t *at, int32_t count, int32_t *sm, int64_t *placed);

/* Number of further blocks that an SM can host. */
int64_t gs_block_placement_room(const gs_block_placement_t *self, int32_t sm,
                                const gs_occupancy_footprint_t *take);

/* Removes blocks of a footprint from an SM that holds them. */
void gs_block_placement_remove(gs_block_placement_t *self, int32_t sm,
                               const gs_occupancy_footprint_t *take, int64_t blocks);

/* The first resource (GS_OCCUPANCY_LIMIT_*) that an SM lacks for one more block, -1 when it fits;
 * another carve-out before all. */
int gs_block_placement_lack(const gs_block_placement_t *self, int32_t sm,
                            const gs_occupancy_footprint_t *take);

#endif
