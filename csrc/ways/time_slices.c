/* Each task is a process; the GPU serves the contexts with work in turn, a time slice each. */
#include "ways/way.h"

#include "analysis/contexts/time_slices.h"
#include "analysis/placed_method.h"

static const char *const RING[] = {"fifo", "cyclic", NULL};
static const gs_method_option_t OPTIONS[] = {
    {"ring", "choice", RING, "fifo",
     "order of turns: back to the end of the queue, or a fixed cycle"},
};
static const char *const PREMISES[] = {"own_processes", NULL};
static const gs_analysis_placed_method_t PLACED = {.method =
                                                       &gs_analysis_contexts_time_slices_method,
                                                   .monotone = true,
                                                   .context = gs_analysis_contexts_time_slices};
static const gs_simulate_host_way_t *const HOST[] = {&gs_simulate_host_time_slices, NULL};

const gs_ways_way_t gs_ways_time_slices = {
    .name = "time_slices",
    .title = "a process for each task, in turns of a time slice",
    .source = "[ECRTS24]; [RTAS20]",
    .test = &gs_analysis_contexts_time_slices_method,
    .placed = &PLACED,
    .host = HOST,
    .one_row = true,
    .in_turns = true,
    .options = OPTIONS,
    .option_count = sizeof OPTIONS / sizeof *OPTIONS,
    .premises = PREMISES,
};
