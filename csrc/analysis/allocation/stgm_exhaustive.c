/* Exhaustive search over SM divisions and core assignments for STGM. */
#include "analysis/allocation/stgm_exhaustive.h"

#include <string.h>

#include "analysis/allocation/stgm_search.h"

enum { USERS = GS_ANALYSIS_ALLOCATION_EXHAUSTIVE_USERS };

int gs_analysis_allocation_stgm_exhaustive_init(gs_analysis_allocation_stgm_exhaustive_t *self,
                                                gs_context_t *ctx, int64_t n)
{
    memset(self, 0, sizeof *self);
    self->n = n;
    int64_t tasks = GS_ANALYSIS_ALLOCATION_EXHAUSTIVE_TASKS;
    size_t parts = (size_t)1 << (n < tasks ? n : tasks);
    self->search = gs_alloc(ctx, 1, sizeof *self->search);
    self->tables = gs_alloc(ctx, 3 * parts, sizeof *self->tables);
    return self->search != NULL && self->tables != NULL
               ? gs_analysis_allocation_stgm_allocate_init(&self->heuristic, ctx, n)
               : ctx->status;
}

void gs_analysis_allocation_stgm_exhaustive_free(gs_analysis_allocation_stgm_exhaustive_t *self,
                                                 gs_context_t *ctx)
{
    gs_free(ctx, self->search);
    gs_free(ctx, self->tables);
    gs_analysis_allocation_stgm_allocate_free(&self->heuristic, ctx);
    memset(self, 0, sizeof *self);
}

/* Checks the set and lists the users. */
static int check(gs_analysis_allocation_stgm_search_t *search, int64_t cpus)
{
    gs_context_t *ctx = search->ctx;
    int64_t users = 0;
    int status;
    if ((status = gs_analysis_partitioned_stgm_check_paper(ctx, search->paper)) != GS_OK ||
        (status = gs_analysis_common_check_and_sort(ctx, search->hosts, search->test->order)) !=
            GS_OK ||
        (status = gs_analysis_common_check_cpus(ctx, cpus)) != GS_OK ||
        (status = gs_analysis_common_check_sms(ctx, search->sms)) != GS_OK) {
        return status;
    }
    for (int64_t i = 0; i < search->n; i++) {
        if (search->hosts->segments[i] > 0 && users++ < USERS) {
            search->user[users - 1] = i;
        }
    }
    if (search->n > GS_ANALYSIS_ALLOCATION_EXHAUSTIVE_TASKS) {
        return gs_fail(ctx, GS_ERR_VALUE, "tasks", -1, search->n,
                       "at most 16 tasks to try all allocations");
    }
    if (users > USERS) {
        return gs_fail(ctx, GS_ERR_VALUE, "segments", -1, users,
                       "at most 6 tasks with GPU segments to try all allocations");
    }
    search->users = users;
    return GS_OK;
}

/* Prepares the search: the sums that do not depend on SMs, the smallest values of every user, and
 * the waiting for copies that does not depend on cores. */
static void start(gs_analysis_allocation_stgm_search_t *search)
{
    gs_analysis_partitioned_stgm_t *test = search->test;
    search->fixed = search->busy && search->paper == GS_ANALYSIS_PARTITIONED_STGM_SOUND;
    for (int64_t i = 0; i < search->n; i++) {
        test->sums[i] = gs_analysis_common_sums(search->hosts, i, search->sms);
        test->kernel[i] = test->segment[i] = test->copy[i] = 0;
    }
    if (!search->fixed) {
        gs_analysis_partitioned_stgm_copy_blocking(test);
    }
    for (int64_t at = 0; at < search->n; at++) {
        int64_t i = test->order[at];
        const gs_analysis_common_sums_t *sums = &test->sums[i];
        search->share[at] = (double)(sums->cpu + (search->busy ? sums->gpu : sums->copies)) /
                            (double)search->hosts->period[i];
        for (int64_t u = 0; u < search->users; u++) {
            search->user_bit[u] = search->user[u] == i ? 1u << at : search->user_bit[u];
        }
    }
    for (int64_t u = 0; u < search->users; u++) {
        search->mates[u] = 1u << u;
        gs_analysis_allocation_stgm_search_set_user(search, u, search->sms, 0, &search->best);
    }
    gs_analysis_allocation_stgm_search_forget(search);
}

/* Fixes the cores of the users, and their waiting for copies: one of every other core. */
static void fix_cores(gs_analysis_allocation_stgm_search_t *search, const int64_t *core)
{
    gs_analysis_partitioned_stgm_t *test = search->test;
    int64_t longest[GS_ANALYSIS_ALLOCATION_EXHAUSTIVE_TASKS] = {0}, all = 0;
    memset(search->seed, 0, sizeof search->seed);
    for (int64_t u = 0; u < search->users; u++) {
        int64_t c = core[u], copy = test->sums[search->user[u]].longest_copy;
        all += gs_analysis_common_max(longest[c], copy) - longest[c];
        longest[c] = gs_analysis_common_max(longest[c], copy);
        search->seed[c] |= search->user_bit[u];
    }
    for (int64_t u = 0; u < search->users; u++) {
        search->mates[u] = 0;
        for (int64_t v = 0; v < search->users; v++) {
            search->mates[u] |= (unsigned)(core[u] == core[v]) << v;
        }
        search->copies[u] = all - longest[core[u]];
    }
    gs_analysis_allocation_stgm_search_forget(search);
}

