/* Lists of the methods that are not the tests of ways (ways/), and of all limits. */
#include "registry.h"

#include "analysis/allocation/stgm_search.h"
#include "internal.h"
#include "simulate/machine/machine.h"

const gs_method_t *const gs_methods[] = {
    &gs_analysis_fifo_limit_method,
    &gs_analysis_allocation_partition_method,
    &gs_analysis_allocation_stgm_allocate_method,
    &gs_analysis_allocation_stgm_exhaustive_method,
    &gs_analysis_sensitivity_breakdown_method,
    &gs_analysis_priorities_method,
    &gs_analysis_global_edf_gedf_tardiness_method,
    &gs_analysis_global_edf_cpu_only_method,
    &gs_pbs_partitioned_assignment_method,
    &gs_simulate_fifo_fifo_method,
    &gs_simulate_hierarchy_hierarchy_method,
    &gs_simulate_host_host_method,
    &gs_simulate_challenge_method,
    NULL,
};

const gs_limit_t gs_limits[] = {
    {"pbs.tasks", GS_PERIODIC_TASKS_MAX},
    {"pbs.gpus", GS_PBS_PARTITIONED_GPUS},
    {"pbs.function_tasks", GS_PBS_LARGE_TASKS},
    {"pbs.function_rounds", GS_PBS_LARGE_ROUNDS},
    {"simulate.latest", GS_CHECK_LATEST},
    {"simulate.fifo_settle_tasks", GS_SIMULATE_FIFO_SETTLE_TASKS},
    {"simulate.cluster_blocks", GS_SIMULATE_GPU_CLUSTER_BLOCKS},
    {"model.never", GS_NEVER},
    {"model.carveouts", GS_GPU_MAX_CARVEOUTS},
    {"model.sms", GS_GPU_MAX_SMS},
    {"model.warp_threads", GS_GPU_WARP_THREADS},
    {"model.block_threads", GS_GPU_MAX_BLOCK_THREADS},
    {"analysis.exhaustive_tasks", GS_ANALYSIS_ALLOCATION_EXHAUSTIVE_TASKS},
    {"analysis.exhaustive_users", GS_ANALYSIS_ALLOCATION_EXHAUSTIVE_USERS},
    {"analysis.elliott_speed_ups", GS_ANALYSIS_GLOBAL_EDF_ELLIOTT_SPEED_UPS},
    {NULL, 0},
};
