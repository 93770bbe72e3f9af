/* Is there a schedule of the Parallel Batch Scheduler that meets every deadline?
 *
 * Paper 001's question (its graph is in pbs/graph/graph.h), answered exactly and whatever the
 * resolution of time. Quick answers come first: the two EDF schedulers, a short search depth first,
 * overload by a linear program, a window that cannot hold its jobs. Then the latest starts with
 * inserted idle time, which settle the idling question and reject nearly all the rest; a second
 * search that they guide; and the feasible instants of every class, from both sides, ever finer,
 * until the two agree.
 */
#ifndef GS_PBS_SEARCH_H
#define GS_PBS_SEARCH_H

#include "pbs/feasible.h"
#include "pbs/overload.h"
#include "model/schedule.h"
#include "pbs/dead_interval.h"

/* Which stage decided. */
enum {
    GS_PBS_STAGE_NONE = 0,          /* none: a budget was spent, or the table leaves it open */
    GS_PBS_STAGE_EDF_SERIAL = 1,    /* yes: EDFserial's schedule */
    GS_PBS_STAGE_EDF_PARALLEL = 2,  /* yes: EDFParallel's schedule */
    GS_PBS_STAGE_DEPTH_FIRST = 3,   /* yes; or no, when nothing was left out */
    GS_PBS_STAGE_OVERLOAD = 4,      /* no, proven by prices */
    GS_PBS_STAGE_DEAD_INTERVAL = 5, /* no, proven by a window */
    GS_PBS_STAGE_LATEST_START = 6,  /* no, all was tried, even with inserted idle time; with idling
                                   also  yes */
    GS_PBS_STAGE_INTERVAL = 7       /* yes; or no, all was tried */
};

typedef struct {
    bool idling;          /* the GPU may wait although work is ready */
    bool thorough;        /* no quick answers: decide by the latest starts and F alone */
    bool policy;          /* compute F in any case, and keep it: see gs_pbs_search_t.feasible */
    int64_t policy_limit; /* 0: all of F; else so many spans a class, the longest, or as many more
                             as it takes to hold the first instant */
} gs_pbs_search_options_t;

typedef struct {
    int answer; /* 1 schedulable, 0 not, -1 not decided */
    int stage;
    int spent;                  /* when not decided: GS_SPENT_* or GS_UNDECIDED */
    gs_schedule_t schedule;     /* when schedulable */
    gs_pbs_overload_t overload; /* what the linear program found, if it came to that */
    gs_pbs_dead_interval_t dead_interval;
    bool has_policy;
    gs_pbs_problem_t problem; /* what feasible refers to */
    gs_pbs_feasible_t feasible;
} gs_pbs_search_t;

void gs_pbs_search_init(gs_pbs_search_t *self);
void gs_pbs_search_free(gs_pbs_search_t *self, gs_context_t *ctx);

/* Decides one task set. A spent budget is an answer (-1), not an error. Errors: those of
 * gs_pbs_problem_init, GS_ERR_MEMORY, GS_ERR_INTERRUPTED. tasks and table must outlive self. */
int gs_pbs_search_run(gs_pbs_search_t *self, gs_context_t *ctx, const gs_periodic_tasks_t *tasks,
                      const gs_batch_table_t *table, const gs_pbs_search_options_t *options);

#endif
