/* Response-time tests of sets with cores and SMs: STGM, the tests with one GPU user at a time, and
 * those with a context per task, through one pointer and with one set of options.
 *
 * The ways of sharing the GPU (ways/) say which test they have. What places tasks (allocation/), or
 * searches over sets (sensitivity/) or priorities (priorities/), runs a test many times.
 */
#ifndef GS_ANALYSIS_PLACED_TEST_H
#define GS_ANALYSIS_PLACED_TEST_H

#include "analysis/common/host_answer.h"
#include "model/host_tasks.h"

/* A test; those of the ways of sharing the GPU are in their rows (ways/ways.h). */
typedef struct gs_analysis_placed_method gs_analysis_placed_method_t;

/* Platform and options; each test reads those that it has. */
typedef struct {
    int64_t cpus;
    int64_t sms;       /* of the GPU; kernels of stgm run on those of their tasks, others on all */
    int mode;          /* 0 suspend, 1 busy, 2 spin, as far as the test has them */
    int variant;       /* number of its option `variant`; 0: sound */
    int fixed_point;   /* number of its option `fixed_point`; 0: joint */
    int64_t timeslice; /* time_slices: its length, ticks */
    int64_t context_switch;  /* to another context, ticks */
    int64_t update_cost;     /* gcaps: of an update, ticks */
    int64_t server_overhead; /* gpu_server: of an intervention, ticks */
    bool stall;              /* gcaps: every update stops the GPU */
    bool jitter;             /* stgm and tests with one GPU user: no limits by ready intervals */
} gs_analysis_placed_options_t;

/* Placement of one set. */
typedef struct {
    const int64_t *core;         /* n */
    const uint8_t *sm;           /* stgm: n rows of options.sms bytes */
    int64_t server;              /* gpu_server: its core; cpus for one of its own */
    const int64_t *gpu_priority; /* gcaps: n, or NULL */
    const uint8_t *apart;        /* not of contexts: n rows of n bytes, nonzero for tasks that
                                    are never pending together (common/apart.h); or NULL */
} gs_analysis_placed_place_t;

/* Memory for runs of one test, for sets of at most as many tasks as it was made for. */
typedef struct {
    const gs_analysis_placed_method_t *method;
    gs_analysis_placed_options_t options;
    int64_t skip; /* contexts: ranks that are not solved, and (not of stgm) the number of those that
                     are; */
    int64_t take; /* 0, 0: all (context_test.h, lock_test.h) */
    struct gs_analysis_placed_memory *memory; /* owned: placed_method.h */
} gs_analysis_placed_test_t;

/* Takes the memory of a test. Errors: GS_ERR_VALUE for a mode, a variant or a fixed point that the
 * test does not have, GS_ERR_MEMORY. */
int gs_analysis_placed_test_init(gs_analysis_placed_test_t *self, gs_context_t *ctx,
                                 const gs_analysis_placed_method_t *method,
                                 const gs_analysis_placed_options_t *options, int64_t n);
void gs_analysis_placed_test_free(gs_analysis_placed_test_t *self, gs_context_t *ctx);

/* The test for one set. Errors: those of its function, such as numbers of SMs that are not
 * positive. */
int gs_analysis_placed_test_run(gs_analysis_placed_test_t *self, gs_context_t *ctx,
                                const gs_host_tasks_t *hosts,
                                const gs_analysis_placed_place_t *place,
                                gs_analysis_common_answer_t *answer);

#endif
