/* One set whose cores and SMs are being chosen: what the parts of
 * gs_analysis_allocation_stgm_allocate share.
 *
 *   stgm_deal.c      how many SMs each task has, which ones, and who waits for whom then
 *   stgm_place.c     on which core a task fits, and what a task that comes changes there
 *   stgm_apart.c     the allocator that looks first for SMs that nobody waits for
 *   stgm_groups.c    its last part: groups of tasks that share SMs of their own
 *   stgm_allocate.c  the rounds of Algorithm 1, and what is answered
 *
 * For these files alone. Arrays by task and by core are those of run->self.
 */
#ifndef GS_ANALYSIS_ALLOCATION_STGM_STATE_H
#define GS_ANALYSIS_ALLOCATION_STGM_STATE_H

#include "analysis/allocation/stgm_allocate.h"

typedef struct {
    gs_analysis_allocation_stgm_allocate_t *self;
    gs_context_t *ctx;
    const gs_host_tasks_t *hosts;
    int64_t cpus; /* that can be used: no more than tasks */
    int64_t sms;
    bool busy;
    int paper;
    int flags; /* GS_ANALYSIS_ALLOCATION_ALLOCATE_*; none of the printed lines while it is apart */
    int64_t *core;          /* of every task; -1: none */
    double unit;            /* of shares and loads, see worst_fit.h */
    double full;            /* the most load of a core */
    bool most_loaded_first; /* the core with the most load first, not the one with the least */
    bool sms_by_core; /* tasks with GPU segments go where self->group says, and share its SMs */
} gs_analysis_allocation_stgm_run_t;

static inline bool
gs_analysis_allocation_stgm_has_flag(const gs_analysis_allocation_stgm_run_t *run, int flag)
{
    return (run->flags & flag) != 0;
}

/* Whether contention depends on who is on which core. */
static inline bool
gs_analysis_allocation_stgm_depends_on_cores(const gs_analysis_allocation_stgm_run_t *run)
{
    return run->busy && run->paper == GS_ANALYSIS_PARTITIONED_STGM_SOUND;
}

/* stgm_deal.c */

/* Task i has self->count[i] SMs now: its sums, and what one more would gain. */
void gs_analysis_allocation_stgm_update_task(const gs_analysis_allocation_stgm_run_t *run,
                                             int64_t i);

/* Lines 1 to 3: one SM for every task with GPU segments. Returns how many these are. */
int64_t gs_analysis_allocation_stgm_give_one_sm(const gs_analysis_allocation_stgm_run_t *run);

/* Lines 7 to 13: who has which SMs; and the contention that does not depend on cores. */
int gs_analysis_allocation_stgm_assign_sms(const gs_analysis_allocation_stgm_run_t *run);

/* Lines 23, 24: who gets one more SM; -1: nobody can. */
int64_t gs_analysis_allocation_stgm_choose_task(const gs_analysis_allocation_stgm_run_t *run);

/* Whether no core can take some task, whoever else is there: no placing need be tried. */
bool gs_analysis_allocation_stgm_is_infeasible(const gs_analysis_allocation_stgm_run_t *run);

/* stgm_place.c */

/* Lines 4, 5: all cores are empty. */
void gs_analysis_allocation_stgm_clear_cores(const gs_analysis_allocation_stgm_run_t *run);

/* Utilization, and the order of line 14. */
void gs_analysis_allocation_stgm_set_utilizations(const gs_analysis_allocation_stgm_run_t *run);

/* Task i and those of core p by falling urgency, and (busy) the contention with i there. */
int gs_analysis_allocation_stgm_core_with_task(const gs_analysis_allocation_stgm_run_t *run,
                                               int64_t p, int64_t i,
                                               gs_analysis_partitioned_stgm_core_t *on);

/* Lines 14 to 20, from empty cores on (line 26 as printed: from what there is). *placed: whether
 * every task has a core; as printed the others are tried after one that finds none. */
int gs_analysis_allocation_stgm_place_all(const gs_analysis_allocation_stgm_run_t *run,
                                          bool *placed);

/* Tasks with GPU segments come first in the order of line 14. */
void gs_analysis_allocation_stgm_gpu_tasks_first(const gs_analysis_allocation_stgm_run_t *run);

/* Places all tasks, unless that is hopeless; one that finds no core goes to the front of the order,
 * and all are placed anew, up to n times. While run->by_core, tasks with GPU segments go first. */
int gs_analysis_allocation_stgm_place_with_retries(const gs_analysis_allocation_stgm_run_t *run,
                                                   bool *placed);

/* stgm_apart.c */

/* GS_ANALYSIS_ALLOCATION_ALLOCATE_ISOLATED: cores and SMs without the rounds; *placed: whether it
 * found them. Counts in *rounds how often SMs were dealt out. */
int gs_analysis_allocation_stgm_isolated(gs_analysis_allocation_stgm_run_t *run, int64_t *rounds,
                                         bool *placed);

/* stgm_groups.c */

/* The part of gs_analysis_allocation_stgm_isolated for contention that does not depend on cores. */
int gs_analysis_allocation_stgm_groups(gs_analysis_allocation_stgm_run_t *run, int64_t *rounds,
                                       bool *placed);

#endif
