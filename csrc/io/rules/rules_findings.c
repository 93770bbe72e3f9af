/* Findings of the check of a log of blocks, in order. */
#include "io/rules/rules_findings.h"

#include "core/radix_sort.h"
#include "core/vector.h"

int gs_io_rules_add(gs_io_rules_findings_t *self, gs_context_t *ctx, gs_io_rules_finding_t finding)
{
    if (self->count == self->capacity) {
        gs_io_rules_finding_t *items =
            gs_vector_reserve(ctx, self->finding, &self->capacity, self->count + 1, sizeof *items);
        if (items == NULL) {
            return ctx->status;
        }
        self->finding = items;
    }
    self->finding[self->count++] = finding;
    return GS_OK;
}

int gs_io_rules_sort(gs_io_rules_findings_t *self, gs_context_t *ctx)
{
    if (self->count == 0) {
        return GS_OK;
    }
    if (self->count > INT32_MAX) {
        return gs_fail(ctx, GS_ERR_OVERFLOW, "findings", -1, self->count, "fewer");
    }
    size_t count = (size_t)self->count;
    int status = GS_OK;
    int32_t *order = gs_alloc(ctx, count, sizeof *order);
    int64_t *key = gs_alloc(ctx, count, sizeof *key);
    gs_io_rules_finding_t *sorted = gs_alloc(ctx, count, sizeof *sorted);
    if (order == NULL || key == NULL || sorted == NULL) {
        status = ctx->status;
        goto out;
    }
    gs_radix_sort_identity(self->count, order);
    for (int field = 0; field < 4 && status == GS_OK; field++) {
        for (size_t i = 0; i < count; i++) {
            const gs_io_rules_finding_t *f = &self->finding[i];
            key[i] = field == 0   ? f->rule
                     : field == 1 ? f->block
                     : field == 2 ? f->kernel
                                  : f->time;
        }
        status = gs_radix_sort(ctx, key, self->count, order);
    }
    if (status != GS_OK) {
        goto out;
    }
    for (size_t i = 0; i < count; i++) {
        sorted[i] = self->finding[order[i]];
    }
    gs_free(ctx, self->finding);
    self->finding = sorted;
    self->capacity = self->count;
    sorted = NULL;
out:
    gs_free(ctx, order);
    gs_free(ctx, key);
    gs_free(ctx, sorted);
    return status;
}

void gs_io_rules_free(gs_io_rules_findings_t *self, gs_context_t *ctx)
{
    gs_free(ctx, self->finding);
    *self = (gs_io_rules_findings_t){0};
}
