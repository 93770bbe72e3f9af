/* Saturation levels of kernel chains in priority streams: the fewest busy threads of an SM while a
 * block at the head of a queue has to wait.
 *
 * A block of b threads waits while fewer than b of the m threads of each SM are free, so at least
 * m - b + 1 are busy on each; and busy threads are those of running blocks. A task has one kernel
 * at a time (its jobs, where they overlap, any number), so they are a sum of k b over one kernel of
 * each task, k at most its blocks, and for the task of the waiting kernel over that kernel with one
 * block less.
 */
#ifndef GS_ANALYSIS_PRIORITY_STREAMS_CHAIN_SATURATION_H
#define GS_ANALYSIS_PRIORITY_STREAMS_CHAIN_SATURATION_H

#include "analysis/fifo/subset_sums.h"
#include "analysis/priority_streams/chain_bound.h"

/* Blocks of each task by size: of kernels with blocks of one size, the one with most blocks. */
typedef struct {
    const gs_kernel_chains_t *chains;
    int64_t threads;                                     /* of an SM */
    int64_t unit;                                        /* greatest common divisor of all sizes */
    int64_t *begin;                                      /* owned: n + 1 offsets into the items */
    gs_analysis_fifo_subset_sums_item_t *item;           /* owned, sizes in units */
    gs_analysis_fifo_subset_sums_t sums, choice;         /* owned, scratch */
    uint64_t *united;                                    /* owned, scratch */
    const gs_analysis_priority_streams_device_t *device; /* NULL: threads are all that counts */
    int64_t *item_of;                                    /* owned, per kernel: its item */
    int64_t *from;   /* owned, per item: the fewest busy threads, in units, at which it may wait */
    int64_t *kernel; /* owned, scratch: four columns of the kernels that run, and their results */
    bool overlap;    /* jobs of one task may overlap */
} gs_analysis_priority_streams_saturation_t;

/* The set must have passed gs_kernel_chains_check. Safe to free after a failure. Errors:
 * GS_ERR_VALUE for threads / unit above GS_ANALYSIS_FIFO_SATURATION_BITS; GS_ERR_MEMORY. */
int gs_analysis_priority_streams_saturation_init(
    gs_analysis_priority_streams_saturation_t *self, gs_context_t *ctx,
    const gs_kernel_chains_t *chains, int64_t threads,
    const gs_analysis_priority_streams_device_t *device, bool overlap);
void gs_analysis_priority_streams_saturation_free(gs_analysis_priority_streams_saturation_t *self,
                                                  gs_context_t *ctx);

/* *least: the fewest busy threads while a kernel of these head tasks waits, with blocks of these
 * busy tasks running (each a flag per task, heads among busy); 0 when none ever waits. */
int gs_analysis_priority_streams_saturation_least(gs_analysis_priority_streams_saturation_t *self,
                                                  gs_context_t *ctx, const bool *heads,
                                                  const bool *busy, int64_t *least);

#endif
