/* Partitioned scheduling of batches: tasks are assigned to GPUs, each of which has its own exact
 * schedule.
 *
 * First a bound: batches of G GPUs that start by X and count up to their ends take at most G X of
 * time, as on one GPU whose periods and deadlines are G times as long, so an overload of that one
 * (pbs/prices.h) refutes every assignment. Then a greedy assignment, and a depth-first search over
 * all of them: tasks by falling load, GPUs by rising load, one of several empty GPUs with equal
 * tables, no GPU with a dead subset. Each complete assignment is
 * decided by the exact search of each GPU's tasks. In rounds, whose searches may take more and more
 * work.
 */
#ifndef GS_PBS_PARTITIONED_PARTITIONED_H
#define GS_PBS_PARTITIONED_PARTITIONED_H

#include "core/method.h"
#include "pbs/search.h"

/* Maximum number of GPUs. */
#define GS_PBS_PARTITIONED_GPUS 64

/* A set of tasks that is not schedulable on a GPU, nor on those with an equal table. */
typedef struct {
    uint32_t tasks;
    int32_t gpu;  /* the first with this table */
    bool extends; /* nor is any superset: the proof is about all tasks, with these as its core */
    gs_pbs_refutation_t proof; /* of no kind where a budget was spent */
} gs_pbs_partitioned_assignment_reason_t;

typedef struct {
    int answer;     /* 1: an assignment exists, 0: none does, -1: undecided */
    int spent;      /* when undecided: GS_SPENT_* or GS_UNDECIDED */
    int64_t tested; /* searches of subsets */
    int32_t gpus;
    int32_t gpu[GS_PERIODIC_TASKS_MAX]; /* when an assignment exists: the GPU of each task */
    /* Then also the schedule of each GPU, whose batches count its tasks by rising index. */
    gs_schedule_t schedule[GS_PBS_PARTITIONED_GPUS];
    gs_pbs_rates_t overload; /* when none exists, if proven: of periods times the GPUs */
    /* Otherwise: each assignment has one of these sets on one of its GPUs. */
    gs_pbs_partitioned_assignment_reason_t *reasons;
    int64_t reason_count;
    int64_t reason_capacity;
} gs_pbs_partitioned_assignment_t;

void gs_pbs_partitioned_assignment_free(gs_pbs_partitioned_assignment_t *self, gs_context_t *ctx);

/* Decides one task set. self is all zero before. tables: one for all GPUs, or one for each. A spent
 * budget is an answer (-1), not an error. Errors: those of gs_pbs_problem_check and
 * gs_pbs_problem_init; GS_ERR_VALUE for gpus outside 1..GS_PBS_PARTITIONED_GPUS; GS_ERR_MEMORY,
 * GS_ERR_INTERRUPTED. */
int gs_pbs_partitioned_assignment_run(gs_pbs_partitioned_assignment_t *self, gs_context_t *ctx,
                                      const gs_periodic_tasks_t *tasks,
                                      const gs_batch_table_t *tables, int32_t table_count,
                                      int32_t gpus, bool idling);

extern const gs_method_t gs_pbs_partitioned_assignment_method;

#endif
