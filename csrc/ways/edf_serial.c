/* The GPU part of one job at a time, that of the earliest deadline. */
#include "ways/way.h"

#include "pbs/edf.h"

static const char *const PREMISES[] = {"cpu_alone", "exact_times", NULL};

const gs_ways_way_t gs_ways_edf_serial = {
    .name = "edf_serial",
    .title = "jobs one at a time, earliest deadline first",
    .source = "[RTNS24]",
    .test = &gs_pbs_edf_serial_method,
    .in_turns = true,
    .premises = PREMISES,
};
