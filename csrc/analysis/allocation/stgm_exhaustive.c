/* Exhaustive search for an STGM allocation: divisions of the users among the cores (sound busy
 * test), pairs of users that share an SM, and numbers of SMs.
 *
 * SMs are interchangeable, and the test depends on their sets only through the number of SMs of
 * each user and the pairs that share one. With more SMs kernels get no longer, and with fewer pairs
 * chains of kernels get no longer (a path in a graph is one in a larger graph; as printed, Eqs. 5
 * and 6 count neighbours). So of two allocations with the same pairs, one that gives some user more
 * SMs passes if the other does: every SM is given to all users of a maximal set in which all pairs
 * share, and the divisions of the SMs among these sets (cliques) are tried in which each user gets
 * some and all of the pairs do share.
 *
 * Both searches are pruned by a point (stgm_search.h) that is at most that of every allocation
 * below a node; without cores for it there are none for these:
 * - pairs: those decided to share are the graph of the chains. Users of a set that is apart in all
 *   pairs have different SMs, at least `least` each, so a user has at most the others;
 * - divisions: a user has the SMs given so far and all that are left, if a later clique has it.
 * For 1, 2, .. SMs of one user while the values of the others are the smallest, the first number
 * with cores is its `least`.
 *
 * Sound busy test, with fixed cores: GPU segments of one core never overlap, so no chain that a
 * user waits for has users of its core. Pairs of different cores are decided first. If no user of a
 * core shares an SM with one of another core, all pairs of that core share: let each of its users
 * have the SMs of all of them; no pair of different cores is added, and no chain leads through that
 * core.
 */
#include "analysis/allocation/stgm_exhaustive.h"

#include <string.h>

#include "analysis/allocation/stgm_search.h"
#include "analysis/allocation/stgm_state.h"

typedef gs_analysis_allocation_stgm_search_t search_t;
typedef gs_analysis_allocation_stgm_point_t point_t;

enum { USERS = GS_ANALYSIS_ALLOCATION_EXHAUSTIVE_USERS };

typedef struct {
    unsigned a;
    unsigned b;
} pair_t;

/* SMs ----------------------------------------------------------------------------------------- */

/* The values of user u with that many SMs and that chain of kernels waited for. */
static void set_user(const search_t *self, int64_t u, int64_t count, int64_t chain, point_t *point)
{
    gs_analysis_common_sums_t sums =
        gs_analysis_common_sums(self->hosts, self->user[u], count > 0 ? count : 1);
    int64_t *value = point->value[u];
    value[0] = sums.gpu;
    value[1] = value[2] = 0;
    if (self->busy) {
        value[1] = sums.most_gpu;
        value[2] = chain;
    } else {
        value[0] = gs_analysis_common_saturating_add(
            sums.gpu, gs_analysis_common_saturating_mul(sums.segments, chain));
    }
}

/* Fills self->ends for the present neighbours: a path through a set can end at u when one through
 * the others ends at a neighbour of u. */
static void find_paths(search_t *self)
{
    for (unsigned set = 1; set < 1u << self->users; set++) {
        self->ends[set] = (set & (set - 1)) == 0 ? set : 0;
        for (unsigned rest = set; rest != 0; rest &= rest - 1) {
            unsigned u = (unsigned)__builtin_ctz(rest);
            bool ends = (self->ends[set & ~(1u << u)] & self->neighbours[u]) != 0;
            self->ends[set] |= (unsigned)ends << u;
        }
    }
}

/* The chains of kernels of these lengths that the users wait for: a path that begins at a neighbour
 * and has no user of the same core; as printed the neighbours. */
