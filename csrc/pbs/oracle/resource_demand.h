/* Total resource demand of sets of kernels, and eligibility decided by it alone.
 *
 * Definition 2.3 of [RTNS24] asks for a simulated placement, in some order, for each of 2^n sets.
 * Sums decide most of them: the total demand is too large for any packing, or so small that blocks
 * find room in every order.
 */
#ifndef GS_PBS_ORACLE_RESOURCE_DEMAND_H
#define GS_PBS_ORACLE_RESOURCE_DEMAND_H

#include "pbs/oracle/oracle.h"

/* Resources (warps, block slots, registers, shared memory) and counts of large blocks per
 * resource. */
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
    uint32_t alone;    /* kernels whose grid needs several waves: eligible only alone */
    int32_t resources; /* resources not implied by another */
    int32_t count;     /* number of sums: the resources, then the counts of large blocks */
    int32_t kinds;     /* number of distinct (need, room) pairs of blocks */
    int64_t capacity[GS_PBS_ORACLE_RESOURCE_DEMAND_SUMS]; /* largest value of each sum that the GPU
                                                             holds */
    struct {
        uint32_t tasks; /* bit mask */
        int64_t need[GS_PBS_ORACLE_RESOURCE_DEMAND_RESOURCES];
        int64_t room[GS_PBS_ORACLE_RESOURCE_DEMAND_RESOURCES]; /* most that an SM may hold when such
                                                                  a block arrives */
    } kind[GS_PERIODIC_TASKS_MAX];
    int32_t low_bits;
    gs_pbs_oracle_resource_demand_sums_t
        *low; /* owned: sums of every set of the first low_bits tasks */
    gs_pbs_oracle_resource_demand_sums_t *high; /* owned: sums of every set of the other tasks */
} gs_pbs_oracle_resource_demand_t;

/* take and per_sm (n entries each): footprints and occupancies (at least 1) of the kernels. Errors:
 * GS_ERR_MEMORY. */
int gs_pbs_oracle_resource_demand_init(gs_pbs_oracle_resource_demand_t *self, gs_context_t *ctx,
                                       const gs_gpu_t *gpu, int32_t n,
                                       const gs_gpu_kernel_t *kernels,
                                       const gs_occupancy_footprint_t *take, const int64_t *per_sm);
void gs_pbs_oracle_resource_demand_free(gs_pbs_oracle_resource_demand_t *self, gs_context_t *ctx);

/* Classifies a set of two or more kernels: no order places it
 * (GS_PBS_ORACLE_RESOURCE_DEMAND_TOO_LARGE), every order does (GS_PBS_ORACLE_RESOURCE_DEMAND_FITS),
 * or the sums do not tell (GS_PBS_ORACLE_RESOURCE_DEMAND_UNDECIDED). */
int gs_pbs_oracle_resource_demand_classify(const gs_pbs_oracle_resource_demand_t *self,
                                           uint32_t mask);

#endif
