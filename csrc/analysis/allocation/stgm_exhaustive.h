/* Is there any allocation that STGM's test accepts? For small systems, to compare heuristics with.
 *
 * Looked at, by rising sets of pairs of tasks that may share SMs:
 *  - SMs are interchangeable, and all that the test sees of their sets is how many SMs each task
 *    has and which pairs share one. Of allocations with the same pairs, one that gives some task
 *    more SMs is accepted when the other is: kernels get no longer. So every SM is given to all
 *    tasks of a maximal set in which all pairs may share, and every way is tried to divide the SMs
 *    among such sets in which each task gets some and all of these pairs do share.
 *  - Cores are interchangeable: every way to divide the tasks into at most `cpus` parts is tried.
 *    Tasks come by falling urgency, and a part that fails is not added to: more tasks, on its core
 *    or elsewhere, never shorten a response there.
 */
#ifndef GS_ANALYSIS_ALLOCATION_STGM_EXHAUSTIVE_H
#define GS_ANALYSIS_ALLOCATION_STGM_EXHAUSTIVE_H

#include "analysis/allocation/stgm_allocate.h"
#include "core/method.h"

enum {
    GS_ANALYSIS_ALLOCATION_EXHAUSTIVE_TASKS = 16, /* the most tasks */
    GS_ANALYSIS_ALLOCATION_EXHAUSTIVE_USERS = 6   /* the most tasks with GPU segments */
};

/* Room for sets of n tasks. The arrays are owned. */
typedef struct {
    int64_t n;
    gs_analysis_partitioned_stgm_t test;
    int64_t *user;    /* tasks with GPU segments */
    int64_t *members; /* of a core */
    int64_t *found;   /* W of members */
} gs_analysis_allocation_stgm_exhaustive_t;

int gs_analysis_allocation_stgm_exhaustive_init(gs_analysis_allocation_stgm_exhaustive_t *self,
                                                gs_context_t *ctx, int64_t n);
void gs_analysis_allocation_stgm_exhaustive_free(gs_analysis_allocation_stgm_exhaustive_t *self,
                                                 gs_context_t *ctx);

/* Looks for an allocation of one set to cores 0..cpus-1 and sms SMs; paper:
 * GS_ANALYSIS_PARTITIONED_STGM_*. Found: that placement (rounds: the divisions of SMs that were
 * looked at) and the test's answer for it. None: not schedulable, no task failed, no cores, no SMs.
 * GS_SPENT_STATES: ctx's limit of states (parts of a division of tasks, as they grow) was reached
 * before. Refuses larger sets. */
int gs_analysis_allocation_stgm_exhaustive(gs_analysis_allocation_stgm_exhaustive_t *self,
                                           gs_context_t *ctx, const gs_host_tasks_t *hosts,
                                           int64_t cpus, int64_t sms, bool busy, int paper,
                                           gs_analysis_allocation_stgm_placement_t *placement,
                                           gs_analysis_common_answer_t *answer);

extern const gs_method_t gs_analysis_allocation_stgm_exhaustive_method;

#endif
