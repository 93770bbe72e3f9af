/* Names of all enumerations, by value or, for sets of flags, by bit. */
#include "enumerations.h"

#include "internal.h"
#include "simulate/machine/machine.h"

static const char *const CORE_STATUS[] = {
    [GS_OK] = "done",
    [GS_SPENT_STATES] = "states",
    [GS_SPENT_BYTES] = "bytes",
    [GS_SPENT_SECONDS] = "seconds",
    [GS_UNDECIDED] = "undecided",
};

static const char *const MODEL_FIFO_ORDER[] = {
    [GS_FIFO_ORDER_HARDWARE] = "hardware",
    [GS_FIFO_ORDER_RELEASE] = "release",
    [GS_FIFO_ORDER_STRICT] = "strict",
    [GS_FIFO_ORDER_OVERLAP] = "overlap",
};

static const char *const MODEL_GPU_LIMIT[] = {
    [GS_OCCUPANCY_LIMIT_WARPS] = "warps",     [GS_OCCUPANCY_LIMIT_BLOCKS] = "blocks",
    [GS_OCCUPANCY_LIMIT_REGS] = "registers",  [GS_OCCUPANCY_LIMIT_SMEM] = "shared memory",
    [GS_OCCUPANCY_LIMIT_THREADS] = "threads", [GS_OCCUPANCY_LIMIT_CARVEOUT] = "carve-out",
};

static const char *const MODEL_CARVEOUT_RULE[] = {
    [GS_GPU_CARVEOUT_IGNORE] = "ignore",
    [GS_GPU_CARVEOUT_MATCH] = "match",
    [GS_GPU_CARVEOUT_AT_LEAST] = "at_least",
};

static const char *const MODEL_PLACEMENT[] = {
    [GS_BLOCK_PLACEMENT_MOST_ROOM] = "most_room",
    [GS_BLOCK_PLACEMENT_OLMEDO] = "olmedo",
    [GS_BLOCK_PLACEMENT_ROUND_ROBIN] = "round_robin",
};

static const char *const MODEL_REPLAY_RULE[] = {
    [GS_SCHEDULE_REPLAY_OK] = "",
    [GS_SCHEDULE_REPLAY_OVERLAP] = "overlap",
    [GS_SCHEDULE_REPLAY_INELIGIBLE] = "ineligible",
    [GS_SCHEDULE_REPLAY_LENGTH] = "length",
    [GS_SCHEDULE_REPLAY_NOT_READY] = "not ready",
    [GS_SCHEDULE_REPLAY_MISS] = "miss",
    [GS_SCHEDULE_REPLAY_IDLE] = "idle",
    [GS_SCHEDULE_REPLAY_UNFINISHED] = "unfinished",
    [GS_SCHEDULE_REPLAY_CYCLE] = "cycle",
};

static const char *const GENERATE_ROUNDING[] = {
    [GS_GENERATE_ELLIOTT_NEAREST] = "nearest",
    [GS_GENERATE_ELLIOTT_DOWN] = "down",
    [GS_GENERATE_ELLIOTT_UP] = "up",
};

static const char *const GENERATE_FATE[] = {
    [GS_GENERATE_ELLIOTT_TAKEN] = "taken",           [GS_GENERATE_ELLIOTT_NO_TASK] = "no task",
    [GS_GENERATE_ELLIOTT_ONE_GPU] = "one gpu",       [GS_GENERATE_ELLIOTT_NO_GPU] = "no gpu",
    [GS_GENERATE_ELLIOTT_OVERLOADED] = "overloaded",
};

static const char *const PBS_STAGE[] = {
    [GS_PBS_STAGE_NONE] = "none",
    [GS_PBS_STAGE_EDF_SERIAL] = "edf_serial",
    [GS_PBS_STAGE_EDF_PARALLEL] = "edf_parallel",
    [GS_PBS_STAGE_DEPTH_FIRST] = "depth_first",
    [GS_PBS_STAGE_OVERLOAD] = "overload",
    [GS_PBS_STAGE_DEAD_INTERVAL] = "dead_interval",
    [GS_PBS_STAGE_LATEST_START] = "latest_start",
    [GS_PBS_STAGE_INTERVAL] = "interval",
    [GS_PBS_STAGE_LAZY] = "lazy",
    [GS_PBS_STAGE_GROUPS] = "groups",
    [GS_PBS_STAGE_CORE] = "core",
};

static const char *const PBS_PROOF_FAULT[] = {
    [GS_PBS_PROOF_HOLDS] = "",
    [GS_PBS_PROOF_TASKS] = "tasks",
    [GS_PBS_PROOF_RANGE] = "range",
    [GS_PBS_PROOF_SCALE] = "scale",
    [GS_PBS_PROOF_BATCH] = "batch",
    [GS_PBS_PROOF_LOAD] = "load",
    [GS_PBS_PROOF_QUESTION] = "question",
    [GS_PBS_PROOF_JOB] = "job",
    [GS_PBS_PROOF_COVER] = "cover",
    [GS_PBS_PROOF_ROOM] = "room",
    [GS_PBS_PROOF_CLASS] = "class",
    [GS_PBS_PROOF_TWICE] = "twice",
    [GS_PBS_PROOF_SPAN] = "span",
    [GS_PBS_PROOF_FIRST] = "first",
    [GS_PBS_PROOF_FINAL] = "final",
    [GS_PBS_PROOF_WAIT] = "wait",
    [GS_PBS_PROOF_MOVE] = "move",
};

static const char *const PBS_DISPATCH[] = {
    [GS_PBS_DISPATCH_TABLE] = "table",
    [GS_PBS_DISPATCH_RECLAIM] = "reclaim",
    [GS_PBS_DISPATCH_POLICY] = "policy",
};

static const char *const PBS_GRAPH_VARIANT[] = {
    [GS_PBS_GRAPH_REPAIRED] = "sound",
    [GS_PBS_GRAPH_PAPER] = "paper",
    [GS_PBS_GRAPH_PRINTED] = "printed",
};

