/* Check of a log of blocks: all rules, findings in order. */
#include "io/rules/rules.h"

#include "core/radix_sort.h"
#include "core/vector.h"
#include "io/rules/rules_state.h"

int gs_io_rules_add(gs_io_rules_state_t *self, gs_context_t *ctx, gs_io_rules_finding_t finding)
{
    gs_io_rules_findings_t *found = self->findings;
    if (found->count == found->capacity) {
        gs_io_rules_finding_t *items = gs_vector_reserve(ctx, found->finding, &found->capacity,
                                                         found->count + 1, sizeof *items);
        if (items == NULL) {
            return ctx->status;
        }
        found->finding = items;
    }
    found->finding[found->count++] = finding;
    return GS_OK;
}

/* The findings by time, kernel, block and rule. */
static int sort_findings(gs_io_rules_findings_t *self, gs_context_t *ctx)
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

int gs_io_rules_check(gs_context_t *ctx, const gs_gpu_t *gpu, const gs_io_rules_log_t *log,
                      const gs_io_rules_options_t *options, gs_io_rules_findings_t *findings)
{
    *findings = (gs_io_rules_findings_t){0};
    gs_io_rules_state_t state;
    int status = gs_io_rules_state_init(&state, ctx, gpu, log, options, findings);
    if (status == GS_OK) {
        status = gs_io_rules_grids(&state, ctx);
    }
    if (status == GS_OK) {
        status = gs_io_rules_streams(&state, ctx);
    }
    if (status == GS_OK) {
        status = gs_io_rules_queues(&state, ctx);
    }
    if (status == GS_OK) {
        status = gs_io_rules_priorities(&state, ctx);
    }
    if (status == GS_OK) {
        status = gs_io_rules_placements(&state, ctx);
    }
    if (status == GS_OK && state.contexts == 1) {
        status = gs_io_rules_idle(&state, ctx);
    }
    gs_io_rules_state_free(&state, ctx);
    return status == GS_OK ? sort_findings(findings, ctx) : status;
}

void gs_io_rules_free(gs_io_rules_findings_t *findings, gs_context_t *ctx)
{
    gs_free(ctx, findings->finding);
    *findings = (gs_io_rules_findings_t){0};
}
