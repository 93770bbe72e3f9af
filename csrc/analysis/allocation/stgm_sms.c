/* SMs of every task: their numbers, the task that gets one more, their positions, and the
 * contention between tasks that share some.
 *
 * Tasks with GPU segments (users) have consecutive SMs, cyclically, one user after the other: user
 * k has the positions P(k) .. P(k + 1) - 1, P(k) being the sum of the numbers before it, and
 * position q is SM q mod sms. Between SMs x - 1 and x there is a cut if no user has both as
 * neighbouring positions: every position x + m sms up to P(users) is some P(k). While all positions
 * together exceed the SMs, every SM has a user. So the SMs between two cuts next to each other form
 * a run, the users of a run are a component of the graph of tasks that share SMs, and one cut, or
 * none, leaves one component.
 *
 * A chain in a component of more than GS_ANALYSIS_PARTITIONED_REQUEST_CHAIN_EXACT tasks counts all
 * of them, so edges are needed in smaller components only. The rest takes a number of steps that is
 * linear in the users: cuts of the first sms positions are compared with those of the next ones, in
 * ascending order, and each comparison leaves at most as many as there are users in these.
 */
#include <string.h>

#include "core/int128.h"
#include "analysis/allocation/stgm_state.h"

enum { FEW = GS_ANALYSIS_PARTITIONED_REQUEST_CHAIN_EXACT };

/* Numbers ------------------------------------------------------------------------------------- */

void gs_analysis_allocation_stgm_update_task(const gs_analysis_allocation_stgm_run_t *run,
                                             int64_t i)
{
    gs_analysis_allocation_stgm_memory_t *self = run->self;
    int64_t count = self->count[i], used = count < run->sms ? count : run->sms;
    self->test.sums[i] = gs_analysis_common_sums(run->hosts, i, used > 0 ? used : 1);
    self->test.chain.weight[i] = self->test.sums[i].most_kernel;
    self->gain[i] = 0;
    for (int64_t j = 0; j < run->hosts->segments[i]; j++) {
        self->gain[i] += gs_host_tasks_kernel(run->hosts, i, j, count) -
                         gs_host_tasks_kernel(run->hosts, i, j, count + 1);
    }
}

int64_t gs_analysis_allocation_stgm_give_one_sm(const gs_analysis_allocation_stgm_run_t *run)
{
    gs_analysis_allocation_stgm_memory_t *self = run->self;
    int64_t users = 0;
    for (int64_t i = 0; i < self->n; i++) {
        self->count[i] = run->hosts->segments[i] > 0;
        users += self->count[i];
        gs_analysis_allocation_stgm_update_task(run, i);
    }
    return users;
}

