/* STGM: response-time test for tasks with GPU segments on dedicated or shared SMs.
 *
 * [RTCSA19], section IV-B, as corrected in notebook 06 (which has a proof, and a counterexample for
 * each change), and as printed. A GPU segment copies in, runs its kernel and copies out. Copies
 * take the copy engine (first come, first served, over all cores) and the core of the task at
 * boosted priority. A kernel starts when every kernel launched before on an SM of its set has
 * ended. During kernels and while waiting
 * - suspend: the core is free. Waiting for the copy engine is suspended, too; a task that spins for
 *   it is not covered, nor by the printed equations;
 * - busy: the task keeps its core, from the start of its GPU segment to the end, non-preemptively.
 */
#ifndef GS_ANALYSIS_PARTITIONED_STGM_H
#define GS_ANALYSIS_PARTITIONED_STGM_H

#include "analysis/partitioned/request_chain.h"
#include "analysis/common/apart.h"
#include "analysis/common/jitter.h"
#include "analysis/common/ready_intervals.h"
#include "core/method.h"

enum {
    GS_ANALYSIS_PARTITIONED_STGM_SOUND = 0,
    GS_ANALYSIS_PARTITIONED_STGM_PAPER = 1, /* Eqs. 1-12 as printed; unsound */
    GS_ANALYSIS_PARTITIONED_STGM_PAPER_HIGHER =
        2 /* busy: with B_h where Eq. 9 prints B_i; unsound; suspend: as 1 */
};

/* Memory for tests of sets of at most as many tasks as it was made for. The arrays are owned. */
typedef struct {
    int64_t n;      /* tasks of the last set */
    int64_t *order; /* tasks by descending priority */
    gs_analysis_common_sums_t *sums;
    int64_t *copy;    /* B^m */
    int64_t *kernel;  /* B^e */
    int64_t *demand;  /* B, for Eq. 9 with B_h */
    int64_t *segment; /* busy: longest time that an open GPU segment can keep the core */
    int64_t *limits;  /* split: memory of gs_analysis_common_ready_intervals */
    gs_analysis_common_demand_t *demands;
    int64_t *members;                 /* of a core, by descending priority */
    gs_analysis_common_apart_t apart; /* none for the allocators */
    gs_analysis_partitioned_request_chain_t chain;
} gs_analysis_partitioned_stgm_t;

int gs_analysis_partitioned_stgm_init(gs_analysis_partitioned_stgm_t *self, gs_context_t *ctx,
                                      int64_t n);
void gs_analysis_partitioned_stgm_free(gs_analysis_partitioned_stgm_t *self, gs_context_t *ctx);

/* The test for one set, of at most as many tasks as initialised for, on cores 0..cpus-1. sm: n rows
 * of sms bytes, nonzero where the task may use the SM; kernel times are those for that number of
 * SMs. apart: n rows of n bytes, of tasks that are never pending together (apart.h), or NULL.
 * Errors: those of gs_analysis_common_check_and_sort and gs_analysis_common_check_cores;
 * GS_ERR_VALUE for a task with GPU segments and no SM and for an unknown variant;
 * GS_ERR_INTERRUPTED. split: in suspend mode, sound, more urgent tasks of the core count only in
 * the ready intervals of a job (common/ready_intervals.h), which is never worse. No bound depends
 * on that of a less urgent task, so one pass in the order of priorities finds the least joint
 * bounds. */
int gs_analysis_partitioned_stgm(gs_analysis_partitioned_stgm_t *self, gs_context_t *ctx,
                                 const gs_host_tasks_t *hosts, const int64_t *core,
                                 const uint8_t *sm, const uint8_t *apart, int64_t sms, int64_t cpus,
                                 bool busy, int paper, bool split,
                                 gs_analysis_common_answer_t *answer);

/* Parts of the test for the allocators. order, sums and chain must be filled. */

/* Makes it ready for a set of n tasks, at most as many as initialised for. */
void gs_analysis_partitioned_stgm_resize(gs_analysis_partitioned_stgm_t *self, int64_t n);

/* The tasks of a core by descending priority, and the variant of the test. */
typedef struct {
    const int64_t *members;
    int64_t count;
    bool busy;
    int paper;
} gs_analysis_partitioned_stgm_core_t;

/* B^m in all tests but the sound busy one (Eqs. 3, 4): copies are first come, first served, and
 * every task has at most one waiting or running. In suspend mode that is sound: an operation at the
 * engine never waits for its core, since only the one at the engine is boosted. */
void gs_analysis_partitioned_stgm_copy_blocking(gs_analysis_partitioned_stgm_t *self);

/* B^e in all tests but the sound busy one: eta longest chains, or as printed (Eqs. 5, 6). */
int gs_analysis_partitioned_stgm_kernel_blocking(gs_analysis_partitioned_stgm_t *self,
                                                 gs_context_t *ctx, int paper);

/* Checks GS_ANALYSIS_PARTITIONED_STGM_*; else GS_ERR_VALUE. */
int gs_analysis_partitioned_stgm_check_paper(gs_context_t *ctx, int paper);

/* B^m, B^e and the longest open segment of task i in the sound busy test: GPU segments of one core
 * never overlap, so at most one copy of every other core is ahead (copy: the sum of their longest),
 * and no kernel of the core of i is in the chain (chain: the longest one). */
void gs_analysis_partitioned_stgm_set_busy_blocking(gs_analysis_partitioned_stgm_t *self, int64_t i,
                                                    int64_t copy, int64_t chain);

/* Sets up the recurrence of the member at that place. response: W of the higher-priority members,
 * by task; in busy mode only for tasks that are apart from others. */
void gs_analysis_partitioned_stgm_recurrence(gs_analysis_partitioned_stgm_t *self,
                                             const gs_host_tasks_t *hosts,
                                             const gs_analysis_partitioned_stgm_core_t *core,
                                             int64_t at, const int64_t *response,
                                             gs_analysis_common_recurrence_t *recurrence);

extern const gs_method_t gs_analysis_partitioned_stgm_method;

#endif
