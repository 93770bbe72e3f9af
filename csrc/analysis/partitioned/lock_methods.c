/* All response-time tests for partitioned tasks of which one at a time uses the GPU. */
#include "analysis/partitioned/lock_methods.h"

#include <string.h>

#include "analysis/partitioned/fmlp_plus.h"
#include "analysis/partitioned/gpu_server.h"
#include "analysis/partitioned/mpcp.h"

static const gs_analysis_partitioned_lock_method_t METHODS[] = {
    {&gs_analysis_partitioned_mpcp_method, gs_analysis_partitioned_mpcp, 3, false},
    {&gs_analysis_partitioned_fmlp_plus_method, gs_analysis_partitioned_fmlp_plus, 2, false},
    {&gs_analysis_partitioned_gpu_server_method, gs_analysis_partitioned_gpu_server, 1, true},
};

const gs_analysis_partitioned_lock_method_t *
gs_analysis_partitioned_lock_method_find(const char *name)
{
    for (size_t i = 0; i < sizeof METHODS / sizeof *METHODS; i++) {
        if (strcmp(METHODS[i].method->name, name) == 0) {
            return &METHODS[i];
        }
    }
    return NULL;
}

int gs_analysis_partitioned_lock_method_check(const gs_analysis_partitioned_lock_method_t *self,
                                              gs_context_t *ctx, int mode)
{
    if (mode < 0 || mode >= self->modes) {
        return gs_fail(ctx, GS_ERR_VALUE, "mode", -1, mode,
                       "0 (suspend), 1 (busy) or 2 (spin), as far as the method has them");
    }
    return GS_OK;
}