static const char *const PBS_GRAPH_PRUNING[] = {
    [GS_PBS_GRAPH_PRUNING_FRAME] = "frame",
    [GS_PBS_GRAPH_PRUNING_READY] = "ready",
    [GS_PBS_GRAPH_PRUNING_BATCH] = "batch",
};

static const char *const PBS_GRAPH_OUTCOME[] = {
    [GS_PBS_GRAPH_COMPLETE] = "complete",   [GS_PBS_GRAPH_STATES] = "states",
    [GS_PBS_GRAPH_BYTES] = "bytes",         [GS_PBS_GRAPH_SECONDS] = "seconds",
    [GS_PBS_GRAPH_FOUND] = "found",         [GS_PBS_GRAPH_DEPTH] = "depth",
    [GS_PBS_GRAPH_UNDECIDED] = "undecided",
};

static const char *const PBS_GRAPH_VERTEX[] = {
    [GS_PBS_GRAPH_VERTEX_OPEN] = "open",
    [GS_PBS_GRAPH_VERTEX_EXPANDED] = "expanded",
    [GS_PBS_GRAPH_VERTEX_SUCCESS] = "success",
    [GS_PBS_GRAPH_VERTEX_DISCARDED] = "discarded",
};

static const char *const ANALYSIS_FIFO_THEOREM[] = {
    [GS_ANALYSIS_FIFO_NO_THEOREM] = "",
    [GS_ANALYSIS_FIFO_THEOREM_FITS] = "fits",
    [GS_ANALYSIS_FIFO_THEOREM_P] = "P",
    [GS_ANALYSIS_FIFO_THEOREM_V1_FIRST] = "V1, case 1",
    [GS_ANALYSIS_FIFO_THEOREM_V1_CHAIN] = "V1, case 2",
    [GS_ANALYSIS_FIFO_THEOREM_A] = "A",
    [GS_ANALYSIS_FIFO_THEOREM_A_REFINED] = "A refined",
    [GS_ANALYSIS_FIFO_THEOREM_V2] = "V2",
    [GS_ANALYSIS_FIFO_THEOREM_V3] = "V3",
    [GS_ANALYSIS_FIFO_THEOREM_A_SINGLE] = "A, one job",
};

static const char *const ANALYSIS_PRIORITY_STREAMS_THEOREM[] = {
    [GS_ANALYSIS_PRIORITY_STREAMS_NONE] = "", [GS_ANALYSIS_PRIORITY_STREAMS_FITS] = "fits",
    [GS_ANALYSIS_PRIORITY_STREAMS_M] = "M",   [GS_ANALYSIS_PRIORITY_STREAMS_A] = "A",
    [GS_ANALYSIS_PRIORITY_STREAMS_O] = "O",   [GS_ANALYSIS_PRIORITY_STREAMS_ALONE] = "alone",
};

static const char *const MODEL_SEGMENT_KIND[] = {
    [GS_PROGRAMS_CPU] = "cpu",
    [GS_PROGRAMS_COPY] = "copy",
    [GS_PROGRAMS_KERNEL] = "kernel",
};

static const char *const ANALYSIS_HOLISTIC_RULE[] = {
    [GS_ANALYSIS_HOLISTIC_ONE_STREAM] = "one_stream",
    [GS_ANALYSIS_HOLISTIC_STREAMS] = "streams",
    [GS_ANALYSIS_HOLISTIC_TIME_SLICES] = "time_slices",
    [GS_ANALYSIS_HOLISTIC_EDF] = "edf_serial",
    [GS_ANALYSIS_HOLISTIC_GCAPS] = "gcaps",
};

static const char *const ANALYSIS_HOLISTIC_PARTS[] = {
    [GS_ANALYSIS_HOLISTIC_WHOLE] = "",
    [GS_ANALYSIS_HOLISTIC_OWN_QUEUES] = "own",
    [GS_ANALYSIS_HOLISTIC_ALL_QUEUES] = "shared",
    [GS_ANALYSIS_HOLISTIC_OWN_BLOCKS] = "own_blocks",
    [GS_ANALYSIS_HOLISTIC_LIMITS] = "limits",
    [GS_ANALYSIS_HOLISTIC_IN_TURNS] = "in_turns",
};

static const char *const ANALYSIS_HOLISTIC_LAUNCH[] = {
    [GS_ANALYSIS_HOLISTIC_GRAPH] = "graph",
    [GS_ANALYSIS_HOLISTIC_SYNC] = "sync",
    [GS_ANALYSIS_HOLISTIC_ASYNC] = "async",
};

static const char *const ANALYSIS_HOLISTIC_TERM[] = {
    [GS_ANALYSIS_HOLISTIC_OWN] = "own",         [GS_ANALYSIS_HOLISTIC_CPU] = "cpu",
    [GS_ANALYSIS_HOLISTIC_COPY] = "copy",       [GS_ANALYSIS_HOLISTIC_GPU] = "gpu",
    [GS_ANALYSIS_HOLISTIC_CHANNEL] = "channel", [GS_ANALYSIS_HOLISTIC_BEHIND] = "behind",
};

static const char *const ANALYSIS_PRIORITY_STREAMS_PARTITIONS[] = {
    [GS_ANALYSIS_PRIORITY_STREAMS_OWN] = "own",
    [GS_ANALYSIS_PRIORITY_STREAMS_SHARED] = "shared",
    [GS_ANALYSIS_PRIORITY_STREAMS_LIMITS] = "limits",
};

static const char *const ANALYSIS_FIFO_STATUS[] = {
    [GS_ANALYSIS_FIFO_BOUNDED] = "bounded",
    [GS_ANALYSIS_FIFO_UNKNOWN] = "unknown",
    [GS_ANALYSIS_FIFO_UNBOUNDED_LONG] = "unbounded_long",
    [GS_ANALYSIS_FIFO_UNBOUNDED_LOAD] = "unbounded_load",
};

