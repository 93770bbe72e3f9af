/* Options and state of a search: what its stages leave out, read and decide. */
#ifndef GS_PBS_SEARCH_STATE_H
#define GS_PBS_SEARCH_STATE_H

#include "model/schedule.h"
#include "pbs/feasible.h"
#include "pbs/refutation.h"

/* Stage that decided. */
enum {
    GS_PBS_STAGE_NONE = 0, /* none: a budget was spent, or undecided batches of the table matter */
    GS_PBS_STAGE_EDF_SERIAL = 1,    /* schedulable: EDFserial's schedule */
    GS_PBS_STAGE_EDF_PARALLEL = 2,  /* schedulable: EDFParallel's schedule */
    GS_PBS_STAGE_DEPTH_FIRST = 3,   /* schedulable; or not, when nothing was left out */
    GS_PBS_STAGE_OVERLOAD = 4,      /* not schedulable: overload in the long run */
    GS_PBS_STAGE_DEAD_INTERVAL = 5, /* not schedulable: dead interval */
    GS_PBS_STAGE_LATEST_START =
        6, /* not schedulable even with inserted idle time; with idling also schedulable */
    GS_PBS_STAGE_INTERVAL = 7, /* schedulable or not, by the feasible instants */
    GS_PBS_STAGE_LAZY = 8,     /* schedulable or not, by the lazy search */
    GS_PBS_STAGE_GROUPS = 9,   /* schedulable: groups of tasks that run as one */
    GS_PBS_STAGE_CORE = 10     /* not schedulable: some of the tasks alone */
};

/* Stages that a search leaves out, for tests of the others. */
enum {
    GS_PBS_SEARCH_SKIP_EDF = 1,
    GS_PBS_SEARCH_SKIP_DEPTH_FIRST = 2,
    GS_PBS_SEARCH_SKIP_RATES = 4,
    GS_PBS_SEARCH_SKIP_DEAD_INTERVAL = 8,
    GS_PBS_SEARCH_SKIP_CLASSES = 16, /* latest starts and feasible instants of all classes */
    GS_PBS_SEARCH_SKIP_OUTER = 32,
    GS_PBS_SEARCH_SKIP_WINDOWS = 64,
    GS_PBS_SEARCH_SKIP_TRIES = 128,
    GS_PBS_SEARCH_SHORT_ROUNDS = 256, /* not a stage: rounds of the lazy search begin small */
    GS_PBS_SEARCH_SKIP_REDUCED = 512,
    GS_PBS_SEARCH_REDUCE = 1024 /* not a stage: groups and cores also of few tasks */
};

typedef struct {
    bool idling;          /* the GPU may wait while jobs are ready */
    bool thorough;        /* no fast tests: decide by the latest starts and F alone */
    bool policy;          /* compute F in any case and keep it: gs_pbs_search_t.feasible */
    int64_t policy_limit; /* 0: all of F; else the most spans per class, the longest ones, raised
                             until they hold the first instant */
    bool proof;           /* prove a negative answer, else leave it undecided */
    int skip;             /* GS_PBS_SEARCH_SKIP_* */
    int64_t most_work;    /* give up after this much work in the lazy search; 0: never */
} gs_pbs_search_options_t;

typedef struct {
    int answer; /* 1: schedulable, 0: not, -1: undecided */
    int stage;
    int spent;                 /* when undecided: GS_SPENT_* or GS_UNDECIDED */
    gs_schedule_t schedule;    /* when schedulable */
    gs_pbs_refutation_t proof; /* when not schedulable and asked for */
    bool has_policy;
    gs_pbs_problem_t problem; /* the problem that feasible refers to */
    gs_pbs_feasible_t feasible;
} gs_pbs_search_t;

static inline void gs_pbs_search_free(gs_pbs_search_t *self, gs_context_t *ctx)
{
    gs_schedule_free(&self->schedule, ctx);
    gs_pbs_refutation_free(&self->proof, ctx);
    gs_pbs_feasible_free(&self->feasible, ctx);
    gs_pbs_problem_free(&self->problem, ctx);
}

/* gs_pbs_search_run, for those that it calls. */
typedef int gs_pbs_search_function_t(gs_pbs_search_t *self, gs_context_t *ctx,
                                     const gs_periodic_tasks_t *tasks,
                                     const gs_batch_table_t *table,
                                     const gs_pbs_search_options_t *options);

/* Keeps the answer of a stage unless there is one. */
static inline void gs_pbs_search_decide(gs_pbs_search_t *self, int stage, bool schedulable)
{
    if (self->answer < 0) {
        self->answer = schedulable;
        self->stage = stage;
    }
}

/* Whether a stage is not left out. */
static inline bool gs_pbs_search_does(const gs_pbs_search_options_t *options, int stage)
{
    return (options->skip & stage) == 0;
}

#endif
