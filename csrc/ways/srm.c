/* A lock on the whole GPU under global EDF: FMLP-Long, or OMLP with a queue of as many as CPUs. */
#include "ways/way.h"

#include "analysis/global_edf/srm.h"

static const char *const PREMISES[] = {"no_cores", NULL};
static const gs_simulate_host_way_t *const HOST[] = {&gs_simulate_host_fmlp, &gs_simulate_host_omlp,
                                                     NULL};

const gs_ways_way_t gs_ways_srm = {
    .name = "srm",
    .title = "a lock on the GPU under global EDF",
    .source = "[RTNS10]",
    .test = &gs_analysis_global_edf_srm_method,
    .global_edf = true,
    .host = HOST,
    .in_turns = true,
    .premises = PREMISES,
};
