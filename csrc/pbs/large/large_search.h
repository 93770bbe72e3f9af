/* Parallel Batch Scheduler with a batch function: up to 64 tasks, yes, no, or undecided.
 *
 * What an exact search of 2^n batches per state cannot do. A yes has a schedule (a dispatch rule, a
 * search over batches of what is pending, groups of tasks that run as one), a no has a proof
 * (overload by prices, a core). Both are exact; where neither is found the set stays undecided. The
 * work comes in rounds, each about twice as long as the one before, whose random choices depend on
 * the number of the round alone; the caller decides how many there are.
 */
#ifndef GS_PBS_LARGE_LARGE_SEARCH_H
#define GS_PBS_LARGE_LARGE_SEARCH_H

#include "pbs/large/dispatch_search.h"
#include "pbs/large/function_prices.h"
#include "pbs/reductions.h"

/* Rounds without a budget of time. */
#define GS_PBS_LARGE_ROUNDS 6

/* Ways that a round leaves out, for tests of the others. */
enum {
    GS_PBS_LARGE_SKIP_EDF = 1,
    GS_PBS_LARGE_SKIP_SEARCHED = 2,
    GS_PBS_LARGE_SKIP_PRICES = 4,
    GS_PBS_LARGE_SKIP_GROUPS = 8,
    GS_PBS_LARGE_SKIP_CORES = 16
};

typedef struct {
    bool idling;
    int32_t round; /* 0: the natural choices; later ones: drawn at random */
    int skip;      /* GS_PBS_LARGE_SKIP_* */
} gs_pbs_large_options_t;

typedef struct {
    int answer; /* 1: schedulable, 0: not, -1: undecided */
    int stage;  /* GS_PBS_STAGE_* */
    int spent;  /* a budget that ended the round, or a search in it: GS_SPENT_*; else 0 */
    gs_pbs_large_schedule_t schedule; /* when schedulable */
    gs_pbs_refutation_t proof;        /* when not schedulable */
    uint64_t core;                    /* that the proof is about; 0: all tasks */
    int64_t searches, groups, cores;  /* tried */
    double load;                      /* by prices: the jobs' worth per tick; 0: not computed */
} gs_pbs_large_t;

void gs_pbs_large_init(gs_pbs_large_t *self);
void gs_pbs_large_free(gs_pbs_large_t *self, gs_context_t *ctx);

/* The problem whose groups and cores a round tries. A core has the least times that the function
 * allows for batches that contain its tasks, at most those of the batches of a table. */
gs_pbs_reductions_problem_t gs_pbs_large_problem(const gs_periodic_tasks_t *tasks,
                                                 gs_pbs_large_function_t *function,
                                                 gs_pbs_large_schedule_t *schedule);

/* Runs one round. A spent budget is an answer (-1), not an error. tasks must have as many tasks as
 * the function. Errors: those of gs_periodic_tasks_check and, unless prices prove an overload, of
 * gs_periodic_tasks_hyperperiod; GS_ERR_MEMORY, GS_ERR_INTERRUPTED. */
int gs_pbs_large_round(gs_pbs_large_t *self, gs_context_t *ctx, const gs_periodic_tasks_t *tasks,
                       gs_pbs_large_function_t *function, const gs_pbs_large_options_t *options);

#endif
