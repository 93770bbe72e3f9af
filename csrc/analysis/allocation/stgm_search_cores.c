/* Exhaustive search of cores for STGM, with the kernel times and the waits of a point.
 *
 * With them, and in the sound busy test with the cores of the users, the test of a core depends on
 * its own tasks only, and a part of a core that passes also passes without some of its tasks (users
 * stay where they are fixed). So cores exist if and only if the tasks can be divided into `cpus`
 * parts that pass, and they can if and only if
 * - the first core takes one of the parts with the first task that are maximal among those that
 *   pass (or, where users are fixed, with these), and
 * - the other cores can take the rest, which is no larger than with a smaller part.
 * Whether they can depends on the rest and their number only, so each pair of these is tried once.
 * A part with a utilization above 1 fails: its task with the lowest priority has
 * W >= own + W sum(demand / T) over the others, so own / T <= own / W <= 1 - sum(demand / T).
 *
 * A part that passes with a point passes with every smaller one; a part, or a set, that fails with
 * a point fails with every larger one. Points are remembered with what they decided. A point that
 * is refuted is made smaller first: the values of one user after the other are replaced by the
 * smallest ones while no cores exist.
 */
#include <string.h>

#include "analysis/allocation/stgm_search.h"

typedef gs_analysis_allocation_stgm_search_t search_t;
typedef gs_analysis_allocation_stgm_point_t point_t;

enum {
    TASKS = GS_ANALYSIS_ALLOCATION_EXHAUSTIVE_TASKS,
    ALL_USERS = (1 << GS_ANALYSIS_ALLOCATION_EXHAUSTIVE_USERS) - 1
};

void gs_analysis_allocation_stgm_search_forget(search_t *self)
{
    size_t size = ((size_t)1 << self->n) * sizeof *self->passed;
    memset(self->passed, 0, size);
    memset(self->failed, 0, size);
    self->points = self->refuted_count = self->accepted_count = 0;
}

static int64_t least_of(int64_t count, int64_t most)
{
    return count < most ? count : most;
}

/* Whether no value of these users is larger in a than in b. */
static bool is_at_most(const search_t *self, const point_t *a, const point_t *b, unsigned users)
{
    int64_t larger = 0;
    for (int64_t u = 0; u < self->users; u++) {
        const int64_t *x = a->value[u], *y = b->value[u];
        larger |= (users >> u & 1) != 0 ? (x[0] > y[0]) | (x[1] > y[1]) | (x[2] > y[2]) : 0;
    }
    return larger == 0;
}

static unsigned users_of(const search_t *self, unsigned part)
{
    unsigned users = 0;
    for (int64_t u = 0; u < self->users; u++) {
        users |= (part & self->user_bit[u]) != 0 ? 1u << u : 0;
    }
    return users;
}

/* Prepares the test for a point. */
static void set_point(const search_t *self, const point_t *point)
{
    gs_analysis_partitioned_stgm_t *test = self->test;
    for (int64_t u = 0; u < self->users; u++) {
        int64_t i = self->user[u];
        gs_analysis_common_sums_t *sums = &test->sums[i];
        sums->gpu = point->value[u][0];
        sums->most_gpu = point->value[u][1];
        int64_t chain = point->value[u][2];
        if (self->fixed) {
            gs_analysis_partitioned_stgm_set_busy_blocking(test, i, self->copies[u], chain);
        } else {
            test->kernel[i] = gs_analysis_common_saturating_mul(sums->segments, chain);
        }
    }
}

/* Tests a part that is not remembered. */
static int test_part(search_t *self, unsigned part, bool *passes)
{
    int64_t members[TASKS] = {0}, found[TASKS] = {0};
    gs_analysis_partitioned_stgm_core_t on = {
        .members = members, .busy = self->busy, .paper = self->paper};
    for (unsigned rest = part; rest != 0; rest &= rest - 1) {
        members[on.count++] = self->test->order[__builtin_ctz(rest)];
    }
    int status = GS_OK;
    *passes = true;
    for (int64_t at = 0; at < on.count && *passes && status == GS_OK; at++) {
        int64_t t = members[at];
        gs_analysis_common_recurrence_t recurrence;
        gs_analysis_partitioned_stgm_recurrence(self->test, self->hosts, &on, at, found,
                                                &recurrence);
        status = gs_analysis_common_recurrence_solve(
            &recurrence, self->ctx, 0, gs_host_tasks_window(self->hosts, t), &found[t]);
        *passes = found[t] >= 0;
        found[t] += gs_host_tasks_jitter(self->hosts, t);
    }
    return status == GS_OK ? gs_poll(self->ctx, on.count * on.count) : status;
}

