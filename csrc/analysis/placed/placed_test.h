/* Response-time test of a set with cores and SMs, whichever of the tests it is.
 *
 * What searches over sets (breakdown.h) or priorities (priorities/) runs a test many times. It
 * asks for the sound form of stgm, of a test with one GPU user at a time (lock_methods.h) or of one
 * with a context per task (context_methods.h) by its name, and runs it through one pointer.
 */
#ifndef GS_ANALYSIS_PLACED_PLACED_TEST_H
#define GS_ANALYSIS_PLACED_PLACED_TEST_H

#include "analysis/contexts/context_methods.h"
#include "analysis/partitioned/lock_methods.h"
#include "analysis/partitioned/stgm.h"

/* Families of tests. */
enum { GS_ANALYSIS_PLACED_STGM = 0, GS_ANALYSIS_PLACED_LOCK = 1, GS_ANALYSIS_PLACED_CONTEXT = 2 };

/* Platform and options; each test reads those that it has. */
typedef struct {
    int64_t cpus;
    int64_t sms;     /* of the GPU; kernels of stgm run on those of their tasks, others on all */
    int mode;        /* 0 suspend, 1 busy, 2 spin, as far as the test has them */
    int fixed_point; /* GS_ANALYSIS_CONTEXTS_JOINT, ..., the first two of tests with one GPU user */
    int64_t slice;   /* time_slices: its length, ticks */
    int64_t cost;    /* of a switch, an update, or a request to the server, ticks */
    int64_t switching; /* gcaps: of a switch to another context, ticks */
    bool stall;        /* gcaps: every update stops the GPU */
    bool jitter;       /* stgm and tests with one GPU user: no limits by ready intervals */
} gs_analysis_placed_options_t;

/* Placement of one set. */
typedef struct {
    const int64_t *core;         /* n */
    const uint8_t *sm;           /* stgm: n rows of options.sms bytes */
    int64_t server;              /* gpu_server: its core; cpus for one of its own */
    const int64_t *gpu_priority; /* gcaps: n, or NULL */
} gs_analysis_placed_place_t;

struct gs_analysis_placed_test;

typedef int (*gs_analysis_placed_run_t)(struct gs_analysis_placed_test *self, gs_context_t *ctx,
                                        const gs_host_tasks_t *hosts,
                                        const gs_analysis_placed_place_t *place,
                                        gs_analysis_common_answer_t *answer);

/* Memory for runs of one test, for sets of at most as many tasks as it was made for. */
typedef struct gs_analysis_placed_test {
    int family;
    gs_analysis_placed_run_t run;
    gs_analysis_placed_options_t options;
    int64_t
        skip; /* contexts: ranks that are not solved, and (not of stgm) the number of those that */
    int64_t take; /* are; 0, 0: all (context_test.h, lock_test.h) */
    gs_analysis_partitioned_stgm_t stgm;
    const gs_analysis_partitioned_lock_method_t *lock_method;
    gs_analysis_partitioned_lock_test_t lock;
    gs_analysis_contexts_run_t context_run;
    gs_analysis_contexts_test_t context;
} gs_analysis_placed_test_t;

/* Whether there is a test of that name. */
bool gs_analysis_placed_test_exists(const char *name);

/* Finds the test of that name and takes its memory. Errors: GS_ERR_VALUE for a name, a mode or
 * a fixed point that does not exist and numbers of SMs that are not positive, GS_ERR_MEMORY. */
int gs_analysis_placed_test_init(gs_analysis_placed_test_t *self, gs_context_t *ctx,
                                 const char *name, const gs_analysis_placed_options_t *options,
                                 int64_t n);
void gs_analysis_placed_test_free(gs_analysis_placed_test_t *self, gs_context_t *ctx);

/* Number of SMs that kernels of task i run on, at least 1. */
int64_t gs_analysis_placed_test_sms(const gs_analysis_placed_test_t *self,
                                    const gs_analysis_placed_place_t *place, int64_t i);

#endif
