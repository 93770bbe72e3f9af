/* Check and hyperperiod of periodic task sets. */
#include "model/periodic_tasks_internal.h"

static int check_chains(gs_context_t *ctx, const gs_periodic_tasks_t *tasks)
{
    if (tasks->chained >> (tasks->n - 1) != 0) {
        return gs_fail(ctx, GS_ERR_VALUE, "chained", -1, tasks->chained,
                       "chains that end within the rows");
    }
    for (int32_t i = 0; i + 1 < tasks->n; i++) {
        bool alike = tasks->period[i] == tasks->period[i + 1] &&
                     tasks->deadline[i] == tasks->deadline[i + 1] &&
                     gs_periodic_tasks_offset(tasks, i) == gs_periodic_tasks_offset(tasks, i + 1);
        if ((tasks->chained >> i & 1) != 0 && !alike) {
            return gs_fail(ctx, GS_ERR_VALUE, "chained", i + 1, tasks->period[i + 1],
                           "the period, deadline and offset of the kernel before it");
        }
    }
    return GS_OK;
}

static int check_needs(gs_context_t *ctx, const gs_periodic_tasks_t *tasks)
{
    if (tasks->chained != 0) {
        return gs_fail(ctx, GS_ERR_VALUE, "chained", -1, tasks->chained, "no chains beside needs");
    }
    for (int32_t i = 0; i < tasks->n; i++) {
        int64_t needs = tasks->needs[i];
        if (needs < 0 || needs >> tasks->n != 0) {
            return gs_fail(ctx, GS_ERR_VALUE, "needs", i, needs, "a bit mask of rows");
        }
        for (uint32_t rest = (uint32_t)needs; rest != 0; rest &= rest - 1) {
            int32_t p = __builtin_ctz(rest);
            if (tasks->period[p] != tasks->period[i] ||
                gs_periodic_tasks_offset(tasks, p) != gs_periodic_tasks_offset(tasks, i) ||
                tasks->deadline[p] > tasks->deadline[i]) {
                return gs_fail(ctx, GS_ERR_VALUE, "needs", i, needs,
                               "rows of the same period and offset and no longer deadlines");
            }
        }
    }
    /* Rows whose needs are met come off until none is left. */
    uint32_t left = (uint32_t)((UINT64_C(1) << tasks->n) - 1), before = 0;
    while (left != 0) {
        if (left == before) {
            int32_t i = __builtin_ctz(left);
            return gs_fail(ctx, GS_ERR_VALUE, "needs", i, tasks->needs[i], "no cycle of rows");
        }
        before = left;
        for (int32_t i = 0; i < tasks->n; i++) {
            left &= (tasks->needs[i] & left) == 0 ? ~(UINT32_C(1) << i) : UINT32_MAX;
        }
    }
    return GS_OK;
}

int gs_periodic_tasks_check(gs_context_t *ctx, const gs_periodic_tasks_t *tasks)
{
    if (tasks->n < 1 || tasks->n > GS_PERIODIC_TASKS_MAX) {
        return gs_fail(ctx, GS_ERR_VALUE, "tasks", -1, tasks->n, "1 to 24 tasks");
    }
    int status = gs_periodic_tasks_check_times(ctx, tasks);
    if (status == GS_OK && tasks->needs != NULL) {
        return check_needs(ctx, tasks);
    }
    return status == GS_OK && tasks->chained != 0 ? check_chains(ctx, tasks) : status;
}

int gs_periodic_tasks_refuse_precedence(gs_context_t *ctx, const gs_periodic_tasks_t *tasks)
{
    if (tasks->needs != NULL) {
        return gs_fail(ctx, GS_ERR_VALUE, "needs", -1, tasks->n, "tasks that need no others");
    }
    return tasks->chained == 0
               ? GS_OK
               : gs_fail(ctx, GS_ERR_VALUE, "chained", -1, tasks->chained, "tasks of one kernel");
}

