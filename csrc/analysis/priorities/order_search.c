/* Search for an order of priorities that a test accepts, over all orders. */
#include "analysis/priorities/order_search.h"

#include <string.h>

/* Brings the k-th entry to the front of the tasks that are left, which keep their order. */
static void choose(int64_t *left, int64_t k)
{
    int64_t task = left[k];
    memmove(left + 1, left, (size_t)k * sizeof *left);
    left[0] = task;
}

static void undo(int64_t *left, int64_t k)
{
    int64_t task = left[0];
    memmove(left, left + 1, (size_t)k * sizeof *left);
    left[k] = task;
}

/* Whether the first `count` tasks of the order meet their deadlines, and whether all do. */
static int test_prefix(gs_analysis_priorities_order_levels_t *self, gs_context_t *ctx,
                       int64_t count, bool *fit, bool *all)
{
    bool partly = !gs_analysis_placed_method_divides(self->test->method) && count < self->hosts.n;
    self->test->take = partly ? count : 0;
    int status = gs_analysis_priorities_order_levels_test(self, ctx);
    self->test->take = 0;
    *all = self->answer.schedulable && !partly;
    *fit = self->answer.schedulable || (!partly && self->rank[self->answer.failed] >= count);
    return status;
}

/* Orders the tasks at begin .. end - 1, those before being in place. */
static int search_part(gs_analysis_priorities_order_levels_t *self, gs_context_t *ctx,
                       int64_t begin, int64_t end, int64_t most, bool *found, bool *all)
{
    int64_t *order = self->order, *choice = self->choice, depth = begin;
    choice[begin] = 0;
    *found = *all = false;
    while (depth < end) {
        if (choice[depth] >= end - depth) {
            if (depth == begin) {
                return GS_OK;
            }
            depth--;
            undo(order + depth, choice[depth] - 1);
            continue;
        }
        if (self->tests >= most) {
            return GS_SPENT_STATES;
        }
        int64_t k = choice[depth]++;
        bool fit;
        choose(order + depth, k);
        int status = test_prefix(self, ctx, depth + 1, &fit, all);
        if (status != GS_OK || *all) {
            *found = *all;
            return status;
        }
        if (!fit) {
            undo(order + depth, k);
        } else if (++depth < end) {
            choice[depth] = 0;
        }
    }
    *found = true;
    return GS_OK;
}

/* The end of the part that begins at `begin`: that of its core for stgm. */
static int64_t end_of_part(const gs_analysis_priorities_order_levels_t *self, int64_t begin)
{
    int64_t n = self->hosts.n, end = begin + 1;
    if (!gs_analysis_placed_method_divides(self->test->method)) {
        return n;
    }
    const int64_t *core = self->place->core;
    while (end < n && core[self->order[end]] == core[self->order[begin]]) {
        end++;
    }
    return end;
}

int gs_analysis_priorities_order_search(gs_analysis_priorities_order_levels_t *self,
                                        gs_context_t *ctx, int64_t most, bool *found)
{
    bool all = false;
    int status = GS_OK;
    *found = true;
    for (int64_t begin = 0; begin < self->hosts.n && *found && !all && status == GS_OK;) {
        int64_t end = end_of_part(self, begin);
        status = search_part(self, ctx, begin, end, most, found, &all);
        begin = end;
    }
    return status;
}
