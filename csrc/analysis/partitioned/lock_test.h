/* Shared parts of the tests with one GPU user at a time: memory, sums per job, demand on the core,
 * and the order in which bounds are found.
 *
 * Every test gives task i a recurrence w = f_i(w, R), where R are assumed bounds of other tasks,
 * and W_i(R) is its least solution. In one pass, tasks are solved by descending priority, R being W
 * for more urgent tasks and the deadlines (gpu_server: also periods) elsewhere. The joint fixed
 * point is the least R with W(R) = R, from the tasks' own times upwards. Any R with W(R) <= R <= D
 * is valid: the proofs of notebook 06 look at the first instant at which a job exceeds its bound,
 * and use of other tasks only that theirs have held before it; the supplement of Theorem 3 holds
 * for R as for W. f grows with R, so R never decreases on the way, no such vector is below the
 * result, and the W of an accepting pass is one: the joint bounds are never worse. In mode spin no
 * R of less urgent tasks is used, and both are the same.
 *
 * On the way, a task is solved again only where the growth of another one's bound may change its
 * solution w. It does not where f_i(w, R) stays, since f_i(v, R) > v for v < w stays as f grows:
 * where the count of that task's jobs in w stays, and nothing but this count depends on its bound.
 *
 * For more urgent tasks of the core see common/ready_intervals.h. A limit there is not above the
 * count that it replaces, and grows with R, so bounds are never worse with it either. */
#ifndef GS_ANALYSIS_PARTITIONED_LOCK_TEST_H
#define GS_ANALYSIS_PARTITIONED_LOCK_TEST_H

#include "analysis/common/apart.h"
#include "analysis/common/jitter.h"
#include "analysis/common/ready_intervals.h"
#include "core/method.h"

/* State of a task during its kernels and while it waits for the GPU. */
enum {
    GS_ANALYSIS_PARTITIONED_LOCK_SUSPEND = 0, /* kernel: suspended; waiting: suspended */
    GS_ANALYSIS_PARTITIONED_LOCK_BUSY = 1,    /* kernel: on the core; waiting: suspended */
    GS_ANALYSIS_PARTITIONED_LOCK_SPIN =
        2 /* kernel: on the core; waiting: spinning at its own priority */
};

/* Memory for tests of sets of at most as many tasks as it was made for. The arrays are owned. */
typedef struct {
    int64_t n;      /* tasks of the last set */
    int64_t *order; /* n: tasks by descending priority */
    gs_analysis_common_sums_t *sums;
    int64_t *spin;       /* mpcp: most time that a job spins */
    int64_t *most_lower; /* longest GPU segment of a lower-priority task that can be pending beside
                            it, on any core */
    int64_t *assumed;    /* R */
    bool *pending;       /* places of the order whose task is to be solved, by the joint solution */
    gs_analysis_common_apart_t apart;
    int64_t *limits; /* 2 n: memory of gs_analysis_common_ready_intervals */
    int64_t *extra;  /* 2 n: the same */
    gs_analysis_common_demand_t *demands;
} gs_analysis_partitioned_lock_test_t;

/* Platform and options of a test with one GPU at a time; each test reads those that it has. */
typedef struct {
    int64_t cpus;
    int64_t sms;          /* that every kernel runs on */
    int mode;             /* GS_ANALYSIS_PARTITIONED_LOCK_* */
    bool paper;           /* the published form of the test instead of the sound one */
    bool one_pass;        /* bounds one after the other instead of all at once; so is `paper` */
    bool jitter;          /* no limits by ready intervals; so is `paper` */
    int64_t server;       /* the core of the server; cpus for one of its own */
    int64_t overhead;     /* of the server, ticks */
    const uint8_t *apart; /* n rows of n bytes: tasks that are never pending together (apart.h), of
                             in sound forms, not of spin; or NULL */
    int64_t take; /* number of the most urgent tasks that are solved, the others' R being their
                     own times (joint) or deadlines; 0: all */
} gs_analysis_partitioned_lock_options_t;

int gs_analysis_partitioned_lock_test_init(gs_analysis_partitioned_lock_test_t *self,
                                           gs_context_t *ctx, int64_t n);
void gs_analysis_partitioned_lock_test_free(gs_analysis_partitioned_lock_test_t *self,
                                            gs_context_t *ctx);

/* Checks the set and fills order, sums (kernels on all SMs) and most_lower. Printed forms take no
 * release jitter. Errors: GS_ERR_VALUE for tasks that are apart in another test; those of
 * gs_analysis_common_check_and_sort, _check_cores and _check_sms.
 */
int gs_analysis_partitioned_lock_test_start(gs_analysis_partitioned_lock_test_t *self,
                                            gs_context_t *ctx, const gs_host_tasks_t *hosts,
                                            const int64_t *core,
                                            const gs_analysis_partitioned_lock_options_t *options);

