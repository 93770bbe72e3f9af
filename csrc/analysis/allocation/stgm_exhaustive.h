/* Exhaustive search for an allocation that the test of STGM accepts; for small systems, to compare
 * heuristics with.
 *
 * The allocation of gs_analysis_allocation_stgm_allocate (isolated) is the answer where that finds
 * one. Then all others that the test can tell apart are covered; proofs are in the files named:
 * - sound busy test: all divisions of the tasks with GPU segments among the cores, one after the
 *   other, as contention depends on them;
 * - sets of pairs of these tasks that share SMs, and divisions of the SMs among the maximal sets in
 *   which all pairs share (stgm_exhaustive.c);
 * - divisions of the (other) tasks among the cores (stgm_search_cores.c).
 *
 * Every test is monotone: on the same cores, no response time gets longer with more SMs for a task
 * and the same pairs, or with fewer pairs and the same numbers of SMs. Kernels get no longer with
 * more SMs; a chain of kernels is the heaviest path in the graph of pairs, or as printed a sum over
 * neighbours, and both only grow with pairs and kernels; the demand of jobs, the jitter W - demand
 * (suspend, where the demand has no kernels) and all terms of blocking only grow with kernels and
 * chains; and so does the least solution of a recurrence with larger terms. So for a node of the
 * search, where some pairs and some SMs are left open, the smallest kernel times and chains of all
 * allocations below it are tried first: without cores for these there is nothing below it.
 */
#ifndef GS_ANALYSIS_ALLOCATION_STGM_EXHAUSTIVE_H
#define GS_ANALYSIS_ALLOCATION_STGM_EXHAUSTIVE_H

#include "analysis/allocation/stgm_allocate.h"
#include "core/method.h"

/* Memory for sets of at most as many tasks as it was made for. Everything is owned. */
typedef struct {
    int64_t n; /* tasks of the last set */
    gs_analysis_allocation_stgm_allocate_t heuristic;
    struct gs_analysis_allocation_stgm_search *search; /* stgm_search.h */
    uint16_t *tables; /* three with an entry for every set of at most 16 tasks */
} gs_analysis_allocation_stgm_exhaustive_t;

int gs_analysis_allocation_stgm_exhaustive_init(gs_analysis_allocation_stgm_exhaustive_t *self,
                                                gs_context_t *ctx, int64_t n);
void gs_analysis_allocation_stgm_exhaustive_free(gs_analysis_allocation_stgm_exhaustive_t *self,
                                                 gs_context_t *ctx);

/* Searches for an allocation of one set to cores 0..cpus-1 and sms SMs; paper: as in
 * gs_analysis_allocation_stgm_allocate. If found: that placement (rounds: how often SMs were
 * assigned) and the answer of the test. If none: not schedulable, no task failed, cores -1, no SMs.
 * GS_SPENT_STATES: the limit of states of ctx (parts of divisions of the tasks and of the SMs, as
 * they grow) was reached before. Errors: those of gs_analysis_allocation_stgm_allocate;
 * GS_ERR_VALUE for larger sets. */
int gs_analysis_allocation_stgm_exhaustive(gs_analysis_allocation_stgm_exhaustive_t *self,
                                           gs_context_t *ctx, const gs_host_tasks_t *hosts,
                                           int64_t cpus, int64_t sms, bool busy, int paper,
                                           gs_analysis_allocation_stgm_placement_t *placement,
                                           gs_analysis_common_answer_t *answer);

extern const gs_method_t gs_analysis_allocation_stgm_exhaustive_method;

#endif
