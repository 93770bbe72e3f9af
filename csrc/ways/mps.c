/* Each task is a process and a client of MPS: the streams of all clients share the GPU at once. */
#include "ways/way.h"

#include "analysis/fifo/fifo_bound.h"

static const char *const PREMISES[] = {"cpu_alone",         "mps_clients",    "mps_usual_clients",
                                       "channel_of_client", "resident_grids", NULL};
static const char *const WITHOUT[] = {"theorems", NULL};

const gs_ways_way_t gs_ways_mps = {
    .name = "mps",
    .title = "a process for each task, as clients of MPS without time slices",
    .source = "NVIDIA, Multi-Process Service; [ECRTS17]",
    .test = &gs_analysis_fifo_bound_method,
    .without = WITHOUT,
    .premises = PREMISES,
};
