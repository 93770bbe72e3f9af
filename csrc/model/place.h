/* Which SM does the block scheduler give each block to?
 *
 * Paper 003, Definitions III.1 to III.3, and the most-room rule that contains them (Gilman et al.
 * 2020). Only the kernel at the head of the queue is looked at: once one of its blocks fits no SM,
 * that block and everything behind it waits.
 */
#ifndef GS_MODEL_PLACE_H
#define GS_MODEL_PLACE_H

#include "model/gpu.h"

enum { GS_PLACE_MOST_ROOM = 0, GS_PLACE_OLMEDO = 1, GS_PLACE_ROUND_ROBIN = 2 };

/* What one SM holds. */
typedef struct {
    int64_t warps;
    int64_t blocks;
    int64_t regs;
    int64_t smem;
} gs_sm_load_t;

/* The state of all SMs between blocks; make one per device and reuse it. */
typedef struct {
    const gs_gpu_t *gpu;
    gs_sm_load_t *load; /* owned, one per SM */
    /* ... whatever the policies remember */
} gs_placer_t;

int gs_placer_init(gs_placer_t *self, gs_env_t *env, const gs_gpu_t *gpu, int policy);
void gs_placer_free(gs_placer_t *self, gs_env_t *env);
void gs_placer_clear(gs_placer_t *self);

/* Places the blocks of one kernel in order. sm (blocks entries, or NULL) receives the SM of each
 * block, -1 from the first one on that fits no SM; *placed how many were placed. Cost: about
 * blocks times log(sms) for most_room. */
int gs_placer_kernel(gs_placer_t *self, gs_env_t *env, const gs_kernel_t *kernel, int64_t row,
                     int32_t *sm, int64_t *placed);

#endif
