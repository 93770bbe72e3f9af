/* Batch tables from a model: completion times and eligibility of all batches.
 *
 * [RTNS24], sections 2.3, 4.2 and 6.1. First the time of every batch, then ineligible batches are
 * removed: by the placement of blocks on a GPU, or by utilization. All arrays belong to the caller;
 * index = bit mask of tasks, n is 1 to GS_PERIODIC_TASKS_MAX.
 */
#ifndef GS_PBS_ORACLE_ORACLE_H
#define GS_PBS_ORACLE_ORACLE_H

#include "core/context.h"
#include "core/rng.h"
#include "model/occupancy.h"
#include "model/periodic_tasks.h"

/* Factors are in billionths, so that a factor like 1.1 is exact. */
#define GS_PBS_ORACLE_SLOWDOWN_ONE INT64_C(1000000000)
/* Largest set of kernels for which every order is tried. */
#define GS_PBS_ORACLE_EXHAUSTIVE 6

/* Slowdown factors of batches of two or more: uniform over the multiples of 1e-9 from least to
 * most, inclusive. */
typedef struct {
    int64_t least; /* GS_PBS_ORACLE_SLOWDOWN_ONE: no slowdown */
    int64_t most;
} gs_pbs_oracle_slowdown_t;

/* The time of every batch if it ran fully in parallel: ceil(factor * longest wcet of its members),
 * with one factor for each batch of two or more, drawn in the order of the masks whether eligible
 * or not; wcet itself for a single task. times: 2^n entries. rng may be NULL where least == most.
 * Errors: GS_ERR_VALUE for a wcet below 1 and factors below 1 or above a million, GS_ERR_OVERFLOW
 * for times of 2**60 - 1 ticks or more. */
int gs_pbs_oracle_times(gs_context_t *ctx, int32_t n, const int64_t *wcet,
                        gs_pbs_oracle_slowdown_t slowdown, gs_rng_t *rng, int64_t *times);

/* Sets to 0 the completion of the batches of two or more whose total utilization, the sum of wcet /
 * period, exceeds 1: they need not fit into one processor. Exact. completion: 2^n times. Errors:
 * those of gs_periodic_tasks_check; a wcet below 1; periods whose least common multiple
 * overflows. */
int gs_pbs_oracle_by_utilization(gs_context_t *ctx, const gs_periodic_tasks_t *tasks,
                                 const int64_t *wcet, int64_t *completion);

/* Submissions of batches: numbers of rows of orders, or one of these. */
enum {
    GS_PBS_ORACLE_BATCHES_ASCENDING = -1, /* by increasing index */
    GS_PBS_ORACLE_BATCHES_OPEN = -2,      /* no order found, and not all were tried */
    GS_PBS_ORACLE_BATCHES_NONE = -3       /* no order places it */
};

/* Batches that total demand does not exclude, by rising mask; all others are not eligible. */
typedef struct {
    int32_t n;
    int64_t count;
    int64_t capacity;
    uint32_t *mask;      /* owned */
    int32_t *submission; /* owned */
    int8_t *orders;      /* owned: rows of n entries, padded with -1, none of them ascending */
    int64_t order_count;
    int64_t order_capacity;
    int64_t open; /* number of batches left undecided */
} gs_pbs_oracle_batches_t;

/* Sets of kernels that are no batches. */
typedef struct {
    int64_t crowd;    /* those of more kernels */
    uint32_t chained; /* bit i: kernels i and i + 1 are of one chain; those with two of one chain */
} gs_pbs_oracle_limits_t;

/* Finds the batches within the limits that an order of submission places on the idle GPU
 * with all blocks of all kernels resident at once (Definition 2.3), blocks going to SMs by the
 * most-room rule. A single kernel is always eligible, also when its grid needs several waves.
 *
 * Every order is tried for sets of up to GS_PBS_ORACLE_EXHAUSTIVE kernels and for larger ones with
 * at most 720 distinct orders (identical kernels); for other sets the order found for a subset and
 * a few sorted orders are tried.
 *
 * Free self in every case. Errors: those of gs_gpu_check and gs_occupancy_footprint; a kernel of
 * which no block fits an idle SM (field: the resource, row: the task). Cost: a few additions for
 * each set that total demand does not exclude, and for each kernel behind its last one; for each
 * set that demand alone does not decide a placement of one or two kernels, 2,000 at most. */
int gs_pbs_oracle_batches_init(gs_pbs_oracle_batches_t *self, gs_context_t *ctx,
                               const gs_gpu_t *gpu, int32_t n, const gs_gpu_kernel_t *kernels,
                               const gs_pbs_oracle_limits_t *limits);
void gs_pbs_oracle_batches_free(gs_pbs_oracle_batches_t *self, gs_context_t *ctx);

/* Times of the listed batches, all with one factor; entries of other batches are left as they are
 * (times, open: 2^n entries). Errors: those of
 * gs_pbs_oracle_times. */
int gs_pbs_oracle_times_of(gs_context_t *ctx, const gs_pbs_oracle_batches_t *batches,
                           const int64_t *wcet, int64_t factor, int64_t *times, int64_t *open);

/* Sets the times of batches that are not eligible to 0, and moves those of open ones there (2^n
 * entries, zeros). */
void gs_pbs_oracle_keep_eligible(const gs_pbs_oracle_batches_t *batches, int64_t *times,
                                 int64_t *open);

/* Whether batch number k is eligible; then its order of submission, padded with -1. */
bool gs_pbs_oracle_batches_order(const gs_pbs_oracle_batches_t *self, int64_t k, int8_t *order);

/* Kernels whose batches are asked about: what their blocks take, and orders of submission to try.
 */

/* Number of sorted orders. */
#define GS_PBS_ORACLE_KERNELS_ORDERS 7

/* Footprints and occupancies (at least 1) of n kernels. Errors: those of gs_occupancy_footprint; a
 * kernel of which no block fits an idle SM (field: the resource, row: the task). */
int gs_pbs_oracle_kernels_read(gs_context_t *ctx, const gs_gpu_t *gpu, int32_t n,
                               const gs_gpu_kernel_t *kernels, gs_occupancy_footprint_t *take,
                               int64_t *per_sm);

/* The kernels, at most 127, by each of the sort keys: GS_PBS_ORACLE_KERNELS_ORDERS rows of n. The
 * first goes by warps, descending, the second is the increasing index. */
void gs_pbs_oracle_kernels_sort(const gs_gpu_t *gpu, int32_t n, const gs_gpu_kernel_t *kernels,
                                const gs_occupancy_footprint_t *take, int8_t *sorted);

#endif
