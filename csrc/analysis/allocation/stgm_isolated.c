/* Allocation of cores and SMs such that no task waits for the kernel of another, or only for those
 * of a group of tasks that share SMs of their own. */
#include <string.h>

#include "analysis/allocation/stgm_state.h"
#include "analysis/allocation/worst_fit.h"

/* SMs that no two tasks share ----------------------------------------------------------------- */

/* Of the tasks that gain from one more SM, the one with the largest time alone on a core as a
 * fraction of what jitter leaves of its deadline; -1: none. */
static int64_t choose_by_need(const gs_analysis_allocation_stgm_run_t *run)
{
    const gs_analysis_allocation_stgm_memory_t *self = run->self;
    int64_t best = -1;
    double most = -1;
    for (int64_t i = 0; i < self->n; i++) {
        const gs_analysis_common_sums_t *sums = &self->test.sums[i];
        double need = (double)(sums->cpu + sums->gpu) / (double)gs_host_tasks_window(run->hosts, i);
        if (self->gain[i] > 0 && need > most) {
            best = i;
            most = need;
        }
    }
    return best;
}

/* The task of line 24 if it gains from one more SM; -1: none. */
static int64_t choose_by_gain(const gs_analysis_allocation_stgm_run_t *run)
{
    int64_t best = gs_analysis_allocation_stgm_choose_task(run);
    return best >= 0 && run->self->gain[best] > 0 ? best : -1;
}

/* Disjoint SM sets, divided in two ways, and cores by ascending and by descending load. */
static int try_disjoint(gs_analysis_allocation_stgm_run_t *run, int64_t *rounds, bool *placed)
{
    int status = GS_OK;
    for (int way = 0; way < 4 && !*placed && status == GS_OK; way++) {
        int64_t total = gs_analysis_allocation_stgm_give_one_sm(run);
        if (total > run->sms) {
            return GS_OK;
        }
        for (; total < run->sms && status == GS_OK; total++) {
            int64_t i = way % 2 == 0 ? choose_by_need(run) : choose_by_gain(run);
            if (i < 0) {
                break;
            }
            run->self->count[i]++;
            gs_analysis_allocation_stgm_update_task(run, i);
            status = gs_poll(run->ctx, run->self->n);
        }
        ++*rounds;
        run->most_loaded_first = way >= 2;
        if (status == GS_OK) {
            status = gs_analysis_allocation_stgm_assign_sms(run);
        }
        if (status == GS_OK) {
            status = gs_analysis_allocation_stgm_place_with_retries(run, placed);
        }
        run->most_loaded_first = false;
    }
    return status;
}

/* SMs of a core ------------------------------------------------------------------------------- */

/* Divides the tasks with GPU segments among `cores` cores by worst fit. */
static int group_users(const gs_analysis_allocation_stgm_run_t *run, int64_t cores)
{
    gs_analysis_allocation_stgm_memory_t *self = run->self;
    for (int64_t i = 0; i < self->n; i++) {
        self->count[i] =
            run->hosts->segments[i] > 0 ? gs_analysis_common_max(1, run->sms / cores) : 0;
        gs_analysis_allocation_stgm_update_task(run, i);
    }
    gs_analysis_allocation_stgm_set_utilizations(run);
    gs_analysis_allocation_stgm_gpu_tasks_first(run);
    memset(self->load, 0, (size_t)cores * sizeof *self->load);
    int status = gs_poll(run->ctx, self->n);
    for (int64_t at = 0;
         at < self->n && self->count[self->placing_order[at]] > 0 && status == GS_OK; at++) {
        int64_t i = self->placing_order[at],
                p = gs_analysis_allocation_worst_fit_core(self->load, cores);
        self->group[i] = p;
        self->load[p] += self->share[i];
        status = gs_poll(run->ctx, cores);
    }
    return status;
}

/* Divides the SMs among these cores: one each, and each further one to the core with the largest
 * load per SM. self->copy: the number of SMs of each. */
static int divide_sms_by_core(const gs_analysis_allocation_stgm_run_t *run, int64_t cores)
{
    gs_analysis_allocation_stgm_memory_t *self = run->self;
    const double *load = self->load;
    int64_t *width = self->copy;
    int status = GS_OK;
    for (int64_t c = 0; c < cores; c++) {
        width[c] = 1;
    }
    for (int64_t left = run->sms - cores; left > 0 && status == GS_OK; left--) {
        int64_t most = 0;
        for (int64_t c = 1; c < cores; c++) {
            bool more = load[c] / (double)width[c] > load[most] / (double)width[most];
            most = more ? c : most;
        }
        width[most]++;
        status = gs_poll(run->ctx, cores);
    }
    return status;
}

