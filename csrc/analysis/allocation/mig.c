/* Allocation of GPU instances: the descriptor; see mig.h. */
#include "analysis/allocation/mig.h"

#include <stddef.h>

static const char *const MIG_WITHIN[] = {
    "streams", "priority_streams", "edf_serial", "edf_parallel", "pbs", "mpcp", "fmlp_plus", NULL};
static const gs_method_option_t MIG_OPTIONS[] = {
    {"within", "choice", MIG_WITHIN, "streams",
     "way in which the tasks of an instance share it; its options are accepted too"},
};

const gs_method_t gs_analysis_allocation_mig_method = {
    .name = "mig",
    .model = "Workload",
    .function = "mig",
    .claim = "sufficient",
    .source = "NVIDIA MIG User Guide; the test of the way within",
    .summary = "Choice of GPU instances (MIG); the tasks of an instance share it in another way.",
    .options = MIG_OPTIONS,
    .option_count = sizeof MIG_OPTIONS / sizeof *MIG_OPTIONS,
};