/* Whether a part passes with the last point of the tables. */
static int check_part(search_t *self, unsigned part, bool *passes)
{
    const point_t *points = self->point, *now = &points[self->points];
    unsigned users = users_of(self, part);
    uint16_t passed = self->passed[part], failed = self->failed[part];
    *passes = passed != 0 && is_at_most(self, now, &points[passed], users);
    if (*passes || (failed != 0 && is_at_most(self, &points[failed], now, users))) {
        return GS_OK;
    }
    int status = test_part(self, part, passes);
    *(*passes ? &self->passed[part] : &self->failed[part]) = (uint16_t)self->points;
    return status;
}

static double share_of(const search_t *self, unsigned tasks)
{
    double sum = 0;
    for (; tasks != 0; tasks &= tasks - 1) {
        sum += self->share[__builtin_ctz(tasks)];
    }
    return sum;
}

/* Whether so many cores are too few by utilization; exact in favour of more cores. */
static bool is_too_much(const search_t *self, unsigned tasks, int64_t cores)
{
    const double margin = 1e-9;
    return share_of(self, tasks) > (double)cores + margin;
}

static int cover(search_t *self, int64_t core, unsigned rest, bool *exist);

/* Whether no task that was left out can join a part. */
static int is_maximal(search_t *self, unsigned part, unsigned out, bool *maximal)
{
    int status = GS_OK;
    *maximal = true;
    for (; out != 0 && *maximal && status == GS_OK; out &= out - 1) {
        bool passes;
        status = check_part(self, part | (out & -out), &passes);
        *maximal = !passes;
    }
    return status;
}

/* Extends the part of a core, which passes, by some of the tasks `open`; `out` were left out. */
static int extend(search_t *self, int64_t core, unsigned part, unsigned open, unsigned out,
                  bool *exist)
{
    int status = GS_OK;
    for (; open != 0 && status == GS_OK; open &= open - 1) {
        unsigned bit = open & -open;
        bool passes;
        if ((status = gs_count_states(self->ctx, 1)) != GS_OK ||
            (status = check_part(self, part | bit, &passes)) != GS_OK) {
            return status;
        }
        if (passes) {
            status = extend(self, core, part | bit, open & ~bit, out, exist);
            if (status != GS_OK || *exist) {
                return status;
            }
        }
        out |= bit;
        if (self->cpus - core == 2) { /* the last core must take all of them */
            unsigned seed = self->fixed ? self->seed[core + 1] : 0;
            status = check_part(self, seed | out, &passes);
        } else {
            passes = !is_too_much(self, out, self->cpus - core - 1);
        }
        if (status != GS_OK || !passes) {
            return status == GS_OK ? gs_poll(self->ctx, 10) : status;
        }
    }
    bool maximal = false;
    if (status == GS_OK) {
        status = is_maximal(self, part, out, &maximal);
    }
    if (status == GS_OK && maximal) {
        self->part[core] = part;
        status = cover(self, core + 1, out, exist);
    }
    return status;
}

/* Whether the cores from `core` on can take the rest of the tasks, besides the users fixed there.
 */
static int cover(search_t *self, int64_t core, unsigned rest, bool *exist)
{
    int64_t left = self->cpus - core;
    *exist = left == 0 && rest == 0;
    if (left == 0 || (self->uncovered[rest] >> (left - 1) & 1) != 0) {
        return GS_OK;
    }
    unsigned part = self->fixed ? self->seed[core] : 0;
    part = part != 0 ? part : rest & -rest;
    part |= left == 1 ? rest : 0; /* all of it on the last core */
    bool passes = true;
    int status = gs_count_states(self->ctx, 1);
    if (status == GS_OK && part != 0) {
        status = check_part(self, part, &passes);
    }
    if (status == GS_OK && passes) {
        status = extend(self, core, part, rest & ~part, 0, exist);
    }
    if (status == GS_OK && !*exist) {
        self->uncovered[rest] |= (uint16_t)(1u << (left - 1));
    }
    return status == GS_OK ? gs_poll(self->ctx, 10) : status;
}

