/* Batches by placement as tables of all sets: times, undecided times and orders. */
#ifndef DENSE_TABLES_H
#define DENSE_TABLES_H

#include "pbs/oracle/oracle.h"

#include <string.h>

typedef struct {
    bool ascending;    /* every order is by increasing index */
    int64_t undecided; /* number of sets left undecided */
} dense_t;

/* completion: times of all sets, from which those that are not eligible are taken. */
static inline int dense_by_placement(gs_context_t *ctx, const gs_gpu_t *gpu, int32_t n,
                                     const gs_gpu_kernel_t *kernels, int64_t *completion,
                                     int64_t *undecided, int8_t *order, dense_t *found)
{
    gs_pbs_oracle_batches_t batches;
    const gs_pbs_oracle_limits_t none = {.crowd = INT64_MAX};
    int status = gs_pbs_oracle_batches_init(&batches, ctx, gpu, n, kernels, &none);
    if (status == GS_OK) {
        size_t sets = (size_t)1 << n;
        memset(undecided, 0, sets * sizeof *undecided);
        memset(order, -1, sets * (size_t)n);
        gs_pbs_oracle_keep_eligible(&batches, completion, undecided);
        for (int64_t k = 0; k < batches.count; k++) {
            gs_pbs_oracle_batches_order(&batches, k, order + batches.mask[k] * (size_t)n);
        }
        *found = (dense_t){batches.order_count == 0, batches.open};
    }
    gs_pbs_oracle_batches_free(&batches, ctx);
    return status;
}

#endif
