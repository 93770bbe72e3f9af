/* Exhaustive search over SM divisions and core assignments for STGM. */
#include <string.h>

#include "analysis/allocation/stgm_exhaustive.h"

int gs_analysis_allocation_stgm_exhaustive_init(gs_analysis_allocation_stgm_exhaustive_t *self,
                                                gs_context_t *ctx, int64_t n)
{
    memset(self, 0, sizeof *self);
    self->n = n;
    self->user = gs_alloc(ctx, (size_t)n, sizeof *self->user);
    self->members = gs_alloc(ctx, (size_t)n, sizeof *self->members);
    self->found = gs_alloc(ctx, (size_t)n, sizeof *self->found);
    bool made = self->user != NULL && self->members != NULL && self->found != NULL;
    return made ? gs_analysis_partitioned_stgm_init(&self->test, ctx, n) : ctx->status;
}

void gs_analysis_allocation_stgm_exhaustive_free(gs_analysis_allocation_stgm_exhaustive_t *self,
                                                 gs_context_t *ctx)
{
    gs_free(ctx, self->user);
    gs_free(ctx, self->members);
    gs_free(ctx, self->found);
    gs_analysis_partitioned_stgm_free(&self->test, ctx);
    memset(self, 0, sizeof *self);
}

enum {
    USERS = GS_ANALYSIS_ALLOCATION_EXHAUSTIVE_USERS,
    CLIQUES = 9 /* most maximal cliques of six tasks: 3^(6/3) */
};

/* Search state of one set. Users, the tasks with GPU segments, are numbered from 0. */
typedef struct {
    gs_analysis_allocation_stgm_exhaustive_t *self;
    gs_context_t *ctx;
    const gs_host_tasks_t *hosts;
    int64_t cpus;
    int64_t sms;
    bool busy;
    int paper;
    int64_t users;
    unsigned neighbours[USERS]; /* by user: the users with which it may share an SM */
    unsigned needed;            /* all users and the pairs that may share, as in bits_of */
    int64_t cliques;
    unsigned clique[CLIQUES]; /* the users of an SM */
    unsigned has[CLIQUES];    /* bits_of each clique */
    unsigned left[CLIQUES];   /* bits_of all cliques after it */
    int64_t share[CLIQUES];   /* number of SMs of each */
    gs_analysis_allocation_stgm_placement_t *placement;
    gs_analysis_common_answer_t *answer;
    bool found;
} run_t;

static bool depends_on_cores(const run_t *run)
{
    return run->busy && run->paper == GS_ANALYSIS_PARTITIONED_STGM_SOUND;
}

/* Sound busy test: the contention that the tasks up to that place of the order cause for those of
 * core p. It only grows with further tasks, wherever they are placed: on p, they cause as little
 * contention as when absent. */
static int set_busy_blocking(run_t *run, int64_t p, int64_t placed,
                             const gs_analysis_partitioned_stgm_core_t *on)
{
    gs_analysis_partitioned_stgm_t *test = &run->self->test;
    int64_t longest[GS_ANALYSIS_ALLOCATION_EXHAUSTIVE_TASKS] = {0}, copies = 0;
    uint64_t *excluded = test->chain.excluded;
    memset(excluded, 0xff, (size_t)test->chain.words * sizeof *excluded);
    for (int64_t at = 0; at <= placed; at++) {
        int64_t t = test->order[at], c = run->placement->core[t];
        if (c != p) {
            excluded[t / 64] &= ~((uint64_t)1 << (t % 64));
            copies -= longest[c];
            longest[c] = gs_analysis_common_max(longest[c], test->sums[t].longest_copy);
            copies += longest[c];
        }
    }
    int status = GS_OK;
    for (int64_t at = 0; at < on->count && status == GS_OK; at++) {
        status = gs_analysis_partitioned_stgm_busy_blocking(test, run->ctx, on->members[at], copies,
                                                            excluded);
    }
    return status;
}

