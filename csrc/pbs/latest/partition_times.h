/* Least total times of batches that run given tasks once each. */
#ifndef GS_PBS_LATEST_PARTITION_TIMES_H
#define GS_PBS_LATEST_PARTITION_TIMES_H

#include "core/context.h"

#include <stdint.h>

/* time[mask], for all 2^n masks of tasks: the least sum of completion times over the partitions of
 * the mask into eligible batches; GS_NEVER where it is not below that. Each task alone is eligible.
 * Work: 3^n / 2, polled. */
int gs_pbs_latest_partition_times_fill(gs_context_t *ctx, int32_t n, const int64_t *completion,
                                       int64_t *time);

#endif
