/* Check of a log of blocks against the rules of the scheduling hierarchy.
 *
 * [RTSS17] for queues; Gilman et al. (2020) for SMs. Nothing is simulated: each rule is a condition
 * on the recorded times.
 *
 * A recorded time is later than the scheduler's decision by less than the tolerance. A kernel joins
 * its queue at `joined` at the earliest, and at the latest when the launch latency has passed since
 * its launch, or its first block starts ("ready"). A finding is reported only if no choice of these
 * times explains the log.
 *
 *   grids      a kernel starts, and more kernels certainly run than the GPU runs at once
 *   limits     the blocks that are certainly on the SM leave too little of a resource
 *   stream     the kernel starts before its launch, or before its stream's previous kernel ends
 *   queue      it starts before all blocks of a kernel that certainly joined the queue earlier
 *   priority   a block starts while a kernel certainly waits in a more urgent queue, and not
 *              because as many kernels may run as the GPU runs at once
 *   placement  another SM certainly had more room for blocks of the kernel, or as much and comes
 *              first in the device's order
 *   idle       for longer than the tolerance, every kernel that may be at the head has room, and
 *              a place among the kernels that run
 *
 * A kernel runs from the start of its first block to the end of its last one; the GPU's limit is
 * that of simulate/hierarchy/hierarchy.h.
 *
 * Contexts share nothing: each is checked alone, and idle only in a log of one context.
 *
 * Cost with B blocks, K kernels and S SMs: about (B + K) log K and B * S simple comparisons; more
 * where many blocks of one kernel start within the tolerance in another order than their numbers.
 */
#ifndef GS_IO_RULES_RULES_H
#define GS_IO_RULES_RULES_H

#include "model/gpu.h"

/* By name, which is the order of findings that are otherwise equal. */
enum {
    GS_IO_RULES_GRIDS = 0,
    GS_IO_RULES_IDLE = 1,
    GS_IO_RULES_LIMITS = 2,
    GS_IO_RULES_PLACEMENT = 3,
    GS_IO_RULES_PRIORITY = 4,
    GS_IO_RULES_QUEUE = 5,
    GS_IO_RULES_STREAM = 6
};

/* Exclusive bound of times, tolerance and latency: sums of two fit an int64_t. */
#define GS_IO_RULES_LATEST ((int64_t)1 << 62)
/* Exclusive bound of the numbers of kernels and of blocks. */
#define GS_IO_RULES_MOST ((int64_t)1 << 30)

/* Columns of kernels and blocks; borrowed. */
typedef struct {
    int64_t kernels;
    const int64_t *stream;
    const int64_t *launch;
    const int64_t *joined;
    const int64_t *threads;
    const int64_t *regs;
    const int64_t *smem;
    const int64_t *priority; /* smaller is more urgent */
    const int64_t *context;
    int64_t blocks;
    const int64_t *kernel;
    const int64_t *block; /* numbers of a kernel's blocks: 0, 1, ..., each once */
    const int64_t *sm;
    const int64_t *start;
    const int64_t *end;
} gs_io_rules_log_t;

typedef struct {
    int64_t tolerance;
    int64_t latency;
    bool placement;         /* whether the rule of that name is checked, for most_room */
    int64_t resident_grids; /* kernels that run at once; 0: no limit */
} gs_io_rules_options_t;

#define GS_IO_RULES_DETAILS 5

/* detail: grids, the kernels that run and the limit; limits, the SM, the resource (GS_GPU_LIMIT_*),
 * what is taken of it, what the block needs, what the SM has; placement, the SM, its room, the
 * better SM, its room; priority and queue, the other kernel; stream, the kernel before, -1 for the
 * launch; idle, the block's start. */
typedef struct {
    int32_t rule;
    int32_t kernel;
    int64_t block;
    int64_t time;
    int64_t detail[GS_IO_RULES_DETAILS];
} gs_io_rules_finding_t;

typedef struct {
    gs_io_rules_finding_t *finding; /* owned; by time, kernel, block, rule */
    int64_t count;
    int64_t capacity;
} gs_io_rules_findings_t;

/* Checks a log; findings is initialised first and freed by the caller in any case. Refuses columns
 * out of range (field: their name), a kernel without blocks, a block that fits no SM, and what
 * gs_gpu_check refuses. */
int gs_io_rules_check(gs_context_t *ctx, const gs_gpu_t *gpu, const gs_io_rules_log_t *log,
                      const gs_io_rules_options_t *options, gs_io_rules_findings_t *findings);
void gs_io_rules_free(gs_io_rules_findings_t *findings, gs_context_t *ctx);

#endif
