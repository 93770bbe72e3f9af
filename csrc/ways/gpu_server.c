/* A server task runs the GPU segments of all tasks, one after the other, by priority. */
#include "ways/way.h"

#include "analysis/partitioned/gpu_server.h"
#include "analysis/placed_method.h"

static const gs_analysis_placed_method_t PLACED = {.method =
                                                       &gs_analysis_partitioned_gpu_server_method,
                                                   .monotone = true,
                                                   .lock = gs_analysis_partitioned_gpu_server,
                                                   .has_server = true};
static const gs_simulate_host_way_t *const HOST[] = {&gs_simulate_host_gpu_server, NULL};

const gs_ways_way_t gs_ways_gpu_server = {
    .name = "gpu_server",
    .title = "a server task runs all GPU segments, the most urgent first",
    .source = "Kim et al. 2017, 2018",
    .test = &gs_analysis_partitioned_gpu_server_method,
    .placed = &PLACED,
    .host = HOST,
    .in_turns = true,
};
