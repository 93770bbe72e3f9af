/* Depth-first search over the assignments of tasks to GPUs: the tasks by falling load, the GPUs by
 * rising load.
 *
 * One of several empty GPUs with equal tables stands for all of them. A GPU with a dead subset ends
 * a branch. A complete assignment is decided by the exact search of each GPU's tasks.
 */
#ifndef GS_PBS_PARTITIONED_GPU_TREE_H
#define GS_PBS_PARTITIONED_GPU_TREE_H

#include "pbs/partitioned/partitioned.h"
#include "pbs/partitioned/subsets.h"

/* Receives a set of tasks that ends a branch, as it is not schedulable on a GPU (extends: nor is
 * any superset); the GPU is the first with its table. */
typedef int gs_pbs_partitioned_gpu_tree_blame_t(void *arg, uint32_t tasks, int32_t gpu,
                                                bool extends);

typedef struct {
    const gs_periodic_tasks_t *tasks; /* borrowed */
    int32_t gpus;
    int32_t table[GS_PBS_PARTITIONED_GPUS]; /* the first GPU with an equal table */
    gs_pbs_partitioned_subsets_t subsets[GS_PBS_PARTITIONED_GPUS]; /* of such GPUs */
    int32_t order[GS_PERIODIC_TASKS_MAX];
    double share[GS_PERIODIC_TASKS_MAX];        /* of the time of a GPU, alone */
    uint32_t mask[GS_PBS_PARTITIONED_GPUS];     /* tasks of each GPU, so far or when found */
    double load[GS_PBS_PARTITIONED_GPUS];       /* their shares */
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

#endif
