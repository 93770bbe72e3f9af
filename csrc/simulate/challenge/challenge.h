/* Search for a late job of a task set that a sufficient test does not accept.
 *
 * Two ways, for tasks under partitioned priorities with one of the protocols of host/host.h:
 *
 * Directed search. Each task in turn is the target. A scenario is a list of releases for each task
 * (at least a period apart), an execution time for each part of each job (1 to its worst case) and
 * the task whose requests are ordered last. It starts from a pattern: all tasks at once; the
 * requests of the others just before one of the target; jobs that end late and come early after it
 * (carry-in); random offsets; random gaps; releases at instants of the target's jobs, as the
 * simulator's adversary makes them; parts that take less than their worst case. Then hill climbing
 * on the largest response of the target: a release moves to an event of the last run (less the work
 * of the job before one of its requests), or by a random distance; a gap opens; parts get other
 * times; another task is ordered last. A change is kept unless the response becomes shorter. After
 * some changes without gain the search starts again, most often with a target that came close to
 * its deadline. It ends with the first late job of any task, which is a counterexample, or with the
 * budget. Source of the patterns: the falsification campaigns of [ECRTS24]'s tests.
 *
 * Exploration. With deadlines of at most the periods and small integers all schedules can be
 * visited. A state is taken after each tick: per task its age, the time to its next possible
 * release, its part and the remaining work; the queue, the holder, the server, the turn on the GPU.
 * At each tick every subset of the tasks whose period has passed is released, and every part that
 * begins takes each of the times from 1 to its worst case. So all integer sporadic releases
 * (without bound on delays or length) and all integer execution times are covered, for each choice
 * of the task whose requests are last (or none) where the protocol depends on it. A visited state
 * is kept once, in breadth-first order: the counterexample is a shortest one. The rules of an
 * instant are those of host/host.h. Without a miss and within the budget, no integer schedule under
 * these rules has a late job. Releases and execution times between ticks can make one late: a set
 * explored to its end is not accepted.
 */
#ifndef GS_SIMULATE_CHALLENGE_CHALLENGE_H
#define GS_SIMULATE_CHALLENGE_CHALLENGE_H

#include "simulate/host/host.h"

/* Most tasks of an exploration, and the longest of its times. */
enum { GS_SIMULATE_CHALLENGE_TASKS = 8, GS_SIMULATE_CHALLENGE_LONGEST = 250 };

typedef struct {
    bool found;
    int64_t jobs;   /* released in simulations */
    int64_t runs;   /* simulations */
    int64_t states; /* of an exploration: visited */
    int64_t *worst; /* per task: largest response seen; of all, after a full exploration */
    /* The counterexample, as given releases and times of gs_simulate_host_model_t. */
    int64_t last;  /* the victim: task whose requests are ordered last, -1: none */
    int64_t until; /* an instant by which a job is late */
    int64_t *release_begin;
    int64_t *release;
    int64_t *time;
    int64_t width; /* of a row of times */
} gs_simulate_challenge_t;

/* Of the model the tasks, the platform and the protocol are read, and the key and index as the
 * seed; offsets, shares, releases, `until`, the victim and logs are not. Both return GS_OK where
 * the counterexample was found or everything was explored, and GS_SPENT_* where a budget ended them
 * (states: jobs of the search, transitions of the exploration); self->worst and the counts hold
 * then, too. Refuse what gs_simulate_host_init refuses, policies other than partitioned, deadlines
 * above the period, and periods of 2**56 ticks and more; the exploration also more than
 * GS_SIMULATE_CHALLENGE_TASKS tasks and times above GS_SIMULATE_CHALLENGE_LONGEST. */
int gs_simulate_challenge_search(gs_simulate_challenge_t *self, gs_context_t *ctx,
                                 const gs_simulate_host_model_t *model);
int gs_simulate_challenge_explore(gs_simulate_challenge_t *self, gs_context_t *ctx,
                                  const gs_simulate_host_model_t *model);

/* After both, also after errors. */
void gs_simulate_challenge_free(gs_simulate_challenge_t *self, gs_context_t *ctx);

extern const gs_method_t gs_simulate_challenge_method;

#endif