static void find_chains(const search_t *self, const int64_t *kernel, int64_t *chain)
{
    int64_t weight[GS_ANALYSIS_ALLOCATION_SEARCH_SETS] = {0};
    unsigned sets = 1u << self->users;
    for (unsigned set = 1; set < sets; set++) {
        weight[set] = weight[set & (set - 1)] + kernel[__builtin_ctz(set)];
    }
    for (int64_t u = 0; u < self->users; u++) {
        unsigned around = self->neighbours[u], out = self->mates[u] | 1u << u;
        chain[u] = self->paper == GS_ANALYSIS_PARTITIONED_STGM_SOUND ? 0 : weight[around];
        bool waits = self->paper == GS_ANALYSIS_PARTITIONED_STGM_SOUND && around != 0;
        for (unsigned set = 1; set < sets && waits; set++) {
            bool is_chain = (set & out) == 0 && (self->ends[set] & around) != 0;
            chain[u] = is_chain ? gs_analysis_common_max(chain[u], weight[set]) : chain[u];
        }
    }
}

/* Whether cores exist with so many SMs and the present neighbours. */
static int check_counts(search_t *self, const int64_t *count, bool *exist)
{
    int64_t kernel[USERS] = {0}, chain[USERS] = {0};
    point_t point = {0};
    *exist = true;
    for (int64_t u = 0; u < self->users; u++) {
        *exist = *exist && count[u] >= self->least[u];
        kernel[u] =
            gs_analysis_common_sums(self->hosts, self->user[u], gs_analysis_common_max(count[u], 1))
                .most_kernel;
    }
    if (!*exist) {
        return GS_OK;
    }
    find_chains(self, kernel, chain);
    for (int64_t u = 0; u < self->users; u++) {
        set_user(self, u, count[u], chain[u], &point);
    }
    int status = gs_analysis_allocation_stgm_search_cores(self, &point, exist);
    return status == GS_OK ? gs_poll(self->ctx, 500) : status;
}

/* Divides the SMs left among the cliques from c on. had: the bits of the cliques before c with SMs;
 * count: the SMs of every user. Each user needs an SM, and each pair that shares one that both
 * have, so some cliques need one. */
static int divide(search_t *self, int64_t c, int64_t left, unsigned had, const int64_t *count)
{
    if (c == self->cliques) {
        if ((left > 0 && c > 0) || had != self->needed) {
            return GS_OK;
        }
        self->divisions++;
        return check_counts(self, count, &self->found);
    }
    bool last = c + 1 == self->cliques, must = (had | self->left[c]) != self->needed;
    for (int64_t k = last ? left : must; k <= left && !self->found; k++) {
        int64_t own[USERS], most[USERS];
        for (int64_t u = 0; u < self->users; u++) {
            own[u] = count[u] + ((self->clique[c] >> u & 1) != 0 ? k : 0);
            most[u] = own[u] + ((self->later[c] >> u & 1) != 0 ? left - k : 0);
        }
        self->given[c] = k;
        bool exist = true;
        int status = gs_count_states(self->ctx, 1);
        if (status == GS_OK && !last) {
            status = check_counts(self, most, &exist);
        }
        if (status == GS_OK && exist) {
            status = divide(self, c + 1, left - k, k > 0 ? had | self->has[c] : had, own);
        }
        if (status != GS_OK) {
            return status;
        }
    }
    return gs_poll(self->ctx, 10);
}

/* The users of a set and the pairs of them that share, one bit each. */
static unsigned bits_of(const search_t *self, unsigned set)
{
    unsigned bits = set, bit = 1u << USERS;
    for (int64_t a = 1; a < self->users; a++) {
        for (int64_t b = 0; b < a; b++, bit <<= 1) {
            bool both = (set >> a & 1) != 0 && (set >> b & 1) != 0;
            bits |= both && (self->neighbours[a] >> b & 1) != 0 ? bit : 0;
        }
    }
    return bits;
}

