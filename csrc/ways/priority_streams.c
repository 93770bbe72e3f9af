/* Each task has a stream with a priority; blocks of the most urgent stream are placed first. */
#include "ways/way.h"

#include "analysis/priority_streams/priority_streams.h"

static const char *const PREMISES[] = {"cpu_alone", "channel_per_stream", "resident_grids", NULL};
static const char *const WITHOUT[] = {"overlap",       "queues",          "partition",
                                      "partition_sms", "partition_limit", NULL};

const gs_ways_way_t gs_ways_priority_streams = {
    .name = "priority_streams",
    .title = "a stream for each task, with its priority",
    .source = "[RTSS17]; [RTAS20]",
    .test = &gs_analysis_priority_streams_method,
    .without = WITHOUT,
    .premises = PREMISES,
};
