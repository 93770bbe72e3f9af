/* What the response-time tests for tasks on CPUs and a GPU share: the answer, sums, the order.
 *
 * The tests (stgm, mpcp, fmlp_plus, gpu_server) are for partitioned fixed priorities and
 * constrained deadlines. Each gives every task the least solution of a recurrence W = f(W) that
 * uses the W of more urgent tasks. The result is a claim about the whole set: if every W is at most
 * its deadline, no response exceeds its W; where one is not, nothing is claimed of any task.
 *
 * Two readings of the model are needed for the proofs and left open by the papers:
 * - a GPU segment begins (asks for the copy engine, the lock or the server) when its task is
 *   scheduled at its own priority, also at the start of a job and after another GPU segment;
 * - a release, a request or an end at an instant counts before a new request at the same instant.
 */
#ifndef GS_ANALYSIS_COMMON_HOST_TEST_H
#define GS_ANALYSIS_COMMON_HOST_TEST_H

#include "core/context.h"
#include "model/host_tasks.h"

/* The parts that a response is made of. */
enum {
    GS_ANALYSIS_COMMON_OWN = 0,     /* the task's own segments, and the overhead of its requests */
    GS_ANALYSIS_COMMON_COPY = 1,    /* waiting for the copy engine */
    GS_ANALYSIS_COMMON_KERNEL = 2,  /* waiting for SMs */
    GS_ANALYSIS_COMMON_REQUEST = 3, /* waiting for the lock or the server */
    GS_ANALYSIS_COMMON_LOWER = 4,   /* GPU segments of less urgent tasks on the core */
    GS_ANALYSIS_COMMON_SERVER = 5,  /* the server's work on the task's core */
    GS_ANALYSIS_COMMON_HIGHER = 6,  /* more urgent tasks on the core */
    GS_ANALYSIS_COMMON_TERMS = 7
};

/* No time of a set reaches this, and every number of an answer that would exceed it is this: all
 * terms of a task still add up within 64 bits. */
#define GS_ANALYSIS_COMMON_LIMIT (GS_NEVER / 2)

/* The answer for one set. Arrays of the caller. */
typedef struct {
    int64_t *response; /* n: W, or -1 where W would exceed the deadline or was not reached */
    int64_t
        *terms; /* n rows of GS_ANALYSIS_COMMON_TERMS: they add up to the response. Where W would
                   exceed the deadline: the terms of f(deadline), which is more than the deadline,
                   whichever way the recurrence is solved; where W was not reached: 0 */
    int64_t failed; /* the most urgent task whose W would exceed its deadline; -1: none. The test
                       ends there: less urgent tasks are not reached */
    bool schedulable;
} gs_analysis_common_answer_t;

/* Nothing found yet: no task reached, none failed. */
void gs_analysis_common_answer_start(gs_analysis_common_answer_t *answer, int64_t n);

/* What one job of a task takes, at a number of SMs. */
typedef struct {
    int64_t cpu;          /* C, the CPU segments */
    int64_t copies;       /* G^m, the copies of all GPU segments */
    int64_t gpu;          /* G, all GPU segments */
    int64_t longest_copy; /* the longest single copy (max G^m*) */
    int64_t most_copies;  /* the most that the copies of one segment take (max G^m) */
    int64_t most_kernel;  /* the longest kernel (max G^e) */
    int64_t most_gpu;     /* the longest GPU segment (max G) */
    int64_t segments;     /* eta, the number of GPU segments */
    int64_t cpu_segments; /* theta, the number of CPU segments that are not empty */
} gs_analysis_common_sums_t;

/* The sums of task i of a checked set on a positive number of SMs. */
gs_analysis_common_sums_t gs_analysis_common_sums(const gs_host_tasks_t *hosts, int64_t i,
                                                  int64_t sms);

/* Checks what every test needs: gs_host_tasks_check, deadlines within the periods, priorities that
 * differ. order: n entries that become the tasks by falling urgency. */
int gs_analysis_common_check_and_sort(gs_context_t *ctx, const gs_host_tasks_t *hosts,
                                      int64_t *order);

/* Refuses fewer than one CPU, and cores outside 0..cpus-1. */
int gs_analysis_common_check_cpus(gs_context_t *ctx, int64_t cpus);
int gs_analysis_common_check_cores(gs_context_t *ctx, const gs_host_tasks_t *hosts,
                                   const int64_t *core, int64_t cpus);

/* Refuses fewer than one SM. */
int gs_analysis_common_check_sms(gs_context_t *ctx, int64_t sms);

/* Arithmetic on numbers in 0..GS_ANALYSIS_COMMON_LIMIT that stops there. */
static inline int64_t gs_analysis_common_saturating_add(int64_t a, int64_t b)
{
    return a + b < GS_ANALYSIS_COMMON_LIMIT ? a + b : GS_ANALYSIS_COMMON_LIMIT;
}

static inline int64_t gs_analysis_common_saturating_mul(int64_t a, int64_t b)
{
    int64_t product;
    return gs_mul(a, b, &product) && product < GS_ANALYSIS_COMMON_LIMIT ? product
                                                                        : GS_ANALYSIS_COMMON_LIMIT;
}

static inline int64_t gs_analysis_common_max(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

#endif
