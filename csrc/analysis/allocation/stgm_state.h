/* State of the STGM allocation of one set, shared by the parts of
 * gs_analysis_allocation_stgm_allocate; internal to csrc/analysis/allocation.
 *
 *   stgm_sms.c       numbers and positions of the SMs of the tasks, and who shares them
 *   stgm_cores.c     placing of tasks on cores
 *   stgm_isolated.c  allocation with SMs on which no task waits
 *   stgm_allocate.c  the rounds of Algorithm 1, and the answer
 *
 * Arrays by task and by core are those of run->self.
 */
#ifndef GS_ANALYSIS_ALLOCATION_STGM_STATE_H
#define GS_ANALYSIS_ALLOCATION_STGM_STATE_H

#include "analysis/allocation/stgm_placement.h"
#include "analysis/partitioned/stgm.h"

/* Memory for sets of at most as many tasks as it was made for. The arrays are owned. */
typedef struct gs_analysis_allocation_stgm_memory {
    int64_t n; /* tasks of the last set */
    gs_analysis_partitioned_stgm_t test;
    int64_t *rank;          /* of every task in the order of priority */
    int64_t *count;         /* N_i, 0 without GPU segments */
    int64_t *first;         /* the first of the N_i SMs */
    int64_t *gain;          /* G(N_i) - G(N_i + 1) */
    int64_t *placing_order; /* tasks in the order of placing: by descending utilization */
    int64_t *head;          /* by core: its highest-priority task; -1: the core is empty */
    int64_t *next;          /* by task with a core: the next one there by descending priority; -1 */
    int64_t *members;       /* of the current core, by descending priority; or other short lists */
    int64_t *bound;         /* W on the core, as last tested; groups: kernels by group */
    int64_t *found;         /* W of the members in the current test */
    int64_t *copy;          /* by core, busy: the longest copy on it; or SMs by core or group */
    int64_t *group;         /* the core assigned to a task with GPU segments; or its group */
    int64_t *seen; /* by core, busy: `version` when its contention was last computed; groups: weight
                      by task */
    int64_t *queue;       /* cores in the order in which they are tried, a heap */
    int64_t *rest;        /* scratch: those left */
    int64_t *run;         /* by task: its component of the graph of shared SMs */
    int64_t *run_users;   /* by run: its number of tasks */
    int64_t *run_kernels; /* by run: sum of their longest kernels */
    int64_t runs;         /* 0: no SM is shared */
    int64_t *run_cover;   /* by run, sound busy test: every boundary of two of its SMs is in so many
                             tasks */
    int64_t copies;       /* sound busy test: sum of the longest copies of all cores, and of tasks
                             without one */
    int64_t *before;      /* by task of a small run: the one before it there; -1 */
    int64_t *cut;         /* first SMs of the runs; then by run: its last task */
    int64_t version;      /* counts placed tasks with GPU segments, and rounds */
    double *share;
    double *load; /* by core */
} gs_analysis_allocation_stgm_memory_t;

typedef struct {
    gs_analysis_allocation_stgm_memory_t *self;
    gs_context_t *ctx;
    const gs_host_tasks_t *hosts;
    int64_t cpus; /* usable cores: at most the number of tasks */
    int64_t sms;
    bool busy;
    int paper;
    int flags;              /* GS_ANALYSIS_ALLOCATION_ALLOCATE_*; 0 during stgm_isolated.c */
    bool core_contention;   /* contention depends on the cores of the tasks: sound busy test */
    int64_t *core;          /* of every task; -1: none */
    double unit;            /* of utilizations and loads, see worst_fit.h */
    double full;            /* the largest load of a core */
    bool most_loaded_first; /* cores by descending instead of ascending load */
    bool sms_by_core; /* tasks with GPU segments are placed on self->group and share its SMs */
} gs_analysis_allocation_stgm_run_t;

/* stgm_sms.c */

/* Updates the sums of task i and its gain from one more SM to self->count[i] SMs. */
void gs_analysis_allocation_stgm_update_task(const gs_analysis_allocation_stgm_run_t *run,
                                             int64_t i);

/* Lines 1 to 3: one SM for every task with GPU segments. Returns the number of these. */
int64_t gs_analysis_allocation_stgm_give_one_sm(const gs_analysis_allocation_stgm_run_t *run);

/* Lines 23, 24: the task that gets one more SM; -1: none. */
int64_t gs_analysis_allocation_stgm_choose_task(const gs_analysis_allocation_stgm_run_t *run);

/* Lines 7 to 13: the SMs of every task, and the contention that does not depend on cores. */
int gs_analysis_allocation_stgm_assign_sms(const gs_analysis_allocation_stgm_run_t *run);

/* Adds all edges to the graph of tasks that share SMs, unless it has some. */
int gs_analysis_allocation_stgm_connect_tasks(const gs_analysis_allocation_stgm_run_t *run);

/* stgm_cores.c */

/* Whether some task misses its deadline on any core, so that placing need not be tried. */
bool gs_analysis_allocation_stgm_is_infeasible(const gs_analysis_allocation_stgm_run_t *run);

/* Lines 4, 5: empties all cores. */
void gs_analysis_allocation_stgm_clear_cores(const gs_analysis_allocation_stgm_run_t *run);

/* Sets the utilizations and the order of line 14. */
void gs_analysis_allocation_stgm_set_utilizations(const gs_analysis_allocation_stgm_run_t *run);

/* Updates both after the number of SMs of task i has changed. */
void gs_analysis_allocation_stgm_update_utilization(const gs_analysis_allocation_stgm_run_t *run,
                                                    int64_t i);

/* Moves tasks with GPU segments to the front of the order of line 14. */
void gs_analysis_allocation_stgm_gpu_tasks_first(const gs_analysis_allocation_stgm_run_t *run);

/* Lists task i and the tasks of core p by descending priority; in busy mode computes their
 * contention with i there. */
int gs_analysis_allocation_stgm_core_with_task(const gs_analysis_allocation_stgm_run_t *run,
                                               int64_t p, int64_t i,
                                               gs_analysis_partitioned_stgm_core_t *on);

/* Lines 14 to 20, from empty cores on (line 26 as printed: from the present ones). *placed: whether
 * every task has a core; as printed the other tasks are still tried after one finds none. */
int gs_analysis_allocation_stgm_place_all(const gs_analysis_allocation_stgm_run_t *run,
                                          bool *placed);

/* Places all tasks, unless that is infeasible; a task that finds no core moves to the front of the
 * order, and all are placed anew, up to n times. While run->sms_by_core, tasks with GPU segments go
 * first. */
int gs_analysis_allocation_stgm_place_with_retries(const gs_analysis_allocation_stgm_run_t *run,
                                                   bool *placed);

/* stgm_isolated.c */

/* GS_ANALYSIS_ALLOCATION_ALLOCATE_ISOLATED: cores and SMs without the rounds; *placed: whether all
 * tasks were placed. Adds the number of SM assignments to *rounds. */
int gs_analysis_allocation_stgm_isolated(gs_analysis_allocation_stgm_run_t *run, int64_t *rounds,
                                         bool *placed);

#endif