static const char *const ANALYSIS_FIFO_REASON[] = {
    [GS_ANALYSIS_FIFO_REASON_BOUND] = "bound",
    [GS_ANALYSIS_FIFO_REASON_ORDER] = "order",
    [GS_ANALYSIS_FIFO_REASON_SKIPPED] = "skipped",
    [GS_ANALYSIS_FIFO_REASON_WAITS] = "waits",
    [GS_ANALYSIS_FIFO_REASON_UTILIZATION] = "utilization",
    [GS_ANALYSIS_FIFO_REASON_LONG] = "long",
    [GS_ANALYSIS_FIFO_REASON_SC1] = "sc1",
    [GS_ANALYSIS_FIFO_REASON_SC1_OTHER] = "sc1_other",
    [GS_ANALYSIS_FIFO_REASON_BLOCKS] = "blocks",
    [GS_ANALYSIS_FIFO_REASON_BLOCK_TIME] = "block_time",
    [GS_ANALYSIS_FIFO_REASON_JOB_LIMIT] = "endless",
    [GS_ANALYSIS_FIFO_REASON_OVERFLOW] = "clock",
    [GS_ANALYSIS_FIFO_REASON_NO_START] = "no_start",
    [GS_ANALYSIS_FIFO_REASON_DOMINATED] = "needless",
    [GS_ANALYSIS_FIFO_REASON_SMS] = "sms",
};

static const char *const ANALYSIS_LOCK_MODE[] = {
    [GS_ANALYSIS_PARTITIONED_LOCK_SUSPEND] = "suspend",
    [GS_ANALYSIS_PARTITIONED_LOCK_BUSY] = "busy",
    [GS_ANALYSIS_PARTITIONED_LOCK_SPIN] = "spin",
};

static const char *const ANALYSIS_CONTEXT_MODE[] = {
    [GS_ANALYSIS_CONTEXTS_SUSPEND] = "suspend",
    [GS_ANALYSIS_CONTEXTS_BUSY] = "busy",
};

static const char *const ANALYSIS_CONTEXT_FIXED_POINT[] = {
    [GS_ANALYSIS_CONTEXTS_JOINT] = "joint",
    [GS_ANALYSIS_CONTEXTS_ONE_PASS] = "one_pass",
    [GS_ANALYSIS_CONTEXTS_ORDER_FREE] = "order_free",
    [GS_ANALYSIS_CONTEXTS_DEADLINES] = "deadlines",
};

static const char *const ANALYSIS_SCALE[] = {
    [GS_ANALYSIS_SENSITIVITY_ALL] = "all",
    [GS_ANALYSIS_SENSITIVITY_KERNELS] = "kernels",
    [GS_ANALYSIS_SENSITIVITY_COPIES] = "copies",
    [GS_ANALYSIS_SENSITIVITY_CPU] = "cpu",
};

static const char *const ANALYSIS_ASSIGNMENT[] = {
    [GS_ANALYSIS_PRIORITIES_AUDSLEY] = "audsley",
    [GS_ANALYSIS_PRIORITIES_EXHAUSTIVE] = "exhaustive",
    [GS_ANALYSIS_PRIORITIES_DEADLINE_MONOTONIC] = "deadline monotonic",
    [GS_ANALYSIS_PRIORITIES_CPU_ORDER] = "cpu priorities",
};

static const char *const ANALYSIS_STGM_VARIANT[] = {
    [GS_ANALYSIS_PARTITIONED_STGM_SOUND] = "sound",
    [GS_ANALYSIS_PARTITIONED_STGM_PAPER] = "paper",
    [GS_ANALYSIS_PARTITIONED_STGM_PAPER_HIGHER] = "paper, B_h",
};

static const char *const ANALYSIS_TERM[] = {
    [GS_ANALYSIS_COMMON_OWN] = "own",       [GS_ANALYSIS_COMMON_COPY] = "copy",
    [GS_ANALYSIS_COMMON_KERNEL] = "kernel", [GS_ANALYSIS_COMMON_REQUEST] = "request",
    [GS_ANALYSIS_COMMON_LOWER] = "lower",   [GS_ANALYSIS_COMMON_SERVER] = "server",
    [GS_ANALYSIS_COMMON_HIGHER] = "higher", [GS_ANALYSIS_COMMON_RELEASE] = "release",
};

static const char *const ANALYSIS_DEMAND_VERDICT[] = {
    [GS_ANALYSIS_DEMAND_FITS] = "fits",
    [GS_ANALYSIS_DEMAND_EXCEEDED] = "exceeded",
    [GS_ANALYSIS_DEMAND_SPENT] = "spent",
};

static const char *const ANALYSIS_GEDF_LOCK[] = {
    [GS_ANALYSIS_GLOBAL_EDF_SRM_FMLP] = "fmlp",
    [GS_ANALYSIS_GLOBAL_EDF_SRM_OMLP] = "omlp",
};

static const char *const ANALYSIS_GEDF_VERDICT[] = {
    [GS_ANALYSIS_GLOBAL_EDF_BOUNDED] = "bounded",
    [GS_ANALYSIS_GLOBAL_EDF_LONG] = "long",
    [GS_ANALYSIS_GLOBAL_EDF_LOAD] = "load",
    [GS_ANALYSIS_GLOBAL_EDF_CONTAINER] = "container",
};

static const char *const ANALYSIS_GEDF_BOUND[] = {
    [GS_ANALYSIS_GLOBAL_EDF_NONE] = "",
    [GS_ANALYSIS_GLOBAL_EDF_ALONE] = "alone",
    [GS_ANALYSIS_GLOBAL_EDF_UNIPROCESSOR] = "uniprocessor",
    [GS_ANALYSIS_GLOBAL_EDF_DEVI_ANDERSON] = "devi_anderson",
    [GS_ANALYSIS_GLOBAL_EDF_COMPLIANT] = "compliant",
    [GS_ANALYSIS_GLOBAL_EDF_FIFO] = "fifo",
};

static const char *const SIMULATE_FIFO_DRAW[] = {
    [GS_SIMULATE_FIFO_PER_JOB] = "job",
    [GS_SIMULATE_FIFO_PER_WAVE] = "wave",
    [GS_SIMULATE_FIFO_PER_BLOCK] = "block",
};

