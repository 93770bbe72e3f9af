/* All response-time tests for partitioned tasks of which one at a time uses the GPU. */
#ifndef GS_ANALYSIS_PARTITIONED_LOCK_METHODS_H
#define GS_ANALYSIS_PARTITIONED_LOCK_METHODS_H

#include "analysis/partitioned/lock_test.h"
#include "core/method.h"

typedef struct {
    const gs_method_t *method;
    gs_analysis_partitioned_lock_run_t run;
    int modes;       /* GS_ANALYSIS_PARTITIONED_LOCK_* below this */
    bool has_server; /* a server executes the copies, on a core that has to be chosen */
} gs_analysis_partitioned_lock_method_t;

/* The test of a method's name, NULL where there is none. */
const gs_analysis_partitioned_lock_method_t *
gs_analysis_partitioned_lock_method_find(const char *name);

/* Refuses a mode that the method does not have. */
int gs_analysis_partitioned_lock_method_check(const gs_analysis_partitioned_lock_method_t *self,
                                              gs_context_t *ctx, int mode);

#endif
