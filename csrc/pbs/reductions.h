/* Smaller problems that decide a large one: groups show that it is schedulable, cores that it is
 * not. In rounds: first the natural groups and cores, then some drawn at random.
 *
 * *Groups*: tasks that always run as one. Where the tasks of a part have equal periods, deadlines
 * and offsets, and each part runs as one, the unions of parts form a table with as many tasks as
 * there are parts. The tasks of a part are ready, due and done together, so a schedule of the parts
 * is a schedule of the tasks. The reverse does not hold.
 *
 * *Cores*: a few of the tasks that cannot be scheduled even with all the help of the others. For a
 * set Q of tasks let C'(q) be the least time of an eligible batch b with b and Q having q in common
 * (or less). A schedule restricted to Q is one with these times and inserted idle time. So if Q is
 * not schedulable that way, the whole is not, with or without inserted idle time.
 *
 * The search of Q takes the jobs that are released in the hyperperiod of Q. Where that is shorter
 * than the hyperperiod of all tasks, and one of these jobs may end after it, a batch may hold later
 * jobs of Q as well, and take longer without them: such a Q says nothing.
 *
 * Both are asked of the exact search, without this step.
 */
#ifndef GS_PBS_REDUCTIONS_H
#define GS_PBS_REDUCTIONS_H

#include "core/rng.h"
#include "pbs/search_state.h"

/* Most tasks of a set. */
#define GS_PBS_REDUCTIONS_TASKS 64
/* Most parts of a partition. */
#define GS_PBS_REDUCTIONS_PARTS 13

/* A partition of some of the tasks into groups. */
typedef struct {
    int32_t count;
    uint64_t part[GS_PBS_REDUCTIONS_PARTS]; /* masks of tasks */
} gs_pbs_reductions_groups_t;

/* The tasks of a set of parts. */
uint64_t gs_pbs_reductions_tasks_of(const gs_pbs_reductions_groups_t *self, uint32_t parts);

/* The large problem. Its functions get `times`; they return GS_OK, errors and spent budgets. */
typedef struct {
    gs_pbs_search_function_t *search; /* of smaller problems */
    const gs_periodic_tasks_t *tasks; /* borrowed */
    const int64_t *wcet;              /* of each task alone; borrowed */
    void *times;
    /* The time of a batch; 0: not eligible. */
    int (*time)(void *times, gs_context_t *ctx, uint64_t batch, int64_t *time);
    /* C' of a core, 2^|core| entries, zero before. */
    int (*least)(void *times, gs_context_t *ctx, uint64_t core, int64_t *least);
    /* Keeps a schedule of parts, as one of the tasks. */
    int (*keep)(void *schedule, gs_context_t *ctx, const gs_schedule_t *found,
                const gs_pbs_reductions_groups_t *groups);
    void *schedule;
} gs_pbs_reductions_problem_t;

/* Groups of tasks that are alike; each such class is split into `split` parts by length, and
 * further where a part is not eligible. *fits: there are not too many parts. */
int gs_pbs_reductions_split(const gs_pbs_reductions_problem_t *p, gs_context_t *ctx, int32_t split,
                            gs_pbs_reductions_groups_t *groups, bool *fits);

/* At most `most` groups, from single tasks on: the two whose union takes least time beyond the
 * longer of them become one. rng: NULL, or multiplies these times by random factors. *fits: there
 * were enough eligible unions. */
int gs_pbs_reductions_merge(const gs_pbs_reductions_problem_t *p, gs_context_t *ctx, int32_t most,
                            gs_rng_t *rng, gs_pbs_reductions_groups_t *groups, bool *fits);

/* Choices of the tasks of a core, by their periods and the times of single tasks. */
enum {
    GS_PBS_REDUCTIONS_MIXED = 0,   /* the longest kernels and the shortest periods in turn */
    GS_PBS_REDUCTIONS_LONGEST = 1, /* the longest kernels */
    GS_PBS_REDUCTIONS_BUSIEST = 2, /* the greatest shares of the GPU */
    GS_PBS_REDUCTIONS_CHOICES = 3
};

/* The core of `size` tasks by one choice; the cores by all choices, each once, with their number;
 * and a core of which half is by some choice and the others are drawn at random. */
uint64_t gs_pbs_reductions_core(const gs_periodic_tasks_t *tasks, const int64_t *wcet, int32_t size,
                                int choice);
int gs_pbs_reductions_cores(const gs_periodic_tasks_t *tasks, const int64_t *wcet, int32_t size,
                            uint64_t core[GS_PBS_REDUCTIONS_CHOICES]);
uint64_t gs_pbs_reductions_drawn_core(const gs_periodic_tasks_t *tasks, const int64_t *wcet,
                                      int32_t size, gs_rng_t *rng);

/* Whether a core that is not schedulable shows that the whole is not. */
bool gs_pbs_reductions_core_applies(const gs_periodic_tasks_t *core,
                                    const gs_periodic_tasks_t *whole);

typedef struct {
    gs_pbs_reductions_problem_t problem;
    bool idling;
    bool proof;       /* prove that a core is dead */
    bool no_groups;   /* for tests: try only cores ... */
    bool no_cores;    /* ... or only groups */
    bool goes_on;     /* where one smaller problem exceeds the budget of bytes: others may not */
    int64_t work;     /* most work of the lazy search of one smaller problem */
    int32_t drawn;    /* groups of the second round; later rounds have twice as many as before */
    int32_t per_core; /* groups drawn for each core drawn */
    int32_t fewest;   /* tasks of a set of which cores are drawn */
    int32_t round;    /* the next one, from 0 */
    gs_rng_t rng;
    int answer;                     /* 1: kept a schedule; 0: the core is dead; -1: open */
    uint64_t core;                  /* when dead */
    gs_pbs_refutation_t refutation; /* then also why, about the tasks of the core, renumbered; of no
                                       kind where no proof was found within the budgets; owned by
                                       the caller */
    int64_t groups, cores;          /* tried */
    int spent; /* GS_SPENT_BYTES where one smaller problem exceeded it; else 0 */
} gs_pbs_reductions_t;

/* Rounds about a table, with the schedule that receives frames; wcet: room for the time of each
 * task alone. All must outlive self. */
void gs_pbs_reductions_init(gs_pbs_reductions_t *self, gs_pbs_search_function_t *search,
                            const gs_periodic_tasks_t *tasks, const gs_batch_table_t *table,
                            int64_t *wcet, gs_schedule_t *schedule);

/* Runs the next round. Errors and spent budgets as usual. */
int gs_pbs_reductions_next(gs_pbs_reductions_t *self, gs_context_t *ctx);

/* Asks of a table whether a core is schedulable, with at most `work` in the lazy search. *dead: it
 * is not; proof, unless NULL, receives the proof. Errors and spent budgets as usual. */
int gs_pbs_reductions_try_core(gs_context_t *ctx, gs_pbs_search_function_t *search,
                               const gs_periodic_tasks_t *tasks, const gs_batch_table_t *table,
                               uint32_t core, int64_t work, gs_pbs_refutation_t *proof, bool *dead);

#endif