/* Tries all divisions of the users from u on among the cores, of which `used` are in use. */
static int try_cores(gs_analysis_allocation_stgm_search_t *search, int64_t *core, int64_t u,
                     int64_t used)
{
    if (u == search->users) {
        fix_cores(search, core);
        return gs_analysis_allocation_stgm_search_sms(search);
    }
    int status = GS_OK;
    for (int64_t c = 0; c <= used && c < search->cpus && status == GS_OK && !search->found; c++) {
        core[u] = c;
        status = try_cores(search, core, u + 1, c == used ? used + 1 : used);
    }
    return status;
}

/* Writes the allocation that was found. */
static void write_allocation(const gs_analysis_allocation_stgm_search_t *search,
                             gs_analysis_allocation_stgm_placement_t *placement)
{
    memset(placement->sm, 0, (size_t)(search->n * search->sms));
    for (int64_t c = 0, s = 0; c < search->cliques; c++) {
        for (int64_t k = 0; k < search->given[c]; k++, s++) {
            for (unsigned rest = search->clique[c]; rest != 0; rest &= rest - 1) {
                placement->sm[search->user[__builtin_ctz(rest)] * search->sms + s] = 1;
            }
        }
    }
    for (int64_t p = 0; p < search->cpus; p++) {
        for (unsigned rest = search->part[p]; rest != 0; rest &= rest - 1) {
            placement->core[search->test->order[__builtin_ctz(rest)]] = p;
        }
    }
}

int gs_analysis_allocation_stgm_exhaustive(gs_analysis_allocation_stgm_exhaustive_t *self,
                                           gs_context_t *ctx, const gs_host_tasks_t *hosts,
                                           int64_t cpus, int64_t sms, bool busy, int paper,
                                           gs_analysis_allocation_stgm_placement_t *placement,
                                           gs_analysis_common_answer_t *answer)
{
    gs_analysis_allocation_stgm_search_t *search = self->search;
    int64_t n = hosts->n, core[USERS] = {0};
    self->n = n;
    gs_analysis_partitioned_stgm_resize(&self->heuristic.test, n);
    memset(search, 0, sizeof *search);
    search->ctx = ctx;
    search->hosts = hosts;
    search->test = &self->heuristic.test;
    search->n = n;
    search->cpus = cpus < n ? cpus : n;
    search->sms = sms;
    search->busy = busy;
    search->paper = paper;
    placement->rounds = 0;
    int status = check(search, cpus);
    if (status == GS_OK) {
        status = gs_analysis_allocation_stgm_allocate(
            &self->heuristic, ctx, hosts, cpus, sms, busy, paper,
            GS_ANALYSIS_ALLOCATION_ALLOCATE_ISOLATED, placement, answer);
    }
    if (status != GS_OK || answer->schedulable) {
        return status;
    }
    search->passed = self->tables;
    search->failed = search->passed + ((size_t)1 << n);
    search->uncovered = search->failed + ((size_t)1 << n);
    start(search);
    status = search->fixed ? try_cores(search, core, 0, 0)
                           : gs_analysis_allocation_stgm_search_sms(search);
    placement->rounds += search->divisions;
    if (status == GS_OK && search->found) {
        write_allocation(search, placement);
        return gs_analysis_partitioned_stgm(search->test, ctx, hosts, placement->core,
                                            placement->sm, sms, cpus, busy, paper, false, answer);
    }
    if (status >= 0) {
        gs_analysis_common_answer_start(answer, n);
        answer->schedulable = false;
        memset(placement->sm, 0, (size_t)(n * sms));
        for (int64_t i = 0; i < n; i++) {
            placement->core[i] = -1;
        }
    }
    return status;
}

static const char *const STGM_EXHAUSTIVE_MODE[] = {"suspend", "busy", NULL};
static const char *const STGM_EXHAUSTIVE_VARIANT[] = {"sound", "paper", "paper, B_h", NULL};
static const gs_method_option_t STGM_EXHAUSTIVE_OPTIONS[] = {
    {"mode", "choice", STGM_EXHAUSTIVE_MODE, "suspend", "use of the core during a GPU segment"},
    {"variant", "choice", STGM_EXHAUSTIVE_VARIANT, "sound",
     "corrected equations, or the printed ones, which are unsound"},
    {"states", "integer", NULL, "1000000", "budget of the search for each set"},
    {"unit", "integer", NULL, "1", "number of consecutive SMs that are assigned together"},
};

const gs_method_t gs_analysis_allocation_stgm_exhaustive_method = {
    .name = "stgm_exhaustive",
    .model = "HostTasks",
    .function = "analysis.stgm_exhaustive",
    .claim = "sufficient",
    .source = "[RTCSA19], section IV-B; all allocations that the test can tell apart",
    .summary = "Exhaustive search for an allocation that passes stgm; for small systems.",
    .options = STGM_EXHAUSTIVE_OPTIONS,
    .option_count = sizeof STGM_EXHAUSTIVE_OPTIONS / sizeof *STGM_EXHAUSTIVE_OPTIONS,
};
