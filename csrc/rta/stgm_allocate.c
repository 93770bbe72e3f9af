/* Which core and which SMs for every task? */
#include <string.h>

#include "core/wide.h"
#include "rta/stgm_allocate.h"
#include "rta/worst_fit.h"

int gs_stgm_allocate_init(gs_stgm_allocate_t *self, gs_env_t *env, int64_t n)
{
    memset(self, 0, sizeof *self);
    self->n = n;
    int64_t **columns[] = {&self->rank, &self->count,   &self->first, &self->gain,
                           &self->turn, &self->members, &self->bound, &self->found,
                           &self->copy, &self->group,   &self->seen};
    for (size_t c = 0; c < sizeof columns / sizeof *columns; c++) {
        if ((*columns[c] = gs_alloc(env, (size_t)n, sizeof **columns[c])) == NULL) {
            return env->status;
        }
    }
    self->share = gs_alloc(env, (size_t)n, sizeof *self->share);
    self->load = gs_alloc(env, (size_t)n, sizeof *self->load);
    return self->share != NULL && self->load != NULL ? gs_stgm_init(&self->test, env, n)
                                                     : env->status;
}

void gs_stgm_allocate_free(gs_stgm_allocate_t *self, gs_env_t *env)
{
    int64_t *columns[] = {self->rank, self->count,   self->first, self->gain,
                          self->turn, self->members, self->bound, self->found,
                          self->copy, self->group,   self->seen};
    for (size_t c = 0; c < sizeof columns / sizeof *columns; c++) {
        gs_free(env, columns[c]);
    }
    gs_free(env, self->share);
    gs_free(env, self->load);
    gs_stgm_free(&self->test, env);
    memset(self, 0, sizeof *self);
}

/* One set under way. */
typedef struct {
    gs_stgm_allocate_t *self;
    gs_env_t *env;
    const gs_hosts_t *hosts;
    int64_t cpus; /* that can be used: no more than tasks */
    int64_t sms;
    bool busy;
    int paper;
    int flags;
    int64_t *core;
    gs_host_answer_t *answer;
    double unit;
    bool tight;   /* the core with the most load first, not the one with the least */
    bool by_core; /* tasks with GPU segments go where self->group says, and share its SMs */
} run_t;

static bool has(const run_t *run, int flag)
{
    return (run->flags & flag) != 0;
}

/* Contention depends on who is on which core. */
static bool is_local(const run_t *run)
{
    return run->busy && run->paper == GS_STGM_SOUND;
}

/* Task i has another number of SMs. */
static void count_anew(const run_t *run, int64_t i)
{
    gs_stgm_allocate_t *self = run->self;
    int64_t count = self->count[i], used = count < run->sms ? count : run->sms;
    self->test.sums[i] = gs_host_sums(run->hosts, i, used > 0 ? used : 1);
    self->test.chain.weight[i] = self->test.sums[i].most_kernel;
    self->gain[i] = 0;
    for (int64_t j = 0; j < run->hosts->segments[i]; j++) {
        self->gain[i] +=
            gs_hosts_kernel(run->hosts, i, j, count) - gs_hosts_kernel(run->hosts, i, j, count + 1);
    }
}

/* Whether consecutive SMs, round the end, meet. */
static bool meet(const run_t *run, int64_t a, int64_t b)
{
    const gs_stgm_allocate_t *self = run->self;
    int64_t ahead = self->first[b] - self->first[a];
    ahead += ahead < 0 ? run->sms : 0;
    return ahead < self->count[a] || run->sms - ahead < self->count[b];
}

/* Lines 7 to 13, and the contention that does not depend on cores. */
static int deal_sms(const run_t *run)
{
    gs_stgm_allocate_t *self = run->self;
    int64_t next = 0, total = 0;
    gs_chain_clear(&self->test.chain);
    for (int64_t i = 0; i < self->n; i++) {
        self->first[i] = next;
        if (self->count[i] > 0) {
            next = (next + self->count[i]) % run->sms;
            total += self->count[i];
        }
    }
    /* Within the first round of SMs, none is shared. */
    for (int64_t a = 0; a < self->n && total > run->sms; a++) {
        for (int64_t b = 0; b < a && self->count[a] > 0; b++) {
            if (self->count[b] > 0 && meet(run, a, b)) {
                gs_chain_join(&self->test.chain, a, b);
            }
        }
    }
    int status = gs_poll(run->env, self->n * self->n);
    return status != GS_OK || is_local(run) ? status
                                            : gs_stgm_kernels(&self->test, run->env, run->paper);
}