/* Time of a job on its core: C + G^m, or C + G where kernels keep the core. */
static inline int64_t
gs_analysis_partitioned_lock_test_demand(const gs_analysis_common_sums_t *sums, int mode)
{
    return sums->cpu + (mode == GS_ANALYSIS_PARTITIONED_LOCK_SUSPEND ? sums->copies : sums->gpu);
}

/* Longest time of one GPU segment on its core. */
static inline int64_t
gs_analysis_partitioned_lock_test_segment(const gs_analysis_common_sums_t *sums, int mode)
{
    return mode == GS_ANALYSIS_PARTITIONED_LOCK_SUSPEND ? sums->most_copies : sums->most_gpu;
}

/* The jitter of a more urgent task of the core with this demand, as i sees it. */
static inline int64_t
gs_analysis_partitioned_lock_test_jitter(const gs_analysis_partitioned_lock_test_t *self,
                                         const gs_host_tasks_t *hosts, int64_t i, int64_t h,
                                         int64_t demand)
{
    int64_t bound = self->assumed[h];
    return gs_analysis_common_apart_any(self->apart, i)
               ? bound - demand
               : gs_analysis_common_jitter(self->sums[i].segments, self->sums[h].segments, bound,
                                           demand, gs_host_tasks_jitter(hosts, h));
}

/* Whether bounds are found all at once, and whether ready intervals limit the demand on the core.
 */
static inline bool
gs_analysis_partitioned_lock_test_joint(const gs_analysis_partitioned_lock_options_t *options)
{
    return !options->paper && !options->one_pass &&
           options->mode != GS_ANALYSIS_PARTITIONED_LOCK_SPIN;
}

static inline bool
gs_analysis_partitioned_lock_test_split(const gs_analysis_partitioned_lock_options_t *options)
{
    return !options->paper && !options->jitter &&
           options->mode != GS_ANALYSIS_PARTITIONED_LOCK_SPIN;
}

/* The recurrence of a test: solves it for the task at a place of self->order and writes its answer
 * (gs_analysis_common_recurrence_solve_task). test: the state of the test. */
typedef int (*gs_analysis_partitioned_lock_task_t)(const void *test, int64_t at);

/* Whether the solution of the task at a place may change as the bound of the one at place `of` grew
 * from `before` to its current one. */
typedef bool (*gs_analysis_partitioned_lock_delays_t)(const void *test, int64_t at, int64_t of,
                                                      int64_t before);

/* Whether the jobs of u that the task at a place counts in its solution become more, where these
 * are `each` per period of u with its bound as jitter, and at most `most`. */
static inline bool gs_analysis_partitioned_lock_test_more_jobs(
    const gs_analysis_partitioned_lock_test_t *self, const gs_host_tasks_t *hosts,
    const gs_analysis_common_answer_t *answer, int64_t at, int64_t u, int64_t most, int64_t before)
{
    int64_t i = self->order[at], each = self->sums[u].segments, period = hosts->period[u];
    int64_t window = answer->response[i] - gs_host_tasks_jitter(hosts, i);
    return each < most &&
           gs_analysis_common_recurrence_jobs(window, before, period, each, most) !=
               gs_analysis_common_recurrence_jobs(window, self->assumed[u], period, each, most);
}

/* Finds the bounds of a set that gs_analysis_partitioned_lock_test_start took in. Where it is not
 * accepted, the answer is that of one pass, which does not accept it either. Without `delays`, the
 * growth of any bound may change any solution. */
int gs_analysis_partitioned_lock_test_run(gs_analysis_partitioned_lock_test_t *self,
                                          gs_context_t *ctx, const gs_host_tasks_t *hosts,
                                          const gs_analysis_partitioned_lock_options_t *options,
                                          gs_analysis_partitioned_lock_task_t solve,
                                          gs_analysis_partitioned_lock_delays_t delays,
                                          const void *test, gs_analysis_common_answer_t *answer);

/* Choices of the options `fixed_point` and `suspension`. */
extern const char *const gs_analysis_partitioned_lock_fixed_point[];
extern const char *const gs_analysis_partitioned_lock_suspension[];

/* A test for one set of self->n tasks on cores 0..cpus-1. Refuses what
 * gs_analysis_partitioned_lock_test_start refuses, and options out of range. */
typedef int (*gs_analysis_partitioned_lock_run_t)(
    gs_analysis_partitioned_lock_test_t *self, gs_context_t *ctx, const gs_host_tasks_t *hosts,
    const int64_t *core, const gs_analysis_partitioned_lock_options_t *options,
    gs_analysis_common_answer_t *answer);

#endif
