/* What the tests for one GPU at a time share: room, sums, and what tasks take on all SMs. */
#ifndef GS_ANALYSIS_PARTITIONED_LOCK_TEST_H
#define GS_ANALYSIS_PARTITIONED_LOCK_TEST_H

#include "analysis/common/recurrence.h"
#include "core/method.h"

/* How a task spends its time in a GPU segment that has the GPU, and before. */
enum {
    GS_ANALYSIS_PARTITIONED_LOCK_SUSPEND = 0, /* kernel: suspended; waiting: suspended */
    GS_ANALYSIS_PARTITIONED_LOCK_BUSY = 1,    /* kernel: on the core; waiting: suspended */
    GS_ANALYSIS_PARTITIONED_LOCK_SPIN =
        2 /* kernel: on the core; waiting: spinning at its own priority */
};

/* Room for tests of sets of n tasks. The arrays are owned. */
typedef struct {
    int64_t n;
    int64_t *order; /* n + 1: tasks by falling urgency */
    gs_analysis_common_sums_t *sums;
    int64_t *spin;       /* mpcp: the most that a job spins */
    int64_t *most_lower; /* the longest GPU segment of a less urgent task, on any core */
    gs_analysis_common_demand_t *demands;
    double *share; /* n + 1, partition: of a core */
    double *load;  /* n + 1, partition: of every core */
} gs_analysis_partitioned_lock_test_t;

int gs_analysis_partitioned_lock_test_init(gs_analysis_partitioned_lock_test_t *self,
                                           gs_context_t *ctx, int64_t n);
void gs_analysis_partitioned_lock_test_free(gs_analysis_partitioned_lock_test_t *self,
                                            gs_context_t *ctx);

/* Checks the set and fills order, sums (kernels on sms SMs) and most_lower. */
int gs_analysis_partitioned_lock_test_start(gs_analysis_partitioned_lock_test_t *self,
                                            gs_context_t *ctx, const gs_host_tasks_t *hosts,
                                            const int64_t *core, int64_t cpus, int64_t sms);

/* What a job takes of its core: C + G^m, and the kernels where they keep it. */
static inline int64_t
gs_analysis_partitioned_lock_test_demand(const gs_analysis_common_sums_t *sums, int mode)
{
    return sums->cpu + (mode == GS_ANALYSIS_PARTITIONED_LOCK_SUSPEND ? sums->copies : sums->gpu);
}

/* The most that one GPU segment takes of its core. */
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
