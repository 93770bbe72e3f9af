/* Times of batches as a function, where a table of all 2^n of them would be too large.
 *
 * The model is that of pbs/oracle/oracle.h: a task alone takes its wcet, a batch of two or more the
 * longest wcet of its members times a slowdown factor of the batch, rounded up, and is eligible by
 * utilization or by placement. The factor of a batch depends on the seed and the batch alone
 * (gs_rng_at), not on an order in which batches are asked for. Answers are kept in a table of
 * bounded size.
 *
 * Bounds over all batches use *demand*: rows of needs whose sums over a batch of two or more must
 * not exceed a room: work per hyperperiod, or resources of all SMs. Demand is monotone, eligibility
 * by placement is not.
 */
#ifndef GS_PBS_LARGE_BATCH_FUNCTION_H
#define GS_PBS_LARGE_BATCH_FUNCTION_H

#include "model/periodic_tasks.h"
#include "pbs/large/batch_placement.h"
#include "pbs/oracle/oracle.h"

#define GS_PBS_LARGE_FUNCTION_ROWS 4

/* An answer: time > 0 of an eligible batch; 0: not eligible; < 0: it is not known whether it is
 * eligible, and would take -time. */
typedef struct {
    uint64_t batch; /* 0: none */
    int64_t time;
} gs_pbs_large_function_memo_t;

typedef struct {
    int32_t n;
    const int64_t *wcet; /* borrowed */
    gs_pbs_oracle_slowdown_t slowdown;
    uint64_t seed;
    int32_t rows; /* of demand */
    int64_t need[GS_PBS_LARGE_FUNCTION_ROWS][GS_PBS_LARGE_TASKS];
    int64_t room[GS_PBS_LARGE_FUNCTION_ROWS];
    uint64_t alone; /* tasks that are eligible only alone; their needs are 0 */
    bool placed;    /* by placement, not by utilization */
    gs_pbs_large_placement_t placement;
    gs_pbs_large_function_memo_t *memo; /* owned */
    uint64_t memo_last; /* its last index; the number of entries is a power of two */
} gs_pbs_large_function_t;

/* The number of entries kept, 16 bytes each. */
#define GS_PBS_LARGE_FUNCTION_MEMO (INT64_C(1) << 18)

/* gpu NULL: eligibility by utilization, from the periods of the tasks; else by the placement of
 * kernels (n entries). tasks need not outlive self, all else must. Free self in every case. Errors:
 * GS_ERR_VALUE for more than GS_PBS_LARGE_TASKS tasks, a wcet below 1, and factors as in
 * gs_pbs_oracle_times; GS_ERR_OVERFLOW where the longest wcet, slowed down, takes 2**60 - 1 ticks
 * or more; those of gs_periodic_tasks_hyperperiod or of gs_pbs_large_placement_init. */
int gs_pbs_large_function_init(gs_pbs_large_function_t *self, gs_context_t *ctx,
                               const gs_periodic_tasks_t *tasks, const int64_t *wcet,
                               gs_pbs_oracle_slowdown_t slowdown, uint64_t seed,
                               const gs_gpu_t *gpu, const gs_gpu_kernel_t *kernels);
void gs_pbs_large_function_free(gs_pbs_large_function_t *self, gs_context_t *ctx);

/* The answer for a batch, 0 for the empty one. */
int gs_pbs_large_function_time(gs_pbs_large_function_t *self, gs_context_t *ctx, uint64_t batch,
                               int64_t *time);

/* The same with what is not known to be eligible taken as not eligible. */
int gs_pbs_large_function_known(gs_pbs_large_function_t *self, gs_context_t *ctx, uint64_t batch,
                                int64_t *time);

/* The tasks of an eligible batch in an order of submission that makes it eligible, as many as there
 * are; other batches: by increasing index. */
int gs_pbs_large_function_order(gs_pbs_large_function_t *self, gs_context_t *ctx, uint64_t batch,
                                int8_t *order);

/* At most the time of any eligible batch that contains these tasks; 0: no such batch is
 * eligible. */
int64_t gs_pbs_large_function_least(const gs_pbs_large_function_t *self, uint64_t tasks);

/* Tables of some of the tasks, at most GS_PERIODIC_TASKS_MAX, renumbered: of the function itself
 * (completion, undecided: 2^q entries as in gs_batch_table_t; order: 2^q rows of q entries, an
 * order of submission of each eligible batch, padded with -1), and of the least times. */
int gs_pbs_large_function_table(gs_pbs_large_function_t *self, gs_context_t *ctx, uint64_t tasks,
                                int64_t *completion, int64_t *undecided, int8_t *order);
int gs_pbs_large_function_least_table(const gs_pbs_large_function_t *self, gs_context_t *ctx,
                                      uint64_t tasks, int64_t *completion);

#endif
