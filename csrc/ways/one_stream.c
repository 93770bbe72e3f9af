/* All kernels and copies go into one stream, in the order of their launches. */
#include "ways/way.h"

#include "analysis/holistic/holistic.h"

static const char *const WITHOUT[] = {"rule",        "launches",
                                      "launch_cpu",  "graph_launch_cpu",
                                      "kernel_gap",  "wake_latency",
                                      "mode",        "latency",
                                      "timeslice",   "context_switch",
                                      "update_cost", "stall",
                                      "part_sms",    "part_limit",
                                      "queues",      "channel_release",
                                      "after",       "best",
                                      "windows",     "instances",
                                      "assumed",     NULL};

const gs_ways_way_t gs_ways_one_stream = {
    .name = "one_stream",
    .title = "all kernels and copies in one stream",
    .source = "NVIDIA, CUDA C++ Programming Guide: streams; [RTAS20]",
    .test = &gs_analysis_holistic_method,
    .without = WITHOUT,
    .in_turns = true,
};