/* Whether the tasks of core p up to that place of the order pass without further tasks. */
static int test_part(run_t *run, int64_t p, int64_t placed, bool *passes)
{
    gs_analysis_allocation_stgm_exhaustive_t *self = run->self;
    gs_analysis_partitioned_stgm_core_t on = {
        .members = self->members, .busy = run->busy, .paper = run->paper};
    for (int64_t at = 0; at <= placed; at++) {
        if (run->placement->core[self->test.order[at]] == p) {
            self->members[on.count++] = self->test.order[at];
        }
    }
    int status = depends_on_cores(run) ? set_busy_blocking(run, p, placed, &on) : GS_OK;
    *passes = true;
    for (int64_t at = 0; at < on.count && *passes && status == GS_OK; at++) {
        int64_t t = on.members[at];
        gs_analysis_common_recurrence_t recurrence;
        gs_analysis_partitioned_stgm_recurrence(&self->test, run->hosts, &on, at, self->found,
                                                &recurrence);
        status = gs_analysis_common_recurrence_solve(&recurrence, run->ctx, 0,
                                                     run->hosts->deadline[t], &self->found[t]);
        *passes = self->found[t] >= 0;
    }
    return status;
}

/* Whether all parts pass that the task at that place of the order affects by being on core p: this
 * part and, where contention depends on cores, those that wait for its GPU segments. */
static int test_parts(run_t *run, int64_t p, int64_t placed, int64_t parts, bool *passes)
{
    int status = test_part(run, p, placed, passes);
    bool others = depends_on_cores(run) && run->hosts->segments[run->self->test.order[placed]] > 0;
    for (int64_t c = 0; c < parts && others && *passes && status == GS_OK; c++) {
        status = c != p ? test_part(run, c, placed, passes) : GS_OK;
    }
    return status;
}

static int test_all(run_t *run)
{
    int status = gs_analysis_partitioned_stgm(&run->self->test, run->ctx, run->hosts,
                                              run->placement->core, run->placement->sm, run->sms,
                                              run->cpus, run->busy, run->paper, run->answer);
    run->found = status == GS_OK && run->answer->schedulable;
    return status;
}

/* Adds the task at that place of the order to every part in turn, or to a new one; `parts` are in
 * use. */
static int place(run_t *run, int64_t at, int64_t parts)
{
    if (at == run->self->n) {
        return test_all(run);
    }
    int64_t last = parts < run->cpus ? parts : run->cpus - 1;
    for (int64_t p = 0; p <= last && !run->found; p++) {
        run->placement->core[run->self->test.order[at]] = p;
        bool passes = true;
        int status = gs_count_states(run->ctx, 1);
        if (status == GS_OK) {
            status = test_parts(run, p, at, parts, &passes);
        }
        if (status == GS_OK && passes) {
            status = place(run, at + 1, p == parts ? parts + 1 : parts);
        }
        if (status != GS_OK) {
            return status;
        }
    }
    return gs_poll(run->ctx, 10);
}

