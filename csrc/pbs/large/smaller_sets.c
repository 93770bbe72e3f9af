/* Partitions into groups, and tables of groups and cores. */
#include "pbs/large/smaller_sets.h"

#include "pbs/reduced/cores.h"

/* Whether two tasks are ready and due together. */
static bool alike(const gs_periodic_tasks_t *tasks, int32_t i, int32_t j)
{
    return tasks->period[i] == tasks->period[j] && tasks->deadline[i] == tasks->deadline[j] &&
           gs_periodic_tasks_offset(tasks, i) == gs_periodic_tasks_offset(tasks, j);
}

/* The tasks not yet in a part that are ready and due with the first of them, the longest kernel
 * first; returns their number. */
static int32_t next_class(const gs_periodic_tasks_t *tasks, const int64_t *wcet, uint64_t left,
                          int32_t *order)
{
    int32_t first = __builtin_ctzll(left), count = 0;
    for (uint64_t rest = left; rest != 0; rest &= rest - 1) {
        int32_t i = __builtin_ctzll(rest);
        if (alike(tasks, i, first)) {
            int32_t p = count++;
            for (; p > 0 && wcet[order[p - 1]] < wcet[i]; p--) {
                order[p] = order[p - 1];
            }
            order[p] = i;
        }
    }
    return count;
}

int gs_pbs_large_groups_by_length(gs_pbs_large_groups_t *self, gs_context_t *ctx,
                                  const gs_periodic_tasks_t *tasks,
                                  gs_pbs_large_function_t *function, int32_t split, bool *fits)
{
    int32_t order[GS_PBS_LARGE_TASKS];
    uint64_t left = ~UINT64_C(0) >> (GS_PBS_LARGE_TASKS - tasks->n);
    self->count = 0;
    *fits = true;
    while (left != 0) {
        int32_t count = next_class(tasks, function->wcet, left, order);
        int32_t size = (count + split - 1) / split;
        for (int32_t j = 0; j < count;) {
            uint64_t part = UINT64_C(1) << order[j++];
            for (int32_t held = 1; held < size && j < count; held++, j++) {
                uint64_t larger = part | UINT64_C(1) << order[j];
                int64_t time;
                int status = gs_pbs_large_function_known(function, ctx, larger, &time);
                if (status != GS_OK) {
                    return status;
                }
                if (time == 0) {
                    break;
                }
                part = larger;
            }
            if (self->count == GS_PBS_LARGE_GROUPS_MAX) {
                *fits = false;
                return GS_OK;
            }
            self->part[self->count++] = part;
            left &= ~part;
        }
    }
    return GS_OK;
}

int gs_pbs_large_groups_merge(gs_pbs_large_groups_t *self, gs_context_t *ctx,
                              const gs_periodic_tasks_t *tasks, gs_pbs_large_function_t *function,
                              int32_t most, gs_rng_t *rng, bool *fits)
{
    uint64_t part[GS_PBS_LARGE_TASKS];
    int64_t length[GS_PBS_LARGE_TASKS];
    double factor[GS_PBS_LARGE_TASKS];
    int32_t count = tasks->n;
    for (int32_t i = 0; i < count; i++) {
        part[i] = UINT64_C(1) << i;
        length[i] = function->wcet[i];
        factor[i] = rng == NULL ? 1 : 0.25 + gs_rng_double(rng);
    }
    *fits = true;
    while (count > most) {
        int32_t first = -1, second = -1;
        int64_t joined = 0;
        double least = 0;
        for (int32_t a = 0; a < count; a++) {
            for (int32_t b = a + 1; b < count; b++) {
                int32_t i = __builtin_ctzll(part[a]), j = __builtin_ctzll(part[b]);
                if (!alike(tasks, i, j)) {
                    continue;
                }
                int64_t time, longer = length[a] > length[b] ? length[a] : length[b];
                int status = gs_pbs_large_function_known(function, ctx, part[a] | part[b], &time);
                if (status != GS_OK) {
                    return status;
                }
                double extra = (double)(time - longer) * factor[i] * factor[j];
                if (time != 0 && (first < 0 || extra < least)) {
                    least = extra;
                    joined = time;
                    first = a;
                    second = b;
                }
            }
        }
        if (first < 0) {
            *fits = false;
            return GS_OK;
        }
        part[first] |= part[second];
        length[first] = joined;
        part[second] = part[--count];
        length[second] = length[count];
    }
    self->count = count;
    for (int32_t g = 0; g < count; g++) {
        self->part[g] = part[g];
    }
    return gs_poll(ctx, tasks->n * tasks->n);
}