_Static_assert(GS_SIMULATE_FIFO_AT_HEAD == 1 << 0, "bit 0 of simulate.fifo_trigger");
_Static_assert(GS_SIMULATE_FIFO_AT_TAIL == 1 << 1, "bit 1 of simulate.fifo_trigger");
_Static_assert(GS_SIMULATE_FIFO_AT_END == 1 << 2, "bit 2 of simulate.fifo_trigger");
static const char *const SIMULATE_FIFO_TRIGGER[] = {
    "head", /* GS_SIMULATE_FIFO_AT_HEAD */
    "tail", /* GS_SIMULATE_FIFO_AT_TAIL */
    "end",  /* GS_SIMULATE_FIFO_AT_END */
};

static const char *const SIMULATE_FIFO_SETTLE[] = {
    [GS_SIMULATE_FIFO_SETTLE_NO] = "no",
    [GS_SIMULATE_FIFO_SETTLE_NOTE] = "note",
    [GS_SIMULATE_FIFO_SETTLE_STOP] = "stop",
};

static const char *const SIMULATE_FIFO_OUTCOME[] = {
    [GS_SIMULATE_FIFO_OPEN] = "done",
    [GS_SIMULATE_FIFO_REPEATS] = "repeats",
    [GS_SIMULATE_FIFO_DIVERGES] = "diverges",
};

static const char *const SIMULATE_HOST_POLICY[] = {
    [GS_SIMULATE_HOST_PARTITIONED] = "partitioned",
    [GS_SIMULATE_HOST_GEDF] = "gedf",
};

static const char *const SIMULATE_HOST_RING[] = {
    [GS_SIMULATE_HOST_RING_FIFO] = "fifo",
    [GS_SIMULATE_HOST_RING_CYCLIC] = "cyclic",
};

static const char *const SIMULATE_HOST_MODE[] = {
    [GS_SIMULATE_HOST_MODE_SUSPEND] = "suspend",
    [GS_SIMULATE_HOST_MODE_BUSY] = "busy",
    [GS_SIMULATE_HOST_MODE_SPIN] = "spin",
};

_Static_assert(GS_SIMULATE_HOST_AT_RELEASE == 1 << 0, "bit 0 of simulate.host_trigger");
_Static_assert(GS_SIMULATE_HOST_AT_REQUEST == 1 << 1, "bit 1 of simulate.host_trigger");
_Static_assert(GS_SIMULATE_HOST_AT_RESUME == 1 << 2, "bit 2 of simulate.host_trigger");
_Static_assert(GS_SIMULATE_HOST_AT_END == 1 << 3, "bit 3 of simulate.host_trigger");
static const char *const SIMULATE_HOST_TRIGGER[] = {
    "release", /* GS_SIMULATE_HOST_AT_RELEASE */
    "request", /* GS_SIMULATE_HOST_AT_REQUEST */
    "resume",  /* GS_SIMULATE_HOST_AT_RESUME */
    "end",     /* GS_SIMULATE_HOST_AT_END */
};

static const char *const SIMULATE_HOST_ACTIVITY[] = {
    [GS_SIMULATE_HOST_DOES_NOTHING] = "",
    [GS_SIMULATE_HOST_DOES_CPU] = "cpu",
    [GS_SIMULATE_HOST_DOES_COPY_IN] = "copy in",
    [GS_SIMULATE_HOST_DOES_KERNEL] = "kernel",
    [GS_SIMULATE_HOST_DOES_COPY_OUT] = "copy out",
    [GS_SIMULATE_HOST_DOES_SPIN] = "spin",
    [GS_SIMULATE_HOST_DOES_OVERHEAD] = "overhead",
    [GS_SIMULATE_HOST_DOES_READY] = "wait for core",
    [GS_SIMULATE_HOST_DOES_WAIT_COPY] = "wait for copy engine",
    [GS_SIMULATE_HOST_DOES_WAIT_SM] = "wait for SMs",
    [GS_SIMULATE_HOST_DOES_WAIT_GPU] = "wait for GPU",
    [GS_SIMULATE_HOST_DOES_SERVED] = "served",
};

static const char *const SIMULATE_LAUNCH_KIND[] = {
    [GS_SIMULATE_GPU_OP_KERNEL] = "kernel",
    [GS_SIMULATE_GPU_OP_COPY_IN] = "copy_in",
    [GS_SIMULATE_GPU_OP_COPY_OUT] = "copy_out",
};

static const char *const SIMULATE_STREAM_KIND[] = {
    [GS_SIMULATE_GPU_STREAM_BLOCKING] = "blocking",
    [GS_SIMULATE_GPU_STREAM_NON_BLOCKING] = "non_blocking",
    [GS_SIMULATE_GPU_STREAM_NULL] = "null",
};

static const char *const IO_ROW_TEXT[] = {
    [GS_IO_ROW_TEXT_INTEGER] = "integer",         [GS_IO_ROW_TEXT_SCALED] = "scaled",
    [GS_IO_ROW_TEXT_THOUSANDTHS] = "thousandths", [GS_IO_ROW_TEXT_TEXT] = "text",
    [GS_IO_ROW_TEXT_OPTIONAL] = "optional",
};

static const char *const IO_RULE[] = {
    [GS_IO_RULES_GRIDS] = "grids",       [GS_IO_RULES_IDLE] = "idle",
    [GS_IO_RULES_LIMITS] = "limits",     [GS_IO_RULES_PLACEMENT] = "placement",
    [GS_IO_RULES_PRIORITY] = "priority", [GS_IO_RULES_QUEUE] = "queue",
    [GS_IO_RULES_STREAM] = "stream",
};

