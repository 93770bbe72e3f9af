/* Stacks of random sets of [RTNS10]: draws one behind the other, then columns of equal rows. */
#include "generate/elliott_stack.h"

#include "core/vector.h"

#include <stdlib.h>

/* Sets of at most this many tasks are ranked by comparing all pairs, which compilers vectorise. */
enum { FEW = 128 };

/* Appends the tasks of a set that was made. */
static int append(gs_generate_elliott_stack_t *self, gs_context_t *ctx,
                  const gs_generate_elliott_sets_t *sets)
{
    int64_t needed = self->tasks + sets->n; /* far below 2**63: they are in memory */
    int32_t *period =
        gs_vector_reserve(ctx, self->period, &self->periods, needed, sizeof *self->period);
    if (period == NULL) {
        return ctx->status;
    }
    self->period = period;
    int32_t *work = gs_vector_reserve(ctx, self->work, &self->works, needed, sizeof *self->work);
    if (work == NULL) {
        return ctx->status;
    }
    self->work = work;
    for (int64_t k = 0; k < sets->n; k++) {
        period[self->tasks + k] = (int32_t)sets->period[k];
        work[self->tasks + k] = (int32_t)sets->work[k];
    }
    self->tasks = needed;
    self->most = sets->n > self->most ? sets->n : self->most;
    return GS_OK;
}

/* Sets are found in blocks of growing size: where nearly all draws are rejected, the first set
 * shows it. */
static int draw_all(gs_generate_elliott_stack_t *self, gs_context_t *ctx,
                    gs_generate_elliott_sets_t *sets, uint64_t first)
{
    int64_t abreast = 1;
    for (int64_t set = 0; set < self->count;) {
        int64_t left = self->count - set, now = left < abreast ? left : abreast;
        int status = gs_generate_elliott_find(sets, ctx, first + (uint64_t)set, now);
        for (int64_t i = 0; i < now && status == GS_OK; i++, set++) {
            gs_generate_elliott_make(sets, i);
            self->size[set] = sets->n;
            self->gpu[set] = sets->gpu;
            status = append(self, ctx, sets);
        }
        if (status != GS_OK) {
            return status;
        }
        abreast = 2 * now < GS_GENERATE_ELLIOTT_ABREAST ? 2 * now : GS_GENERATE_ELLIOTT_ABREAST;
    }
    return GS_OK;
}

int gs_generate_elliott_stack_init(gs_generate_elliott_stack_t *self, gs_context_t *ctx,
                                   const gs_generate_elliott_t *spec, const uint64_t key[4],
                                   uint64_t first, int64_t count, int64_t *size, int64_t *gpu)
{
    *self = (gs_generate_elliott_stack_t){.count = count, .most = 1, .size = size, .gpu = gpu};
    gs_generate_elliott_sets_t sets;
    int status = gs_generate_elliott_init(&sets, ctx, spec, key);
    if (status == GS_OK) {
        status = draw_all(self, ctx, &sets, first);
    }
    gs_generate_elliott_free(&sets, ctx);
    return status;
}

void gs_generate_elliott_stack_free(gs_generate_elliott_stack_t *self, gs_context_t *ctx)
{
    gs_free(ctx, self->period);
    gs_free(ctx, self->work);
    gs_free(ctx, self->sorted);
    self->period = self->work = NULL;
    self->sorted = NULL;
}

static int ascending(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Ranks by period, ties by index. sorted: n entries if there are more than FEW tasks. */
static void rank(const int32_t *period, int64_t n, uint64_t *sorted, int64_t *ranks)
{
    if (n > FEW) {
        for (int64_t k = 0; k < n; k++) {
            sorted[k] = (uint64_t)period[k] << 32 | (uint64_t)k;
        }
        qsort(sorted, (size_t)n, sizeof *sorted, ascending);
        for (int64_t k = 0; k < n; k++) {
            ranks[sorted[k] & UINT32_MAX] = k;
        }
        return;
    }
    int32_t before[FEW] = {0};
    for (int64_t k = 0; k < n; k++) {
        int32_t p = period[k], later = 0;
        for (int64_t j = k + 1; j < n; j++) {
            int32_t shorter = period[j] < p;
            later += shorter;
            before[j] += 1 - shorter;
        }
        ranks[k] = before[k] + later;
    }
}

/* Splits the work of the GPU-using tasks into CPU segment, copies and kernel. */
static void write_set(const gs_generate_elliott_stack_t *self, int64_t set, int64_t from,
                      int64_t gpu, int64_t overhead, const gs_generate_elliott_columns_t *columns)
{
    int64_t row = set * self->most;
    const int32_t *period = self->period + from, *work = self->work + from;
    rank(period, self->size[set], self->sorted, columns->priority + row);
    for (int64_t k = 0; k < self->size[set]; k++) {
        columns->period[row + k] = period[k];
        columns->cpu[2 * (row + k)] = work[k];
    }
    for (int64_t k = 0; k < self->gpu[set]; k++) {
        int64_t kernel = (int64_t)gs_generate_elliott_part(work[k], (double)gpu);
        int64_t copies = (int64_t)gs_generate_elliott_part(work[k], (double)overhead);
        copies = copies < work[k] - kernel ? copies : work[k] - kernel;
        columns->segments[row + k] = kernel + copies > 0;
        columns->cpu[2 * (row + k)] = work[k] - kernel - copies;
        columns->copy_in[row + k] = copies;
        columns->kernel[row + k] = kernel;
    }
}

int gs_generate_elliott_stack_write(gs_generate_elliott_stack_t *self, gs_context_t *ctx,
                                    int64_t gpu, int64_t overhead,
                                    const gs_generate_elliott_columns_t *columns)
{
    if (self->most > FEW && self->sorted == NULL) {
        self->sorted = gs_alloc(ctx, (size_t)self->most, sizeof *self->sorted);
        if (self->sorted == NULL) {
            return ctx->status;
        }
    }
    for (int64_t set = 0, from = 0; set < self->count; from += self->size[set++]) {
        write_set(self, set, from, gpu, overhead, columns);
        int status = gs_poll(ctx, 10 * self->size[set]);
        if (status != GS_OK) {
            return status;
        }
    }
    return GS_OK;
}