/* Utilization, and the order of line 14. */
static void find_shares(const run_t *run)
{
    gs_stgm_allocate_t *self = run->self;
    for (int64_t i = 0; i < self->n; i++) {
        const gs_host_sums_t *sums = &self->test.sums[i];
        self->share[i] = gs_worst_fit_share(
            run->unit, sums->cpu + (run->busy ? sums->gpu : sums->copies), run->hosts->period[i]);
    }
    gs_worst_fit_order(self->share, self->n, self->turn);
    for (int64_t i = 0; i < self->n && has(run, GS_ALLOCATE_CPU_LOAD); i++) {
        self->share[i] =
            gs_worst_fit_share(run->unit, self->test.sums[i].cpu, run->hosts->period[i]);
    }
}

/* Where a task is, or is going to be; -1: not known. */
static int64_t core_of(const run_t *run, int64_t i)
{
    bool fixed = run->by_core && run->self->count[i] > 0;
    return fixed ? run->self->group[i] : run->core[i];
}

/* Busy, sound: the contention of the members. A task without a core is taken to be on another one,
 * alone. */
static int spin_members(const run_t *run, const gs_stgm_core_t *on, int64_t p, int64_t i)
{
    gs_stgm_allocate_t *self = run->self;
    int64_t copies = 0;
    if (self->count[i] == 0 && self->seen[p] == self->moves) {
        return GS_OK; /* a task that uses no GPU changes no contention */
    }
    self->seen[p] = self->count[i] == 0 ? self->moves : -1;
    memset(self->copy, 0, (size_t)run->cpus * sizeof *self->copy);
    for (int64_t j = 0; j < self->n; j++) {
        int64_t longest = self->test.sums[j].longest_copy, c = core_of(run, j);
        if (j == i || c == p) {
            continue;
        }
        if (c < 0) {
            copies += longest;
        } else {
            self->copy[c] = gs_host_max(self->copy[c], longest);
        }
    }
    for (int64_t c = 0; c < run->cpus; c++) {
        copies += self->copy[c];
    }
    uint64_t *away = self->test.chain.away;
    memset(away, 0, (size_t)self->test.chain.words * sizeof *away);
    for (int64_t j = 0; j < self->n; j++) {
        bool out = j == i || core_of(run, j) == p;
        away[j / 64] |= (uint64_t)out << (j % 64);
    }
    for (int64_t at = 0; at < on->count; at++) {
        int status = gs_stgm_spin(&self->test, run->env, on->members[at], copies, away);
        if (status != GS_OK) {
            return status;
        }
    }
    return GS_OK;
}

/* Task i and those of core p, by falling urgency. */
static gs_stgm_core_t list_members(const run_t *run, int64_t p, int64_t i)
{
    gs_stgm_allocate_t *self = run->self;
    gs_stgm_core_t on = {.members = self->members, .busy = run->busy, .paper = run->paper};
    for (int64_t at = 0; at < self->n; at++) {
        int64_t t = self->test.order[at];
        if (t == i || run->core[t] == p) {
            self->members[on.count++] = t;
        }
    }
    return on;
}

/* Whether W of a member is what it was without task i: i is less urgent and has no GPU segment that
 * could delay it. */
static bool is_unchanged(const run_t *run, int64_t t, int64_t i)
{
    const gs_stgm_allocate_t *self = run->self;
    return !run->busy && !has(run, GS_ALLOCATE_NO_RESET) && self->rank[t] < self->rank[i] &&
           run->hosts->segments[i] == 0;
}

/* A lower bound of the new W. Suspended, another member never makes one less; busy, it may be out
 * of the way then. */
static int64_t start_of(const run_t *run, int64_t t, int64_t i)
{
    bool known = t != i && !run->busy && !has(run, GS_ALLOCATE_NO_RESET);
    return known ? run->self->bound[t] : 0;
}

