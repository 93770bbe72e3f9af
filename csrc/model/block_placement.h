/* Placement of blocks on SMs by the block scheduler.
 *
 * [RTAS20], Definitions III.1 to III.3, and the most-room rule that contains them (Gilman et al.
 * 2020). Only the kernel at the head of the queue is considered: once one of its blocks fits no SM,
 * that block and all later ones wait.
 */
#ifndef GS_MODEL_BLOCK_PLACEMENT_H
#define GS_MODEL_BLOCK_PLACEMENT_H

#include "model/occupancy.h"

/* Choice of the SM of a block of kernel k among the SMs on which it fits; a tie goes to the first
 * SM in the device's order.
 *
 * most_room: the SM that can host the most further blocks of k.
 *
 * olmedo: the rules of [RTAS20], literally, for a block of y warps on SMs of mw warps:
 *   1. the first SM holding a block of kernel k-1 for which III.2 holds, x being the warps of the
 *      block put there last (of any kernel) and z those there before it:
 *      mw - z - x >= floor((mw - z) / y) * y;
 *   2. else, where all SMs but one carry the same number z' of warps, and that one carries fewer
 *      and holds a block of kernel k-1: that SM if III.3 holds, x being all the warps on it:
 *      floor((mw - x) / y) * y > mw - z'. If it does not, the two blocks go to different SMs: 3.
 *      passes that SM over where another one has room;
 *   3. the SM with the fewest warps.
 *
 * round_robin: the next SM, in cyclic order, after the one used last (by any kernel). */
enum {
    GS_BLOCK_PLACEMENT_MOST_ROOM = 0,
    GS_BLOCK_PLACEMENT_OLMEDO = 1,
    GS_BLOCK_PLACEMENT_ROUND_ROBIN = 2
};

/* Load of one SM. */
typedef struct {
    int64_t warps;
    int64_t blocks;
    int64_t regs;
    int64_t smem;     /* bytes, including those reserved per block */
    int64_t carveout; /* bytes; -1: none, as on an empty SM, or unknown: the SM takes any block */
} gs_block_placement_sm_load_t;

/* State of one SM under olmedo: the last two kernels with blocks on it (numbered in dispatch order)
 * and the last block placed on it. */
typedef struct {
    int64_t kernel;
    int64_t kernel_before;
    int64_t x; /* its warps */
    int64_t z; /* warps on the SM before it */
} gs_block_placement_sm_last_t;

/* State of all SMs between blocks; one per device, reusable. */
typedef struct {
    const gs_gpu_t *gpu; /* borrowed */
    int policy;
    gs_block_placement_sm_load_t *load; /* owned, one per SM */
    int64_t kernels;                    /* dispatched so far */
    int32_t next;                       /* round_robin: first position to try in the SM order */
    gs_block_placement_sm_last_t *last; /* olmedo: owned, one per SM; NULL for the others */
    int64_t *room;   /* most_room: scratch, one per position in the SM order; NULL for others */
    int32_t *active; /* most_room: scratch, SM ids */
} gs_block_placement_t;

/* Checks the GPU, which must outlive the object. Safe to free after a failure. */
int gs_block_placement_init(gs_block_placement_t *self, gs_context_t *ctx, const gs_gpu_t *gpu,
                            int policy);
void gs_block_placement_free(gs_block_placement_t *self, gs_context_t *ctx);

/* Clears, then sets the load of the SMs, one entry per SM id. Refuses loads that are negative or
 * above the limits of the GPU (field: the resource, row: the SM). */
int gs_block_placement_set(gs_block_placement_t *self, gs_context_t *ctx,
                           const gs_block_placement_sm_load_t *load);

/* Places the blocks of one kernel in order. sm (blocks entries, or NULL) receives the SM of each
 * block, -1 from the first block that fits no SM; *placed the number of blocks placed.
 *
 * Cost with b blocks placed: most_room at most about sms * (1 + sqrt(2b)) without sm (in practice
 * sms times the number of different rooms, whatever b), plus b with it; the others b * sms.
 * Errors: those of gs_occupancy_footprint; a poll's. */
int gs_block_placement_kernel(gs_block_placement_t *self, gs_context_t *ctx,
                              const gs_gpu_kernel_t *kernel, int64_t row, int32_t *sm,
                              int64_t *placed);

#endif
