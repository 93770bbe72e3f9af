/* Simulator of a whole machine: CPUs, copy engines and GPUs under one rule of sharing.
 *
 * Threads run the programs of their tasks (machine_model.h); what differs between asynchronous and
 * synchronous launches is in the programs, what differs between ways of sharing the GPU is in the
 * rooms of the tasks and in the rule.
 *
 * CPUs. Of the ready threads of a CPU (globally: of all CPUs) those run that are most urgent: by
 * (boost, key, instant of getting ready, index). A thread that has waited goes on when it is on a
 * CPU; only the end of a job directly behind needs none. A suspended thread is ready `wake_latency`
 * after the operations that it waits for.
 *
 * Operations. A call takes no time (that on a CPU is work of the program, and calls at one instant
 * are those of a graph); `latency` later the operation is launched on its device, whose rules are
 * those of simulate/gpu/gpu_device.h: every stream is non-blocking. A kernel joins once it has been
 * the head of its stream for `kernel_gap`, and the rule permits it.
 *
 * Contexts. The rule says which context a device serves; a single one is loaded from the start,
 * else the first one costs a switch, too.
 *
 * Rules:
 *
 *   streams      sections begin and end at once.
 *   time_slices  contexts with kernels are served in turn, each for a slice, or until a kernel of
 *                it ends and no other has joined or is next in its stream. The context whose slice
 *                ends is behind those whose launches come at that instant.
 *   gcaps        an update precedes and ends a section: one at a time, most urgent first, boosted,
 *                on the CPU of the thread. The most urgent open section owns the GPU, which stops
 *                during the first update of a more urgent one (with `stall` during every update,
 * but for switches). mpcp         a lock, most urgent first; the holder is boosted. fmlp_plus    a
 * lock, first come, first served; the holder is boosted. srm          a lock, first come, first
 * served; the holder inherits the keys of those who wait. omlp         as srm, but at most as many
 * requests as CPUs, that of the holder among them, are in the FIFO queue; the others wait for a
 * place, most urgent first. edf_serial   a lock, earliest deadline first. driver       sections
 * begin and end at once; all tasks have one stream. stgm         first come, first served for each
 * SM of the room; boosted from the request on. gpu_server   a thread above all others runs the
 * sections, most urgent client first; its overhead precedes the first one of a busy period, and
 * follows each. container    a server of global EDF runs the threads of all tasks with sections, by
 * the releases of their jobs, then by priority; `busy`, the first one to its end. Its own jobs are
 *                released `server_period` apart while it has a job to serve, at least that apart
 *                otherwise, with deadlines at the end of the period and a budget, which passes
 * while a thread of it is on a CPU, and while none is ready. The section of the job released first
 * comes first, also before that of one that waits for an earlier one of its task. Threads execute
 * the ends of sections without a CPU. frames       kernels join by a table (batches).
 *
 *   Under locks and driver the GPU goes to the context of the kernels.
 *
 * Order of an instant: blocks and copies end, work ends and the calls behind it, then the alarm of
 * the rule; releases; threads, grants, arrivals and joins until nothing changes, where a job that
 * ends meanwhile may release others; contexts; blocks start, and if any does all of this again from
 * the threads on; copies start.
 *
 * Source: none of a paper; [ECRTS17], [RTAS20] and the manuals for the GPU, [RTNS10], [RTCSA19] and
 * [ECRTS24] for the rules.
 */
#ifndef GS_SIMULATE_MACHINE_MACHINE_H
#define GS_SIMULATE_MACHINE_MACHINE_H

#include "simulate/machine/machine_record.h"

/* Prepares a simulation; after an error nothing is left to free. Refuses indices out of range,
 * unknown enumerators, times that are not positive (costs: negative) or at least
 * GS_CHECK_LATEST, equal priorities, programs that do not end with a STOP, sections that
 * do not begin and end in turn, calls that nothing waits for, a block that fits no SM, a copy
 * without its engine, kernels without a context or a channel, and clients with several limits or
 * devices. */
int gs_simulate_machine_init(gs_simulate_machine_t *self, gs_context_t *ctx,
                             const gs_simulate_machine_model_t *model);

/* Runs until done or for `instants` more instants. Jobs and blocks count as states of the budget.
 * GS_ERR_OVERFLOW when anything would end at GS_NEVER or later. After an error the logs hold what
 * happened up to then, and the simulation cannot continue. */
int gs_simulate_machine_run(gs_simulate_machine_t *self, gs_context_t *ctx, int64_t instants);

void gs_simulate_machine_free(gs_simulate_machine_t *self, gs_context_t *ctx);

#endif
