/* Batches of kernels by a schedule, found by an exact search. */
#include "ways/way.h"

#include "pbs/search.h"

static const char *const PREMISES[] = {"cpu_alone", "frames_start_together", NULL};
static const char *const WITHOUT[] = {"variant", "policy", "repeating", NULL};

const gs_ways_way_t gs_ways_pbs = {
    .name = "pbs",
    .title = "batches by the exact search for a schedule",
    .source = "[RTNS24]",
    .test = &gs_pbs_search_method,
    .without = WITHOUT,
    .premises = PREMISES,
};
