/* Check of a log of blocks: all rules, one after the other. */
#include "io/rules/rules.h"

#include "io/rules/rules_state.h"

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
    return status == GS_OK ? gs_io_rules_sort(findings, ctx) : status;
}