/* Finds the maximal sets of users in which all pairs share. */
static void find_cliques(search_t *self)
{
    self->cliques = 0;
    for (unsigned set = 1; set < 1u << self->users; set++) {
        unsigned common = (1u << self->users) - 1; /* users that share with all of the set */
        bool clique = true;
        for (unsigned rest = set; rest != 0; rest &= rest - 1) {
            unsigned u = (unsigned)__builtin_ctz(rest), around = self->neighbours[u] | 1u << u;
            clique = clique && (set & ~around) == 0;
            common &= around;
        }
        if (clique && common == set) {
            self->has[self->cliques] = bits_of(self, set);
            self->clique[self->cliques++] = set;
        }
    }
    self->needed = 0;
    for (int64_t c = self->cliques - 1; c >= 0; c--) {
        self->left[c] = self->needed;
        self->needed |= self->has[c];
        self->later[c] = self->left[c] & ((1u << self->users) - 1);
    }
}

/* The most SMs of every user, from the pairs that are apart; false: there are not enough. */
static bool find_most(const search_t *self, int64_t *most)
{
    unsigned apart[GS_ANALYSIS_ALLOCATION_SEARCH_SETS]; /* by set: users apart from all of it */
    int64_t least[GS_ANALYSIS_ALLOCATION_SEARCH_SETS] = {0};
    apart[0] = (1u << self->users) - 1;
    for (int64_t u = 0; u < self->users; u++) {
        most[u] = self->sms;
    }
    for (unsigned set = 1; set < 1u << self->users; set++) {
        unsigned u = (unsigned)__builtin_ctz(set), others = set & (set - 1);
        apart[set] = (apart[others] >> u & 1) != 0 ? apart[others] & self->apart[u] : 0;
        bool all = (apart[others] >> u & 1) != 0 && (others == 0 || least[others] > 0);
        least[set] = all ? least[others] + self->least[u] : 0; /* 0: some pair may share */
        if (least[set] > self->sms) {
            return false;
        }
        for (unsigned rest = all ? set : 0; rest != 0; rest &= rest - 1) {
            int64_t v = __builtin_ctz(rest), with_others = self->sms - least[set] + self->least[v];
            most[v] = with_others < most[v] ? with_others : most[v];
        }
    }
    return true;
}

static void set_pair(unsigned *sets, pair_t pair, bool in)
{
    sets[pair.a] = (sets[pair.a] & ~(1u << pair.b)) | (unsigned)in << pair.b;
    sets[pair.b] = (sets[pair.b] & ~(1u << pair.a)) | (unsigned)in << pair.a;
}

/* Whether sharing by a pair of one core lengthens no chain: see above. */
static bool is_harmless(const search_t *self, pair_t pair)
{
    unsigned mates = self->mates[pair.a];
    bool harmless = (mates >> pair.b & 1) != 0;
    for (unsigned rest = mates; rest != 0; rest &= rest - 1) {
        harmless = harmless && (self->neighbours[__builtin_ctz(rest)] & ~mates) == 0;
    }
    return harmless;
}

/* Decides the pairs from `at` on: apart first, then sharing. */
static int decide(search_t *self, const pair_t *pairs, int64_t count, int64_t at)
{
    int64_t most[USERS] = {0};
    bool exist = find_most(self, most);
    int status = gs_count_states(self->ctx, 1);
    if (status == GS_OK && exist) {
        find_paths(self);
        status = check_counts(self, most, &exist);
    }
    if (status != GS_OK || !exist) {
        return status;
    }
    if (at == count) {
        static const int64_t NONE[USERS] = {0};
        find_cliques(self);
        return divide(self, 0, self->sms, 0, NONE);
    }
    pair_t pair = pairs[at];
    for (int share = is_harmless(self, pair); share < 2 && status == GS_OK && !self->found;
         share++) {
        set_pair(self->apart, pair, share == 0);
        set_pair(self->neighbours, pair, share == 1);
        status = decide(self, pairs, count, at + 1);
    }
    if (!self->found) { /* undecided again */
        set_pair(self->apart, pair, false);
        set_pair(self->neighbours, pair, false);
    }
    return status;
}

