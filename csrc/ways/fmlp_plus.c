/* A lock on the whole GPU, granted first come, first served; its holder is boosted. */
#include "ways/way.h"

#include "analysis/partitioned/fmlp_plus.h"
#include "analysis/placed_method.h"

static const char *const MODE[] = {"suspend", "busy", "spin", NULL};
static const gs_method_option_t OPTIONS[] = {
    {"mode", "choice", MODE, "suspend",
     "use of the core during a GPU segment; there is no test for spin"},
};
static const gs_analysis_placed_method_t PLACED = {.method =
                                                       &gs_analysis_partitioned_fmlp_plus_method,
                                                   .monotone = true,
                                                   .lock = gs_analysis_partitioned_fmlp_plus};
static const gs_simulate_host_way_t *const HOST[] = {&gs_simulate_host_fmlp_plus, NULL};

const gs_ways_way_t gs_ways_fmlp_plus = {
    .name = "fmlp_plus",
    .title = "a lock on the GPU, first come, first served",
    .source = "Block et al. 2007; Brandenburg 2014",
    .test = &gs_analysis_partitioned_fmlp_plus_method,
    .placed = &PLACED,
    .host = HOST,
    .in_turns = true,
    .options = OPTIONS,
    .option_count = sizeof OPTIONS / sizeof *OPTIONS,
};
