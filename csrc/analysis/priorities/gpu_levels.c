/* GPU priorities of GCAPS by Audsley's algorithm, the CPU priorities being given. */
#include "analysis/priorities/gpu_levels.h"

#include <string.h>

/* A task without a level. */
enum { NONE = -1 };

static bool is_user(const gs_analysis_priorities_order_levels_t *self, int64_t rank)
{
    return self->hosts.segments[self->order[rank]] > 0;
}

static int64_t core_at(const gs_analysis_priorities_order_levels_t *self, int64_t rank)
{
    return self->place->core[self->order[rank]];
}

/* Fills self->members with the GPU priorities for a test of `candidate` at a level: those without
 * a level are above it, by CPU priority. */
static void fill_levels(gs_analysis_priorities_order_levels_t *self, int64_t candidate,
                        int64_t level)
{
    int64_t above = 0, last = self->hosts.n;
    for (int64_t r = 0; r < self->hosts.n; r++) {
        int64_t task = self->order[r];
        if (!is_user(self, r)) {
            self->members[task] = --last;
        } else if (self->level[task] != NONE) {
            self->members[task] = self->level[task];
        } else {
            self->members[task] = r == candidate ? level : above++;
        }
    }
}

/* Whether the task of one rank meets its deadline with self->members. */
static int test_rank(gs_analysis_priorities_order_levels_t *self, gs_context_t *ctx, int64_t rank,
                     bool *fit)
{
    self->test->skip = rank;
    self->test->take = 1;
    int status = gs_analysis_priorities_order_levels_test(self, ctx);
    self->test->skip = self->test->take = 0;
    *fit = self->answer.schedulable;
    return status;
}

/* Whether a candidate, and in mode busy those that wait as it does, meet their deadlines. */
static int fits(gs_analysis_priorities_order_levels_t *self, gs_context_t *ctx, int64_t candidate,
                int64_t level, bool *fit)
{
    fill_levels(self, candidate, level);
    int status = test_rank(self, ctx, candidate, fit);
    bool busy = self->test->options.mode == GS_ANALYSIS_CONTEXTS_BUSY;
    for (int64_t r = candidate + 1; busy && r < self->hosts.n && *fit && status == GS_OK; r++) {
        if (core_at(self, r) != core_at(self, candidate)) {
            continue;
        }
        if (is_user(self, r)) {
            break;
        }
        status = test_rank(self, ctx, r, fit);
    }
    return status;
}

/* Whether a rank is the least urgent user without a level of its core. */
static bool is_candidate(const gs_analysis_priorities_order_levels_t *self, int64_t rank)
{
    if (!is_user(self, rank) || self->level[self->order[rank]] != NONE) {
        return false;
    }
    for (int64_t r = rank + 1; r < self->hosts.n; r++) {
        if (core_at(self, r) == core_at(self, rank) && is_user(self, r) &&
            self->level[self->order[r]] == NONE) {
            return false;
        }
    }
    return true;
}

/* Fills a level; the least urgent candidate first. */
static int fill(gs_analysis_priorities_order_levels_t *self, gs_context_t *ctx, int64_t level,
                bool *found)
{
    int status = GS_OK;
    *found = false;
    for (int64_t r = self->hosts.n - 1; r >= 0 && !*found && status == GS_OK; r--) {
        if (!is_candidate(self, r)) {
            continue;
        }
        status = fits(self, ctx, r, level, found);
        if (*found) {
            self->level[self->order[r]] = level;
        }
    }
    return status;
}

int gs_analysis_priorities_gpu_levels(gs_analysis_priorities_order_levels_t *self,
                                      gs_context_t *ctx, bool *found)
{
    gs_analysis_placed_test_t *test = self->test;
    const gs_analysis_placed_place_t *given = self->place;
    gs_analysis_placed_place_t place = *given;
    int fixed_point = test->options.fixed_point, status = GS_OK;
    int64_t users = 0;
    for (int64_t r = 0; r < self->hosts.n; r++) {
        self->level[self->order[r]] = NONE;
        users += is_user(self, r);
    }
    place.gpu_priority = self->members;
    self->place = &place;
    test->options.fixed_point = GS_ANALYSIS_CONTEXTS_DEADLINES;
    *found = true;
    for (int64_t level = users - 1; level >= 0 && *found && status == GS_OK; level--) {
        status = fill(self, ctx, level, found);
    }
    test->options.fixed_point = fixed_point;
    self->place = given;
    for (int64_t r = 0; !*found && r < self->hosts.n; r++) {
        self->level[self->order[r]] = NONE;
    }
    fill_levels(self, -1, 0);
    memcpy(self->level, self->members, (size_t)self->hosts.n * sizeof *self->level);
    return status;
}