/* Finds the least number of SMs of every user, at most all of them; self->best has cores. */
static int find_least(search_t *self)
{
    int status = GS_OK;
    for (int64_t u = 0; u < self->users && status == GS_OK; u++) {
        int64_t columns = self->hosts->columns;
        int64_t most = columns < self->sms ? columns : self->sms, below = 0;
        while (most - below > 1 && status == GS_OK) { /* cores exist with `most`, not `below` */
            int64_t middle = below + (most - below) / 2;
            point_t point = self->best;
            bool exist;
            set_user(self, u, middle, 0, &point);
            status = gs_analysis_allocation_stgm_search_cores(self, &point, &exist);
            *(exist ? &most : &below) = middle;
        }
        self->least[u] = most;
    }
    return status;
}

/* Searches all SMs; self->found. The cores of the users are fixed in the sound busy test. */
static int search_sms(search_t *self)
{
    pair_t pairs[USERS * (USERS - 1) / 2];
    int64_t count = 0;
    for (int inside = 0; inside < 2; inside++) {
        for (unsigned a = 1; a < (unsigned)self->users; a++) {
            for (unsigned b = 0; b < a; b++) {
                if ((self->mates[a] >> b & 1) == (unsigned)inside) {
                    pairs[count++] = (pair_t){a, b};
                }
            }
        }
    }
    memset(self->neighbours, 0, sizeof self->neighbours);
    memset(self->apart, 0, sizeof self->apart);
    bool exist;
    int status = gs_analysis_allocation_stgm_search_cores(self, &self->best, &exist);
    if (status != GS_OK || !exist) {
        return status;
    }
    status = find_least(self);
    return status == GS_OK ? decide(self, pairs, count, 0) : status;
}

/* Memory, cores of the users, answer ---------------------------------------------------------- */

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
static int check(search_t *search, int64_t cpus)
{
    gs_context_t *ctx = search->ctx;
    int64_t users = 0;
    int status;
    if ((status = gs_analysis_partitioned_stgm_check_paper(ctx, search->paper)) != GS_OK ||
        (status = gs_analysis_common_check_and_sort(
             ctx, search->hosts, search->paper == GS_ANALYSIS_PARTITIONED_STGM_SOUND,
             search->test->order)) != GS_OK ||
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
static void start(search_t *search)
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
        set_user(search, u, search->sms, 0, &search->best);
    }
    gs_analysis_allocation_stgm_search_forget(search);
}

/* Fixes the cores of the users, and their waiting for copies: one of every other core. */
static void fix_cores(search_t *search, const int64_t *core)
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
static int try_cores(search_t *search, int64_t *core, int64_t u, int64_t used)
{
    if (u == search->users) {
        fix_cores(search, core);
        return search_sms(search);
    }
    int status = GS_OK;
    for (int64_t c = 0; c <= used && c < search->cpus && status == GS_OK && !search->found; c++) {
        core[u] = c;
        status = try_cores(search, core, u + 1, c == used ? used + 1 : used);
    }
    return status;
}

/* Writes the allocation that was found. */
static void write_allocation(const search_t *search,
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
    search_t *search = self->search;
    int64_t n = hosts->n, core[USERS] = {0};
    self->n = n;
    gs_analysis_partitioned_stgm_resize(&self->heuristic.memory->test, n);
    memset(search, 0, sizeof *search);
    search->ctx = ctx;
    search->hosts = hosts;
    search->test = &self->heuristic.memory->test;
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
    status = search->fixed ? try_cores(search, core, 0, 0) : search_sms(search);
    placement->rounds += search->divisions;
    if (status == GS_OK && search->found) {
        write_allocation(search, placement);
        return gs_analysis_partitioned_stgm(search->test, ctx, hosts, placement->core,
                                            placement->sm, NULL, sms, cpus, busy, paper, false,
                                            answer);
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
