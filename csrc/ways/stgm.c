/* Each task runs its kernels on SMs assigned to it, which tasks may share. */
#include "ways/way.h"

#include "analysis/placed_method.h"

static const gs_method_option_t OPTIONS[] = {
    {"apart", "boolean", NULL, "True",
     "the choice of SMs tries to give no two tasks of different cores the same SM"},
};
static const char *const PREMISES[] = {"resident_grids_of_sms", NULL};
static const gs_analysis_placed_method_t PLACED = {.method = &gs_analysis_partitioned_stgm_method,
                                                   .monotone = true};
static const gs_simulate_host_way_t *const HOST[] = {&gs_simulate_host_stgm, NULL};

const gs_ways_way_t gs_ways_stgm = {
    .name = "stgm",
    .title = "SMs divided among the tasks",
    .source = "[RTCSA19]",
    .test = &gs_analysis_partitioned_stgm_method,
    .placed = &PLACED,
    .host = HOST,
    .options = OPTIONS,
    .option_count = sizeof OPTIONS / sizeof *OPTIONS,
    .premises = PREMISES,
};
