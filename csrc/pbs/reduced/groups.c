/* Partitions into groups, and their tables. */
#include "pbs/reduced/groups.h"

/* Tasks of a mask, the longest kernel first; returns their number. */
static int32_t by_length(const gs_batch_table_t *table, uint32_t mask, int32_t *order)
{
    int32_t count = 0;
    for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
        int32_t i = __builtin_ctz(rest), j = count++;
        int64_t c = table->completion[UINT32_C(1) << i];
        for (; j > 0 && table->completion[UINT32_C(1) << order[j - 1]] < c; j--) {
            order[j] = order[j - 1];
        }
        order[j] = i;
    }
    return count;
}

/* Whether two tasks are ready and due together. */
static bool alike(const gs_periodic_tasks_t *tasks, int32_t i, int32_t j)
{
    return tasks->period[i] == tasks->period[j] && tasks->deadline[i] == tasks->deadline[j] &&
           gs_periodic_tasks_offset(tasks, i) == gs_periodic_tasks_offset(tasks, j);
}

/* The tasks not yet in a part that are ready and due with the first of them. */
static uint32_t next_class(const gs_periodic_tasks_t *tasks, uint32_t left)
{
    int32_t first = __builtin_ctz(left);
    uint32_t found = 0;
    for (uint32_t rest = left; rest != 0; rest &= rest - 1) {
        int32_t i = __builtin_ctz(rest);
        found |= alike(tasks, i, first) ? UINT32_C(1) << i : 0;
    }
    return found;
}

/* Adds the tasks of an order as parts of at most `size` tasks each that are eligible. */
static bool add_parts(gs_pbs_reduced_groups_t *self, const gs_batch_table_t *table,
                      const int32_t *order, int32_t count, int32_t size)
{
    for (int32_t j = 0; j < count;) {
        uint32_t part = UINT32_C(1) << order[j++];
        for (int32_t held = 1; held < size && j < count; held++) {
            uint32_t larger = part | UINT32_C(1) << order[j];
            if (table->completion[larger] == 0) {
                break;
            }
            part = larger;
            j++;
        }
        if (self->count == GS_PBS_REDUCED_GROUPS_MAX) {
            return false;
        }
        self->part[self->count++] = part;
    }
    return true;
}

bool gs_pbs_reduced_groups_by_length(gs_pbs_reduced_groups_t *self,
                                     const gs_periodic_tasks_t *tasks,
                                     const gs_batch_table_t *table, int32_t split)
{
    self->count = 0;
    uint32_t left = (uint32_t)((UINT64_C(1) << tasks->n) - 1);
    while (left != 0) {
        int32_t order[GS_PERIODIC_TASKS_MAX];
        uint32_t class = next_class(tasks, left);
        int32_t count = by_length(table, class, order);
        if (!add_parts(self, table, order, count, (count + split - 1) / split)) {
            return false;
        }
        left &= ~class;
    }
    return true;
}

bool gs_pbs_reduced_groups_merge(gs_pbs_reduced_groups_t *self, const gs_periodic_tasks_t *tasks,
                                 const gs_batch_table_t *table, int32_t most, gs_rng_t *rng)
{
    uint32_t part[GS_PERIODIC_TASKS_MAX];
    double factor[GS_PERIODIC_TASKS_MAX];
    int32_t count = tasks->n;
    for (int32_t i = 0; i < count; i++) {
        part[i] = UINT32_C(1) << i;
        factor[i] = rng == NULL ? 1 : 0.25 + gs_rng_double(rng);
    }
    while (count > most) {
        int32_t first = -1, second = -1;
        double least = 0;
        for (int32_t a = 0; a < count; a++) {
            for (int32_t b = a + 1; b < count; b++) {
                int64_t c = table->completion[part[a] | part[b]];
                if (c == 0 || !alike(tasks, __builtin_ctz(part[a]), __builtin_ctz(part[b]))) {
                    continue;
                }
                int64_t ca = table->completion[part[a]], cb = table->completion[part[b]];
                double extra = (double)(c - (ca > cb ? ca : cb));
                extra *= factor[__builtin_ctz(part[a])] * factor[__builtin_ctz(part[b])];
                if (first < 0 || extra < least) {
                    least = extra;
                    first = a;
                    second = b;
                }
            }
        }
        if (first < 0) {
            return false;
        }
        part[first] |= part[second];
        part[second] = part[--count];
    }
    self->count = count;
    for (int32_t g = 0; g < count; g++) {
        self->part[g] = part[g];
    }
    return true;
}

/* The tasks of a set of parts. */
static uint32_t tasks_of(const gs_pbs_reduced_groups_t *self, uint32_t parts)
{
    uint32_t mask = 0;
    for (uint32_t rest = parts; rest != 0; rest &= rest - 1) {
        mask |= self->part[__builtin_ctz(rest)];
    }
    return mask;
}

int gs_pbs_reduced_groups_try(const gs_pbs_reduced_groups_t *self, gs_context_t *ctx,
                              const gs_periodic_tasks_t *tasks, const gs_batch_table_t *table,
                              bool idling, int64_t work, gs_schedule_t *schedule, bool *found)
{
    int64_t period[GS_PBS_REDUCED_GROUPS_MAX], deadline[GS_PBS_REDUCED_GROUPS_MAX];
    int64_t offset[GS_PBS_REDUCED_GROUPS_MAX];
    *found = false;
    int64_t *completion = gs_alloc(ctx, (size_t)1 << self->count, sizeof *completion);
    if (completion == NULL) {
        return ctx->status;
    }
    for (int32_t g = 0; g < self->count; g++) {
        int32_t i = __builtin_ctz(self->part[g]);
        period[g] = tasks->period[i];
        deadline[g] = tasks->deadline[i];
        offset[g] = gs_periodic_tasks_offset(tasks, i);
    }
    for (uint32_t parts = 1; parts < UINT32_C(1) << self->count; parts++) {
        completion[parts] = table->completion[tasks_of(self, parts)];
    }
    gs_periodic_tasks_t group_tasks = {self->count, period, deadline, offset, 0};
    gs_batch_table_t group_table = {self->count, completion, NULL, NULL};
    gs_pbs_search_options_t options = {
        .idling = idling, .most_work = work, .skip = GS_PBS_SEARCH_SKIP_REDUCED};
    gs_pbs_search_t search;
    gs_pbs_search_init(&search);
    int status = gs_pbs_search_run(&search, ctx, &group_tasks, &group_table, &options);
    if (status == GS_OK && search.answer == 1) {
        for (int64_t f = 0; f < search.schedule.count && status == GS_OK; f++) {
            const gs_schedule_frame_t *frame = &search.schedule.frames[f];
            status = gs_schedule_append(schedule, ctx, frame->start, frame->end,
                                        tasks_of(self, frame->batch));
        }
        *found = status == GS_OK; /* not where memory ends before the schedule does */
    } else if (status == GS_OK) {
        status = search.spent;
    }
    gs_pbs_search_free(&search, ctx);
    gs_free(ctx, completion);
    return status;
}