/* Assigns the SMs as run->share says, and tries all core assignments. */
static int try_division(run_t *run)
{
    gs_analysis_allocation_stgm_exhaustive_t *self = run->self;
    int64_t count[USERS] = {0}, n = self->n, s = 0;
    memset(run->placement->sm, 0, (size_t)(n * run->sms));
    for (int64_t c = 0; c < run->cliques; c++) {
        for (int64_t k = 0; k < run->share[c]; k++, s++) {
            for (unsigned rest = run->clique[c]; rest != 0; rest &= rest - 1) {
                count[__builtin_ctz(rest)]++;
                run->placement->sm[self->user[__builtin_ctz(rest)] * run->sms + s] = 1;
            }
        }
    }
    run->placement->rounds++;
    gs_analysis_partitioned_request_chain_clear(&self->test.chain);
    for (int64_t i = 0, u = 0; i < n; i++) {
        bool uses = run->hosts->segments[i] > 0;
        self->test.sums[i] = gs_analysis_common_sums(run->hosts, i, uses ? count[u] : 1);
        self->test.chain.weight[i] = self->test.sums[i].most_kernel;
        u += uses;
    }
    for (int64_t u = 0; u < run->users; u++) {
        for (unsigned rest = run->neighbours[u]; rest != 0; rest &= rest - 1) {
            gs_analysis_partitioned_request_chain_add_edge(&self->test.chain, self->user[u],
                                                           self->user[__builtin_ctz(rest)]);
        }
    }
    gs_analysis_partitioned_stgm_copy_blocking(&self->test);
    int status = gs_analysis_partitioned_stgm_kernel_blocking(&self->test, run->ctx, run->paper);
    return status == GS_OK ? place(run, 0, 0) : status;
}

/* Divides the SMs left among the cliques from c on. had: the bits of the cliques before c with SMs.
 * Each user needs an SM, and each pair that may share one that both have, so some cliques need
 * one. */
static int divide(run_t *run, int64_t c, int64_t left, unsigned had)
{
    int status = GS_OK;
    if (c == run->cliques) {
        return (left == 0 || c == 0) && had == run->needed ? try_division(run) : GS_OK;
    }
    bool last = c + 1 == run->cliques, must = (had | run->left[c]) != run->needed;
    for (int64_t k = last ? left : must; k <= left && !run->found; k++) {
        run->share[c] = k;
        status = divide(run, c + 1, left - k, k > 0 ? had | run->has[c] : had);
        if (status != GS_OK) {
            return status;
        }
    }
    return gs_poll(run->ctx, 10);
}

/* The users of a set and the pairs of them that may share, one bit each. */
static unsigned bits_of(const run_t *run, unsigned set)
{
    unsigned bits = set, bit = 1u << USERS;
    for (int64_t a = 1; a < run->users; a++) {
        for (int64_t b = 0; b < a; b++, bit <<= 1) {
            bool both = (set >> a & 1) != 0 && (set >> b & 1) != 0;
            bits |= both && (run->neighbours[a] >> b & 1) != 0 ? bit : 0;
        }
    }
    return bits;
}

/* Finds the maximal sets of users in which all pairs may share. */
static void find_cliques(run_t *run)
{
    run->cliques = 0;
    for (unsigned set = 1; set < 1u << run->users; set++) {
        unsigned common =
            (1u << run->users) - 1; /* users that may share with all of the set, and the set */
        bool clique = true;
        for (unsigned rest = set; rest != 0; rest &= rest - 1) {
            unsigned u = (unsigned)__builtin_ctz(rest), around = run->neighbours[u] | 1u << u;
            clique = clique && (set & ~around) == 0;
            common &= around;
        }
        if (clique && common == set) {
            run->has[run->cliques] = bits_of(run, set);
            run->clique[run->cliques++] = set;
        }
    }
    run->needed = 0;
    for (int64_t c = run->cliques - 1; c >= 0; c--) {
        run->left[c] = run->needed;
        run->needed |= run->has[c];
    }
}

/* Tries all sets of pairs, as numbers whose bits are pairs. */
static int try_pairs(run_t *run)
{
    unsigned pairs = (unsigned)(run->users * (run->users - 1) / 2);
    for (unsigned may = 0; may < 1u << pairs && !run->found; may++) {
        unsigned rest = may;
        memset(run->neighbours, 0, sizeof run->neighbours);
        for (int64_t a = 1; a < run->users; a++) {
            for (int64_t b = 0; b < a; b++, rest >>= 1) {
                run->neighbours[a] |= (rest & 1) << b;
                run->neighbours[b] |= (rest & 1) << a;
            }
        }
        find_cliques(run);
        int status = divide(run, 0, run->sms, 0);
        if (status != GS_OK) {
            return status;
        }
    }
    return GS_OK;
}

