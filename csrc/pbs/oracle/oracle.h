/* A table from a model: how long would each batch take, and which batches may run at all?
 *
 * Paper 001, sections 2.3, 4.2 and 6.1. First the time of every batch, then what is not eligible
 * is struck out: by the placement of blocks on a GPU, or by utilization alone. All arrays belong
 * to the caller; index = bit mask of tasks, n is 1 to GS_PERIODIC_TASKS_MAX.
 */
#ifndef GS_PBS_ORACLE_ORACLE_H
#define GS_PBS_ORACLE_ORACLE_H

#include "core/context.h"
#include "core/rng.h"
#include "model/gpu.h"
#include "model/periodic_tasks.h"

/* Factors are counted in billionths, so that a factor like 1.1 is exact. */
#define GS_PBS_ORACLE_SLOWDOWN_ONE INT64_C(1000000000)
/* Sets of up to so many kernels are tried in every order. */
#define GS_PBS_ORACLE_EXHAUSTIVE 6

/* The factors that a batch of two or more may suffer: uniform over the multiples of 1e-9 from
 * least to most, both included. */
typedef struct {
    int64_t least; /* GS_PBS_ORACLE_SLOWDOWN_ONE: none */
    int64_t most;
} gs_pbs_oracle_slowdown_t;

/* The time of every batch if it ran fully in parallel: ceil(factor * its longest member's wcet),
 * one factor for each batch of two or more, drawn in the order of the masks whether eligible or
 * not; wcet itself for a task alone. times: 2^n entries. rng may be NULL where least == most.
 * Refuses a wcet below 1, factors below 1 or above a million, and times beyond the clock
 * (GS_ERR_OVERFLOW). */
int gs_pbs_oracle_times(gs_context_t *ctx, int32_t n, const int64_t *wcet,
                        gs_pbs_oracle_slowdown_t slowdown, gs_rng_t *rng, int64_t *times);

/* Strikes out the batches of two or more that need not fit into one processor: those whose
 * utilizations, the sum of wcet / period, exceed 1. Exact. completion: 2^n times, struck out by 0.
 * Refuses what gs_periodic_tasks_check refuses, a wcet below 1, and periods whose least common
 * multiple overflows. */
int gs_pbs_oracle_by_utilization(gs_context_t *ctx, const gs_periodic_tasks_t *tasks,
                                 const int64_t *wcet, int64_t *completion);

/* What gs_pbs_oracle_by_placement found. */
typedef struct {
    bool ascending;    /* every stored order is by increasing index */
    int64_t undecided; /* how many sets were left undecided */
} gs_pbs_oracle_found_t;

/* Strikes out the batches that no order of submission places on the idle GPU with all blocks of
 * all kernels resident at once (Definition 2.3), blocks going to SMs by the most-room rule. A
 * kernel alone is always eligible, also when its grid needs several waves.
 *
 * completion: 2^n times, struck out by 0. undecided: 2^n entries, 0 except for the sets that no
 * tried order places and that were not tried in every order: there, the time. order: 2^n rows of
 * n entries, the order found for each eligible set, -1 behind it. Every order is tried for sets of
 * up to GS_PBS_ORACLE_EXHAUSTIVE kernels and for larger ones with no more different orders than
 * that (identical kernels); of the others, those of decreasing need first.
 *
 * Refuses what gs_gpu_check and gs_gpu_footprint refuse, and a kernel of which no block fits an
 * idle SM (field: the resource, row: the task). Cost: 2^n steps of a few additions, where demand
 * alone decides; a placement of one or two kernels for each other set, 2,000 at most. */
int gs_pbs_oracle_by_placement(gs_context_t *ctx, const gs_gpu_t *gpu, int32_t n,
                               const gs_gpu_kernel_t *kernels, int64_t *completion,
                               int64_t *undecided, int8_t *order, gs_pbs_oracle_found_t *found);

#endif
