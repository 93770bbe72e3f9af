/* Bound of a task whose blocks start in FIFO order: its theorem, and why others give none. */
#ifndef GS_ANALYSIS_FIFO_THEOREM_BOUND_H
#define GS_ANALYSIS_FIFO_THEOREM_BOUND_H

#include <stdint.h>

/* The theorem that a bound comes from; also the position of its reason in `reasons`. */
enum {
    GS_ANALYSIS_FIFO_NO_THEOREM = 0,
    GS_ANALYSIS_FIFO_THEOREM_FITS = 1, /* no block ever waits: R = c (all orders but overlap) */
    GS_ANALYSIS_FIFO_THEOREM_P = 2,    /* overlap: U <= beta */
    GS_ANALYSIS_FIFO_THEOREM_V1_FIRST =
        3, /* hardware, case 1: the length of the job is at most its period */
    GS_ANALYSIS_FIFO_THEOREM_V1_CHAIN =
        4,                          /* hardware, case 2: recurrence over a backlogged interval */
    GS_ANALYSIS_FIFO_THEOREM_A = 5, /* hardware, release: SC1 and U < beta */
    GS_ANALYSIS_FIFO_THEOREM_A_REFINED = 6, /* release: recurrence that starts from A or V2 */
    GS_ANALYSIS_FIFO_THEOREM_V2 = 7, /* release, kernels of one block: U <= beta and c <= T */
    GS_ANALYSIS_FIFO_THEOREM_V3 = 8, /* strict: utilization with stalls <= beta */
    GS_ANALYSIS_FIFO_THEOREM_A_SINGLE =
        9, /* release: A, where some tasks never have two pending jobs */
    GS_ANALYSIS_FIFO_THEOREMS = 10
};

/* Reasons why a theorem gives a task no bound: four bits per theorem, those of theorem t from bit 4
 * t. */
enum {
    GS_ANALYSIS_FIFO_REASON_BOUND =
        0, /* the theorem gives a bound (a recurrence: or none below that of another theorem) */
    GS_ANALYSIS_FIFO_REASON_ORDER = 1,       /* the theorem is about another order */
    GS_ANALYSIS_FIFO_REASON_SKIPPED = 2,     /* the theorem was not selected */
    GS_ANALYSIS_FIFO_REASON_WAITS = 3,       /* a block may have to wait */
    GS_ANALYSIS_FIFO_REASON_UTILIZATION = 4, /* the utilization is too high for beta */
    GS_ANALYSIS_FIFO_REASON_LONG = 5,        /* the length of the job exceeds its period */
    GS_ANALYSIS_FIFO_REASON_SC1 = 6,         /* SC1 fails for this task */
    GS_ANALYSIS_FIFO_REASON_SC1_OTHER = 7,   /* SC1 fails for another task */
    GS_ANALYSIS_FIFO_REASON_BLOCKS = 8,      /* a kernel has more than one block */
    GS_ANALYSIS_FIFO_REASON_BLOCK_TIME = 9,  /* a block takes longer than its period */
    GS_ANALYSIS_FIFO_REASON_JOB_LIMIT =
        10, /* the recurrence did not end within GS_ANALYSIS_FIFO_MOST_JOBS jobs */
    GS_ANALYSIS_FIFO_REASON_OVERFLOW =
        11, /* the bound or an intermediate value is too large: bounds end below 2**61 - 1 ticks */
    GS_ANALYSIS_FIFO_REASON_NO_START = 12, /* there is no bound to refine */
    GS_ANALYSIS_FIFO_REASON_DOMINATED =
        13, /* not tried: V1, case 1, gives a bound that is never larger */
    GS_ANALYSIS_FIFO_REASON_SMS =
        14 /* it holds for one pool of threads only, and there are several SMs */
};

/* Status of the response times of a task. */
enum {
    GS_ANALYSIS_FIFO_BOUNDED = 0,
    GS_ANALYSIS_FIFO_UNKNOWN = 1,        /* no theorem applies */
    GS_ANALYSIS_FIFO_UNBOUNDED_LONG = 2, /* one job alone on the GPU takes longer than the period */
    GS_ANALYSIS_FIFO_UNBOUNDED_LOAD =
        3 /* the utilization of the set exceeds the number of threads */
};

/* Most jobs of a backlogged interval that a recurrence follows, in 16 times as many steps, unless
 * no later job can have a larger response time. */
#define GS_ANALYSIS_FIFO_MOST_JOBS 65536

typedef struct {
    int64_t numerator; /* of the bound, in lowest terms with denominator > 0; 0 where not BOUNDED */
    int64_t denominator;
    int64_t theorem; /* the theorem that gave the least bound */
    int64_t status;  /* GS_ANALYSIS_FIFO_BOUNDED, ... */
    int64_t reasons; /* packed: see above */
} gs_analysis_fifo_bound_t;

#endif
