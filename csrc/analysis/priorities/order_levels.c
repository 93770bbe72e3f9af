/* Question whether a task meets its deadline at a level, and Audsley's algorithm over all levels.
 */
#include "analysis/priorities/order_levels.h"

#include <stdlib.h>
#include <string.h>

int gs_analysis_priorities_order_levels_init(gs_analysis_priorities_order_levels_t *self,
                                             gs_context_t *ctx, int64_t n)
{
    memset(self, 0, sizeof *self);
    self->rank = gs_alloc(ctx, (size_t)n, sizeof *self->rank);
    self->order = gs_alloc(ctx, (size_t)n, sizeof *self->order);
    self->members = gs_alloc(ctx, (size_t)n, sizeof *self->members);
    self->choice = gs_alloc(ctx, (size_t)n, sizeof *self->choice);
    self->level = gs_alloc(ctx, (size_t)n, sizeof *self->level);
    self->answer.response = gs_alloc(ctx, (size_t)n, sizeof *self->answer.response);
    self->answer.terms =
        gs_alloc(ctx, (size_t)n, GS_ANALYSIS_COMMON_TERMS * sizeof *self->answer.terms);
    bool made = self->rank != NULL && self->order != NULL && self->members != NULL;
    made = made && self->choice != NULL && self->level != NULL && self->answer.response != NULL;
    return made && self->answer.terms != NULL ? GS_OK : ctx->status;
}

void gs_analysis_priorities_order_levels_free(gs_analysis_priorities_order_levels_t *self,
                                              gs_context_t *ctx)
{
    gs_free(ctx, self->rank);
    gs_free(ctx, self->order);
    gs_free(ctx, self->members);
    gs_free(ctx, self->choice);
    gs_free(ctx, self->level);
    gs_free(ctx, self->answer.response);
    gs_free(ctx, self->answer.terms);
    memset(self, 0, sizeof *self);
}

typedef struct {
    int64_t core, deadline, task;
} key_t;

static int by_key(const void *a, const void *b)
{
    const key_t *x = a, *y = b;
    if (x->core != y->core) {
        return x->core < y->core ? -1 : 1;
    }
    if (x->deadline != y->deadline) {
        return x->deadline < y->deadline ? -1 : 1;
    }
    return x->task < y->task ? -1 : 1;
}

int gs_analysis_priorities_order_levels_start(gs_analysis_priorities_order_levels_t *self,
                                              gs_context_t *ctx, gs_analysis_placed_test_t *test,
                                              const gs_host_tasks_t *hosts,
                                              const gs_analysis_placed_place_t *place, bool by_core)
{
    key_t *keys = gs_alloc(ctx, (size_t)hosts->n, sizeof *keys);
    if (keys == NULL) {
        return ctx->status;
    }
    self->test = test;
    self->place = place;
    self->hosts = *hosts;
    self->hosts.priority = self->rank;
    for (int64_t i = 0; i < hosts->n; i++) {
        keys[i] = (key_t){by_core ? place->core[i] : 0, hosts->deadline[i], i};
    }
    qsort(keys, (size_t)hosts->n, sizeof *keys, by_key);
    for (int64_t k = 0; k < hosts->n; k++) {
        self->order[k] = keys[k].task;
    }
    gs_free(ctx, keys);
    return gs_poll(ctx, 100 + hosts->n);
}

int gs_analysis_priorities_order_levels_test(gs_analysis_priorities_order_levels_t *self,
                                             gs_context_t *ctx)
{
    for (int64_t k = 0; k < self->hosts.n; k++) {
        self->rank[self->order[k]] = k;
    }
    self->tests++;
    int status = gs_poll(ctx, 100 + self->hosts.n);
    return status != GS_OK ? status
                           : gs_analysis_placed_test_run(self->test, ctx, &self->hosts, self->place,
                                                         &self->answer);
}

bool gs_analysis_priorities_order_levels_is_proven(const gs_analysis_placed_test_t *test)
{
    return gs_analysis_placed_method_divides(test->method)
               ? test->options.mode != 0
               : test->method->context != NULL && !test->options.stall;
}

/* stgm, busy: W of the task at a place of the order, from sums and blocking that the last run of
 * the test has left, as these do not depend on priorities. */
static int solve_stgm(gs_analysis_priorities_order_levels_t *self, gs_context_t *ctx, int64_t place)
{
    int64_t at = 0, i = self->order[place];
    gs_analysis_partitioned_stgm_core_t core = {.members = self->members, .busy = true};
    gs_analysis_common_recurrence_t recurrence;
    for (int64_t k = 0; k < self->hosts.n; k++) {
        at = k == place ? core.count : at;
        if (self->place->core[self->order[k]] == self->place->core[i]) {
            self->members[core.count++] = self->order[k];
        }
    }
    gs_analysis_common_answer_start(&self->answer, self->hosts.n);
    gs_analysis_partitioned_stgm_recurrence(&self->test->memory->stgm, &self->hosts, &core, at,
                                            NULL, &recurrence);
    self->tests++;
    return gs_analysis_common_recurrence_solve_task(&recurrence, ctx, 0, &self->hosts, i,
                                                    &self->answer);
}

/* Whether the task at a place of the order meets its deadline there. */
static int fits(gs_analysis_priorities_order_levels_t *self, gs_context_t *ctx, int64_t place,
                bool *fit)
{
    gs_analysis_placed_test_t *test = self->test;
    int status;
    if (gs_analysis_placed_method_divides(test->method)) {
        status = solve_stgm(self, ctx, place);
    } else {
        test->skip = place;
        test->take = 1;
        status = gs_analysis_priorities_order_levels_test(self, ctx);
        test->skip = test->take = 0;
    }
    *fit = self->answer.schedulable;
    return status == GS_OK ? gs_poll(ctx, 100 + self->hosts.n) : status;
}

/* Moves the entry at `from` to `to`, not before it; those between move one place up. */
static void move_down(int64_t *order, int64_t from, int64_t to)
{
    int64_t task = order[from];
    memmove(order + from, order + from + 1, (size_t)(to - from) * sizeof *order);
    order[to] = task;
}

/* Moves the entry at `from` to `to`, not after it; those between move one place down. */
static void move_up(int64_t *order, int64_t from, int64_t to)
{
    int64_t task = order[from];
    memmove(order + to + 1, order + to, (size_t)(from - to) * sizeof *order);
    order[to] = task;
}

/* Fills a level, the least urgent one that is left. Candidates from the longest deadline on. */
static int fill(gs_analysis_priorities_order_levels_t *self, gs_context_t *ctx, int64_t level,
                bool *found)
{
    int status = GS_OK;
    *found = false;
    for (int64_t k = level; k >= 0 && !*found && status == GS_OK; k--) {
        move_down(self->order, k, level);
        status = fits(self, ctx, level, found);
        if (!*found) {
            move_up(self->order, level, k);
        }
    }
    return status;
}

int gs_analysis_priorities_order_levels_audsley(gs_analysis_priorities_order_levels_t *self,
                                                gs_context_t *ctx, bool *found)
{
    gs_analysis_placed_test_t *test = self->test;
    int fixed_point = test->options.fixed_point, status = GS_OK;
    *found = true;
    if (gs_analysis_placed_method_divides(test->method)) {
        status = gs_analysis_priorities_order_levels_test(self, ctx);
    }
    test->options.fixed_point = GS_ANALYSIS_CONTEXTS_ORDER_FREE;
    for (int64_t level = self->hosts.n - 1; level >= 0 && *found && status == GS_OK; level--) {
        status = fill(self, ctx, level, found);
    }
    test->options.fixed_point = fixed_point;
    return status;
}