/* Assigns the SMs of a core to its tasks. They share them only with tasks that they never wait for,
 * so the graph of shared SMs stays empty. */
static void give_by_core(const gs_analysis_allocation_stgm_run_t *run, int64_t cores)
{
    gs_analysis_allocation_stgm_memory_t *self = run->self;
    int64_t *width = self->copy, *first = self->members, next = 0;
    for (int64_t c = 0; c < cores; c++) {
        first[c] = next;
        next += width[c];
    }
    gs_analysis_partitioned_request_chain_clear(&self->test.chain);
    self->runs = 0;
    for (int64_t i = 0; i < self->n; i++) {
        if (self->count[i] > 0) {
            self->first[i] = first[self->group[i]];
            self->count[i] = width[self->group[i]];
            gs_analysis_allocation_stgm_update_task(run, i);
        }
    }
}

/* Busy mode: GPU segments of one core never overlap, so its tasks share SMs without waiting. */
static int try_sms_by_core(gs_analysis_allocation_stgm_run_t *run, int64_t *rounds, bool *placed)
{
    int64_t users = gs_analysis_allocation_stgm_give_one_sm(run);
    int status = GS_OK;
    run->sms_by_core = true;
    for (int64_t cores = 1; cores <= run->cpus && cores <= users && cores <= run->sms; cores++) {
        status = group_users(run, cores);
        if (status == GS_OK) {
            status = divide_sms_by_core(run, cores);
        }
        if (status == GS_OK) {
            give_by_core(run, cores);
            ++*rounds;
            status = gs_analysis_allocation_stgm_place_with_retries(run, placed);
        }
        if (status != GS_OK || *placed) {
            break;
        }
    }
    run->sms_by_core = false;
    return status;
}

/* Groups of tasks ----------------------------------------------------------------------------- */

/* The tasks with GPU segments, divided into groups. */
typedef struct {
    int64_t count;
    int64_t *of;      /* by task: its group */
    int64_t *width;   /* by group: number of SMs */
    int64_t *kernels; /* by group: sum of the longest kernels of its tasks */
    int64_t *weight;  /* by task: factor of its cost */
    double *room;     /* by group: scratch */
    int64_t *nearest; /* by group: the group before it whose union with it raises the cost least;
                         -1: unknown */
    double *increase; /* by group: by how much; a lower bound while that is unknown */
} groups_t;

/* The time of task i on a core of its own, with this sum of kernels in its group, as a fraction of
 * its deadline. */
static double need(const gs_analysis_allocation_stgm_run_t *run, int64_t i, int64_t kernels)
{
    const gs_analysis_common_sums_t *sums = &run->self->test.sums[i];
    double waits = (double)sums->segments * (double)(kernels - sums->most_kernel);
    double time = (double)(sums->cpu + sums->gpu) + (double)run->self->test.copy[i] + waits;
    return time / (double)gs_host_tasks_window(run->hosts, i);
}

/* The cost to minimise. Fourth power: waiting matters most to tasks with little slack. */
static double cost(const gs_analysis_allocation_stgm_run_t *run, const groups_t *groups, int64_t i,
                   int64_t kernels)
{
    double part = need(run, i, kernels), square = part * part;
    return (double)groups->weight[i] * square * square;
}

/* The increase of the cost of task i if kernels of length `more` join its group. */
static double cost_increase(const gs_analysis_allocation_stgm_run_t *run, const groups_t *groups,
                            int64_t i, int64_t more)
{
    int64_t now = groups->kernels[groups->of[i]];
    return cost(run, groups, i, now + more) - cost(run, groups, i, now);
}

/* Each task with GPU segments becomes a group with one SM. */
static void init_groups(const gs_analysis_allocation_stgm_run_t *run, groups_t *groups)
{
    gs_analysis_allocation_stgm_memory_t *self = run->self;
    gs_analysis_allocation_stgm_give_one_sm(run);
    groups->count = 0;
    for (int64_t i = 0; i < self->n; i++) {
        if (self->count[i] > 0) {
            groups->kernels[groups->count] = self->test.sums[i].most_kernel;
            groups->of[i] = groups->count++;
        }
    }
}

/* The increase of the cost if group b is merged with each of the others, over the tasks of both by
 * index. */
static int set_merge_costs(const gs_analysis_allocation_stgm_run_t *run, const groups_t *groups,
                           int64_t b)
{
    double *increase = groups->room;
    int64_t members = 0;
    memset(increase, 0, (size_t)groups->count * sizeof *increase);
    for (int64_t i = 0; i < run->self->n; i++) {
        int64_t g = groups->of[i];
        if (g >= 0 && g != b) {
            increase[g] += cost_increase(run, groups, i, groups->kernels[b]);
        }
        members += g == b;
        for (int64_t a = 0; a < groups->count && g == b; a++) {
            increase[a] += cost_increase(run, groups, i, groups->kernels[a]);
        }
    }
    return gs_poll(run->ctx, run->self->n + members * groups->count);
}

