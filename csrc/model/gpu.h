/* What is a GPU, and how many blocks of a kernel fit one of its SMs?
 *
 * Paper 003, section III-C, Equation 1; the allocation units are those of the toolkit's occupancy
 * header.
 */
#ifndef GS_MODEL_GPU_H
#define GS_MODEL_GPU_H

#include "core/context.h"

#define GS_GPU_MAX_SMS 65536
#define GS_GPU_WARP_THREADS 32
/* The most threads a block may have on any device. */
#define GS_GPU_MAX_BLOCK_THREADS 1024

/* The limits of one device. All SMs are alike; sm_order[0..sms-1] is the order in which the block
 * scheduler prefers them where they are equal, and belongs to the caller; NULL: ascending. */
typedef struct {
    int32_t sms;
    int32_t warps_per_sm;
    int32_t blocks_per_sm;
    int32_t regs_per_sm;
    int32_t smem_per_sm;    /* bytes */
    int32_t smem_per_block; /* bytes, the most a block may ask for */
    int32_t smem_reserved;  /* bytes the system takes from each block's share */
    int32_t smem_unit;      /* bytes, allocation granularity */
    int32_t reg_unit;       /* registers per warp are rounded up to it */
    int32_t partitions;     /* register files per SM */
    const int32_t *sm_order;
} gs_gpu_t;

/* One kernel's grid: what each of its blocks asks for. */
typedef struct {
    int64_t blocks;
    int64_t threads; /* per block */
    int64_t regs;    /* per thread; 0: registers do not matter */
    int64_t smem;    /* bytes per block, static and dynamic */
} gs_gpu_kernel_t;

/* The same in units of an SM: what a block takes of it. */
typedef struct {
    int64_t warps;
    int64_t regs;
    int64_t smem;
    /* The registers of an SM that blocks of this kernel can use: a warp's registers lie in one
     * partition, so what is left over in each partition is lost to it. */
    int64_t regs_usable;
} gs_gpu_footprint_t;

/* The resource that limits how many blocks an SM holds. GS_GPU_LIMIT_THREADS: the block has more
 * than GS_GPU_MAX_BLOCK_THREADS threads and cannot be launched at all. */
enum {
    GS_GPU_LIMIT_WARPS = 0,
    GS_GPU_LIMIT_BLOCKS = 1,
    GS_GPU_LIMIT_REGS = 2,
    GS_GPU_LIMIT_SMEM = 3,
    GS_GPU_LIMIT_THREADS = 4
};

/* Refuses limits out of range (field: their name) and a sm_order that is no permutation (row: the
 * position). The other functions expect a GPU that passed. */
int gs_gpu_check(gs_context_t *ctx, const gs_gpu_t *gpu);

/* Resident blocks of a kernel on an empty SM, 0 when it fits none, and the resource that limits
 * them (the first of the list above among equals, threads before all). footprint (or NULL)
 * receives what a block takes; it is all 0 when *blocks is 0. Refuses non-positive threads or
 * blocks, negative registers or shared memory; row names the kernel in the message. */
int gs_gpu_footprint(gs_context_t *ctx, const gs_gpu_t *gpu, const gs_gpu_kernel_t *kernel,
                     int64_t row, gs_gpu_footprint_t *footprint, int64_t *blocks, int *limit);

/* The same without the footprint; limit may be NULL. */
int gs_gpu_occupancy(gs_context_t *ctx, const gs_gpu_t *gpu, const gs_gpu_kernel_t *kernel,
                     int64_t row, int64_t *blocks, int *limit);

#endif
