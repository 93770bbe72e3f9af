/* Question whether a task meets its deadline at a level, and Audsley's algorithm over all levels.
 *
 * Audsley's algorithm (1991; conditions of Davis and Burns, 2011) fills the levels from the least
 * urgent one up: a task that meets its deadline below all that are left is put there. It finds an
 * order that a test accepts whenever there is one, if W of a task depends on which tasks are more
 * urgent and on which are less urgent, in no order, and if a task that becomes more urgent, the
 * others keeping their order, stays schedulable. Tests for which that holds, cores being fixed:
 *
 * - stgm, busy: contention for SMs and copies does not depend on priorities, nothing is carried in,
 *   and a more urgent task of the core that becomes less urgent costs at most one segment with its
 *   blocking instead of all of its jobs.
 * - time_slices with deadlines for all assumed responses (ORDER_FREE): the ring does not depend on
 *   priorities (suspend) or on sets of tasks of the core (busy), where a task that becomes less
 *   urgent costs at most one kernel instead of its jobs.
 * - gcaps in its order-free form, GPU priorities in the same order: a less urgent task of the core
 *   costs no more than N(w, R, x, T) x, what it cost as a more urgent one. Not with `stall`, whose
 *   term has no such limit.
 *
 * An order that the order-free form of a test accepts is accepted by its other forms, too: their
 * bounds are at most the deadlines that it assumes.
 */
#ifndef GS_ANALYSIS_PRIORITIES_ORDER_LEVELS_H
#define GS_ANALYSIS_PRIORITIES_ORDER_LEVELS_H

#include "analysis/placed_method.h"
#include "analysis/placed_test.h"

/* A set whose priorities are looked for. The arrays are owned, but for those of the set. */
typedef struct {
    gs_analysis_placed_test_t *test;
    const gs_analysis_placed_place_t *place;
    gs_host_tasks_t hosts; /* with `rank` as its priorities */
    int64_t *rank;         /* n */
    int64_t *order;        /* n: tasks, the most urgent first */
    int64_t *members;      /* n: of a core */
    int64_t *choice;       /* n, of a search */
    int64_t *level;        /* n: GPU priorities */
    gs_analysis_common_answer_t answer;
    int64_t tests; /* that were run, of a task or of all */
} gs_analysis_priorities_order_levels_t;

int gs_analysis_priorities_order_levels_init(gs_analysis_priorities_order_levels_t *self,
                                             gs_context_t *ctx, int64_t n);
void gs_analysis_priorities_order_levels_free(gs_analysis_priorities_order_levels_t *self,
                                              gs_context_t *ctx);

/* Begins with a set: orders its tasks by deadline, ties by index. by_core: the tasks of a core one
 * after the other. Returns a status of gs_poll. */
int gs_analysis_priorities_order_levels_start(gs_analysis_priorities_order_levels_t *self,
                                              gs_context_t *ctx, gs_analysis_placed_test_t *test,
                                              const gs_host_tasks_t *hosts,
                                              const gs_analysis_placed_place_t *place,
                                              bool by_core);

/* Runs the test with the priorities of the order. */
int gs_analysis_priorities_order_levels_test(gs_analysis_priorities_order_levels_t *self,
                                             gs_context_t *ctx);

/* Whether Audsley's algorithm is proven for the test, with deadlines for the assumed responses. */
bool gs_analysis_priorities_order_levels_is_proven(const gs_analysis_placed_test_t *test);

/* Audsley's algorithm, for a test of which it is proven: sets `order` and `found`. Less urgent
 * tasks than the first level without a candidate are in place where nothing was found. */
int gs_analysis_priorities_order_levels_audsley(gs_analysis_priorities_order_levels_t *self,
                                                gs_context_t *ctx, bool *found);

#endif