/* Line 16: whether the tasks of core p pass with task i. *members: who they are. */
static int test_core(const run_t *run, int64_t p, int64_t i, gs_stgm_core_t *members, bool *passes)
{
    gs_stgm_allocate_t *self = run->self;
    gs_stgm_core_t on = *members = list_members(run, p, i);
    int status = is_local(run) ? spin_members(run, &on, p, i) : GS_OK;
    *passes = true;
    for (int64_t at = 0; at < on.count && *passes && status == GS_OK; at++) {
        int64_t t = on.members[at];
        bool asked = t == i || !has(run, GS_ALLOCATE_ONE_TASK);
        self->found[t] = self->bound[t];
        if (is_unchanged(run, t, i)) {
            continue;
        }
        gs_recurrence_t recurrence;
        gs_stgm_recurrence(&self->test, run->hosts, &on, at, self->found, &recurrence);
        if (asked) {
            status = gs_recurrence_solve(&recurrence, run->env, start_of(run, t, i),
                                         run->hosts->deadline[t], &self->found[t]);
            *passes = self->found[t] >= 0;
        }
    }
    int polled = gs_poll(run->env, self->n + 20 * on.count);
    return status != GS_OK ? status : polled;
}

/* The core that comes after core `last` by load, the first of several with the same; -1: none. */
static int64_t next_core(const run_t *run, int64_t last)
{
    const double *load = run->self->load;
    double sign = run->tight ? -1 : 1;
    int64_t p = -1;
    for (int64_t c = 0; c < run->cpus; c++) {
        double ahead = last < 0 ? 1 : sign * (load[c] - load[last]);
        bool later = ahead > 0 || (ahead == 0 && c > last);
        p = later && (p < 0 || sign * (load[c] - load[p]) < 0) ? c : p;
    }
    return p;
}

/* Lines 15 to 20: the first core by rising load that takes task i. Of several empty cores, the
 * first answers for all. */
static int place(const run_t *run, int64_t i)
{
    gs_stgm_allocate_t *self = run->self;
    double share = self->share[i], most = run->unit * (1 + 1e-9);
    bool tried_empty = false;
    for (int64_t p = next_core(run, -1); p >= 0; p = next_core(run, p)) {
        bool fixed = run->by_core && self->count[i] > 0 && self->group[i] != p;
        if (self->load[p] + share > most || (self->load[p] == 0 && tried_empty) || fixed) {
            continue;
        }
        gs_stgm_core_t on;
        bool passes;
        int status = test_core(run, p, i, &on, &passes);
        if (status != GS_OK) {
            return status;
        }
        if (passes) {
            run->core[i] = p;
            self->load[p] += share;
            self->moves += self->count[i] > 0;
            for (int64_t at = 0; at < on.count; at++) {
                self->bound[on.members[at]] = self->found[on.members[at]];
            }
            return GS_OK;
        }
        tried_empty = tried_empty || on.count == 1;
    }
    return GS_OK;
}

/* Lines 14 to 20. *placed: whether every task has a core. */
static int place_all(const run_t *run, bool *placed)
{
    gs_stgm_allocate_t *self = run->self;
    if (!has(run, GS_ALLOCATE_NO_RESET)) {
        memset(self->load, 0, (size_t)run->cpus * sizeof *self->load);
        for (int64_t i = 0; i < self->n; i++) {
            run->core[i] = -1;
        }
    }
    *placed = true;
    self->moves++;
    for (int64_t at = 0; at < self->n; at++) {
        int64_t i = self->turn[at];
        if (run->core[i] >= 0) {
            continue;
        }
        int status = place(run, i);
        if (status != GS_OK) {
            return status;
        }
        if (run->core[i] < 0) {
            *placed = false;
            if (!has(run, GS_ALLOCATE_NO_RESET)) {
                return GS_OK;
            }
        }
    }
    return GS_OK;
}