/* Some of the tasks, with columns of their own. */
typedef struct {
    int64_t period[GS_PERIODIC_TASKS_MAX];
    int64_t deadline[GS_PERIODIC_TASKS_MAX];
    int64_t offset[GS_PERIODIC_TASKS_MAX];
    gs_periodic_tasks_t tasks;
} part_t;

static void add_task(part_t *part, const gs_periodic_tasks_t *tasks, int32_t i)
{
    int32_t at = part->tasks.n++;
    part->period[at] = tasks->period[i];
    part->deadline[at] = tasks->deadline[i];
    part->offset[at] = gs_periodic_tasks_offset(tasks, i);
    part->tasks.period = part->period;
    part->tasks.deadline = part->deadline;
    part->tasks.offset = part->offset;
}

/* The tasks of a set of parts. */
static uint64_t tasks_of(const gs_pbs_large_groups_t *self, uint32_t parts)
{
    uint64_t mask = 0;
    for (uint32_t rest = parts; rest != 0; rest &= rest - 1) {
        mask |= self->part[__builtin_ctz(rest)];
    }
    return mask;
}

static int outcome(int spent)
{
    return spent == GS_UNDECIDED ? GS_OK : spent;
}

int gs_pbs_large_groups_try(const gs_pbs_large_groups_t *self, gs_context_t *ctx,
                            const gs_periodic_tasks_t *tasks, gs_pbs_large_function_t *function,
                            bool idling, int64_t work, gs_pbs_large_schedule_t *schedule,
                            bool *found)
{
    part_t part = {.tasks = {.n = 0}};
    gs_pbs_search_options_t options = {
        .idling = idling, .most_work = work, .skip = GS_PBS_SEARCH_SKIP_REDUCED};
    gs_pbs_search_t search;
    gs_pbs_search_init(&search);
    *found = false;
    int64_t *completion = gs_alloc(ctx, (size_t)1 << self->count, sizeof *completion);
    int status = completion == NULL ? ctx->status : GS_OK;
    if (completion == NULL) {
        goto out;
    }
    for (int32_t g = 0; g < self->count; g++) {
        add_task(&part, tasks, __builtin_ctzll(self->part[g]));
    }
    for (uint32_t parts = 1; parts < UINT32_C(1) << self->count && status == GS_OK; parts++) {
        status =
            gs_pbs_large_function_known(function, ctx, tasks_of(self, parts), &completion[parts]);
    }
    gs_batch_table_t table = {self->count, completion, NULL, NULL};
    if (status == GS_OK) {
        status = gs_pbs_search_run(&search, ctx, &part.tasks, &table, &options);
    }
    if (status == GS_OK && search.answer == 1) {
        schedule->count = 0;
        for (int64_t f = 0; f < search.schedule.count && status == GS_OK; f++) {
            const gs_schedule_frame_t *frame = &search.schedule.frames[f];
            status = gs_pbs_large_schedule_append(schedule, ctx, frame->start, frame->end,
                                                  tasks_of(self, frame->batch));
        }
        *found = status == GS_OK;
    } else if (status == GS_OK) {
        status = outcome(search.spent);
    }
out:
    gs_pbs_search_free(&search, ctx);
    gs_free(ctx, completion);
    return status;
}

int gs_pbs_large_core_try(gs_context_t *ctx, const gs_periodic_tasks_t *tasks,
                          const gs_pbs_large_function_t *function, uint64_t core, int64_t work,
                          gs_pbs_refutation_t *proof, bool *dead)
{
    part_t part = {.tasks = {.n = 0}};
    gs_pbs_search_options_t options = {
        .idling = true, .proof = true, .most_work = work, .skip = GS_PBS_SEARCH_SKIP_REDUCED};
    gs_pbs_search_t search;
    gs_pbs_search_init(&search);
    *dead = false;
    for (uint64_t rest = core; rest != 0; rest &= rest - 1) {
        add_task(&part, tasks, __builtin_ctzll(rest));
    }
    if (!gs_pbs_reduced_cores_apply(&part.tasks, tasks)) {
        return GS_OK;
    }
    int64_t *least = gs_alloc(ctx, (size_t)1 << part.tasks.n, sizeof *least);
    int status = least == NULL ? ctx->status : GS_OK;
    if (least == NULL) {
        goto out;
    }
    gs_batch_table_t table = {part.tasks.n, least, NULL, NULL};
    status = gs_pbs_large_function_least_table(function, ctx, core, least);
    if (status == GS_OK) {
        status = gs_pbs_search_run(&search, ctx, &part.tasks, &table, &options);
    }
    if (status == GS_OK && search.answer == 0) {
        *dead = true;
        *proof = search.proof;
        gs_pbs_refutation_init(&search.proof);
    } else if (status == GS_OK) {
        status = outcome(search.spent);
    }
out:
    gs_pbs_search_free(&search, ctx);
    gs_free(ctx, least);
    return status;
}
