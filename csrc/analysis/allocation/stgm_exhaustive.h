/* Exhaustive search for an allocation that the test of STGM accepts; for small systems, to compare
 * heuristics with.
 *
 * Searched, by ascending sets of pairs of tasks that may share SMs:
 * - SMs are interchangeable, and the test depends on their sets only through the number of SMs of
 *   each task and the pairs that share one. Of two allocations with the same pairs, one that gives
 *   some task more SMs is accepted if the other is: kernels get no longer. So every SM is given to
 *   all tasks of a maximal set in which all pairs may share, and all divisions of the SMs among
 *   such sets are tried in which each task gets some and all of these pairs do share.
 * - Cores are interchangeable: all divisions of the tasks into at most `cpus` parts are tried.
 *   Tasks are taken by descending priority, and a part that fails is not extended: more tasks, on
 *   its core or elsewhere, never shorten a response time there.
 */
#ifndef GS_ANALYSIS_ALLOCATION_STGM_EXHAUSTIVE_H
#define GS_ANALYSIS_ALLOCATION_STGM_EXHAUSTIVE_H

#include "analysis/allocation/stgm_allocate.h"
#include "core/method.h"

enum {
    GS_ANALYSIS_ALLOCATION_EXHAUSTIVE_TASKS = 16, /* the most tasks */
    GS_ANALYSIS_ALLOCATION_EXHAUSTIVE_USERS = 6   /* the most tasks with GPU segments */
};

/* State of one search; see stgm_search.h. */
typedef struct gs_analysis_allocation_stgm_search gs_analysis_allocation_stgm_search_t;

/* Memory for sets of at most as many tasks as it was made for. Everything is owned. */
typedef struct {
    int64_t n; /* tasks of the last set */
    gs_analysis_allocation_stgm_allocate_t heuristic;
    gs_analysis_allocation_stgm_search_t *search;
    uint16_t *tables; /* three with an entry for every set of at most 16 tasks */
} gs_analysis_allocation_stgm_exhaustive_t;

int gs_analysis_allocation_stgm_exhaustive_init(gs_analysis_allocation_stgm_exhaustive_t *self,
                                                gs_context_t *ctx, int64_t n);
void gs_analysis_allocation_stgm_exhaustive_free(gs_analysis_allocation_stgm_exhaustive_t *self,
                                                 gs_context_t *ctx);

/* Searches for an allocation of one set to cores 0..cpus-1 and sms SMs; paper:
 * GS_ANALYSIS_PARTITIONED_STGM_*. If found: that placement (rounds: the number of SM divisions
 * tried) and the answer of the test. If none: not schedulable, no task failed, cores -1, no SMs.
 * GS_SPENT_STATES: the limit of states of ctx (extensions of a division of the tasks) was reached
 * before. Errors: those of gs_analysis_allocation_stgm_allocate; GS_ERR_VALUE for larger sets. */
int gs_analysis_allocation_stgm_exhaustive(gs_analysis_allocation_stgm_exhaustive_t *self,
                                           gs_context_t *ctx, const gs_host_tasks_t *hosts,
                                           int64_t cpus, int64_t sms, bool busy, int paper,
                                           gs_analysis_allocation_stgm_placement_t *placement,
                                           gs_analysis_common_answer_t *answer);

extern const gs_method_t gs_analysis_allocation_stgm_exhaustive_method;

#endif
