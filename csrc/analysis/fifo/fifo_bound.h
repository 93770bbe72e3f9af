/* How late can a job of each task finish when blocks start in FIFO order?
 *
 * Paper 000 asks whether response times are bounded when the utilization is at most
 * m - b_max + 1. They are when jobs of a task may overlap, and need not be when they may not: the
 * theorems here say when, one for each reading of "FIFO" (model/fifo_order.h has the readings). The
 * notebook on FIFO scheduling states and proves them.
 *
 * Everything is computed in integers. Bounds are rational numbers; where an exact denominator
 * would not fit, utilizations are rounded up, which can only make a bound larger or unavailable.
 */
#ifndef GS_ANALYSIS_FIFO_FIFO_BOUND_H
#define GS_ANALYSIS_FIFO_FIFO_BOUND_H

#include "model/kernel_tasks.h"
#include "model/fifo_order.h"

/* What a bound comes from. A number is also the position of the theorem's reason in `reasons`. */
enum {
    GS_ANALYSIS_FIFO_NO_THEOREM = 0,
    GS_ANALYSIS_FIFO_THEOREM_FITS = 1, /* no block ever waits: R = c (any order but overlap) */
    GS_ANALYSIS_FIFO_THEOREM_P = 2,    /* overlap: U <= beta */
    GS_ANALYSIS_FIFO_THEOREM_V1_FIRST =
        3, /* hardware, case 1: the job's own length fits its period */
    GS_ANALYSIS_FIFO_THEOREM_V1_CHAIN =
        4,                          /* hardware, case 2: the recurrence over a backlogged run */
    GS_ANALYSIS_FIFO_THEOREM_A = 5, /* hardware, release: SC1 and U < beta */
    GS_ANALYSIS_FIFO_THEOREM_A_REFINED = 6, /* release: the recurrence that starts from A or V2 */
    GS_ANALYSIS_FIFO_THEOREM_V2 = 7, /* release, kernels of one block: U <= beta and c <= T */
    GS_ANALYSIS_FIFO_THEOREM_V3 = 8, /* strict: utilization with stalls <= beta */
    GS_ANALYSIS_FIFO_THEOREMS = 9
};

/* Why a theorem gives a task no bound: four bits each, those of theorem t from bit 4 t. */
enum {
    GS_ANALYSIS_FIFO_REASON_BOUND =
        0, /* it gives one (a recurrence: or none below another theorem's) */
    GS_ANALYSIS_FIFO_REASON_ORDER = 1,       /* it is not about this order */
    GS_ANALYSIS_FIFO_REASON_SKIPPED = 2,     /* it was not asked for */
    GS_ANALYSIS_FIFO_REASON_WAITS = 3,       /* a block may have to wait */
    GS_ANALYSIS_FIFO_REASON_UTILIZATION = 4, /* too much utilization for beta */
    GS_ANALYSIS_FIFO_REASON_LONG = 5,        /* the job's own length exceeds its period */
    GS_ANALYSIS_FIFO_REASON_SC1 = 6,         /* SC1 fails for this task */
    GS_ANALYSIS_FIFO_REASON_SC1_OTHER = 7,   /* SC1 fails for another task */
    GS_ANALYSIS_FIFO_REASON_BLOCKS = 8,      /* a kernel has more than one block */
    GS_ANALYSIS_FIFO_REASON_BLOCK_TIME = 9,  /* a block takes longer than its period */
    GS_ANALYSIS_FIFO_REASON_JOB_LIMIT =
        10, /* the recurrence did not end within GS_ANALYSIS_FIFO_MOST_JOBS jobs */
    GS_ANALYSIS_FIFO_REASON_OVERFLOW =
        11, /* the bound, or a number it takes, is beyond the clock */
    GS_ANALYSIS_FIFO_REASON_NO_START = 12, /* it refines a bound, and there is none to start from */
    GS_ANALYSIS_FIFO_REASON_DOMINATED =
        13, /* it was not tried: V1, case 1, gives one that is never more */
    GS_ANALYSIS_FIFO_REASON_SMS =
        14 /* it holds for one pool of threads, and there are several SMs */
};

/* What is known about a task's responses. */
enum {
    GS_ANALYSIS_FIFO_BOUNDED = 0,
    GS_ANALYSIS_FIFO_UNKNOWN = 1,        /* no theorem applies */
    GS_ANALYSIS_FIFO_UNBOUNDED_LONG = 2, /* one job alone on the GPU takes longer than the period */
    GS_ANALYSIS_FIFO_UNBOUNDED_LOAD = 3  /* the set asks for more threads than there are */
};

/* A recurrence over the jobs of a backlogged run is given up after so many jobs (or 16 times as
 * many steps), unless it is clear by then that none of the jobs to come can be later. */
#define GS_ANALYSIS_FIFO_MOST_JOBS 65536

typedef struct {
    int64_t numerator; /* of the bound, with denominator > 0 in lowest terms; 0 where not BOUNDED */
    int64_t denominator;
    int64_t theorem; /* the one that gave the least bound */
    int64_t status;  /* GS_ANALYSIS_FIFO_BOUNDED, ... */
    int64_t reasons; /* packed: see above */
} gs_analysis_fifo_bound_t;

/* Bounds for one set on sms SMs with m / sms threads each (sms = 1: m threads, any of which a
 * block may use, the paper's model); beta is the saturation level (0: nothing ever waits) for that
 * order. theorems: a set of bits 1 << GS_ANALYSIS_FIFO_THEOREM_*, the theorems to try. bound: n
 * entries of the caller's. The set must have passed gs_kernel_tasks_check. */
int gs_analysis_fifo_bound(gs_context_t *ctx, const gs_kernel_tasks_t *kernels, int64_t m,
                           int64_t sms, int64_t beta, int order, int64_t theorems,
                           gs_analysis_fifo_bound_t *bound);

#endif
