/* Shared parts of the response-time tests for host tasks: sums per job, priority order.
 *
 * The tests (stgm, mpcp, fmlp_plus, gpu_server) are for partitioned fixed priorities and
 * constrained deadlines. Each gives every task the least solution of a recurrence W = f(W) that
 * uses the W of higher-priority tasks. The result is a claim about the whole set: if every W is at
 * most its deadline, no response time exceeds its W; otherwise nothing is claimed of any task.
 *
 * Release jitter. Jobs of i arrive at least T_i apart and are released up to J_i later. W counts
 * from the arrival: it is J_i more than the least solution, which is that of a job from its release
 * on. As W <= D <= T, a job has ended when the next one of its task arrives, so the recurrence of i
 * is that without jitter; and where a proof counts the jobs of another task k, it uses that those
 * before a window end within W_k, and that the first instants of jobs are T_k apart: with jitter
 * these are arrivals. Where it counts releases in a window instead (common/jitter.h, and mode spin
 * or busy without suspension), they are those of ceil((w + J_k) / T_k) jobs.
 *
 * Two assumptions that the proofs need and the papers leave open:
 * - a GPU segment begins (requests the copy engine, the lock or the server) when its task is
 *   scheduled at its own priority, also at the start of a job and after another GPU segment;
 * - a release, a request or an end at an instant precedes a new request at the same instant.
 */
#ifndef GS_ANALYSIS_COMMON_HOST_TEST_H
#define GS_ANALYSIS_COMMON_HOST_TEST_H

#include "analysis/common/host_answer.h"
#include "model/host_tasks.h"

/* Initialises the result: no task computed, none failed. */
void gs_analysis_common_answer_start(gs_analysis_common_answer_t *self, int64_t n);

/* Demand of one job of a task on a number of SMs. */
typedef struct {
    int64_t cpu;          /* C, the CPU segments */
    int64_t copies;       /* G^m, the copies of all GPU segments */
    int64_t gpu;          /* G, all GPU segments */
    int64_t longest_copy; /* the longest single copy (max G^m*) */
    int64_t most_copies;  /* the largest sum of the copies of one segment (max G^m) */
    int64_t most_kernel;  /* the longest kernel (max G^e) */
    int64_t most_gpu;     /* the longest GPU segment (max G) */
    int64_t segments;     /* eta, the number of GPU segments */
    int64_t cpu_segments; /* theta, the number of CPU segments that are not empty */
} gs_analysis_common_sums_t;

/* The sums of task i of a checked set on a positive number of SMs. */
gs_analysis_common_sums_t gs_analysis_common_sums(const gs_host_tasks_t *hosts, int64_t i,
                                                  int64_t sms);

/* Checks the set (gs_host_tasks_check, or _check_jitter; deadlines at most the periods, distinct
 * priorities) and sorts it. order: n entries, set to the tasks by descending priority. Errors:
 * GS_ERR_VALUE, GS_ERR_OVERFLOW, GS_ERR_MEMORY. */
int gs_analysis_common_check_and_sort(gs_context_t *ctx, const gs_host_tasks_t *hosts,
                                      bool takes_jitter, int64_t *order);

/* Check 1 <= cpus < 2**31, and cores of 0..cpus-1; else GS_ERR_VALUE. */
int gs_analysis_common_check_cpus(gs_context_t *ctx, int64_t cpus);
int gs_analysis_common_check_cores(gs_context_t *ctx, const gs_host_tasks_t *hosts,
                                   const int64_t *core, int64_t cpus);

/* Checks 1 <= sms < 2**31; else GS_ERR_VALUE. */
int gs_analysis_common_check_sms(gs_context_t *ctx, int64_t sms);

/* Saturating arithmetic on numbers in 0..GS_ANALYSIS_COMMON_LIMIT. */
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