/* Finds the nearest group of b: the first of equal ones. */
static int find_nearest(const gs_analysis_allocation_stgm_run_t *run, const groups_t *groups,
                        int64_t b)
{
    const double *increase = groups->room;
    int64_t least = 0;
    int status = set_merge_costs(run, groups, b);
    for (int64_t a = 1; a < b; a++) {
        least = increase[a] < increase[least] ? a : least;
    }
    groups->nearest[b] = least;
    groups->increase[b] = increase[least];
    return status;
}

/* Takes account of group a, which is new or has a new number, in all groups after it, and finds its
 * own nearest. */
static int compare_group(const gs_analysis_allocation_stgm_run_t *run, const groups_t *groups,
                         int64_t a)
{
    int status = find_nearest(run, groups, a);
    for (int64_t b = a + 1; b < groups->count; b++) {
        double increase = groups->room[b];
        bool same = increase == groups->increase[b];
        if (increase < groups->increase[b] || (same && a < groups->nearest[b])) {
            groups->increase[b] = increase;
            groups->nearest[b] = groups->nearest[b] < 0 ? -1 : a;
        }
    }
    return status;
}

/* Finds the group with the nearest group before it, the first of equal ones: the smallest lower
 * bound that is no longer one. */
static int find_union(const gs_analysis_allocation_stgm_run_t *run, const groups_t *groups,
                      int64_t *from)
{
    int status = GS_OK;
    for (bool known = false; !known && status == GS_OK;) {
        *from = 1;
        for (int64_t b = 2; b < groups->count; b++) {
            *from = groups->increase[b] < groups->increase[*from] ? b : *from;
        }
        known = groups->nearest[*from] >= 0;
        status = known ? gs_poll(run->ctx, groups->count) : find_nearest(run, groups, *from);
    }
    return status;
}

/* Merges the two groups whose union raises the cost least. A group whose nearest one is merged
 * keeps its increase as a lower bound: its unions with other groups cost what they did, and those
 * with the new group and the one with a new number are compared. */
static int merge(const gs_analysis_allocation_stgm_run_t *run, groups_t *groups)
{
    int64_t from = 1, last = groups->count - 1;
    int status = find_union(run, groups, &from);
    if (status != GS_OK) {
        return status;
    }
    int64_t into = groups->nearest[from];
    for (int64_t b = into + 1; b < groups->count; b++) {
        bool merged = groups->nearest[b] == into || groups->nearest[b] == from;
        groups->nearest[b] = merged ? -1 : groups->nearest[b];
    }
    groups->kernels[into] += groups->kernels[from];
    groups->kernels[from] = groups->kernels[last];
    groups->count = last;
    for (int64_t i = 0; i < run->self->n; i++) {
        int64_t g = groups->of[i];
        groups->of[i] = g == from   ? into
                        : g == last ? from
                                    : g; /* the last group takes its number */
    }
    status = compare_group(run, groups, into);
    return status == GS_OK && from < last ? compare_group(run, groups, from) : status;
}

/* Gives group g that number of SMs; returns the cost of its tasks. */
static double set_width(const gs_analysis_allocation_stgm_run_t *run, groups_t *groups, int64_t g,
                        int64_t width)
{
    gs_analysis_allocation_stgm_memory_t *self = run->self;
    double sum = 0;
    groups->kernels[g] = 0;
    for (int64_t i = 0; i < self->n; i++) {
        if (self->count[i] > 0 && groups->of[i] == g) {
            self->count[i] = width;
            gs_analysis_allocation_stgm_update_task(run, i);
            groups->kernels[g] += self->test.sums[i].most_kernel;
        }
    }
    for (int64_t i = 0; i < self->n; i++) {
        if (self->count[i] > 0 && groups->of[i] == g) {
            sum += cost(run, groups, i, groups->kernels[g]);
        }
    }
    return sum;
}

/* The decrease of the cost of group g with one more SM. */
static double cost_decrease(const gs_analysis_allocation_stgm_run_t *run, groups_t *groups,
                            int64_t g)
{
    double more = set_width(run, groups, g, groups->width[g] + 1);
    return set_width(run, groups, g, groups->width[g]) - more;
}

/* Divides the SMs: one for every group, and each further one to the group where it lowers the cost
 * most. */
