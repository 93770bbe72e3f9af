/* Kernels whose batches are asked about: what their blocks take, and orders of submission to try.
 */
#ifndef GS_PBS_ORACLE_ORACLE_KERNELS_H
#define GS_PBS_ORACLE_ORACLE_KERNELS_H

#include "model/gpu.h"

/* Number of sorted orders. */
#define GS_PBS_ORACLE_KERNELS_ORDERS 7

/* Footprints and occupancies (at least 1) of n kernels. Errors: those of gs_gpu_footprint; a kernel
 * of which no block fits an idle SM (field: the resource, row: the task). */
int gs_pbs_oracle_kernels_read(gs_context_t *ctx, const gs_gpu_t *gpu, int32_t n,
                               const gs_gpu_kernel_t *kernels, gs_gpu_footprint_t *take,
                               int64_t *per_sm);

/* The kernels, at most 127, by each of the sort keys: GS_PBS_ORACLE_KERNELS_ORDERS rows of n. The
 * first goes by warps, descending, the second is the increasing index. */
void gs_pbs_oracle_kernels_sort(const gs_gpu_t *gpu, int32_t n, const gs_gpu_kernel_t *kernels,
                                const gs_gpu_footprint_t *take, int8_t *sorted);

#endif
