/* A lock on the whole GPU, granted to the most urgent waiting job; its holder is boosted. */
#include "ways/way.h"

#include "analysis/partitioned/mpcp.h"
#include "analysis/placed_method.h"

static const gs_analysis_placed_method_t PLACED = {.method = &gs_analysis_partitioned_mpcp_method,
                                                   .monotone = true,
                                                   .lock = gs_analysis_partitioned_mpcp};
static const gs_simulate_host_way_t *const HOST[] = {&gs_simulate_host_mpcp, NULL};

const gs_ways_way_t gs_ways_mpcp = {
    .name = "mpcp",
    .title = "a lock on the GPU, the most urgent waiting job next",
    .source = "[RTSS09]",
    .test = &gs_analysis_partitioned_mpcp_method,
    .placed = &PLACED,
    .host = HOST,
    .in_turns = true,
};
