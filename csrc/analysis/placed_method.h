/* Rows of the tests that placed_test.h runs, and the memory of one. */
#ifndef GS_ANALYSIS_PLACED_METHOD_H
#define GS_ANALYSIS_PLACED_METHOD_H

#include "analysis/contexts/context_test.h"
#include "analysis/partitioned/lock_test.h"
#include "analysis/partitioned/stgm.h"
#include "core/method.h"

/* A test: one of the two functions, or neither for STGM. */
struct gs_analysis_placed_method {
    const gs_method_t *method;
    gs_analysis_partitioned_lock_run_t lock;
    gs_analysis_contexts_run_t context;
    bool monotone;   /* proven to accept shorter times where it accepts longer ones (breakdown.h) */
    bool has_server; /* a server executes the copies, on a core that has to be chosen */
};

/* Memory of the one that runs. */
struct gs_analysis_placed_memory {
    gs_analysis_partitioned_stgm_t stgm;
    gs_analysis_partitioned_lock_test_t lock;
    gs_analysis_contexts_test_t context;
};

/* Whether kernels run on the SMs of their tasks (STGM). */
static inline bool gs_analysis_placed_method_divides(const struct gs_analysis_placed_method *self)
{
    return self->lock == NULL && self->context == NULL;
}

/* Number of SMs that kernels of task i run on, of `sms`, at least 1. sm: n rows of sms bytes, which
 * are read where it divides them. */
static inline int64_t gs_analysis_placed_method_sms(const struct gs_analysis_placed_method *self,
                                                    int64_t sms, const uint8_t *sm, int64_t i)
{
    int64_t count = 0;
    if (!gs_analysis_placed_method_divides(self)) {
        return sms;
    }
    for (int64_t s = 0; s < sms; s++) {
        count += sm[i * sms + s] != 0;
    }
    return count > 0 ? count : 1;
}

#endif
