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

/* Questions about the tasks of one GPU: subsets of all tasks, each asked once.
 *
 * A subset S has the batches of the table that lie in S, and is *schedulable* where the exact
 * search (pbs/search.h) says so. Removing a task may turn "schedulable" into "not": tables need not
 * be monotone, and a GPU that never idles has anomalies. A subset is *dead* where it is not
 * schedulable even with the least time of any batch of all tasks for each of its own batches, and
 * with inserted idle time (pbs/reductions.h): then no superset is schedulable either. Dead
 * subsets are shrunk, task by task, before they are kept.
 */

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

/* Depth-first search over the assignments of tasks to GPUs: the tasks by falling load, the GPUs by
 * rising load.
 *
 * One of several empty GPUs with equal tables stands for all of them. A GPU with a dead subset ends
 * a branch. A complete assignment is decided by the exact search of each GPU's tasks.
 */

/* Maximum number of GPUs. */
#define GS_PBS_PARTITIONED_GPU_TREE_GPUS 64

/* Receives a set of tasks that ends a branch, as it is not schedulable on a GPU (extends: nor is
 * any superset); the GPU is the first with its table. */
typedef int gs_pbs_partitioned_gpu_tree_blame_t(void *arg, uint32_t tasks, int32_t gpu,
                                                bool extends);

typedef struct {
    const gs_periodic_tasks_t *tasks; /* borrowed */
    int32_t gpus;
    int32_t table[GS_PBS_PARTITIONED_GPU_TREE_GPUS]; /* the first GPU with an equal table */
    gs_pbs_partitioned_subsets_t subsets[GS_PBS_PARTITIONED_GPU_TREE_GPUS]; /* of such GPUs */
    int32_t order[GS_PERIODIC_TASKS_MAX];
    double share[GS_PERIODIC_TASKS_MAX];             /* of the time of a GPU, alone */
    uint32_t mask[GS_PBS_PARTITIONED_GPU_TREE_GPUS]; /* tasks of each GPU, so far or when found */
    double load[GS_PBS_PARTITIONED_GPU_TREE_GPUS];   /* their shares */
    bool found;                                 /* an assignment whose GPUs are all schedulable */
    bool open;                                  /* an assignment could not be decided */
    gs_pbs_partitioned_gpu_tree_blame_t *blame; /* NULL: search; else repeat a search that ended
                                                   without an assignment, and say why */
    void *blame_arg;
} gs_pbs_partitioned_gpu_tree_t;

/* tables: one for all GPUs, or one for each. Tasks and tables must outlive self. tested: counts the
 * searches of subsets. Free self in every case. Errors: those of gs_pbs_problem_check;
 * GS_ERR_MEMORY, GS_ERR_INTERRUPTED. */
int gs_pbs_partitioned_gpu_tree_init(gs_pbs_partitioned_gpu_tree_t *self, gs_context_t *ctx,
                                     const gs_periodic_tasks_t *tasks,
                                     const gs_batch_table_t *tables, int32_t table_count,
                                     int32_t gpus, bool idling, int64_t *tested);
void gs_pbs_partitioned_gpu_tree_free(gs_pbs_partitioned_gpu_tree_t *self, gs_context_t *ctx);

/* Answers about subsets of the tasks, for a GPU. */
static inline gs_pbs_partitioned_subsets_t *
gs_pbs_partitioned_gpu_tree_subsets(gs_pbs_partitioned_gpu_tree_t *self, int32_t gpu)
{
    return &self->subsets[self->table[gpu]];
}

/* Each task in turn goes to the first GPU, by rising load, whose tasks stay schedulable. Errors and
 * spent budgets: those of gs_pbs_partitioned_subsets_schedulable. */
int gs_pbs_partitioned_gpu_tree_try_greedy(gs_pbs_partitioned_gpu_tree_t *self, gs_context_t *ctx);

/* Searches all assignments, or repeats that search for blame. */
int gs_pbs_partitioned_gpu_tree_search(gs_pbs_partitioned_gpu_tree_t *self, gs_context_t *ctx);

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
    gs_schedule_t schedule[GS_PBS_PARTITIONED_GPU_TREE_GPUS];
    gs_pbs_rates_t overload; /* when none exists, if proven: of periods times the GPUs */
    /* Otherwise: each assignment has one of these sets on one of its GPUs. */
    gs_pbs_partitioned_assignment_reason_t *reasons;
    int64_t reason_count;
    int64_t reason_capacity;
} gs_pbs_partitioned_assignment_t;

void gs_pbs_partitioned_assignment_init(gs_pbs_partitioned_assignment_t *self);
void gs_pbs_partitioned_assignment_free(gs_pbs_partitioned_assignment_t *self, gs_context_t *ctx);

/* Decides one task set. tables: one for all GPUs, or one for each. A spent budget is an answer
 * (-1), not an error. Errors: those of gs_pbs_problem_init; GS_ERR_VALUE for gpus outside
 * 1..GS_PBS_PARTITIONED_GPU_TREE_GPUS; GS_ERR_MEMORY, GS_ERR_INTERRUPTED. */
int gs_pbs_partitioned_assignment_run(gs_pbs_partitioned_assignment_t *self, gs_context_t *ctx,
                                      const gs_periodic_tasks_t *tasks,
                                      const gs_batch_table_t *tables, int32_t table_count,
                                      int32_t gpus, bool idling);

extern const gs_method_t gs_pbs_partitioned_assignment_method;

#endif
