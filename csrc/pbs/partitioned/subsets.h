/* Questions about the tasks of one GPU: subsets of all tasks, each asked once.
 *
 * A subset S has the batches of the table that lie in S, and is *schedulable* where the exact
 * search (pbs/search.h) says so. Removing a task may turn "schedulable" into "not": tables need not
 * be monotone, and a GPU that never idles has anomalies. A subset is *dead* where it is not
 * schedulable even with the least time of any batch of all tasks for each of its own batches, and
 * with inserted idle time (pbs/reductions.h): then no superset is schedulable either. Dead
 * subsets are shrunk, task by task, before they are kept.
 */
#ifndef GS_PBS_PARTITIONED_SUBSETS_H
#define GS_PBS_PARTITIONED_SUBSETS_H

#include "pbs/search.h"

/* Sets of tasks as bit masks, in the order in which they were added. */
typedef struct {
    uint32_t *masks;
    int64_t count;
    int64_t capacity;
} gs_pbs_partitioned_subsets_list_t;

typedef struct {
    const gs_periodic_tasks_t *tasks; /* borrowed */
    gs_batch_table_t table;           /* borrowed */
    gs_batch_table_t hopeful;         /* undecided batches taken as eligible */
    int64_t *hopeful_completion;      /* its times where it is another table; else NULL */
    bool idling;
    int64_t work;   /* most work of a search; 0: no limit */
    uint8_t *known; /* [2^n] */
    gs_pbs_partitioned_subsets_list_t dead;
    gs_pbs_partitioned_subsets_list_t alive; /* no subset of these is dead, as far as was asked */
    int64_t *tested;                         /* borrowed: counts the searches */
    int spent;     /* a budget of bytes, or GS_UNDECIDED, that left a subset open; else GS_OK */
    bool overflow; /* a subset was left open as its hyperperiod is too long */
} gs_pbs_partitioned_subsets_t;

/* Tasks and table must outlive self. Free self in every case. Errors: those of
 * gs_pbs_problem_check; GS_ERR_MEMORY. */
int gs_pbs_partitioned_subsets_init(gs_pbs_partitioned_subsets_t *self, gs_context_t *ctx,
                                    const gs_periodic_tasks_t *tasks, const gs_batch_table_t *table,
                                    bool idling, int64_t *tested);
void gs_pbs_partitioned_subsets_free(gs_pbs_partitioned_subsets_t *self, gs_context_t *ctx);

/* Sets the most work of a search and forgets what the former limit left open. */
int gs_pbs_partitioned_subsets_limit(gs_pbs_partitioned_subsets_t *self, gs_context_t *ctx,
                                     int64_t work);

/* Index of a dead subset, known so far, that a set of tasks contains; -1 without one. */
int64_t gs_pbs_partitioned_subsets_contained(const gs_pbs_partitioned_subsets_t *self,
                                             uint32_t mask);

/* Whether a set of tasks contains a dead subset, as far as the limit on work allows to tell.
 * Errors: GS_ERR_MEMORY, GS_ERR_INTERRUPTED; spent budgets of states and seconds. */
int gs_pbs_partitioned_subsets_dead(gs_pbs_partitioned_subsets_t *self, gs_context_t *ctx,
                                    uint32_t mask, bool *dead);

/* Whether a set of tasks is schedulable: 1, 0, or -1 where it stays open. Errors as above. */
int gs_pbs_partitioned_subsets_schedulable(gs_pbs_partitioned_subsets_t *self, gs_context_t *ctx,
                                           uint32_t mask, int *answer);

/* Searches anew, with or without a proof of "not schedulable", whatever is known. search: its
 * tasks are those of the mask, by rising index; freed by the caller in every case. */
int gs_pbs_partitioned_subsets_search(const gs_pbs_partitioned_subsets_t *self, gs_context_t *ctx,
                                      uint32_t mask, bool proof, gs_pbs_search_t *search);

#endif
