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

#include "io/rules/rules_findings.h"
#include "io/rules/rules_log.h"

/* Checks a log; findings is initialised first and freed by the caller in any case, with
 * gs_io_rules_free. Refuses columns out of range (field: their name), a kernel without blocks, a
 * block that fits no SM, and what gs_gpu_check refuses. */
int gs_io_rules_check(gs_context_t *ctx, const gs_gpu_t *gpu, const gs_io_rules_log_t *log,
                      const gs_io_rules_options_t *options, gs_io_rules_findings_t *findings);

#endif
