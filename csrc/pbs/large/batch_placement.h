/* Eligibility of one batch by placement: whether some order of submission has all blocks resident.
 *
 * [RTNS24], Definition 2.3, as in pbs/oracle/oracle.h, which decides all batches of a table and
 * takes orders over from subsets. Here each batch is decided alone: by total demand, by every order
 * of up to GS_PBS_ORACLE_EXHAUSTIVE kernels, else by sorted orders. So it leaves at least those
 * batches open that a table leaves undecided.
 */
#ifndef GS_PBS_LARGE_BATCH_PLACEMENT_H
#define GS_PBS_LARGE_BATCH_PLACEMENT_H

#include "model/placement.h"
#include "pbs/oracle/oracle_kernels.h"

/* Most tasks where sets of tasks are masks of 64 bits. */
#define GS_PBS_LARGE_TASKS 64

enum {
    GS_PBS_LARGE_PLACEMENT_NO = 0,   /* no order places it */
    GS_PBS_LARGE_PLACEMENT_OPEN = 1, /* no tried order does */
    GS_PBS_LARGE_PLACEMENT_FITS = 2
};

typedef struct {
    int32_t n;
    const gs_gpu_kernel_t *kernels; /* borrowed */
    gs_placement_t placer;
    gs_gpu_footprint_t take[GS_PBS_LARGE_TASKS];
    int64_t per_sm[GS_PBS_LARGE_TASKS];
    int8_t sorted[GS_PBS_ORACLE_KERNELS_ORDERS * GS_PBS_LARGE_TASKS]; /* rows of n */
    int8_t order[GS_PBS_LARGE_TASKS]; /* of the batch decided last, where it fits */
    gs_placement_sm_load_t *loads;    /* owned: of the SMs, before each kernel of an order */
} gs_pbs_large_placement_t;

/* n is 1 to GS_PBS_LARGE_TASKS; gpu and kernels must outlive self. Free self in every case. Errors:
 * those of gs_gpu_check and gs_pbs_oracle_kernels_read. */
int gs_pbs_large_placement_init(gs_pbs_large_placement_t *self, gs_context_t *ctx,
                                const gs_gpu_t *gpu, int32_t n, const gs_gpu_kernel_t *kernels);
void gs_pbs_large_placement_free(gs_pbs_large_placement_t *self, gs_context_t *ctx);

/* Decides a batch of two or more kernels, none of which needs several waves. Cost: one placement of
 * its kernels where they fit at once, at most about 2,000 of single kernels. */
int gs_pbs_large_placement_decide(gs_pbs_large_placement_t *self, gs_context_t *ctx, uint64_t batch,
                                  int *verdict);

#endif
