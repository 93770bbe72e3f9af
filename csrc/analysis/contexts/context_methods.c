/* All response-time tests for partitioned tasks that share the GPU by contexts. */
#include "analysis/contexts/context_methods.h"

#include <string.h>

#include "analysis/contexts/gcaps.h"
#include "analysis/contexts/time_slices.h"

static const struct {
    const gs_method_t *method;
    gs_analysis_contexts_run_t run;
} METHODS[] = {
    {&gs_analysis_contexts_time_slices_method, gs_analysis_contexts_time_slices},
    {&gs_analysis_contexts_gcaps_method, gs_analysis_contexts_gcaps},
};

gs_analysis_contexts_run_t gs_analysis_contexts_method_find(const char *name)
{
    for (size_t i = 0; i < sizeof METHODS / sizeof *METHODS; i++) {
        if (strcmp(METHODS[i].method->name, name) == 0) {
            return METHODS[i].run;
        }
    }
    return NULL;
}
