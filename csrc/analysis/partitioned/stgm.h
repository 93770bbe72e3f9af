/* STGM: response times of tasks with GPU segments on SMs of their own or shared.
 *
 * Paper 002, section IV-B, as corrected in notebook 06 (which has a proof, and a counterexample
 * for each change), and as printed. A GPU segment copies in, runs its kernel and copies out. Copies
 * take the copy engine (first come, first served, over all cores) and the task's core at boosted
 * priority. A kernel starts when every kernel launched before on an SM of its set has ended. During
 * kernels and while waiting
 *  - suspend: the core is free. Waiting for the copy engine is suspended, too: a task that spins
 *    for it is not covered, nor by the printed equations;
 *  - busy: the task keeps its core, from the start of its GPU segment to the end, unpreemptable.
 */
#ifndef GS_ANALYSIS_PARTITIONED_STGM_H
#define GS_ANALYSIS_PARTITIONED_STGM_H

#include "analysis/partitioned/request_chain.h"
#include "analysis/common/recurrence.h"
#include "core/method.h"

enum {
    GS_ANALYSIS_PARTITIONED_STGM_SOUND = 0,
    GS_ANALYSIS_PARTITIONED_STGM_PAPER = 1, /* Eqs. 1-12 as printed; unsound */
    GS_ANALYSIS_PARTITIONED_STGM_PAPER_HIGHER =
        2 /* busy: with B_h where Eq. 9 prints B_i; unsound, too. suspend: 1 */
};

/* Room for tests of sets of n tasks. The arrays are owned. */
typedef struct {
    int64_t n;
    int64_t *order; /* tasks by falling urgency */
    gs_analysis_common_sums_t *sums;
    int64_t *copy;    /* B^m */
    int64_t *kernel;  /* B^e */
    int64_t *demand;  /* B, for Eq. 9 with B_h */
    int64_t *segment; /* busy: the longest that an open GPU segment can keep the core */
    gs_analysis_common_demand_t *demands;
    int64_t *members; /* of a core, by falling urgency */
    gs_analysis_partitioned_request_chain_t chain;
} gs_analysis_partitioned_stgm_t;

int gs_analysis_partitioned_stgm_init(gs_analysis_partitioned_stgm_t *self, gs_context_t *ctx,
                                      int64_t n);
void gs_analysis_partitioned_stgm_free(gs_analysis_partitioned_stgm_t *self, gs_context_t *ctx);

/* The test for one set of self->n tasks, on cores 0..cpus-1. sm: n rows of sms bytes, nonzero where
 * the task may use the SM; kernels take their time on so many. Refuses, beside what
 * gs_analysis_common_check_and_sort and gs_analysis_common_check_cores refuse, tasks with GPU
 * segments and no SM. */
int gs_analysis_partitioned_stgm(gs_analysis_partitioned_stgm_t *self, gs_context_t *ctx,
                                 const gs_host_tasks_t *hosts, const int64_t *core,
                                 const uint8_t *sm, int64_t sms, int64_t cpus, bool busy, int paper,
                                 gs_analysis_common_answer_t *answer);

/* Parts of the test, for the allocators. order, sums and chain are filled. */

/* The tasks of a core by falling urgency, and which test. */
typedef struct {
    const int64_t *members;
    int64_t count;
    bool busy;
    int paper;
} gs_analysis_partitioned_stgm_core_t;

/* B^m but for the sound busy test (Eqs. 3, 4): copies are first come, first served, and every task
 * has at most one waiting or running. In suspend mode that is sound: an operation at the engine
 * never waits for its core, since only the one at the engine is boosted. */
void gs_analysis_partitioned_stgm_copy_blocking(gs_analysis_partitioned_stgm_t *self);

/* B^e but for the sound busy test: eta longest chains, or as printed (Eqs. 5, 6). */
int gs_analysis_partitioned_stgm_kernel_blocking(gs_analysis_partitioned_stgm_t *self,
                                                 gs_context_t *ctx, int paper);

/* Refuses a variant that is none. */
int gs_analysis_partitioned_stgm_check_paper(gs_context_t *ctx, int paper);

/* B^m, B^e and the longest open segment of task i, busy and sound: GPU segments of one core never
 * overlap, so at most one copy of every other core is ahead (copy: the sum of their longest), and
 * no kernel of i's core (away: its tasks) is in the chain. */
int gs_analysis_partitioned_stgm_busy_blocking(gs_analysis_partitioned_stgm_t *self,
                                               gs_context_t *ctx, int64_t i, int64_t copy,
                                               const uint64_t *excluded);

/* The recurrence of the member at that place, ready to be solved. response: W of the more urgent
 * members, by task; not looked at in busy mode. */
void gs_analysis_partitioned_stgm_recurrence(gs_analysis_partitioned_stgm_t *self,
                                             const gs_host_tasks_t *hosts,
                                             const gs_analysis_partitioned_stgm_core_t *core,
                                             int64_t at, const int64_t *response,
                                             gs_analysis_common_recurrence_t *recurrence);

extern const gs_method_t gs_analysis_partitioned_stgm_method;

#endif