static int start(run_t *run)
{
    gs_analysis_allocation_stgm_exhaustive_t *self = run->self;
    int status;
    if ((status = gs_analysis_partitioned_stgm_check_paper(run->ctx, run->paper)) != GS_OK ||
        (status = gs_analysis_common_check_and_sort(run->ctx, run->hosts, self->test.order)) !=
            GS_OK ||
        (status = gs_analysis_common_check_cpus(run->ctx, run->cpus)) != GS_OK ||
        (status = gs_analysis_common_check_sms(run->ctx, run->sms)) != GS_OK) {
        return status;
    }
    for (int64_t i = 0; i < self->n; i++) {
        if (run->hosts->segments[i] > 0) {
            self->user[run->users++] = i;
        }
    }
    if (self->n > GS_ANALYSIS_ALLOCATION_EXHAUSTIVE_TASKS) {
        return gs_fail(run->ctx, GS_ERR_VALUE, "tasks", -1, self->n,
                       "at most 16 tasks to try all allocations");
    }
    if (run->users > GS_ANALYSIS_ALLOCATION_EXHAUSTIVE_USERS) {
        return gs_fail(run->ctx, GS_ERR_VALUE, "segments", -1, run->users,
                       "at most 6 tasks with GPU segments to try all allocations");
    }
    return GS_OK;
}

int gs_analysis_allocation_stgm_exhaustive(gs_analysis_allocation_stgm_exhaustive_t *self,
                                           gs_context_t *ctx, const gs_host_tasks_t *hosts,
                                           int64_t cpus, int64_t sms, bool busy, int paper,
                                           gs_analysis_allocation_stgm_placement_t *placement,
                                           gs_analysis_common_answer_t *answer)
{
    self->n = hosts->n;
    gs_analysis_partitioned_stgm_resize(&self->test, hosts->n);
    run_t run = {.self = self,
                 .ctx = ctx,
                 .hosts = hosts,
                 .cpus = cpus,
                 .sms = sms,
                 .busy = busy,
                 .paper = paper,
                 .placement = placement,
                 .answer = answer};
    placement->rounds = 0;
    int status = start(&run);
    if (status == GS_OK) {
        status = try_pairs(&run);
    }
    if (status >= 0 && !run.found) {
        gs_analysis_common_answer_start(answer, self->n);
        answer->schedulable = false;
        memset(placement->sm, 0, (size_t)(self->n * sms));
        for (int64_t i = 0; i < self->n; i++) {
            placement->core[i] = -1;
        }
    }
    return status;
}

static const char *const STGM_EXHAUSTIVE_MODE[] = {"suspend", "busy", NULL};
static const char *const STGM_EXHAUSTIVE_VARIANT[] = {"sound", "paper", "paper, B_h", NULL};
static const gs_method_option_t STGM_EXHAUSTIVE_OPTIONS[] = {
    {"mode", "choice", STGM_EXHAUSTIVE_MODE, "suspend",
     "what a job does with its core during a GPU segment"},
    {"variant", "choice", STGM_EXHAUSTIVE_VARIANT, "sound",
     "corrected equations, or those printed, which are unsound"},
    {"states", "integer", NULL, "1000000", "budget for each set"},
};

const gs_method_t gs_analysis_allocation_stgm_exhaustive_method = {
    .name = "stgm_exhaustive",
    .model = "HostTasks",
    .function = "analysis.stgm_exhaustive",
    .claim = "sufficient",
    .source = "[RTCSA19], section IV-B; all allocations that the test can tell apart",
    .summary = "Whether any allocation passes stgm; for small systems.",
    .options = STGM_EXHAUSTIVE_OPTIONS,
    .option_count = sizeof STGM_EXHAUSTIVE_OPTIONS / sizeof *STGM_EXHAUSTIVE_OPTIONS,
};
