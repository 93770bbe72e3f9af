/* Response-time bounds of kernel tasks whose blocks start in FIFO order.
 *
 * [ECRTS17] asks whether response times are bounded when the utilization is at most m - b_max + 1.
 * They are when jobs of a task may overlap, and need not be when they may not. The theorems here
 * give the conditions and the bounds, one for each reading of "FIFO" (model/fifo_order.h). The
 * notebook on FIFO scheduling states and proves them.
 *
 * All arithmetic is in integers. Bounds are rational numbers; where an exact denominator would not
 * fit, utilizations are rounded up, which can only make a bound larger or unavailable.
 */
#ifndef GS_ANALYSIS_FIFO_FIFO_BOUND_H
#define GS_ANALYSIS_FIFO_FIFO_BOUND_H

#include "core/method.h"
#include "model/fifo_order.h"
#include "model/kernel_tasks.h"

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

/* Bound of a task. */
typedef struct {
    int64_t numerator; /* of the bound, in lowest terms with denominator > 0; 0 where not BOUNDED */
    int64_t denominator;
    int64_t theorem; /* the theorem that gave the least bound */
    int64_t status;  /* GS_ANALYSIS_FIFO_BOUNDED, ... */
    int64_t reasons; /* packed: see above */
} gs_analysis_fifo_bound_t;

/* Bounds for one set on sms SMs with m / sms threads each (sms = 1: m threads, any of which a block
 * may use, the model of [ECRTS17]). beta: the saturation level for that order (0: no block ever
 * waits). theorems: a set of bits 1 << GS_ANALYSIS_FIFO_THEOREM_*, those to try. bound: n entries
 * of the caller. The set must have passed gs_kernel_tasks_check. Errors: GS_ERR_VALUE for an
 * unknown order, sms that do not divide m, beta outside 0..m, and a block wider than an SM;
 * GS_ERR_MEMORY; GS_ERR_INTERRUPTED. */
int gs_analysis_fifo_bound(gs_context_t *ctx, const gs_kernel_tasks_t *kernels, int64_t m,
                           int64_t sms, int64_t beta, int order, int64_t theorems,
                           gs_analysis_fifo_bound_t *bound);

extern const gs_method_t gs_analysis_fifo_bound_method;
extern const gs_method_t gs_analysis_fifo_limit_method;

#endif