/* Whether no core can take some task, whoever else is there: the round need not be tried. */
static bool is_hopeless(const run_t *run)
{
    const gs_stgm_t *test = &run->self->test;
    bool hopeless = false;
    for (int64_t i = 0; i < run->self->n && !hopeless; i++) {
        int64_t least = test->sums[i].cpu + test->sums[i].gpu;
        if (!is_local(run)) {
            least = gs_host_add(least, gs_host_add(test->copy[i], test->kernel[i]));
        }
        hopeless = least > run->hosts->deadline[i];
    }
    return hopeless && !has(run, GS_ALLOCATE_NO_RESET);
}

/* Lines 23, 24: who gets one more SM; -1: the end. */
static int64_t pick(const run_t *run)
{
    const gs_stgm_allocate_t *self = run->self;
    bool past = has(run, GS_ALLOCATE_PAST_END), ended = true;
    int64_t best = -1;
    for (int64_t i = 0; i < self->n; i++) {
        if (self->count[i] == 0 || (!past && self->count[i] >= run->sms)) {
            continue;
        }
        ended = ended && past && self->count[i] > run->sms;
        if (best >= 0) {
            gs_wide_t mine = (gs_wide_t)self->gain[i] * run->hosts->period[best];
            gs_wide_t other = (gs_wide_t)self->gain[best] * run->hosts->period[i];
            if (has(run, GS_ALLOCATE_SIGN) ? mine >= other : mine <= other) {
                continue;
            }
        }
        best = i;
    }
    if (best < 0 || ended) {
        return -1;
    }
    int64_t help = run->sms > run->hosts->columns ? run->sms : run->hosts->columns;
    return past && self->count[best] >= help + 2 * run->sms ? -1 : best;
}

/* After the last round: the test of the least loaded core with the first task that has none. */
static int explain(run_t *run)
{
    gs_stgm_allocate_t *self = run->self;
    int64_t at = 0, p = gs_worst_fit_core(self->load, run->cpus);
    while (at < self->n - 1 && run->core[self->turn[at]] >= 0) {
        at++;
    }
    int64_t i = self->turn[at];
    gs_stgm_core_t on = list_members(run, p, i);
    int status = is_local(run) ? spin_members(run, &on, p, i) : GS_OK;
    for (at = 0; at < on.count && status == GS_OK && run->answer->failed < 0; at++) {
        gs_recurrence_t recurrence;
        gs_stgm_recurrence(&self->test, run->hosts, &on, at, run->answer->response, &recurrence);
        status =
            gs_recurrence_answer(&recurrence, run->env, 0, run->hosts->deadline[on.members[at]],
                                 on.members[at], run->answer);
    }
    run->answer->schedulable = false;
    run->answer->failed = run->answer->failed < 0 ? i : run->answer->failed;
    return status;
}

static int start(run_t *run, int64_t cpus)
{
    gs_stgm_allocate_t *self = run->self;
    int status;
    if (run->flags < 0 || run->flags > GS_ALLOCATE_ALL) {
        return gs_fail(run->env, GS_ERR_VALUE, "flags", -1, run->flags, "there is no such flag");
    }
    if ((status = gs_stgm_check_paper(run->env, run->paper)) != GS_OK ||
        (status = gs_host_order(run->env, run->hosts, self->test.order)) != GS_OK ||
        (status = gs_host_check_cpus(run->env, cpus)) != GS_OK ||
        (status = gs_host_check_sms(run->env, run->sms)) != GS_OK) {
        return status;
    }
    run->unit = gs_worst_fit_unit(run->hosts);
    for (int64_t i = 0; i < self->n; i++) {
        self->rank[self->test.order[i]] = i;
        self->count[i] = run->hosts->segments[i] > 0;
        self->bound[i] = self->seen[i] = 0;
        self->test.kernel[i] = self->test.segment[i] = 0;
        run->core[i] = -1;
        count_anew(run, i);
    }
    self->moves = 0;
    gs_stgm_copies(&self->test);
    memset(self->load, 0, (size_t)run->cpus * sizeof *self->load);
    find_shares(run);
    return GS_OK;
}

/* Rounds until one places all tasks, or the end. */
static int try_rounds(const run_t *run, int64_t *rounds, bool *placed)
{
    gs_stgm_allocate_t *self = run->self;
    *placed = false;
    for (;;) {
        int64_t more = pick(run);
        int status = deal_sms(run);
        ++*rounds;
        if (status == GS_OK && (more < 0 || !is_hopeless(run))) {
            if (run->busy) {
                find_shares(run);
            }
            status = place_all(run, placed);
        }
        if (status != GS_OK || *placed || more < 0) {
            return status;
        }
        self->count[more]++;
        count_anew(run, more);
    }
}

