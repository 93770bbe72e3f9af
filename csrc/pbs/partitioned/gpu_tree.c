/* Assignments of tasks to GPUs: the greedy one, and all of them depth first. */
#include "pbs/partitioned/gpu_tree.h"

#include <string.h>

typedef gs_pbs_partitioned_gpu_tree_t tree_t;

/* Sorts the tasks by falling share; of equal ones the first stay first. */
static void sort_tasks(tree_t *tree)
{
    for (int32_t i = 0; i < tree->tasks->n; i++) {
        int64_t least = INT64_MAX;
        for (int32_t g = 0; g < tree->gpus; g++) {
            int64_t own =
                gs_pbs_partitioned_gpu_tree_subsets(tree, g)->table.completion[UINT32_C(1) << i];
            least = own < least ? own : least;
        }
        tree->share[i] = (double)least / (double)tree->tasks->period[i];
        int32_t at = i;
        for (; at > 0 && tree->share[tree->order[at - 1]] < tree->share[i]; at--) {
            tree->order[at] = tree->order[at - 1];
        }
        tree->order[at] = i;
    }
}

static bool same_table(const gs_batch_table_t *one, const gs_batch_table_t *other)
{
    size_t size = sizeof(int64_t) << one->n;
    if (one->completion == other->completion && one->undecided == other->undecided) {
        return true;
    }
    if (one->n != other->n || (one->undecided == NULL) != (other->undecided == NULL)) {
        return false;
    }
    return memcmp(one->completion, other->completion, size) == 0 &&
           (one->undecided == NULL || memcmp(one->undecided, other->undecided, size) == 0);
}

int gs_pbs_partitioned_gpu_tree_init(gs_pbs_partitioned_gpu_tree_t *self, gs_context_t *ctx,
                                     const gs_periodic_tasks_t *tasks,
                                     const gs_batch_table_t *tables, int32_t table_count,
                                     int32_t gpus, bool idling, int64_t *tested)
{
    memset(self, 0, sizeof *self);
    self->tasks = tasks;
    self->gpus = gpus;
    int status = GS_OK;
    for (int32_t g = 0; g < gpus && status == GS_OK; g++) {
        const gs_batch_table_t *own = &tables[table_count == 1 ? 0 : g];
        self->table[g] = g;
        for (int32_t other = 0; other < g && self->table[g] == g; other++) {
            if (self->table[other] == other && same_table(own, &self->subsets[other].table)) {
                self->table[g] = other;
            }
        }
        if (self->table[g] == g) {
            status =
                gs_pbs_partitioned_subsets_init(&self->subsets[g], ctx, tasks, own, idling, tested);
        }
        status = status == GS_OK ? gs_poll(ctx, INT64_C(1) << own->n) : status;
    }
    if (status == GS_OK) {
        sort_tasks(self);
    }
    return status;
}

void gs_pbs_partitioned_gpu_tree_free(gs_pbs_partitioned_gpu_tree_t *self, gs_context_t *ctx)
{
    for (int32_t g = 0; g < GS_PBS_PARTITIONED_GPUS; g++) {
        gs_pbs_partitioned_subsets_free(&self->subsets[g], ctx);
    }
}

static void put(tree_t *tree, int32_t task, int32_t gpu)
{
    tree->mask[gpu] |= UINT32_C(1) << task;
    tree->load[gpu] += tree->share[task];
}

static void take(tree_t *tree, int32_t task, int32_t gpu, double load)
{
    tree->mask[gpu] &= ~(UINT32_C(1) << task);
    tree->load[gpu] = load;
}

/* The GPUs by rising load, one of several empty ones with equal tables; returns their number. */
static int32_t choices(const tree_t *tree, int32_t *gpus)
{
    int32_t count = 0;
    for (int32_t g = 0; g < tree->gpus; g++) {
        bool repeated = false;
        for (int32_t other = 0; other < g && tree->mask[g] == 0; other++) {
            repeated = repeated || (tree->mask[other] == 0 && tree->table[other] == tree->table[g]);
        }
        if (repeated) {
            continue;
        }
        int32_t at = count++;
        for (; at > 0 && tree->load[gpus[at - 1]] > tree->load[g]; at--) {
            gpus[at] = gpus[at - 1];
        }
        gpus[at] = g;
    }
    return count;
}

