/* Check and list of batch tables. */
#include "model/batch_table_internal.h"

#include "core/vector.h"
#include "model/periodic_tasks.h"

enum {
    SHARE = 16,   /* a list holds at most one entry of the table in so many */
    SLICE = 4096, /* polls of a pass over a table that is listed have so many entries */
    STRETCH = 64
};

_Static_assert((1 << GS_BATCH_TABLE_UNLISTED) % SLICE == 0 && SLICE % STRETCH == 0,
               "a table that is listed has whole slices, and a slice whole stretches");

int gs_batch_table_check(gs_context_t *ctx, const gs_batch_table_t *table)
{
    if (table->n < 1 || table->n > GS_PERIODIC_TASKS_MAX) {
        return gs_fail(ctx, GS_ERR_VALUE, "tasks", -1, table->n, "1 to 24 tasks");
    }
    int64_t size = INT64_C(1) << table->n, all = 0;
    for (int64_t mask = 0; mask < size; mask++) {
        all |= table->completion[mask];
    }
    /* Bits that no time of a correct table has together are looked for one by one. */
    bool suspect = all < 0 || all >= GS_NEVER / 2 || table->undecided != NULL;
    for (int64_t mask = 0; suspect && mask < size; mask++) {
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

static int append(gs_batch_table_list_t *self, gs_context_t *ctx, uint32_t batch)
{
    if (self->count == self->capacity) {
        uint32_t *batches =
            gs_vector_reserve(ctx, self->batch, &self->capacity, self->count + 1, sizeof *batches);
        if (batches == NULL) {
            return ctx->status;
        }
        self->batch = batches;
    }
    self->batch[self->count++] = batch;
    return GS_OK;
}

/* Sets of rows of which no two are in one chain, in increasing order: those of the rows before a
 * chain, then with each of its rows. Stops with more than `most`. */
static int combine(gs_batch_table_list_t *self, gs_context_t *ctx, int32_t n, uint32_t chained,
                   int64_t most)
{
    int64_t before = 0;
    int status = append(self, ctx, 0);
    for (int32_t i = 0; i < n && status == GS_OK && self->count <= most; i++) {
        before = i > 0 && (chained >> (i - 1) & 1) != 0 ? before : self->count;
        for (int64_t j = 0; j < before && status == GS_OK && self->count <= most; j++) {
            status = append(self, ctx, self->batch[j] | UINT32_C(1) << i);
        }
        status = status == GS_OK ? gs_poll(ctx, before) : status;
    }
    return status;
}

/* Whether some of these entries are not 0. Without a branch per entry: most stretches of a large
 * table are empty. */
static bool any(const int64_t *entry, uint32_t count)
{
    int64_t all = 0;
    for (uint32_t j = 0; j < count; j++) {
        all |= entry[j];
    }
    return all != 0;
}

/* Sets with a time, in increasing order. Stops with more than `most`. */
static int collect(gs_batch_table_list_t *self, gs_context_t *ctx, const gs_batch_table_t *table,
                   int64_t most)
{
    uint32_t size = UINT32_C(1) << table->n;
    int status = GS_OK;
    for (uint32_t begin = 0; begin < size && status == GS_OK && self->count <= most;
         begin += SLICE) {
        for (uint32_t b = begin; b < begin + SLICE; b += STRETCH) {
            uint32_t end = any(table->completion + b, STRETCH) ? b + STRETCH : b;
            for (uint32_t at = b; at < end && status == GS_OK; at++) {
                status = table->completion[at] == 0 ? GS_OK : append(self, ctx, at);
            }
        }
        status = status == GS_OK ? gs_poll(ctx, SLICE) : status;
    }
    return status;
}

int gs_batch_table_list_init(gs_batch_table_list_t *self, gs_context_t *ctx,
                             const gs_batch_table_t *table, uint32_t chained, bool *listed)
{
    *self = (gs_batch_table_list_t){.count = 0};
    *listed = false;
    if (table->n <= GS_BATCH_TABLE_UNLISTED) {
        return GS_OK;
    }
    int64_t most = (INT64_C(1) << table->n) / SHARE, kept = 0;
    int status = chained != 0 ? combine(self, ctx, table->n, chained, most)
                              : collect(self, ctx, table, most);
    if (status != GS_OK || self->count > most) {
        gs_batch_table_list_free(self, ctx);
        return status;
    }
    self->time = gs_alloc(ctx, (size_t)self->count, sizeof *self->time);
    if (self->time == NULL) {
        return ctx->status;
    }
    for (int64_t j = 0; j < self->count; j++) {
        int64_t time = table->completion[self->batch[j]];
        if (time != 0) {
            self->batch[kept] = self->batch[j];
            self->time[kept++] = time;
        }
    }
    self->count = kept;
    *listed = true;
    return gs_poll(ctx, kept);
}

void gs_batch_table_list_free(gs_batch_table_list_t *self, gs_context_t *ctx)
{
    gs_free(ctx, self->batch);
    gs_free(ctx, self->time);
    *self = (gs_batch_table_list_t){.count = 0};
}
