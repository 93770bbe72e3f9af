/* All kernels and copies go into one stream, in the order of their launches. */
#include "ways/way.h"

const gs_ways_way_t gs_ways_one_stream = {
    .name = "one_stream",
    .title = "all kernels and copies in one stream",
    .source = "NVIDIA, CUDA C++ Programming Guide: streams; [RTAS20]",
    .in_turns = true,
    .simulator = "hierarchy",
};
