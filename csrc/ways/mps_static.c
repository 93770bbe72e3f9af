/* Each task is a process and a client of MPS, in a static partition with SMs of its own. */
#include "ways/way.h"

#include "analysis/priority_streams/priority_streams.h"

static const char *const PREMISES[] = {"cpu_alone",         "mps_clients",    "mps_usual_clients",
                                       "channel_of_client", "resident_grids", NULL};
static const char *const WITHOUT[] = {"overlap", "partition", "partition_sms", "partition_limit",
                                      NULL};

const gs_ways_way_t gs_ways_mps_static = {
    .name = "mps_static",
    .title = "a process for each task, as clients of MPS in partitions with SMs of their own",
    .source = "NVIDIA, Multi-Process Service: static SM partitioning; [RTAS20]",
    .test = &gs_analysis_priority_streams_method,
    .without = WITHOUT,
    .premises = PREMISES,
};
