/* Limits of a GPU and its SMs, and the requirements of a kernel. */
#ifndef GS_MODEL_GPU_H
#define GS_MODEL_GPU_H

#include "core/context.h"

#define GS_GPU_MAX_SMS 65536
#define GS_GPU_WARP_THREADS 32
/* Maximum threads per block on any device. */
#define GS_GPU_MAX_BLOCK_THREADS 1024
/* Maximum registers per thread, from compute capability 3.5 on. */
#define GS_GPU_MAX_THREAD_REGS 255
#define GS_GPU_MAX_CARVEOUTS 16

/* Rule for blocks of kernels with different carve-outs, the parts of an SM's memory that are shared
 * memory and not L1 cache ([RTAS20], section III-C2). An SM has the carve-out of the block that
 * started on it while it was empty, until it is empty again. Meanwhile it takes blocks
 *
 * ignore: of all kernels;
 * match: of kernels with the same carve-out;
 * at_least: of kernels with at most its carve-out.
 *
 * The carve-out decides which kernels share an SM. How many blocks fit is counted with smem_per_sm,
 * the largest carve-out. */
enum { GS_GPU_CARVEOUT_IGNORE = 0, GS_GPU_CARVEOUT_MATCH = 1, GS_GPU_CARVEOUT_AT_LEAST = 2 };

/* Limits of one device. All SMs are identical. sm_order[0..sms-1] is the order in which the block
 * scheduler breaks ties between SMs; it belongs to the caller; NULL: ascending. */
typedef struct {
    int32_t sms;
    int32_t warps_per_sm;
    int32_t blocks_per_sm;
    int32_t regs_per_sm;
    int32_t smem_per_sm;    /* bytes */
    int32_t smem_per_block; /* bytes, maximum per block */
    int32_t smem_reserved;  /* bytes reserved by the system per block */
    int32_t smem_unit;      /* bytes, allocation granularity */
    int32_t reg_unit;       /* registers per warp are rounded up to it */
    int32_t partitions;     /* register files per SM */
    int32_t regs_per_block; /* most registers of a block; 0: those of an SM */
    int32_t carveout_rule;  /* GS_GPU_CARVEOUT_* */
    int32_t carveouts;      /* number of possible carve-outs; 0 with GS_GPU_CARVEOUT_IGNORE only */
    int32_t carveout[GS_GPU_MAX_CARVEOUTS]; /* bytes, ascending */
    const int32_t *sm_order;
} gs_gpu_t;

/* The SM at a position in the SM order. */
static inline int32_t gs_gpu_sm_at(const gs_gpu_t *gpu, int32_t position)
{
    return gpu->sm_order == NULL ? position : gpu->sm_order[position];
}

/* Grid of a kernel and the requirements of each block. */
typedef struct {
    int64_t blocks;
    int64_t threads; /* per block */
    int64_t regs;    /* per thread; 0: no register limit */
    int64_t smem;    /* bytes per block, static and dynamic */
} gs_gpu_kernel_t;

/* Refuses limits out of range (field: their name) and an sm_order that is not a permutation (row:
 * the position). The other functions expect a checked GPU. */
int gs_gpu_check(gs_context_t *ctx, const gs_gpu_t *gpu);

#endif