static const char *const SIMULATE_WAIT_REASON[] = {
    [GS_SIMULATE_GPU_WAIT_STREAM] = "stream",
    [GS_SIMULATE_GPU_WAIT_AFTER] = "after",
    [GS_SIMULATE_GPU_WAIT_NULL_STREAM] = "null_stream",
    [GS_SIMULATE_GPU_WAIT_CHANNEL] = "channel",
    [GS_SIMULATE_GPU_WAIT_SLICE] = "slice",
    [GS_SIMULATE_GPU_WAIT_PRIORITY] = "priority",
    [GS_SIMULATE_GPU_WAIT_QUEUE] = "queue",
    [GS_SIMULATE_GPU_WAIT_WARPS] = "warps",
    [GS_SIMULATE_GPU_WAIT_BLOCKS] = "blocks",
    [GS_SIMULATE_GPU_WAIT_REGS] = "registers",
    [GS_SIMULATE_GPU_WAIT_SMEM] = "shared_memory",
    [GS_SIMULATE_GPU_WAIT_COPY_ENGINE] = "copy_engine",
    [GS_SIMULATE_GPU_WAIT_CARVEOUT] = "carveout",
    [GS_SIMULATE_GPU_WAIT_PARTITION] = "partition",
    [GS_SIMULATE_GPU_WAIT_COOPERATIVE] = "cooperative",
    [GS_SIMULATE_GPU_WAIT_CLUSTER] = "cluster",
    [GS_SIMULATE_GPU_WAIT_GRIDS] = "grids",
};

static const char *const SIMULATE_MACHINE_STEP[] = {
    [GS_SIMULATE_MACHINE_WORK] = "work", [GS_SIMULATE_MACHINE_BEGIN] = "begin",
    [GS_SIMULATE_MACHINE_CALL] = "call", [GS_SIMULATE_MACHINE_WAIT] = "wait",
    [GS_SIMULATE_MACHINE_END] = "end",   [GS_SIMULATE_MACHINE_STOP] = "stop",
};

static const char *const SIMULATE_MACHINE_ITEM_KIND[] = {
    [GS_SIMULATE_MACHINE_ITEM_CPU] = "cpu",
    [GS_SIMULATE_MACHINE_ITEM_COPY] = "copy",
    [GS_SIMULATE_MACHINE_ITEM_KERNEL] = "kernel",
};

static const char *const SIMULATE_MACHINE_RULE[] = {
    [GS_SIMULATE_MACHINE_RULE_STREAMS] = "streams",
    [GS_SIMULATE_MACHINE_RULE_TIME_SLICES] = "time_slices",
    [GS_SIMULATE_MACHINE_RULE_GCAPS] = "gcaps",
    [GS_SIMULATE_MACHINE_RULE_MPCP] = "mpcp",
    [GS_SIMULATE_MACHINE_RULE_FMLP_PLUS] = "fmlp_plus",
    [GS_SIMULATE_MACHINE_RULE_SRM] = "srm",
    [GS_SIMULATE_MACHINE_RULE_DRIVER] = "driver",
    [GS_SIMULATE_MACHINE_RULE_EDF_SERIAL] = "edf_serial",
    [GS_SIMULATE_MACHINE_RULE_STGM] = "stgm",
    [GS_SIMULATE_MACHINE_RULE_GPU_SERVER] = "gpu_server",
    [GS_SIMULATE_MACHINE_RULE_FRAMES] = "frames",
    [GS_SIMULATE_MACHINE_RULE_OMLP] = "omlp",
    [GS_SIMULATE_MACHINE_RULE_CONTAINER] = "container",
};

static const char *const SIMULATE_MACHINE_POLICY[] = {
    [GS_SIMULATE_MACHINE_PARTITIONED] = "partitioned",
    [GS_SIMULATE_MACHINE_GLOBAL_FP] = "global_fp",
    [GS_SIMULATE_MACHINE_GLOBAL_EDF] = "global_edf",
};

static const char *const SIMULATE_MACHINE_MODE[] = {
    [GS_SIMULATE_MACHINE_SUSPEND] = "suspend",
    [GS_SIMULATE_MACHINE_BUSY] = "busy",
    [GS_SIMULATE_MACHINE_SPIN] = "spin",
};

static const char *const SIMULATE_MACHINE_DRAW[] = {
    [GS_SIMULATE_MACHINE_DRAW_OPERATION] = "operation",
    [GS_SIMULATE_MACHINE_DRAW_BLOCK] = "block",
    [GS_SIMULATE_MACHINE_DRAW_JOB] = "job",
};

static const char *const SIMULATE_MACHINE_RING[] = {
    [GS_SIMULATE_MACHINE_RING_FIFO] = "fifo",
    [GS_SIMULATE_MACHINE_RING_CYCLIC] = "cyclic",
};

static const char *const SIMULATE_MACHINE_ACTIVITY[] = {
    [GS_SIMULATE_MACHINE_DOES_WORK] = "work",
    [GS_SIMULATE_MACHINE_DOES_SPIN] = "spin",
    [GS_SIMULATE_MACHINE_DOES_UPDATE] = "update",
};

/* Columns of the logs. */
static const char *const SIMULATE_MACHINE_JOB[] = {
    [GS_SIMULATE_MACHINE_JOB_TASK] = "task",       [GS_SIMULATE_MACHINE_JOB_NUMBER] = "job",
    [GS_SIMULATE_MACHINE_JOB_ARRIVAL] = "arrival", [GS_SIMULATE_MACHINE_JOB_RELEASE] = "release",
    [GS_SIMULATE_MACHINE_JOB_START] = "start",     [GS_SIMULATE_MACHINE_JOB_END] = "end",
};

static const char *const SIMULATE_MACHINE_OPERATION[] = {
    [GS_SIMULATE_MACHINE_OP_TASK] = "task",
    [GS_SIMULATE_MACHINE_OP_JOB] = "job",
    [GS_SIMULATE_MACHINE_OP_ITEM] = "item",
    [GS_SIMULATE_MACHINE_OP_CALLED] = "called",
    [GS_SIMULATE_MACHINE_OP_ARRIVED] = "arrived",
    [GS_SIMULATE_MACHINE_OP_HEAD] = "head",
    [GS_SIMULATE_MACHINE_OP_JOINED] = "joined",
    [GS_SIMULATE_MACHINE_OP_FIRST] = "first",
    [GS_SIMULATE_MACHINE_OP_DISPATCHED] = "dispatched",
    [GS_SIMULATE_MACHINE_OP_END] = "end",
};

