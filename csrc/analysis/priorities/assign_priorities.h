/* Assignment of priorities with which a test accepts a set. */
#ifndef GS_ANALYSIS_PRIORITIES_ASSIGN_PRIORITIES_H
#define GS_ANALYSIS_PRIORITIES_ASSIGN_PRIORITIES_H

#include "analysis/placed_test.h"
#include "core/method.h"

/* Methods by which priorities are found. */
enum {
    GS_ANALYSIS_PRIORITIES_AUDSLEY = 0,
    GS_ANALYSIS_PRIORITIES_EXHAUSTIVE = 1,
    GS_ANALYSIS_PRIORITIES_DEADLINE_MONOTONIC = 2,
    GS_ANALYSIS_PRIORITIES_CPU_ORDER = 3 /* GPU priorities alone: those of the CPU */
};

/* Answer for one set. The array belongs to the caller. */
typedef struct {
    int64_t *priority; /* n: 0 for the most urgent task */
    int method;        /* GS_ANALYSIS_PRIORITIES_* */
    bool accepted;     /* by the test with these priorities */
    bool optimal;      /* accepted, or no order of priorities is accepted by the test */
    int64_t tests;     /* that were run, of a task or of all */
} gs_analysis_priorities_answer_t;

/* CPU priorities; GPU priorities follow them. Audsley's algorithm where it is proven
 * (order_levels.h); then the order of the deadlines; then a search over all orders (order_search.h)
 * of at most `most` tests. Where nothing is found the priorities are those of the deadlines.
 * hosts->priority and place->gpu_priority are not read. Errors: those of the test, GS_ERR_MEMORY.
 */
int gs_analysis_priorities_assign(gs_context_t *ctx, gs_analysis_placed_test_t *test,
                                  const gs_host_tasks_t *hosts,
                                  const gs_analysis_placed_place_t *place, int64_t most,
                                  gs_analysis_priorities_answer_t *found);

/* GPU priorities of gcaps, without `stall`, with the CPU priorities of the set (gpu_levels.h). */
int gs_analysis_priorities_assign_gpu(gs_context_t *ctx, gs_analysis_placed_test_t *test,
                                      const gs_host_tasks_t *hosts,
                                      const gs_analysis_placed_place_t *place,
                                      gs_analysis_priorities_answer_t *found);

extern const gs_method_t gs_analysis_priorities_method;

#endif
