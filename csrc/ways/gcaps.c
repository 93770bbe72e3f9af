/* Each task is a process; the GPU belongs to the most urgent one with an open GPU segment. */
#include "ways/way.h"

#include "analysis/contexts/gcaps.h"
#include "analysis/placed_method.h"

static const char *const PREMISES[] = {"own_processes", NULL};
static const gs_analysis_placed_method_t PLACED = {.method = &gs_analysis_contexts_gcaps_method,
                                                   .monotone = true,
                                                   .context = gs_analysis_contexts_gcaps};
static const gs_simulate_host_way_t *const HOST[] = {&gs_simulate_host_gcaps, NULL};

const gs_ways_way_t gs_ways_gcaps = {
    .name = "gcaps",
    .title = "a process for each task, the most urgent one with GPU work first",
    .source = "[ECRTS24]",
    .test = &gs_analysis_contexts_gcaps_method,
    .placed = &PLACED,
    .host = HOST,
    .in_turns = true,
    .premises = PREMISES,
};