static const char *const SIMULATE_MACHINE_BLOCK[] = {
    [GS_SIMULATE_GPU_BLOCK_OP] = "operation", [GS_SIMULATE_GPU_BLOCK_NUMBER] = "block",
    [GS_SIMULATE_GPU_BLOCK_SM] = "sm",        [GS_SIMULATE_GPU_BLOCK_START] = "start",
    [GS_SIMULATE_GPU_BLOCK_END] = "end",
};

static const char *const SIMULATE_MACHINE_CPU[] = {
    [GS_SIMULATE_MACHINE_CPU_CPU] = "cpu",   [GS_SIMULATE_MACHINE_CPU_TASK] = "task",
    [GS_SIMULATE_MACHINE_CPU_JOB] = "job",   [GS_SIMULATE_MACHINE_CPU_ITEM] = "item",
    [GS_SIMULATE_MACHINE_CPU_WHAT] = "what", [GS_SIMULATE_MACHINE_CPU_FROM] = "from",
    [GS_SIMULATE_MACHINE_CPU_TO] = "to",
};

static const char *const SIMULATE_MACHINE_SLICE[] = {
    [GS_SIMULATE_MACHINE_SLICE_DEVICE] = "device", [GS_SIMULATE_MACHINE_SLICE_CONTEXT] = "context",
    [GS_SIMULATE_MACHINE_SLICE_SWITCH] = "switch", [GS_SIMULATE_MACHINE_SLICE_FROM] = "from",
    [GS_SIMULATE_MACHINE_SLICE_TO] = "to",
};

static const char *const CUDA_LIMIT[] = {
    [GS_CUDA_SMS] = "sms",
    [GS_CUDA_THREADS_PER_SM] = "threads_per_sm",
    [GS_CUDA_BLOCKS_PER_SM] = "blocks_per_sm",
    [GS_CUDA_REGS_PER_SM] = "regs_per_sm",
    [GS_CUDA_REGS_PER_BLOCK] = "regs_per_block",
    [GS_CUDA_SMEM_PER_SM] = "smem_per_sm",
    [GS_CUDA_SMEM_PER_BLOCK] = "smem_per_block",
    [GS_CUDA_SMEM_RESERVED] = "smem_reserved",
    [GS_CUDA_COPY_ENGINES] = "copy_engines",
    [GS_CUDA_CC_MAJOR] = "cc_major",
    [GS_CUDA_CC_MINOR] = "cc_minor",
    [GS_CUDA_CONCURRENT] = "concurrent_kernels",
    [GS_CUDA_L2_BYTES] = "l2_bytes",
    [GS_CUDA_INTEGRATED] = "integrated",
    [GS_CUDA_TIMEOUT] = "timeout",
    [GS_CUDA_COMPUTE_MODE] = "compute_mode",
    [GS_CUDA_MEMORY_BYTES] = "memory_bytes",
};

static const char *const CUDA_OPERATION[] = {
    [GS_CUDA_KERNEL] = "kernel", [GS_CUDA_COPY_IN] = "copy_in", [GS_CUDA_COPY_OUT] = "copy_out",
    [GS_CUDA_MEMSET] = "memset", [GS_CUDA_GRAPH] = "graph",
};

static const char *const CUDA_STREAM_KIND[] = {
    [GS_CUDA_BLOCKING] = "blocking",
    [GS_CUDA_NON_BLOCKING] = "non_blocking",
    [GS_CUDA_NULL_STREAM] = "null",
};

static const char *const RT_EVENT[] = {
    [0] = "",
    [GS_RT_EV_RELEASE] = "release",
    [GS_RT_EV_READY] = "ready",
    [GS_RT_EV_REQUEST] = "request",
    [GS_RT_EV_ACQUIRE] = "acquire",
    [GS_RT_EV_SUBMIT] = "submit",
    [GS_RT_EV_GPU_BEGIN] = "gpu_begin",
    [GS_RT_EV_GPU_END] = "gpu_end",
    [GS_RT_EV_RELEASE_LOCK] = "release_lock",
    [GS_RT_EV_COMPLETE] = "complete",
    [GS_RT_EV_MISS] = "miss",
    [GS_RT_EV_SKIP] = "skip",
    [GS_RT_EV_ABORT] = "abort",
    [GS_RT_EV_FRAME] = "frame",
    [GS_RT_EV_FRAME_DONE] = "frame_done",
    [GS_RT_EV_OWNER_DIED] = "owner_died",
    [GS_RT_EV_CPU] = "cpu",
};

static const char *const RT_ORDER[] = {
    [GS_RT_ORDER_PRIORITY] = "priority",
    [GS_RT_ORDER_FIFO] = "fifo",
};

static const char *const RT_OVERRUN[] = {
    [GS_RT_OVERRUN_CONTINUE] = "continue",
    [GS_RT_OVERRUN_SKIP] = "skip",
    [GS_RT_OVERRUN_ABORT] = "abort",
};

static const char *const RT_STATUS[] = {
    [GS_RT_OK] = "ok",     [GS_RT_TIMEOUT] = "timeout", [GS_RT_OWNER_DIED] = "owner_died",
    [GS_RT_LATE] = "late", [GS_RT_SKIPPED] = "skipped", [GS_RT_STOPPED] = "stopped",
};

static const char *const CUDA_WAIT[] = {
    [GS_CUDA_WAIT_CONTEXT] = "context",
    [GS_CUDA_WAIT_STREAMS] = "streams",
    [GS_CUDA_WAIT_POLL] = "poll",
};

