/* Occupancy: the blocks of a kernel that are resident on an SM, and the resource that limits them.
 *
 * [RTAS20], section III-C, Equation 1; allocation units as in the occupancy header of the CUDA
 * toolkit.
 */
#ifndef GS_MODEL_OCCUPANCY_H
#define GS_MODEL_OCCUPANCY_H

#include "model/gpu.h"

/* Resources of an SM that one block takes. */
typedef struct {
    int64_t warps;
    int64_t regs;
    int64_t smem;
    /* Registers of an SM that blocks of this kernel can use: a warp's registers lie in one
     * partition, so the remainder of each partition is unused. */
    int64_t regs_usable;
    /* Bytes: the least carve-out with which as many blocks fit an SM as with the largest, counting
     * what the system reserves per block; the least of all for a kernel without shared memory of
     * its own; the largest where no block fits. -1 with GS_GPU_CARVEOUT_IGNORE. */
    int64_t carveout;
} gs_occupancy_footprint_t;

/* Resource that limits the resident blocks. GS_OCCUPANCY_LIMIT_THREADS: the block has more than
 * GS_GPU_MAX_BLOCK_THREADS threads and cannot be launched. GS_OCCUPANCY_LIMIT_CARVEOUT: the SM has
 * another carve-out. */
enum {
    GS_OCCUPANCY_LIMIT_WARPS = 0,
    GS_OCCUPANCY_LIMIT_BLOCKS = 1,
    GS_OCCUPANCY_LIMIT_REGS = 2,
    GS_OCCUPANCY_LIMIT_SMEM = 3,
    GS_OCCUPANCY_LIMIT_THREADS = 4,
    GS_OCCUPANCY_LIMIT_CARVEOUT = 5,
    GS_OCCUPANCY_LIMITS = 6
};

/* The least carve-out of at least so many bytes, or the largest one; -1 with
 * GS_GPU_CARVEOUT_IGNORE. */
int64_t gs_occupancy_carveout(const gs_gpu_t *gpu, int64_t bytes);

/* Whether an SM with one carve-out takes blocks of a kernel with another one. */
bool gs_occupancy_carveout_suits(const gs_gpu_t *gpu, int64_t of_sm, int64_t of_kernel);

/* Resident blocks of a kernel on an empty SM, 0 when it holds none, and the limiting resource
 * (ties: the first in the list above; threads before all). footprint (or NULL) receives the
 * resources of a block, all 0 when *blocks is 0. Refuses non-positive threads or blocks, negative
 * registers or shared memory; row is the row of the error. */
int gs_occupancy_footprint(gs_context_t *ctx, const gs_gpu_t *gpu, const gs_gpu_kernel_t *kernel,
                           int64_t row, gs_occupancy_footprint_t *footprint, int64_t *blocks,
                           int *limit);

/* The same without the footprint; limit may be NULL. */
int gs_occupancy_blocks(gs_context_t *ctx, const gs_gpu_t *gpu, const gs_gpu_kernel_t *kernel,
                        int64_t row, int64_t *blocks, int *limit);

#endif
