/* All tasks that use the GPU are served by one server, a task of global EDF. */
#include "ways/way.h"

#include "analysis/global_edf/container.h"

static const char *const PREMISES[] = {"no_cores", NULL};

static const char *const WITHOUT[] = {"whole_budget", NULL}; /* budgets are whole ticks */
static const char *const MODE[] = {"suspend", "busy", NULL};
static const gs_method_option_t OPTIONS[] = {
    {"mode", "choice", MODE, "suspend", "use of the server's CPU while its first job is suspended"},
};
static const gs_simulate_host_way_t *const HOST[] = {&gs_simulate_host_container, NULL};

const gs_ways_way_t gs_ways_container = {
    .name = "container",
    .title = "GPU-using tasks in one server under global EDF",
    .source = "[RTNS10]",
    .test = &gs_analysis_global_edf_container_method,
    .global_edf = true,
    .host = HOST,
    .in_turns = true,
    .options = OPTIONS,
    .option_count = sizeof OPTIONS / sizeof *OPTIONS,
    .without = WITHOUT,
    .premises = PREMISES,
};