static const gs_enumeration_t ALL[] = {
    {"core.status", CORE_STATUS, sizeof CORE_STATUS / sizeof *CORE_STATUS},
    {"model.fifo_order", MODEL_FIFO_ORDER, sizeof MODEL_FIFO_ORDER / sizeof *MODEL_FIFO_ORDER},
    {"model.gpu_limit", MODEL_GPU_LIMIT, sizeof MODEL_GPU_LIMIT / sizeof *MODEL_GPU_LIMIT},
    {"model.carveout_rule", MODEL_CARVEOUT_RULE,
     sizeof MODEL_CARVEOUT_RULE / sizeof *MODEL_CARVEOUT_RULE},
    {"model.placement", MODEL_PLACEMENT, sizeof MODEL_PLACEMENT / sizeof *MODEL_PLACEMENT},
    {"model.segment_kind", MODEL_SEGMENT_KIND,
     sizeof MODEL_SEGMENT_KIND / sizeof *MODEL_SEGMENT_KIND},
    {"model.replay_rule", MODEL_REPLAY_RULE, sizeof MODEL_REPLAY_RULE / sizeof *MODEL_REPLAY_RULE},
    {"generate.rounding", GENERATE_ROUNDING, sizeof GENERATE_ROUNDING / sizeof *GENERATE_ROUNDING},
    {"generate.fate", GENERATE_FATE, sizeof GENERATE_FATE / sizeof *GENERATE_FATE},
    {"pbs.stage", PBS_STAGE, sizeof PBS_STAGE / sizeof *PBS_STAGE},
    {"pbs.proof_fault", PBS_PROOF_FAULT, sizeof PBS_PROOF_FAULT / sizeof *PBS_PROOF_FAULT},
    {"pbs.dispatch", PBS_DISPATCH, sizeof PBS_DISPATCH / sizeof *PBS_DISPATCH},
    {"pbs.graph_variant", PBS_GRAPH_VARIANT, sizeof PBS_GRAPH_VARIANT / sizeof *PBS_GRAPH_VARIANT},
    {"pbs.graph_pruning", PBS_GRAPH_PRUNING, sizeof PBS_GRAPH_PRUNING / sizeof *PBS_GRAPH_PRUNING},
    {"pbs.graph_outcome", PBS_GRAPH_OUTCOME, sizeof PBS_GRAPH_OUTCOME / sizeof *PBS_GRAPH_OUTCOME},
    {"pbs.graph_vertex", PBS_GRAPH_VERTEX, sizeof PBS_GRAPH_VERTEX / sizeof *PBS_GRAPH_VERTEX},
    {"analysis.fifo_theorem", ANALYSIS_FIFO_THEOREM,
     sizeof ANALYSIS_FIFO_THEOREM / sizeof *ANALYSIS_FIFO_THEOREM},
    {"analysis.priority_streams_theorem", ANALYSIS_PRIORITY_STREAMS_THEOREM,
     sizeof ANALYSIS_PRIORITY_STREAMS_THEOREM / sizeof *ANALYSIS_PRIORITY_STREAMS_THEOREM},
    {"analysis.priority_streams_partitions", ANALYSIS_PRIORITY_STREAMS_PARTITIONS,
     sizeof ANALYSIS_PRIORITY_STREAMS_PARTITIONS / sizeof *ANALYSIS_PRIORITY_STREAMS_PARTITIONS},
    {"analysis.holistic_rule", ANALYSIS_HOLISTIC_RULE,
     sizeof ANALYSIS_HOLISTIC_RULE / sizeof *ANALYSIS_HOLISTIC_RULE},
    {"analysis.holistic_parts", ANALYSIS_HOLISTIC_PARTS,
     sizeof ANALYSIS_HOLISTIC_PARTS / sizeof *ANALYSIS_HOLISTIC_PARTS},
    {"analysis.holistic_launch", ANALYSIS_HOLISTIC_LAUNCH,
     sizeof ANALYSIS_HOLISTIC_LAUNCH / sizeof *ANALYSIS_HOLISTIC_LAUNCH},
    {"analysis.holistic_term", ANALYSIS_HOLISTIC_TERM,
     sizeof ANALYSIS_HOLISTIC_TERM / sizeof *ANALYSIS_HOLISTIC_TERM},
    {"analysis.fifo_status", ANALYSIS_FIFO_STATUS,
     sizeof ANALYSIS_FIFO_STATUS / sizeof *ANALYSIS_FIFO_STATUS},
    {"analysis.fifo_reason", ANALYSIS_FIFO_REASON,
     sizeof ANALYSIS_FIFO_REASON / sizeof *ANALYSIS_FIFO_REASON},
    {"analysis.lock_mode", ANALYSIS_LOCK_MODE,
     sizeof ANALYSIS_LOCK_MODE / sizeof *ANALYSIS_LOCK_MODE},
    {"analysis.context_mode", ANALYSIS_CONTEXT_MODE,
     sizeof ANALYSIS_CONTEXT_MODE / sizeof *ANALYSIS_CONTEXT_MODE},
    {"analysis.context_fixed_point", ANALYSIS_CONTEXT_FIXED_POINT,
     sizeof ANALYSIS_CONTEXT_FIXED_POINT / sizeof *ANALYSIS_CONTEXT_FIXED_POINT},
    {"analysis.scale", ANALYSIS_SCALE, sizeof ANALYSIS_SCALE / sizeof *ANALYSIS_SCALE},
    {"analysis.assignment", ANALYSIS_ASSIGNMENT,
     sizeof ANALYSIS_ASSIGNMENT / sizeof *ANALYSIS_ASSIGNMENT},
    {"analysis.stgm_variant", ANALYSIS_STGM_VARIANT,
     sizeof ANALYSIS_STGM_VARIANT / sizeof *ANALYSIS_STGM_VARIANT},
    {"analysis.term", ANALYSIS_TERM, sizeof ANALYSIS_TERM / sizeof *ANALYSIS_TERM},
    {"analysis.demand_verdict", ANALYSIS_DEMAND_VERDICT,
     sizeof ANALYSIS_DEMAND_VERDICT / sizeof *ANALYSIS_DEMAND_VERDICT},
    {"analysis.gedf_lock", ANALYSIS_GEDF_LOCK,
     sizeof ANALYSIS_GEDF_LOCK / sizeof *ANALYSIS_GEDF_LOCK},
    {"analysis.gedf_verdict", ANALYSIS_GEDF_VERDICT,
     sizeof ANALYSIS_GEDF_VERDICT / sizeof *ANALYSIS_GEDF_VERDICT},
    {"analysis.gedf_bound", ANALYSIS_GEDF_BOUND,
     sizeof ANALYSIS_GEDF_BOUND / sizeof *ANALYSIS_GEDF_BOUND},
    {"simulate.fifo_draw", SIMULATE_FIFO_DRAW,
     sizeof SIMULATE_FIFO_DRAW / sizeof *SIMULATE_FIFO_DRAW},
    {"simulate.fifo_trigger", SIMULATE_FIFO_TRIGGER,
     sizeof SIMULATE_FIFO_TRIGGER / sizeof *SIMULATE_FIFO_TRIGGER},
    {"simulate.fifo_settle", SIMULATE_FIFO_SETTLE,
     sizeof SIMULATE_FIFO_SETTLE / sizeof *SIMULATE_FIFO_SETTLE},
    {"simulate.fifo_outcome", SIMULATE_FIFO_OUTCOME,
     sizeof SIMULATE_FIFO_OUTCOME / sizeof *SIMULATE_FIFO_OUTCOME},
    {"simulate.host_policy", SIMULATE_HOST_POLICY,
     sizeof SIMULATE_HOST_POLICY / sizeof *SIMULATE_HOST_POLICY},
    {"simulate.host_ring", SIMULATE_HOST_RING,
     sizeof SIMULATE_HOST_RING / sizeof *SIMULATE_HOST_RING},
    {"simulate.host_mode", SIMULATE_HOST_MODE,
     sizeof SIMULATE_HOST_MODE / sizeof *SIMULATE_HOST_MODE},
    {"simulate.host_trigger", SIMULATE_HOST_TRIGGER,
     sizeof SIMULATE_HOST_TRIGGER / sizeof *SIMULATE_HOST_TRIGGER},
    {"simulate.host_activity", SIMULATE_HOST_ACTIVITY,
     sizeof SIMULATE_HOST_ACTIVITY / sizeof *SIMULATE_HOST_ACTIVITY},
    {"simulate.launch_kind", SIMULATE_LAUNCH_KIND,
     sizeof SIMULATE_LAUNCH_KIND / sizeof *SIMULATE_LAUNCH_KIND},
    {"simulate.stream_kind", SIMULATE_STREAM_KIND,
     sizeof SIMULATE_STREAM_KIND / sizeof *SIMULATE_STREAM_KIND},
    {"io.row_text", IO_ROW_TEXT, sizeof IO_ROW_TEXT / sizeof *IO_ROW_TEXT},
    {"io.rule", IO_RULE, sizeof IO_RULE / sizeof *IO_RULE},
    {"simulate.wait_reason", SIMULATE_WAIT_REASON,
     sizeof SIMULATE_WAIT_REASON / sizeof *SIMULATE_WAIT_REASON},
    {"simulate.machine_step", SIMULATE_MACHINE_STEP,
     sizeof SIMULATE_MACHINE_STEP / sizeof *SIMULATE_MACHINE_STEP},
    {"simulate.machine_item_kind", SIMULATE_MACHINE_ITEM_KIND,
     sizeof SIMULATE_MACHINE_ITEM_KIND / sizeof *SIMULATE_MACHINE_ITEM_KIND},
    {"simulate.machine_rule", SIMULATE_MACHINE_RULE,
     sizeof SIMULATE_MACHINE_RULE / sizeof *SIMULATE_MACHINE_RULE},
    {"simulate.machine_policy", SIMULATE_MACHINE_POLICY,
     sizeof SIMULATE_MACHINE_POLICY / sizeof *SIMULATE_MACHINE_POLICY},
    {"simulate.machine_mode", SIMULATE_MACHINE_MODE,
     sizeof SIMULATE_MACHINE_MODE / sizeof *SIMULATE_MACHINE_MODE},
    {"simulate.machine_draw", SIMULATE_MACHINE_DRAW,
     sizeof SIMULATE_MACHINE_DRAW / sizeof *SIMULATE_MACHINE_DRAW},
    {"simulate.machine_ring", SIMULATE_MACHINE_RING,
     sizeof SIMULATE_MACHINE_RING / sizeof *SIMULATE_MACHINE_RING},
    {"simulate.machine_activity", SIMULATE_MACHINE_ACTIVITY,
     sizeof SIMULATE_MACHINE_ACTIVITY / sizeof *SIMULATE_MACHINE_ACTIVITY},
    {"simulate.machine_job", SIMULATE_MACHINE_JOB,
     sizeof SIMULATE_MACHINE_JOB / sizeof *SIMULATE_MACHINE_JOB},
    {"simulate.machine_operation", SIMULATE_MACHINE_OPERATION,
     sizeof SIMULATE_MACHINE_OPERATION / sizeof *SIMULATE_MACHINE_OPERATION},
    {"simulate.machine_block", SIMULATE_MACHINE_BLOCK,
     sizeof SIMULATE_MACHINE_BLOCK / sizeof *SIMULATE_MACHINE_BLOCK},
    {"simulate.machine_cpu", SIMULATE_MACHINE_CPU,
     sizeof SIMULATE_MACHINE_CPU / sizeof *SIMULATE_MACHINE_CPU},
    {"simulate.machine_slice", SIMULATE_MACHINE_SLICE,
     sizeof SIMULATE_MACHINE_SLICE / sizeof *SIMULATE_MACHINE_SLICE},
    {"cuda.limit", CUDA_LIMIT, sizeof CUDA_LIMIT / sizeof *CUDA_LIMIT},
    {"cuda.operation", CUDA_OPERATION, sizeof CUDA_OPERATION / sizeof *CUDA_OPERATION},
    {"cuda.stream_kind", CUDA_STREAM_KIND, sizeof CUDA_STREAM_KIND / sizeof *CUDA_STREAM_KIND},
    {"cuda.wait", CUDA_WAIT, sizeof CUDA_WAIT / sizeof *CUDA_WAIT},
    {"rt.event", RT_EVENT, sizeof RT_EVENT / sizeof *RT_EVENT},
    {"rt.order", RT_ORDER, sizeof RT_ORDER / sizeof *RT_ORDER},
    {"rt.overrun", RT_OVERRUN, sizeof RT_OVERRUN / sizeof *RT_OVERRUN},
    {"rt.status", RT_STATUS, sizeof RT_STATUS / sizeof *RT_STATUS},
};

const gs_enumeration_t *gs_enumerations(int32_t *count)
{
    *count = sizeof ALL / sizeof *ALL;
    return ALL;
}
