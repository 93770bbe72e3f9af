/* What a set of kernels asks of a GPU in total, and what that alone says about its eligibility.
 *
 * Definition 2.3 of paper 001 asks for a simulated placement, in some order, for each of 2^n sets.
 * Sums settle most of them: too much demand in total for any packing, or so little that blocks
 * find room in every order.
 */
#ifndef GS_PBS_ORACLE_RESOURCE_DEMAND_H
#define GS_PBS_ORACLE_RESOURCE_DEMAND_H

#include "model/gpu.h"
#include "model/periodic_tasks.h"

/* Resources (warps, slots, registers, shared memory) and their counts of large blocks. */
#define GS_PBS_ORACLE_RESOURCE_DEMAND_RESOURCES 4
#define GS_PBS_ORACLE_RESOURCE_DEMAND_LARGE 3
#define GS_PBS_ORACLE_RESOURCE_DEMAND_SUMS                                                         \
    (GS_PBS_ORACLE_RESOURCE_DEMAND_RESOURCES * (1 + GS_PBS_ORACLE_RESOURCE_DEMAND_LARGE))

enum {
    GS_PBS_ORACLE_RESOURCE_DEMAND_TOO_LARGE = 0,
    GS_PBS_ORACLE_RESOURCE_DEMAND_UNDECIDED = 1,
    GS_PBS_ORACLE_RESOURCE_DEMAND_FITS = 2
};

typedef struct {
    int64_t sum[GS_PBS_ORACLE_RESOURCE_DEMAND_SUMS];
} gs_pbs_oracle_resource_demand_sums_t;

typedef struct {
    int32_t n;
    int64_t sms;
    uint32_t alone;    /* kernels whose grid needs several waves: never beside another */
    int32_t resources; /* those that no other one implies */
    int32_t count;     /* of sums in use: the resources, then the counts of large blocks */
    int32_t kinds;     /* of blocks: different (need, room) */
    int64_t
        capacity[GS_PBS_ORACLE_RESOURCE_DEMAND_SUMS]; /* the most that the GPU holds of each sum */
    struct {
        uint32_t tasks; /* bit mask */
        int64_t need[GS_PBS_ORACLE_RESOURCE_DEMAND_RESOURCES];
        int64_t room[GS_PBS_ORACLE_RESOURCE_DEMAND_RESOURCES]; /* the most an SM may hold when such
                                                         a block comes */
    } kind[GS_PERIODIC_TASKS_MAX];
    int32_t low_bits;
    gs_pbs_oracle_resource_demand_sums_t
        *low; /* owned: the sums of every set of the first low_bits tasks */
    gs_pbs_oracle_resource_demand_sums_t *high; /* owned: of every set of the others */
} gs_pbs_oracle_resource_demand_t;

/* take and per_sm (n entries each): the footprints and occupancies (at least 1) of the kernels. */
int gs_pbs_oracle_resource_demand_init(gs_pbs_oracle_resource_demand_t *self, gs_context_t *ctx,
                                       const gs_gpu_t *gpu, int32_t n,
                                       const gs_gpu_kernel_t *kernels,
                                       const gs_gpu_footprint_t *take, const int64_t *per_sm);
void gs_pbs_oracle_resource_demand_free(gs_pbs_oracle_resource_demand_t *self, gs_context_t *ctx);

/* What the sums say of a set of two or more kernels: that no order places it
 * (GS_PBS_ORACLE_RESOURCE_DEMAND_TOO_LARGE), that every order does
 * (GS_PBS_ORACLE_RESOURCE_DEMAND_FITS), or nothing (GS_PBS_ORACLE_RESOURCE_DEMAND_UNDECIDED). */
int gs_pbs_oracle_resource_demand_classify(const gs_pbs_oracle_resource_demand_t *self,
                                           uint32_t mask);

#endif