/* Whether a GPU has a dead subset. */
static int refuted(tree_t *tree, gs_context_t *ctx, int32_t gpu, bool *dead)
{
    gs_pbs_partitioned_subsets_t *subsets = gs_pbs_partitioned_gpu_tree_subsets(tree, gpu);
    int status = gs_poll(ctx, 1 + subsets->dead.count);
    if (status != GS_OK || tree->blame == NULL) {
        return status == GS_OK
                   ? gs_pbs_partitioned_subsets_dead(subsets, ctx, tree->mask[gpu], dead)
                   : status;
    }
    int64_t at = gs_pbs_partitioned_subsets_contained(subsets, tree->mask[gpu]);
    *dead = at >= 0;
    return *dead ? tree->blame(tree->blame_arg, subsets->dead.masks[at], tree->table[gpu], true)
                 : GS_OK;
}

/* Decides a complete assignment. */
static int decide(tree_t *tree, gs_context_t *ctx)
{
    bool open = false;
    for (int32_t g = 0; g < tree->gpus; g++) {
        int answer;
        int status = gs_pbs_partitioned_subsets_schedulable(
            gs_pbs_partitioned_gpu_tree_subsets(tree, g), ctx, tree->mask[g], &answer);
        if (status != GS_OK) {
            return status;
        }
        if (answer == 0) {
            return tree->blame == NULL
                       ? GS_OK
                       : tree->blame(tree->blame_arg, tree->mask[g], tree->table[g], false);
        }
        open = open || answer < 0;
    }
    tree->open = tree->open || open;
    tree->found = !open;
    return GS_OK;
}

static int descend(tree_t *tree, gs_context_t *ctx, int32_t depth)
{
    int32_t gpus[GS_PBS_PARTITIONED_GPUS];
    int status = tree->blame == NULL ? gs_count_states(ctx, 1) : GS_OK;
    if (status != GS_OK || depth == tree->tasks->n) {
        return status == GS_OK ? decide(tree, ctx) : status;
    }
    int32_t task = tree->order[depth], count = choices(tree, gpus);
    for (int32_t c = 0; c < count && status == GS_OK; c++) {
        double load = tree->load[gpus[c]];
        bool dead = false;
        put(tree, task, gpus[c]);
        status = refuted(tree, ctx, gpus[c], &dead);
        if (status == GS_OK && !dead) {
            status = descend(tree, ctx, depth + 1);
        }
        if (tree->found) {
            return status;
        }
        take(tree, task, gpus[c], load);
    }
    return status;
}

int gs_pbs_partitioned_gpu_tree_search(gs_pbs_partitioned_gpu_tree_t *self, gs_context_t *ctx)
{
    memset(self->mask, 0, sizeof self->mask);
    memset(self->load, 0, sizeof self->load);
    self->found = self->open = false;
    return descend(self, ctx, 0);
}

int gs_pbs_partitioned_gpu_tree_try_greedy(gs_pbs_partitioned_gpu_tree_t *self, gs_context_t *ctx)
{
    int status = GS_OK;
    int32_t gpus[GS_PBS_PARTITIONED_GPUS];
    memset(self->mask, 0, sizeof self->mask);
    memset(self->load, 0, sizeof self->load);
    self->found = true;
    for (int32_t k = 0; k < self->tasks->n && self->found && status == GS_OK; k++) {
        int32_t task = self->order[k], count = choices(self, gpus);
        self->found = false;
        for (int32_t c = 0; c < count && !self->found && status == GS_OK; c++) {
            int answer;
            double load = self->load[gpus[c]];
            put(self, task, gpus[c]);
            status = gs_pbs_partitioned_subsets_schedulable(
                gs_pbs_partitioned_gpu_tree_subsets(self, gpus[c]), ctx, self->mask[gpus[c]],
                &answer);
            self->found = status == GS_OK && answer == 1;
            if (!self->found) {
                take(self, task, gpus[c], load);
            }
        }
    }
    return status;
}