/* Whether the parts of an earlier point pass with the last point of the tables. */
static int check_parts(search_t *self, const unsigned *part, bool *pass)
{
    int status = GS_OK;
    *pass = true;
    for (int64_t c = 0; c < self->cpus && *pass && status == GS_OK; c++) {
        status = part[c] != 0 ? check_part(self, part[c], pass) : GS_OK;
    }
    if (status == GS_OK && *pass) {
        memcpy(self->part, part, sizeof self->part);
    }
    return status;
}

/* Searches cores with a point that is not decided by earlier ones: those of an earlier point, then
 * all. */
static int search_point(search_t *self, const point_t *point, bool *exist)
{
    if (self->points == GS_ANALYSIS_ALLOCATION_SEARCH_POINTS - 1) {
        size_t size = ((size_t)1 << self->n) * sizeof *self->passed;
        memset(self->passed, 0, size);
        memset(self->failed, 0, size);
        self->points = 0;
    }
    self->point[++self->points] = *point;
    set_point(self, point);
    *exist = false;
    int status = GS_OK;
    int64_t accepted = least_of(self->accepted_count, GS_ANALYSIS_ALLOCATION_SEARCH_ACCEPTED);
    for (int64_t k = 0; k < accepted && !*exist && status == GS_OK; k++) {
        status = check_parts(self, self->accepted[k].part, exist);
    }
    if (status != GS_OK || *exist) {
        return status;
    }
    unsigned rest = (1u << self->n) - 1;
    for (int64_t u = 0; u < self->users && self->fixed; u++) {
        rest &= ~self->user_bit[u];
    }
    memset(self->uncovered, 0, ((size_t)1 << self->n) * sizeof *self->uncovered);
    memset(self->part, 0, sizeof self->part);
    return cover(self, 0, rest, exist);
}

/* Records a point without cores, made smaller as far as there are none. */
static int refute(search_t *self, const point_t *point)
{
    point_t smaller = *point;
    int status = GS_OK;
    for (int64_t u = 0; u < self->users && status == GS_OK; u++) {
        point_t next = smaller;
        memcpy(next.value[u], self->best.value[u], sizeof next.value[u]);
        bool exist = is_at_most(self, &smaller, &next, ALL_USERS);
        if (!exist) {
            status = search_point(self, &next, &exist);
        }
        smaller = status == GS_OK && !exist ? next : smaller;
    }
    int64_t at = self->refuted_count++ % GS_ANALYSIS_ALLOCATION_SEARCH_REFUTED;
    self->refuted[at] = smaller;
    return status;
}

static void accept(search_t *self, const point_t *point)
{
    int64_t at = self->accepted_count++ % GS_ANALYSIS_ALLOCATION_SEARCH_ACCEPTED;
    self->accepted[at].point = *point;
    memcpy(self->accepted[at].part, self->part, sizeof self->part);
}

int gs_analysis_allocation_stgm_search_cores(search_t *self, const point_t *point, bool *exist)
{
    int64_t refuted = least_of(self->refuted_count, GS_ANALYSIS_ALLOCATION_SEARCH_REFUTED);
    int64_t accepted = least_of(self->accepted_count, GS_ANALYSIS_ALLOCATION_SEARCH_ACCEPTED);
    *exist = false;
    for (int64_t k = 0; k < refuted; k++) {
        if (is_at_most(self, &self->refuted[k], point, ALL_USERS)) {
            return GS_OK;
        }
    }
    for (int64_t k = 0; k < accepted; k++) {
        if (is_at_most(self, point, &self->accepted[k].point, ALL_USERS)) {
            memcpy(self->part, self->accepted[k].part, sizeof self->part);
            *exist = true;
            return GS_OK;
        }
    }
    int status = search_point(self, point, exist);
    if (status == GS_OK && *exist) {
        accept(self, point);
    } else if (status == GS_OK) {
        status = refute(self, point);
    }
    return status;
}
