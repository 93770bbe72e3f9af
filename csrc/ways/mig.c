/* GPU instances, each with tasks that share it in another way. */
#include "ways/way.h"

/* Allocation of GPU instances (Multi-Instance GPU). The instances of a GPU do not delay each other,
 * so that the test of a way of sharing one GPU holds for each. Which tasks go to which instance is
 * searched in Python (gpusched/comparison/instances), as the derivation of a set's model from the
 * workload is; the tests of the sets are the core's. */
static const char *const WAY[] = {
    "streams", "priority_streams", "one_stream", "mps", "edf_serial", "edf_parallel", "pbs",
    "mpcp",    "fmlp_plus",        NULL};
static const char *const GAPS[] = {"refuse", "occupy", NULL};
static const gs_method_option_t TEST_OPTIONS[] = {
    {"way", "choice", WAY, "streams",
     "way in which the tasks of an instance share it; its options are accepted too"},
    {"gaps", "choice", GAPS, "occupy", "CPU work between GPU segments of a job, as in analyze"},
};
static const gs_method_t METHOD = {
    .name = "mig",
    .model = "Workload",
    .function = "mig",
    .claim = "sufficient",
    .source = "NVIDIA MIG User Guide; the test of the way within",
    .summary = "Choice of GPU instances (MIG); the tasks of an instance share it in another way.",
    .options = TEST_OPTIONS,
    .option_count = sizeof TEST_OPTIONS / sizeof *TEST_OPTIONS,
};

static const gs_method_option_t OPTIONS[] = {
    {"within", "way", NULL, "streams", "how the tasks of an instance share it"},
};
static const char *const WITHOUT[] = {"way", "gaps", NULL};

const gs_ways_way_t gs_ways_mig = {
    .name = "mig",
    .title = "GPU instances, each with its tasks",
    .source = "NVIDIA, Multi-Instance GPU",
    .test = &METHOD,
    .options = OPTIONS,
    .option_count = sizeof OPTIONS / sizeof *OPTIONS,
    .without = WITHOUT,
};
