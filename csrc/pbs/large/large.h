/* Parallel Batch Scheduler with a batch function: up to 64 tasks, yes, no, or undecided.
 *
 * What an exact search of 2^n batches per state cannot do. A yes has a schedule (a dispatch rule, a
 * search over batches of what is pending, groups of tasks that run as one), a no has a proof
 * (overload by prices, a core). Both are exact; where neither is found the set stays undecided. The
 * work comes in rounds, each about twice as long as the one before, whose random choices depend on
 * the number of the round alone; the caller decides how many there are.
 */
#ifndef GS_PBS_LARGE_LARGE_H
#define GS_PBS_LARGE_LARGE_H

#include "core/rng.h"
#include "model/periodic_tasks.h"
#include "model/block_placement.h"
#include "pbs/oracle/oracle.h"
#include "pbs/refutation.h"

/* Eligibility of one batch by placement: whether some order of submission has all blocks resident.
 *
 * [RTNS24], Definition 2.3, as in pbs/oracle/oracle.h, which decides all batches of a table and
 * takes orders over from subsets. Here each batch is decided alone: by total demand, by every order
 * of up to GS_PBS_ORACLE_EXHAUSTIVE kernels, else by sorted orders. So it leaves at least those
 * batches open that a table leaves undecided.
 */

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
    gs_block_placement_t placer;
    gs_occupancy_footprint_t take[GS_PBS_LARGE_TASKS];
    int64_t per_sm[GS_PBS_LARGE_TASKS];
    int8_t sorted[GS_PBS_ORACLE_KERNELS_ORDERS * GS_PBS_LARGE_TASKS]; /* rows of n */
    int8_t order[GS_PBS_LARGE_TASKS];    /* of the batch decided last, where it fits */
    gs_block_placement_sm_load_t *loads; /* owned: of the SMs, before each kernel of an order */
} gs_pbs_large_placement_t;

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

/* A frame of a schedule, as gs_schedule_frame_t with more tasks. */
typedef struct {
    int64_t start;
    int64_t end;
    uint64_t batch;
} gs_pbs_large_frame_t;

typedef struct {
    gs_pbs_large_frame_t *frames; /* owned */
    int64_t count;
    int64_t capacity;
} gs_pbs_large_schedule_t;

/* Rounds without a budget of time. */
#define GS_PBS_LARGE_ROUNDS 6

/* Ways that a round leaves out, for tests of the others. */
enum {
    GS_PBS_LARGE_SKIP_EDF = 1,
    GS_PBS_LARGE_SKIP_SEARCHED = 2,
    GS_PBS_LARGE_SKIP_PRICES = 4,
    GS_PBS_LARGE_SKIP_GROUPS = 8,
    GS_PBS_LARGE_SKIP_CORES = 16
};

typedef struct {
    bool idling;
    int32_t round; /* 0: the natural choices; later ones: drawn at random */
    int skip;      /* GS_PBS_LARGE_SKIP_* */
} gs_pbs_large_options_t;

typedef struct {
    int answer; /* 1: schedulable, 0: not, -1: undecided */
    int stage;  /* GS_PBS_STAGE_* */
    int spent;  /* a budget that ended the round, or a search in it: GS_SPENT_*; else 0 */
    gs_pbs_large_schedule_t schedule; /* when schedulable */
    gs_pbs_refutation_t proof;        /* when not schedulable */
    uint64_t core;                    /* that the proof is about; 0: all tasks */
    int64_t searches, groups, cores;  /* tried */
    double load;                      /* by prices: the jobs' worth per tick; 0: not computed */
} gs_pbs_large_t;

void gs_pbs_large_free(gs_pbs_large_t *self, gs_context_t *ctx);

/* Runs one round. self is all zero before the first. A spent budget is an answer (-1), not an
 * error. tasks must have as many tasks as the function. Errors: those of gs_periodic_tasks_check
 * and, unless prices prove an overload, of gs_periodic_tasks_hyperperiod; GS_ERR_MEMORY,
 * GS_ERR_INTERRUPTED. */
int gs_pbs_large_round(gs_pbs_large_t *self, gs_context_t *ctx, const gs_periodic_tasks_t *tasks,
                       gs_pbs_large_function_t *function, const gs_pbs_large_options_t *options);

#endif