/* One SM each. */
static int64_t give_one(const run_t *run)
{
    gs_stgm_allocate_t *self = run->self;
    int64_t total = 0;
    for (int64_t i = 0; i < self->n; i++) {
        self->count[i] = run->hosts->segments[i] > 0;
        total += self->count[i];
        count_anew(run, i);
    }
    return total;
}

/* Who gets one more SM when none is shared: the task that needs it most, by its time alone on a
 * core as a share of its deadline, of those whom it helps. */
static int64_t pick_needy(const run_t *run)
{
    const gs_stgm_allocate_t *self = run->self;
    int64_t best = -1;
    double most = -1;
    for (int64_t i = 0; i < self->n; i++) {
        const gs_host_sums_t *sums = &self->test.sums[i];
        double need = (double)(sums->cpu + sums->gpu) / (double)run->hosts->deadline[i];
        if (self->gain[i] > 0 && need > most) {
            best = i;
            most = need;
        }
    }
    return best;
}

/* Who gets one more SM when none is shared: as line 24. */
static int64_t pick_gain(const run_t *run)
{
    int64_t best = pick(run);
    return best >= 0 && run->self->gain[best] > 0 ? best : -1;
}

/* The first task by the order of placing that has no core, brought to the front of that order;
 * false if it is there. */
static bool bring_forward(const run_t *run)
{
    int64_t *turn = run->self->turn, at = 0;
    while (run->core[turn[at]] >= 0) {
        at++;
    }
    int64_t i = turn[at];
    memmove(turn + 1, turn, (size_t)at * sizeof *turn);
    turn[0] = i;
    return at > 0;
}

/* Tasks with GPU segments first: their cores are fixed. */
static void users_first(const run_t *run)
{
    gs_stgm_allocate_t *self = run->self;
    int64_t users = 0;
    for (int64_t at = 0; at < self->n; at++) {
        int64_t i = self->turn[at];
        if (self->count[i] > 0) {
            memmove(self->turn + users + 1, self->turn + users,
                    (size_t)(at - users) * sizeof *self->turn);
            self->turn[users++] = i;
        }
    }
}

/* Places all tasks; those that find no core go first next time. */
static int place_again(const run_t *run, int64_t times, bool *placed)
{
    int status = GS_OK;
    if (is_hopeless(run)) {
        return status;
    }
    find_shares(run);
    if (run->by_core) {
        users_first(run);
    }
    for (int64_t time = 0; time < times && status == GS_OK && !*placed; time++) {
        status = place_all(run, placed);
        if (status == GS_OK && !*placed && !bring_forward(run)) {
            break;
        }
    }
    return status;
}

/* SMs that nobody shares, divided in two ways, and cores from the least or from the most load. */
static int try_apart(run_t *run, int64_t *rounds, bool *placed)
{
    for (int way = 0; way < 4 && !*placed; way++) {
        int64_t total = give_one(run);
        if (total > run->sms) {
            return GS_OK;
        }
        for (; total < run->sms; total++) {
            int64_t i = way % 2 == 0 ? pick_needy(run) : pick_gain(run);
            if (i < 0) {
                break;
            }
            run->self->count[i]++;
            count_anew(run, i);
        }
        ++*rounds;
        run->tight = way >= 2;
        int status = deal_sms(run);
        if (status == GS_OK) {
            status = place_again(run, run->self->n, placed);
        }
        run->tight = false;
        if (status != GS_OK) {
            return status;
        }
    }
    return GS_OK;
}

/* Divides the tasks with GPU segments among so many cores, by worst fit, and the SMs among these
 * cores, each more one to the core with the most load. Tasks of one core share its SMs, and are
 * alone on them as long as they are on it. */
