/* Check of batch tables. */
#include "model/batch_table.h"

#include "model/periodic_tasks.h"

int gs_batch_table_check(gs_context_t *ctx, const gs_batch_table_t *table)
{
    if (table->n < 1 || table->n > GS_PERIODIC_TASKS_MAX) {
        return gs_fail(ctx, GS_ERR_VALUE, "tasks", -1, table->n, "1 to 24 tasks");
    }
    int64_t size = INT64_C(1) << table->n;
    for (int64_t mask = 0; mask < size; mask++) {
        int64_t c = table->completion[mask];
        if (c < 0) {
            return gs_fail(ctx, GS_ERR_VALUE, "completion", mask, c, "a number of at least 0");
        }
        if (c >= GS_NEVER / 2) {
            return gs_fail(ctx, GS_ERR_OVERFLOW, "completion", mask, c,
                           "a time below 2**60 - 1 ticks");
        }
        if (table->undecided != NULL) {
            int64_t u = table->undecided[mask];
            if (u < 0 || u >= GS_NEVER / 2 || (u > 0 && c > 0)) {
                return gs_fail(ctx, GS_ERR_VALUE, "undecided", mask, u,
                               "0, or where completion is 0 a time below 2**60 - 1 ticks");
            }
        }
    }
    if (table->completion[0] != 0) {
        return gs_fail(ctx, GS_ERR_VALUE, "completion", 0, table->completion[0],
                       "0 for the empty batch");
    }
    for (int32_t i = 0; i < table->n; i++) {
        if (table->completion[INT64_C(1) << i] == 0) {
            return gs_fail(ctx, GS_ERR_VALUE, "task", i, 0,
                           "a positive completion time for the task alone");
        }
    }
    return GS_OK;
}

bool gs_batch_table_is_open(const gs_batch_table_t *table)
{
    for (int64_t mask = 0; table->undecided != NULL && mask < INT64_C(1) << table->n; mask++) {
        if (table->undecided[mask] != 0) {
            return true;
        }
    }
    return false;
}

int64_t *gs_batch_table_hopeful(gs_context_t *ctx, const gs_batch_table_t *table)
{
    int64_t size = INT64_C(1) << table->n;
    int64_t *completion = gs_alloc(ctx, (size_t)size, sizeof *completion);
    for (int64_t mask = 0; completion != NULL && mask < size; mask++) {
        int64_t c = table->completion[mask];
        completion[mask] = c > 0 ? c : table->undecided[mask];
    }
    return completion;
}
