/* Stacks of random sets of [RTNS10]: first all sizes, then the tasks, in columns of equal rows. */
#include "generate/elliott_stack.h"

#include <string.h>

enum { BUCKETS = 2 }; /* per task, to sort by period */

/* Sets are found in blocks of growing size: where nearly all draws are rejected, the first set
 * shows it. */
static int find_all(gs_generate_elliott_stack_t *self, gs_context_t *ctx, uint64_t first)
{
    int64_t abreast = 1;
    for (int64_t set = 0; set < self->count;) {
        int64_t left = self->count - set, now = left < abreast ? left : abreast;
        int status = gs_generate_elliott_find(&self->sets, ctx, first + (uint64_t)set, now);
        if (status != GS_OK) {
            return status;
        }
        for (int64_t i = 0; i < now; i++, set++) {
            const gs_generate_elliott_found_t *found = &self->sets.found[i];
            self->place[set] = found->place;
            self->size[set] = found->n;
            self->gpu[set] = found->gpu;
            self->most = found->n > self->most ? found->n : self->most;
        }
        abreast = 2 * now < GS_GENERATE_ELLIOTT_ABREAST ? 2 * now : GS_GENERATE_ELLIOTT_ABREAST;
    }
    return GS_OK;
}

int gs_generate_elliott_stack_init(gs_generate_elliott_stack_t *self, gs_context_t *ctx,
                                   const gs_generate_elliott_t *spec, const uint64_t key[4],
                                   uint64_t first, int64_t count, int64_t *size)
{
    *self = (gs_generate_elliott_stack_t){.count = count, .most = 1, .size = size};
    int status = gs_generate_elliott_init(&self->sets, ctx, spec, key);
    if (status != GS_OK) {
        return status;
    }
    if ((self->gpu = gs_alloc(ctx, (size_t)count, sizeof *self->gpu)) == NULL ||
        (self->place = gs_alloc(ctx, (size_t)count, sizeof *self->place)) == NULL) {
        return ctx->status;
    }
    if ((status = find_all(self, ctx, first)) != GS_OK) {
        return status;
    }
    size_t most = (size_t)self->most; /* below GS_GENERATE_ELLIOTT_TASKS */
    if ((self->period = gs_alloc(ctx, most, sizeof *self->period)) == NULL ||
        (self->work = gs_alloc(ctx, most, sizeof *self->work)) == NULL ||
        (self->bucket = gs_alloc(ctx, most, sizeof *self->bucket)) == NULL ||
        (self->starts = gs_alloc(ctx, BUCKETS * most + 1, sizeof *self->starts)) == NULL ||
        (self->sorted = gs_alloc(ctx, most + 1, sizeof *self->sorted)) == NULL) {
        return ctx->status;
    }
    return GS_OK;
}

void gs_generate_elliott_stack_free(gs_generate_elliott_stack_t *self, gs_context_t *ctx)
{
    gs_generate_elliott_free(&self->sets, ctx);
    gs_free(ctx, self->gpu);
    gs_free(ctx, self->place);
    gs_free(ctx, self->period);
    gs_free(ctx, self->work);
    gs_free(ctx, self->bucket);
    gs_free(ctx, self->starts);
    gs_free(ctx, self->sorted);
    self->gpu = NULL;
    self->place = self->sorted = NULL;
    self->period = self->work = self->bucket = self->starts = NULL;
}

/* Ranks by period, ties by index. Periods are uniform: buckets of equal width hold few of them, and
 * are sorted by insertion. */
static void rank(const gs_generate_elliott_stack_t *self, int64_t n, int64_t *ranks)
{
    const int32_t *period = self->period;
    int32_t *bucket = self->bucket, *starts = self->starts;
    const int32_t shortest = (int32_t)self->sets.spec.period[0];
    const double periods = (double)(self->sets.spec.period[1] - shortest + 1);
    const double scale = (double)(BUCKETS * n) / periods; /* any increasing function would do */
    memset(starts, 0, (size_t)(BUCKETS * n + 1) * sizeof *starts);
    for (int64_t k = 0; k < n; k++) {
        bucket[k] = (int32_t)((double)(period[k] - shortest) * scale);
    }
    for (int64_t k = 0; k < n; k++) {
        starts[bucket[k] + 1]++;
    }
    for (int64_t k = 1; k < BUCKETS * n; k++) {
        starts[k] += starts[k - 1];
    }
    uint64_t *sorted = self->sorted + 1;
    for (int64_t k = 0; k < n; k++) {
        sorted[starts[bucket[k]]++] = (uint64_t)period[k] << 32 | (uint64_t)k;
    }
    sorted[-1] = 0; /* below all others */
    for (int64_t k = 1; k < n; k++) {
        uint64_t one = sorted[k];
        int64_t to = k;
        for (; sorted[to - 1] > one; to--) {
            sorted[to] = sorted[to - 1];
        }
        sorted[to] = one;
    }
    for (int64_t k = 0; k < n; k++) {
        ranks[sorted[k] & UINT32_MAX] = k;
    }
}

/* Splits the work of the GPU-using tasks into CPU segment, copies and kernel. */
static void write_set(gs_generate_elliott_stack_t *self, int64_t set,
                      const gs_generate_elliott_columns_t *columns)
{
    const int64_t row = set * self->most, n = self->size[set], users = self->gpu[set];
    const size_t beyond = (size_t)(self->most - n) * sizeof(int64_t);
    const double gpu = (double)self->sets.spec.gpu, overhead = (double)self->sets.spec.overhead;
    const int32_t *period = self->period, *work = self->work;
    int64_t *cpu = columns->cpu + 2 * row, *segments = columns->segments + row;
    int64_t *copy_in = columns->copy_in + row, *kernel = columns->kernel + row;
    gs_generate_elliott_tasks(&self->sets, self->place[set], n, self->period, self->work);
    rank(self, n, columns->priority + row);
    for (int64_t k = 0; k < n; k++) {
        columns->period[row + k] = period[k];
    }
    for (int64_t k = 0; k < users; k++) {
        int64_t s = (int64_t)gs_generate_elliott_part(work[k], gpu);
        int64_t copies = (int64_t)gs_generate_elliott_part(work[k], overhead);
        copies = copies < work[k] - s ? copies : work[k] - s;
        segments[k] = s + copies > 0;
        cpu[2 * k] = work[k] - s - copies;
        cpu[2 * k + 1] = 0;
        copy_in[k] = copies;
        kernel[k] = s;
    }
    for (int64_t k = users; k < n; k++) {
        cpu[2 * k] = work[k];
        cpu[2 * k + 1] = 0;
    }
    memset(columns->period + row + n, 0, beyond);
    memset(columns->priority + row + n, 0, beyond);
    memset(cpu + 2 * n, 0, 2 * beyond);
    const size_t without = beyond + (size_t)(n - users) * sizeof(int64_t);
    memset(segments + users, 0, without);
    memset(copy_in + users, 0, without);
    memset(kernel + users, 0, without);
}

int gs_generate_elliott_stack_write(gs_generate_elliott_stack_t *self, gs_context_t *ctx,
                                    const gs_generate_elliott_columns_t *columns)
{
    for (int64_t set = 0; set < self->count; set++) {
        write_set(self, set, columns);
        int status = gs_poll(ctx, 10 * self->size[set]);
        if (status != GS_OK) {
            return status;
        }
    }
    return GS_OK;
}