int gs_periodic_tasks_check_times(gs_context_t *ctx, const gs_periodic_tasks_t *tasks)
{
    for (int32_t i = 0; i < tasks->n; i++) {
        if (tasks->period[i] < 1) {
            return gs_fail(ctx, GS_ERR_VALUE, "period", i, tasks->period[i], "a positive number");
        }
        if (tasks->period[i] >= GS_NEVER / 2) {
            return gs_fail(ctx, GS_ERR_OVERFLOW, "period", i, tasks->period[i],
                           "a period below 2**60 - 1 ticks");
        }
        if (tasks->deadline[i] < 1) {
            return gs_fail(ctx, GS_ERR_VALUE, "deadline", i, tasks->deadline[i],
                           "a positive number");
        }
        if (gs_periodic_tasks_offset(tasks, i) < 0) {
            return gs_fail(ctx, GS_ERR_VALUE, "offset", i, tasks->offset[i],
                           "a number of at least 0");
        }
        /* All instants of a schedule are sums of these, and must stay well below GS_NEVER. */
        int64_t latest;
        if (!gs_add(tasks->deadline[i], gs_periodic_tasks_offset(tasks, i), &latest) ||
            latest >= GS_NEVER / 2) {
            return gs_fail(ctx, GS_ERR_OVERFLOW, "deadline", i, tasks->deadline[i],
                           "a sum of offset and deadline below 2**60 - 1 ticks");
        }
    }
    return GS_OK;
}

int gs_periodic_tasks_hyperperiod(gs_context_t *ctx, const gs_periodic_tasks_t *tasks,
                                  int64_t *hyperperiod)
{
    int64_t h = 1;
    for (int32_t i = 0; i < tasks->n; i++) {
        if (!gs_lcm(h, tasks->period[i], &h) || h >= GS_NEVER / 2) {
            return gs_fail(ctx, GS_ERR_OVERFLOW, "period", i, tasks->period[i],
                           "periods with a hyperperiod below 2**60 - 1 ticks");
        }
    }
    *hyperperiod = h;
    return GS_OK;
}

int64_t gs_periodic_tasks_hyperperiod_or_never(const gs_periodic_tasks_t *tasks)
{
    int64_t h = 1;
    for (int32_t i = 0; i < tasks->n; i++) {
        if (!gs_lcm(h, tasks->period[i], &h) || h >= GS_NEVER / 2) {
            return GS_NEVER;
        }
    }
    return h;
}

static uint32_t needs_of(const gs_periodic_tasks_t *tasks, int32_t i)
{
    return tasks->needs == NULL ? 0 : (uint32_t)tasks->needs[i];
}

bool gs_periodic_tasks_is_ordered(const gs_periodic_tasks_t *tasks, const int64_t *done)
{
    for (int32_t i = 0; i < tasks->n; i++) {
        int64_t last = done[gs_periodic_tasks_last_kernel(tasks, i)];
        bool falls = (tasks->chained >> i & 1) == 0 || done[i] >= done[i + 1];
        if (!falls || done[i] - last > 1) {
            return false;
        }
        for (uint32_t rest = needs_of(tasks, i); rest != 0; rest &= rest - 1) {
            if (done[__builtin_ctz(rest)] < done[i]) {
                return false;
            }
        }
    }
    return true;
}

uint32_t gs_periodic_tasks_held_back(const gs_periodic_tasks_t *tasks, const int64_t *done)
{
    uint32_t held = 0;
    for (int32_t i = 0; i < tasks->n; i++) {
        bool first = i == 0 || (tasks->chained >> (i - 1) & 1) == 0;
        bool waits = first ? done[i] != done[gs_periodic_tasks_last_kernel(tasks, i)]
                           : done[i] >= done[i - 1];
        for (uint32_t rest = needs_of(tasks, i); rest != 0; rest &= rest - 1) {
            waits = waits || done[__builtin_ctz(rest)] <= done[i];
        }
        held |= waits ? UINT32_C(1) << i : 0;
    }
    return held;
}
