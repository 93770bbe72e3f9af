/* Batches of kernels, filled in the order of their deadlines. */
#include "ways/way.h"

#include "pbs/edf.h"

static const char *const PREMISES[] = {"cpu_alone", "exact_times", "frames_start_together", NULL};

const gs_ways_way_t gs_ways_edf_parallel = {
    .name = "edf_parallel",
    .title = "batches filled in order of deadlines",
    .source = "[RTNS24]",
    .test = &gs_pbs_edf_parallel_method,
    .premises = PREMISES,
};
