/* Shared parts of the tests with one GPU user at a time: memory, sums per job, and demand on the
 * core. */
#ifndef GS_ANALYSIS_PARTITIONED_LOCK_TEST_H
#define GS_ANALYSIS_PARTITIONED_LOCK_TEST_H

#include "analysis/common/recurrence.h"
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
    int64_t *order; /* n + 1: tasks by descending priority */
    gs_analysis_common_sums_t *sums;
    int64_t *spin;       /* mpcp: most time that a job spins */
    int64_t *most_lower; /* longest GPU segment of a lower-priority task, on any core */
    gs_analysis_common_demand_t *demands;
    double *share; /* n + 1, for partition: utilization of every task */
    double *load;  /* n + 1, for partition: load of every core */
} gs_analysis_partitioned_lock_test_t;

int gs_analysis_partitioned_lock_test_init(gs_analysis_partitioned_lock_test_t *self,
                                           gs_context_t *ctx, int64_t n);
void gs_analysis_partitioned_lock_test_free(gs_analysis_partitioned_lock_test_t *self,
                                            gs_context_t *ctx);

/* Checks the set and fills order, sums (kernels on sms SMs) and most_lower. Errors: those of
 * gs_analysis_common_check_and_sort, _check_cores and _check_sms. */
int gs_analysis_partitioned_lock_test_start(gs_analysis_partitioned_lock_test_t *self,
                                            gs_context_t *ctx, const gs_host_tasks_t *hosts,
                                            const int64_t *core, int64_t cpus, int64_t sms);

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

/* Platform and options of a test with one GPU at a time; each test reads those that it has. */
typedef struct {
    int64_t cpus;
    int64_t sms;      /* that every kernel runs on */
    int mode;         /* GS_ANALYSIS_PARTITIONED_LOCK_* */
    bool paper;       /* the published form of the test instead of the sound one */
    int64_t server;   /* the core of the server; cpus for one of its own */
    int64_t overhead; /* of the server, ticks */
} gs_analysis_partitioned_lock_options_t;

/* A test for one set of self->n tasks on cores 0..cpus-1. Refuses what
 * gs_analysis_partitioned_lock_test_start refuses, and options out of range. */
typedef int (*gs_analysis_partitioned_lock_run_t)(
    gs_analysis_partitioned_lock_test_t *self, gs_context_t *ctx, const gs_host_tasks_t *hosts,
    const int64_t *core, const gs_analysis_partitioned_lock_options_t *options,
    gs_analysis_common_answer_t *answer);

#endif
