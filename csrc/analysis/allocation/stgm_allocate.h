/* Allocation of cores and SMs for STGM: [RTCSA19], Algorithm 1.
 *
 * SMs are assigned in the order of the tasks, N_i consecutive ones, cyclically, to each task with
 * GPU segments; then tasks by descending utilization go to the core with the least load whose tasks
 * all pass the test with them. While a task finds no core, the task with the largest gain from one
 * more SM, (G(N) - G(N + 1)) / T, gets it, and a new round starts. Corrected; the flags bring back
 * single lines as printed.
 *
 * The test of a core in a round counts contention from all tasks with GPU segments. In busy mode
 * one without a core yet is assumed to have a core of its own: wherever it is placed, the test of
 * that core is repeated, and the other tasks can only gain. So a round that places all tasks passes
 * the whole test.
 *
 * GS_ANALYSIS_ALLOCATION_ALLOCATE_ISOLATED first tries isolated SMs, which accepts more sets and is
 * faster where it does; sets that it does not place go through the rounds above, so that none is
 * lost:
 * - Sound busy test: GPU segments of one core never overlap, so its tasks can use the same SMs
 *   without any waiting. For 1, 2, .. cores: the tasks with GPU segments are divided among that
 *   many by worst fit, and the SMs among these cores by their load; then the other tasks are
 *   placed.
 * - SMs that no two tasks share, while there are enough: each further one goes to the task with the
 *   greatest need, (C + G(N)) / D, among those that gain, or to that of line 24. Cores by ascending
 *   load, or by descending load.
 * - All tests but the sound busy one: groups of tasks with SMs of their own, so that no task waits
 *   for a chain that leads out of its group. Starting from groups of one task, the two groups whose
 *   union raises the cost of their tasks least are merged, until the number is reached; then each
 *   SM left goes to the group where it lowers the cost most. The cost of a task is the fourth power
 *   of its time on a core of its own, (C + G(N) + B^m + B^e) / D. The number of groups starts at
 *   its maximum and decreases by one in each try, down to 1, then starts again; after each try the
 *   task with the largest time / D counts twice as much. Cores as above.
 *   GS_ANALYSIS_ALLOCATION_ALLOCATE_TRIES tries, each of O(n (n^2 + sms)) steps and 2n placements.
 *
 * In all of them the SMs are assigned at once. A task that finds no core moves to the front of the
 * order, and all are placed anew, up to n times.
 */
#ifndef GS_ANALYSIS_ALLOCATION_STGM_ALLOCATE_H
#define GS_ANALYSIS_ALLOCATION_STGM_ALLOCATE_H

#include "analysis/allocation/stgm_placement.h"
#include "analysis/common/host_answer.h"
#include "core/method.h"
#include "model/host_tasks.h"

/* Memory for sets of at most as many tasks as it was made for. */
typedef struct {
    struct gs_analysis_allocation_stgm_memory *memory; /* owned: stgm_state.h */
} gs_analysis_allocation_stgm_allocate_t;

int gs_analysis_allocation_stgm_allocate_init(gs_analysis_allocation_stgm_allocate_t *self,
                                              gs_context_t *ctx, int64_t n);
void gs_analysis_allocation_stgm_allocate_free(gs_analysis_allocation_stgm_allocate_t *self,
                                               gs_context_t *ctx);

/* Allocates one set to cores 0..cpus-1 and sms SMs. paper: number of the variant of the test
 * (stgm.h); flags: GS_ANALYSIS_ALLOCATION_ALLOCATE_*.
 *
 * answer->schedulable is the verdict of the algorithm. If it found an allocation, the rest is the
 * whole test of it, which may fail with an unsafe flag or a test as printed. If not, placement is
 * that of the last round, and answer the test of the core with the least load and the first task
 * without a core: answer->failed is the task that would miss its deadline there. Errors: those of
 * gs_analysis_common_check_and_sort, _check_cpus and _check_sms; GS_ERR_VALUE for unknown flags or
 * variants; GS_ERR_INTERRUPTED. */
int gs_analysis_allocation_stgm_allocate(gs_analysis_allocation_stgm_allocate_t *self,
                                         gs_context_t *ctx, const gs_host_tasks_t *hosts,
                                         int64_t cpus, int64_t sms, bool busy, int paper, int flags,
                                         gs_analysis_allocation_stgm_placement_t *placement,
                                         gs_analysis_common_answer_t *answer);

extern const gs_method_t gs_analysis_allocation_stgm_allocate_method;

#endif
