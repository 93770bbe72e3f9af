/* Response-time test of a set with cores and SMs, by name. */
#include "analysis/placed/placed_test.h"

#include <string.h>

static int run_stgm(gs_analysis_placed_test_t *self, gs_context_t *ctx,
                    const gs_host_tasks_t *hosts, const gs_analysis_placed_place_t *place,
                    gs_analysis_common_answer_t *answer)
{
    return gs_analysis_partitioned_stgm(&self->stgm, ctx, hosts, place->core, place->sm,
                                        self->options.sms, self->options.cpus,
                                        self->options.mode != 0, 0, !self->options.jitter, answer);
}

static int run_lock(gs_analysis_placed_test_t *self, gs_context_t *ctx,
                    const gs_host_tasks_t *hosts, const gs_analysis_placed_place_t *place,
                    gs_analysis_common_answer_t *answer)
{
    const gs_analysis_partitioned_lock_options_t options = {
        .cpus = self->options.cpus,
        .sms = self->options.sms,
        .mode = self->options.mode,
        .server = place->server,
        .overhead = self->options.cost,
        .one_pass = self->options.fixed_point == GS_ANALYSIS_CONTEXTS_ONE_PASS,
        .jitter = self->options.jitter,
        .take = self->take,
    };
    return self->lock_method->run(&self->lock, ctx, hosts, place->core, &options, answer);
}

static int run_context(gs_analysis_placed_test_t *self, gs_context_t *ctx,
                       const gs_host_tasks_t *hosts, const gs_analysis_placed_place_t *place,
                       gs_analysis_common_answer_t *answer)
{
    const gs_analysis_contexts_options_t options = {
        .cpus = self->options.cpus,
        .sms = self->options.sms,
        .mode = self->options.mode,
        .fixed_point = self->options.fixed_point,
        .slice = self->options.slice,
        .cost = self->options.cost,
        .switching = self->options.switching,
        .stall = self->options.stall,
        .gpu_priority = place->gpu_priority,
        .skip = self->skip,
        .take = self->take,
    };
    return self->context_run(&self->context, ctx, hosts, place->core, &options, answer);
}

/* Fills the family of a name; false where there is none. */
static bool find(gs_analysis_placed_test_t *self, const char *name)
{
    if (strcmp(name, gs_analysis_partitioned_stgm_method.name) == 0) {
        self->family = GS_ANALYSIS_PLACED_STGM;
        self->run = run_stgm;
    } else if ((self->lock_method = gs_analysis_partitioned_lock_method_find(name)) != NULL) {
        self->family = GS_ANALYSIS_PLACED_LOCK;
        self->run = run_lock;
    } else if ((self->context_run = gs_analysis_contexts_method_find(name)) != NULL) {
        self->family = GS_ANALYSIS_PLACED_CONTEXT;
        self->run = run_context;
    }
    return self->run != NULL;
}

bool gs_analysis_placed_test_exists(const char *name)
{
    gs_analysis_placed_test_t test = {0};
    return find(&test, name);
}

int gs_analysis_placed_test_init(gs_analysis_placed_test_t *self, gs_context_t *ctx,
                                 const char *name, const gs_analysis_placed_options_t *options,
                                 int64_t n)
{
    memset(self, 0, sizeof *self);
    self->options = *options;
    if (!find(self, name)) {
        return gs_fail(ctx, GS_ERR_VALUE, "method", -1, 0, "the name of a response-time test");
    }
    if (self->family == GS_ANALYSIS_PLACED_CONTEXT) { /* checks its mode and its SMs itself */
        return gs_analysis_contexts_test_init(&self->context, ctx, n);
    }
    if (options->fixed_point < GS_ANALYSIS_CONTEXTS_JOINT ||
        options->fixed_point > GS_ANALYSIS_CONTEXTS_ONE_PASS) {
        return gs_fail(ctx, GS_ERR_VALUE, "fixed_point", -1, options->fixed_point,
                       "0 (joint) or 1 (one pass)");
    }
    if (self->family == GS_ANALYSIS_PLACED_LOCK) {
        int status =
            gs_analysis_partitioned_lock_method_check(self->lock_method, ctx, options->mode);
        return status == GS_OK ? gs_analysis_partitioned_lock_test_init(&self->lock, ctx, n)
                               : status;
    }
    if (options->mode < 0 || options->mode > 1) {
        return gs_fail(ctx, GS_ERR_VALUE, "mode", -1, options->mode, "0 (suspend) or 1 (busy)");
    }
    return gs_analysis_partitioned_stgm_init(&self->stgm, ctx, n);
}

void gs_analysis_placed_test_free(gs_analysis_placed_test_t *self, gs_context_t *ctx)
{
    gs_analysis_partitioned_stgm_free(&self->stgm, ctx);
    gs_analysis_partitioned_lock_test_free(&self->lock, ctx);
    gs_analysis_contexts_test_free(&self->context, ctx);
    memset(self, 0, sizeof *self);
}

int64_t gs_analysis_placed_test_sms(const gs_analysis_placed_test_t *self,
                                    const gs_analysis_placed_place_t *place, int64_t i)
{
    int64_t count = 0, sms = self->options.sms;
    if (self->family != GS_ANALYSIS_PLACED_STGM) {
        return sms;
    }
    for (int64_t s = 0; s < sms; s++) {
        count += place->sm[i * sms + s] != 0;
    }
    return count > 0 ? count : 1;
}