static int divide_sms_by_group(const gs_analysis_allocation_stgm_run_t *run, groups_t *groups)
{
    double *saving = groups->room;
    int status = GS_OK;
    for (int64_t g = 0; g < groups->count && status == GS_OK; g++) {
        groups->width[g] = 1;
        saving[g] = cost_decrease(run, groups, g);
        status = gs_poll(run->ctx, 4 * run->self->n);
    }
    for (int64_t left = run->sms - groups->count; left > 0 && status == GS_OK; left--) {
        int64_t best = 0;
        for (int64_t g = 1; g < groups->count; g++) {
            best = saving[g] > saving[best] ? g : best;
        }
        if (saving[best] <= 0) {
            break;
        }
        groups->width[best]++;
        saving[best] = cost_decrease(run, groups, best);
        status = gs_poll(run->ctx, 4 * run->self->n);
    }
    return status;
}

/* Assigns the SMs and computes the contention: the longest chain in a group is all of it. Doubles
 * the weight of the task with the largest need. */
static void assign_groups(const gs_analysis_allocation_stgm_run_t *run, const groups_t *groups)
{
    gs_analysis_allocation_stgm_memory_t *self = run->self;
    int64_t *first = self->members, next = 0, worst = -1;
    double most = -1;
    for (int64_t g = 0; g < groups->count; g++) {
        first[g] = next;
        next += groups->width[g];
    }
    for (int64_t i = 0; i < self->n; i++) {
        const gs_analysis_common_sums_t *sums = &self->test.sums[i];
        int64_t g = groups->of[i];
        self->test.kernel[i] = 0;
        if (self->count[i] > 0) {
            double own = need(run, i, groups->kernels[g]);
            self->first[i] = first[g];
            self->test.kernel[i] = gs_analysis_common_saturating_mul(
                sums->segments, groups->kernels[g] - sums->most_kernel);
            worst = own > most ? i : worst;
            most = own > most ? own : most;
        }
    }
    groups->weight[worst] *= 2;
}

/* One try with `count` groups. */
static int try_group_count(gs_analysis_allocation_stgm_run_t *run, groups_t *groups, int64_t count,
                           bool *placed)
{
    int status = GS_OK;
    init_groups(run, groups);
    for (int64_t b = 1; b < groups->count && groups->count > count && status == GS_OK; b++) {
        status = find_nearest(run, groups, b);
    }
    while (groups->count > count && status == GS_OK) {
        status = merge(run, groups);
    }
    if (status == GS_OK) {
        status = divide_sms_by_group(run, groups);
    }
    if (status == GS_OK) {
        assign_groups(run, groups);
    }
    for (int most_loaded_first = 0; most_loaded_first < 2 && status == GS_OK && !*placed;
         most_loaded_first++) {
        run->most_loaded_first = most_loaded_first == 1;
        status = gs_analysis_allocation_stgm_place_with_retries(run, placed);
    }
    run->most_loaded_first = false;
    return status;
}

/* Groups of tasks with SMs of their own, for contention that does not depend on cores. */
static int try_groups(gs_analysis_allocation_stgm_run_t *run, int64_t *rounds, bool *placed)
{
    gs_analysis_allocation_stgm_memory_t *self = run->self;
    groups_t groups = {.of = self->group,
                       .width = self->copy,
                       .kernels = self->bound,
                       .weight = self->seen,
                       .room = self->load,
                       .nearest = self->run,
                       .increase = self->share};
    int64_t users = gs_analysis_allocation_stgm_give_one_sm(run),
            most = users < run->sms ? users : run->sms;
    int status = GS_OK;
    for (int64_t i = 0; i < self->n; i++) {
        groups.of[i] = -1;
        groups.weight[i] = 1;
    }
    for (int64_t placing_order = 0;
         placing_order < GS_ANALYSIS_ALLOCATION_ALLOCATE_TRIES && users > 1; placing_order++) {
        ++*rounds;
        status = try_group_count(run, &groups, most - placing_order % most, placed);
        if (status != GS_OK || *placed) {
            break;
        }
    }
    return status;
}

/* All of them --------------------------------------------------------------------------------- */

int gs_analysis_allocation_stgm_isolated(gs_analysis_allocation_stgm_run_t *run, int64_t *rounds,
                                         bool *placed)
{
    int flags = run->flags, status = GS_OK;
    run->flags = 0; /* the lines as printed apply to Algorithm 1 only */
    *placed = false;
    if (run->core_contention) {
        status = try_sms_by_core(run, rounds, placed);
    }
    if (status == GS_OK && !*placed) {
        status = try_disjoint(run, rounds, placed);
    }
    if (status == GS_OK && !*placed && !run->core_contention) {
        status = try_groups(run, rounds, placed);
    }
    run->flags = flags;
    return status;
}
