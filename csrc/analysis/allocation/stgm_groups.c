/* Allocation with groups of tasks that share SMs of their own. */
#include <string.h>

#include "analysis/allocation/stgm_state.h"

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
    return time / (double)run->hosts->deadline[i];
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
    gs_analysis_allocation_stgm_allocate_t *self = run->self;
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
    gs_analysis_allocation_stgm_allocate_t *self = run->self;
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
static int divide_sms(const gs_analysis_allocation_stgm_run_t *run, groups_t *groups)
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
    gs_analysis_allocation_stgm_allocate_t *self = run->self;
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
static int try_groups(gs_analysis_allocation_stgm_run_t *run, groups_t *groups, int64_t count,
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
        status = divide_sms(run, groups);
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

int gs_analysis_allocation_stgm_groups(gs_analysis_allocation_stgm_run_t *run, int64_t *rounds,
                                       bool *placed)
{
    gs_analysis_allocation_stgm_allocate_t *self = run->self;
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
        status = try_groups(run, &groups, most - placing_order % most, placed);
        if (status != GS_OK || *placed) {
            break;
        }
    }
    return status;
}
