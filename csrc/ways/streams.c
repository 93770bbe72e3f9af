/* Each task has a stream, all of one priority; kernels begin in the order of their arrival. */
#include "ways/way.h"

#include "analysis/fifo/fifo_bound.h"

static const char *const PREMISES[] = {"cpu_alone", "channel_per_stream", "resident_grids", NULL};
static const char *const WITHOUT[] = {"theorems", NULL};

const gs_ways_way_t gs_ways_streams = {
    .name = "streams",
    .title = "a stream for each task, of equal priority",
    .source = "[ECRTS17]; [RTAS20]",
    .test = &gs_analysis_fifo_bound_method,
    .without = WITHOUT,
    .premises = PREMISES,
};
