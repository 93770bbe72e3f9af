/* Assignment of priorities with which a test accepts a set. */
#include "analysis/priorities/assign_priorities.h"

#include "analysis/priorities/gpu_levels.h"
#include "analysis/priorities/order_search.h"

/* Whether the test accepts the order of the deadlines. */
static int try_deadlines(gs_analysis_priorities_order_levels_t *self, gs_context_t *ctx,
                         bool *accepted)
{
    int status = gs_analysis_priorities_order_levels_test(self, ctx);
    *accepted = self->answer.schedulable;
    return status;
}

/* Audsley's algorithm, where it is proven. done: no other order needs a look. */
static int try_levels(gs_analysis_priorities_order_levels_t *self, gs_context_t *ctx, bool *done,
                      gs_analysis_priorities_answer_t *found)
{
    gs_analysis_placed_test_t *test = self->test;
    *done = false;
    if (!gs_analysis_priorities_order_levels_is_proven(test)) {
        return GS_OK;
    }
    int status = gs_analysis_priorities_order_levels_audsley(self, ctx, &found->accepted);
    bool itself = gs_analysis_placed_method_divides(test->method) ||
                  test->options.fixed_point == GS_ANALYSIS_CONTEXTS_ORDER_FREE;
    *done = found->accepted || itself;
    found->method = GS_ANALYSIS_PRIORITIES_AUDSLEY;
    found->optimal = *done;
    return status;
}

/* The orders that are left: that of the deadlines, and all. */
static int try_orders(gs_analysis_priorities_order_levels_t *self, gs_context_t *ctx, int64_t most,
                      gs_analysis_priorities_answer_t *found)
{
    found->method = GS_ANALYSIS_PRIORITIES_DEADLINE_MONOTONIC;
    int status = try_deadlines(self, ctx, &found->accepted);
    found->optimal = found->accepted;
    if (status != GS_OK || found->accepted) {
        return status;
    }
    int64_t before = self->tests;
    status = gs_analysis_priorities_order_search(self, ctx, before + most, &found->accepted);
    if (status == GS_OK) {
        found->method = GS_ANALYSIS_PRIORITIES_EXHAUSTIVE;
        found->optimal = true;
    }
    return status == GS_SPENT_STATES ? GS_OK : status;
}

static int assign(gs_analysis_priorities_order_levels_t *self, gs_context_t *ctx,
                  gs_analysis_placed_test_t *test, const gs_host_tasks_t *hosts,
                  const gs_analysis_placed_place_t *place, int64_t most,
                  gs_analysis_priorities_answer_t *found)
{
    bool by_core = gs_analysis_placed_method_divides(test->method), done = false;
    gs_analysis_placed_place_t at = *place;
    at.gpu_priority = NULL;
    int status = gs_analysis_priorities_order_levels_start(self, ctx, test, hosts, &at, by_core);
    if (status == GS_OK) {
        status = try_levels(self, ctx, &done, found);
    }
    if (status == GS_OK && !done) {
        status = gs_analysis_priorities_order_levels_start(self, ctx, test, hosts, &at, by_core);
        status = status == GS_OK ? try_orders(self, ctx, most, found) : status;
    }
    if (status == GS_OK && !found->accepted) {
        status = gs_analysis_priorities_order_levels_start(self, ctx, test, hosts, &at, false);
    }
    for (int64_t k = 0; k < hosts->n && status == GS_OK; k++) {
        found->priority[self->order[k]] = k;
    }
    found->tests = self->tests;
    return status;
}

static int assign_gpu(gs_analysis_priorities_order_levels_t *self, gs_context_t *ctx,
                      gs_analysis_placed_test_t *test, const gs_host_tasks_t *hosts,
                      const gs_analysis_placed_place_t *place,
                      gs_analysis_priorities_answer_t *found)
{
    int status = gs_analysis_common_check_and_sort(ctx, hosts, false, self->order);
    if (status != GS_OK) {
        return status;
    }
    if (test->options.stall) {
        return gs_fail(ctx, GS_ERR_VALUE, "stall", -1, 1, "no stall with GPU priorities to choose");
    }
    gs_analysis_placed_place_t chosen = *place;
    self->test = test;
    self->place = place;
    self->hosts = *hosts;
    self->hosts.priority = self->rank;
    status = gs_analysis_priorities_gpu_levels(self, ctx, &found->accepted);
    found->method =
        found->accepted ? GS_ANALYSIS_PRIORITIES_AUDSLEY : GS_ANALYSIS_PRIORITIES_CPU_ORDER;
    if (status != GS_OK) {
        return status;
    }
    chosen.gpu_priority = self->level;
    self->place = &chosen;
    status = gs_analysis_priorities_order_levels_test(self, ctx);
    self->place = place;
    found->accepted = found->optimal = self->answer.schedulable;
    for (int64_t i = 0; i < hosts->n; i++) {
        found->priority[i] = self->level[i];
    }
    found->tests = self->tests;
    return status;
}

/* Takes the memory and finds the priorities; gpu: those of the GPU. */
static int run(gs_context_t *ctx, gs_analysis_placed_test_t *test, const gs_host_tasks_t *hosts,
               const gs_analysis_placed_place_t *place, bool gpu, int64_t most,
               gs_analysis_priorities_answer_t *found)
{
    gs_analysis_priorities_order_levels_t levels;
    int status = gs_host_tasks_check(ctx, hosts);
    if (status != GS_OK) {
        return status;
    }
    status = gs_analysis_priorities_order_levels_init(&levels, ctx, hosts->n);
    if (status == GS_OK) {
        status = gpu ? assign_gpu(&levels, ctx, test, hosts, place, found)
                     : assign(&levels, ctx, test, hosts, place, most, found);
    }
    gs_analysis_priorities_order_levels_free(&levels, ctx);
    return status;
}

int gs_analysis_priorities_assign(gs_context_t *ctx, gs_analysis_placed_test_t *test,
                                  const gs_host_tasks_t *hosts,
                                  const gs_analysis_placed_place_t *place, int64_t most,
                                  gs_analysis_priorities_answer_t *found)
{
    return run(ctx, test, hosts, place, false, most, found);
}

int gs_analysis_priorities_assign_gpu(gs_context_t *ctx, gs_analysis_placed_test_t *test,
                                      const gs_host_tasks_t *hosts,
                                      const gs_analysis_placed_place_t *place,
                                      gs_analysis_priorities_answer_t *found)
{
    return run(ctx, test, hosts, place, true, 0, found);
}

static const char *const OF[] = {"cpu", "gpu", NULL};
static const gs_method_option_t OPTIONS[] = {
    {"way", "way", NULL, NULL, "the way of sharing the GPU whose test it is"},
    {"of", "choice", OF, "cpu", "kind of priorities to choose"},
    {"budget", "integer", NULL, "10000",
     "maximum number of tests of the search over orders, for each set"},
};

const gs_method_t gs_analysis_priorities_method = {
    .name = "assign_priorities",
    .model = "HostTasks",
    .function = "analysis.assign_priorities",
    .claim = "sufficient",
    .source = "Audsley 1991, Davis and Burns 2011; proofs in order_levels.h",
    .summary =
        "Choice of priorities with which a test accepts a set, by Audsley's algorithm or a search.",
    .options = OPTIONS,
    .option_count = sizeof OPTIONS / sizeof *OPTIONS,
};
