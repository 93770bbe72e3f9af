/* No lock: the GPU runs whole segments in the order of their requests, under global EDF. */
#include "ways/way.h"

static const char *const MODE[] = {"spin", "suspend", NULL};
static const gs_method_option_t OPTIONS[] = {
    {"mode", "choice", MODE, "spin", "use of the CPU during a GPU segment"},
};
static const gs_simulate_host_way_t *const HOST[] = {&gs_simulate_host_driver, NULL};

const gs_ways_way_t gs_ways_driver = {
    .name = "driver",
    .title = "no lock, whole segments in the order of their requests, global EDF",
    .source = "[RTNS10]",
    .global_edf = true,
    .host = HOST,
    .in_turns = true,
    .options = OPTIONS,
    .option_count = sizeof OPTIONS / sizeof *OPTIONS,
};