static void group_by_core(const run_t *run, int64_t cores)
{
    gs_stgm_allocate_t *self = run->self;
    for (int64_t i = 0; i < self->n; i++) {
        self->count[i] = run->hosts->segments[i] > 0 ? gs_host_max(1, run->sms / cores) : 0;
        count_anew(run, i);
    }
    find_shares(run);
    users_first(run);
    memset(self->load, 0, (size_t)cores * sizeof *self->load);
    for (int64_t at = 0; at < self->n && self->count[self->turn[at]] > 0; at++) {
        int64_t i = self->turn[at], p = gs_worst_fit_core(self->load, cores);
        self->group[i] = p;
        self->load[p] += self->share[i];
    }
    for (int64_t c = 0; c < cores; c++) {
        self->copy[c] = 1;
    }
    for (int64_t left = run->sms - cores; left > 0; left--) {
        int64_t most = 0;
        for (int64_t c = 1; c < cores; c++) { /* as if the work were divided by the SMs */
            most =
                self->load[c] / (double)self->copy[c] > self->load[most] / (double)self->copy[most]
                    ? c
                    : most;
        }
        self->copy[most]++;
    }
    gs_chain_clear(&self->test.chain);
    for (int64_t i = 0; i < self->n; i++) {
        if (self->count[i] == 0) {
            continue;
        }
        self->first[i] = 0;
        for (int64_t c = 0; c < self->group[i]; c++) {
            self->first[i] += self->copy[c];
        }
        self->count[i] = self->copy[self->group[i]];
        count_anew(run, i);
        for (int64_t j = 0; j < i; j++) {
            if (self->count[j] > 0 && self->group[j] == self->group[i]) {
                gs_chain_join(&self->test.chain, i, j);
            }
        }
    }
}

/* Busy: GPU segments of one core never overlap, so its tasks share SMs at no cost. */
static int try_by_core(run_t *run, int64_t *rounds, bool *placed)
{
    int64_t users = give_one(run);
    int status = GS_OK;
    run->by_core = true;
    for (int64_t cores = 1; cores <= run->cpus && cores <= users && cores <= run->sms; cores++) {
        group_by_core(run, cores);
        ++*rounds;
        status = place_again(run, run->self->n, placed);
        if (status != GS_OK || *placed) {
            break;
        }
    }
    run->by_core = false;
    return status;
}

int gs_stgm_allocate(gs_stgm_allocate_t *self, gs_env_t *env, const gs_hosts_t *hosts, int64_t cpus,
                     int64_t sms, bool busy, int paper, int flags, gs_stgm_placement_t *placement,
                     gs_host_answer_t *answer)
{
    run_t run = {.self = self,
                 .env = env,
                 .hosts = hosts,
                 .cpus = cpus < self->n ? cpus : self->n,
                 .sms = sms,
                 .busy = busy,
                 .paper = paper,
                 .flags = flags,
                 .core = placement->core,
                 .answer = answer};
    int status = start(&run, cpus);
    if (status != GS_OK) {
        return status;
    }
    bool placed = false;
    placement->rounds = 0;
    if (has(&run, GS_ALLOCATE_APART)) {
        if (is_local(&run)) {
            status = try_by_core(&run, &placement->rounds, &placed);
        }
        if (status == GS_OK && !placed) {
            status = try_apart(&run, &placement->rounds, &placed);
        }
        if (status == GS_OK && !placed) {
            give_one(&run);
            find_shares(&run);
        }
    }
    if (status == GS_OK && !placed) {
        status = try_rounds(&run, &placement->rounds, &placed);
    }
    if (status != GS_OK) {
        return status;
    }
    memset(placement->sm, 0, (size_t)(self->n * sms));
    for (int64_t i = 0; i < self->n; i++) {
        for (int64_t k = 0; k < self->count[i] && k < sms; k++) {
            placement->sm[i * sms + (self->first[i] + k) % sms] = 1;
        }
    }
    gs_host_answer_start(answer, self->n);
    if (!placed) {
        return explain(&run);
    }
    status = gs_stgm(&self->test, env, hosts, placement->core, placement->sm, sms, cpus, busy,
                     paper, answer);
    if (has(&run, GS_ALLOCATE_ONE_TASK | GS_ALLOCATE_NO_RESET)) {
        answer->schedulable = true; /* as far as these can tell */
    }
    return status;
}