int64_t gs_analysis_allocation_stgm_choose_task(const gs_analysis_allocation_stgm_run_t *run)
{
    const gs_analysis_allocation_stgm_memory_t *self = run->self;
    bool past = (run->flags & GS_ANALYSIS_ALLOCATION_ALLOCATE_PAST_END) != 0, ended = true;
    bool least = (run->flags & GS_ANALYSIS_ALLOCATION_ALLOCATE_SIGN) != 0;
    int64_t best = -1;
    for (int64_t i = 0; i < self->n; i++) {
        if (self->count[i] == 0 || (!past && self->count[i] >= run->sms)) {
            continue;
        }
        ended = ended && past && self->count[i] > run->sms;
        if (best >= 0) {
            gs_int128_t mine = (gs_int128_t)self->gain[i] * run->hosts->period[best];
            gs_int128_t other = (gs_int128_t)self->gain[best] * run->hosts->period[i];
            if (least ? mine >= other : mine <= other) {
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

/* Positions ----------------------------------------------------------------------------------- */

/* Whether the consecutive SMs of two tasks, cyclically, intersect. */
static bool share_sm(const gs_analysis_allocation_stgm_run_t *run, int64_t a, int64_t b)
{
    const gs_analysis_allocation_stgm_memory_t *self = run->self;
    int64_t ahead = self->first[b] - self->first[a];
    ahead += ahead < 0 ? run->sms : 0;
    return ahead < self->count[a] || run->sms - ahead < self->count[b];
}

/* Adds the edges between all tasks, `users`. */
static int add_edges(const gs_analysis_allocation_stgm_run_t *run, const int64_t *user,
                     int64_t users)
{
    int status = GS_OK;
    for (int64_t a = 0; a < users && status == GS_OK; a++) {
        for (int64_t b = 0; b < a; b++) {
            if (share_sm(run, user[a], user[b])) {
                gs_analysis_partitioned_request_chain_add_edge(&run->self->test.chain, user[a],
                                                               user[b]);
            }
        }
        status = gs_poll(run->ctx, a);
    }
    return status;
}

/* Lists the first SMs of the runs, ascending, in self->cut; returns their number. */
static int64_t find_cuts(const gs_analysis_allocation_stgm_run_t *run, const int64_t *user,
                         int64_t users, int64_t total)
{
    const gs_analysis_allocation_stgm_memory_t *self = run->self;
    int64_t *cut = self->cut, cuts = 0, k = 0, position = 0;
    for (; k < users && position < run->sms; k++) {
        cut[cuts++] = position;
        position += self->count[user[k]];
    }
    for (int64_t lap = run->sms; lap <= total && cuts > 0; lap += run->sms) {
        int64_t kept = 0;
        for (int64_t c = 0; c < cuts; c++) {
            int64_t x = lap + cut[c];
            for (; k < users && position < x; k++) {
                position += self->count[user[k]];
            }
            cut[kept] = cut[c];
            kept += x > total || position == x;
        }
        cuts = kept;
    }
    return cuts;
}

/* Sets self->run of every user, and the number of users and the sum of kernels of every run.
 */
static void find_runs(const gs_analysis_allocation_stgm_run_t *run, const int64_t *user,
                      int64_t users, int64_t total)
{
    gs_analysis_allocation_stgm_memory_t *self = run->self;
    int64_t cuts = find_cuts(run, user, users, total), runs = cuts > 1 ? cuts : 1, at = 0;
    for (int64_t r = 0; r < runs; r++) {
        self->run_users[r] = self->run_kernels[r] = 0;
    }
    for (int64_t k = 0; k < users; k++) {
        int64_t i = user[k];
        at = k > 0 && self->first[i] <= self->first[user[k - 1]] ? 0 : at;
        while (at < runs && cuts > 1 && self->cut[at] <= self->first[i]) {
            at++;
        }
        int64_t r = at > 0 ? at - 1 : runs - 1; /* before the first cut is the last run */
        self->run[i] = r;
        self->run_users[r]++;
        self->run_kernels[r] += self->test.chain.weight[i];
    }
    self->runs = runs;
}

/* B^e of the users: eta times all others of a large component, or the longest chain. */
static int set_kernel_blocking(const gs_analysis_allocation_stgm_run_t *run, const int64_t *user,
                               int64_t users)
{
    gs_analysis_allocation_stgm_memory_t *self = run->self;
    gs_analysis_partitioned_request_chain_t *chain = &self->test.chain;
    int64_t runs = self->runs, *last = self->cut;
    int status = gs_poll(run->ctx, users + runs);
    for (int64_t r = 0; r < runs; r++) {
        last[r] = -1;
    }
    for (int64_t w = 0; w < chain->words; w++) {
        chain->excluded[w] = 0;
    }
    for (int64_t k = 0; k < users && status == GS_OK; k++) {
        int64_t i = user[k], r = self->run[i];
        self->test.kernel[i] = self->run_kernels[r] - chain->weight[i];
        if (self->run_users[r] <= FEW) {
            for (int64_t other = last[r]; other >= 0; other = self->before[other]) {
                if (share_sm(run, i, other)) {
                    gs_analysis_partitioned_request_chain_add_edge(chain, i, other);
                }
            }
            self->before[i] = last[r];
            last[r] = i;
        }
    }
    for (int64_t r = 0; r < runs && status == GS_OK; r++) {
        if (last[r] >= 0) {
            status = gs_analysis_partitioned_request_chain_component(
                chain, run->ctx, last[r], chain->excluded, self->test.kernel);
        }
    }
    for (int64_t k = 0; k < users; k++) {
        int64_t *kernel = &self->test.kernel[user[k]];
        *kernel = gs_analysis_common_saturating_mul(self->test.sums[user[k]].segments, *kernel);
    }
    return status;
}

/* By boundary between SMs x - 1 and x: the number of users that have both, in self->before; there
 * are fewer SMs than tasks. */
static void count_covers(const gs_analysis_allocation_stgm_run_t *run, const int64_t *user,
                         int64_t users)
{
    const gs_analysis_allocation_stgm_memory_t *self = run->self;
    int64_t *cover = self->before, sms = run->sms, sum = 0;
    memset(cover, 0, (size_t)(sms + 1) * sizeof *cover);
    for (int64_t k = 0; k < users; k++) {
        int64_t first = self->first[user[k]], count = self->count[user[k]];
        if (count >= sms) {
            sum++; /* all boundaries */
        } else {   /* first + 1 .. first + count - 1, cyclically */
            int64_t end = first + count;
            cover[first + 1]++;
            cover[end < sms ? end : sms]--;
            if (end > sms) {
                cover[0]++;
                cover[end - sms]--;
            }
        }
    }
    for (int64_t x = 0; x < sms; x++) {
        sum += cover[x];
        cover[x] = sum;
    }
}

/* Sets the least number of users that any boundary of a run is in, for set_busy_blocking: 0 where
 * it is not known, which is allowed. */
static void set_run_covers(const gs_analysis_allocation_stgm_run_t *run, const int64_t *user,
                           int64_t users)
{
    gs_analysis_allocation_stgm_memory_t *self = run->self;
    bool few = run->sms < self->n;
    for (int64_t r = 0; r < self->runs; r++) {
        self->run_cover[r] = few ? INT64_MAX : 0;
    }
    if (!few) {
        return;
    }
    count_covers(run, user, users);
    int64_t at = 0;
    for (int64_t x = 0; x < run->sms; x++) {
        while (at < self->runs && self->runs > 1 && self->cut[at] <= x) {
            at++;
        }
        int64_t r = at > 0 ? at - 1 : self->runs - 1, cover = self->before[x];
        bool inner = cover > 0 && cover < self->run_cover[r];
        self->run_cover[r] = inner ? cover : self->run_cover[r];
    }
}

int gs_analysis_allocation_stgm_assign_sms(const gs_analysis_allocation_stgm_run_t *run)
{
    gs_analysis_allocation_stgm_memory_t *self = run->self;
    int64_t *user = self->members, users = 0, next = 0, total = 0;
    int status = gs_poll(run->ctx, self->n);
    gs_analysis_partitioned_request_chain_clear(&self->test.chain);
    for (int64_t i = 0; i < self->n; i++) {
        self->first[i] = next;
        self->test.kernel[i] = 0;
        if (self->count[i] > 0) {
            next = (next + self->count[i]) % run->sms;
            total += self->count[i];
            user[users++] = i;
        }
    }
    self->runs = 0;
    if (status != GS_OK || total <= run->sms) {
        return status; /* no SM is shared */
    }
    if (run->paper == GS_ANALYSIS_PARTITIONED_STGM_SOUND) {
        find_runs(run, user, users, total);
        if (run->core_contention) {
            set_run_covers(run, user, users);
            return gs_poll(run->ctx, users + run->sms);
        }
        return set_kernel_blocking(run, user, users);
    }
    status = add_edges(run, user, users);
    return status == GS_OK
               ? gs_analysis_partitioned_stgm_kernel_blocking(&self->test, run->ctx, run->paper)
               : status;
}

int gs_analysis_allocation_stgm_connect_tasks(const gs_analysis_allocation_stgm_run_t *run)
{
    gs_analysis_allocation_stgm_memory_t *self = run->self;
    int64_t *user = self->before, users = 0;
    if (self->test.chain.has_edges) {
        return GS_OK;
    }
    for (int64_t i = 0; i < self->n; i++) {
        user[users] = i;
        users += self->count[i] > 0;
    }
    return add_edges(run, user, users);
}
