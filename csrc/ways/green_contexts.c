/* Green contexts of one process, each on SMs of its own, with streams and queues of its own. */
#include "ways/way.h"

#include "analysis/priority_streams/priority_streams.h"

static const char *const PREMISES[] = {"cpu_alone", "channel_of_green_context", "resident_grids",
                                       NULL};
static const char *const WITHOUT[] = {"overlap", "partition", "partition_sms", "partition_limit",
                                      NULL};

const gs_ways_way_t gs_ways_green_contexts = {
    .name = "green_contexts",
    .title = "green contexts of one process, each with SMs and queues of its own",
    .source = "NVIDIA, CUDA Driver API: green contexts; [RTAS20]",
    .test = &gs_analysis_priority_streams_method,
    .without = WITHOUT,
    .premises = PREMISES,
};
