/* Response-time test of a set with cores and SMs, whichever of the tests it is. */
#include "analysis/placed_test.h"

#include <string.h>

#include "analysis/placed_method.h"

/* Number of choices of an option; 1 if the test does not have it. */
static int choices(const gs_method_t *method, const char *name)
{
    for (int32_t i = 0; i < method->option_count; i++) {
        if (strcmp(method->options[i].name, name) == 0) {
            int count = 0;
            while (method->options[i].choices[count] != NULL) {
                count++;
            }
            return count;
        }
    }
    return 1;
}

static int check(const gs_analysis_placed_test_t *self, gs_context_t *ctx)
{
    const gs_method_t *method = self->method->method;
    const gs_analysis_placed_options_t *options = &self->options;
    if (options->mode < 0 || options->mode >= choices(method, "mode")) {
        return gs_fail(ctx, GS_ERR_VALUE, "mode", -1, options->mode,
                       "0 (suspend), 1 (busy) or 2 (spin), as far as the test has them");
    }
    if (options->variant < 0 || options->variant >= choices(method, "variant")) {
        return gs_fail(ctx, GS_ERR_VALUE, "variant", -1, options->variant,
                       "0 (sound) or a printed form of the test");
    }
    if (self->method->context == NULL && (options->fixed_point < GS_ANALYSIS_CONTEXTS_JOINT ||
                                          options->fixed_point > GS_ANALYSIS_CONTEXTS_ONE_PASS)) {
        return gs_fail(ctx, GS_ERR_VALUE, "fixed_point", -1, options->fixed_point,
                       "0 (joint) or 1 (one pass)");
    }
    return GS_OK;
}

int gs_analysis_placed_test_init(gs_analysis_placed_test_t *self, gs_context_t *ctx,
                                 const gs_analysis_placed_method_t *method,
                                 const gs_analysis_placed_options_t *options, int64_t n)
{
    memset(self, 0, sizeof *self);
    self->method = method;
    self->options = *options;
    int status = check(self, ctx);
    if (status != GS_OK) {
        return status;
    }
    struct gs_analysis_placed_memory *memory = self->memory = gs_alloc(ctx, 1, sizeof *memory);
    return memory == NULL            ? ctx->status
           : method->context != NULL ? gs_analysis_contexts_test_init(&memory->context, ctx, n)
           : method->lock != NULL    ? gs_analysis_partitioned_lock_test_init(&memory->lock, ctx, n)
                                     : gs_analysis_partitioned_stgm_init(&memory->stgm, ctx, n);
}

void gs_analysis_placed_test_free(gs_analysis_placed_test_t *self, gs_context_t *ctx)
{
    if (self->memory != NULL) {
        gs_analysis_partitioned_stgm_free(&self->memory->stgm, ctx);
        gs_analysis_partitioned_lock_test_free(&self->memory->lock, ctx);
        gs_analysis_contexts_test_free(&self->memory->context, ctx);
    }
    gs_free(ctx, self->memory);
    memset(self, 0, sizeof *self);
}

static int run_lock(gs_analysis_placed_test_t *self, gs_context_t *ctx,
                    const gs_host_tasks_t *hosts, const gs_analysis_placed_place_t *place,
                    gs_analysis_common_answer_t *answer)
{
    const gs_analysis_partitioned_lock_options_t options = {
        .cpus = self->options.cpus,
        .sms = self->options.sms,
        .mode = self->options.mode,
        .paper = self->options.variant != 0,
        .one_pass = self->options.fixed_point == GS_ANALYSIS_CONTEXTS_ONE_PASS,
        .jitter = self->options.jitter,
        .server = place->server,
        .overhead = self->options.server_overhead,
        .apart = place->apart,
        .take = self->take,
    };
    return self->method->lock(&self->memory->lock, ctx, hosts, place->core, &options, answer);
}

static int run_context(gs_analysis_placed_test_t *self, gs_context_t *ctx,
                       const gs_host_tasks_t *hosts, const gs_analysis_placed_place_t *place,
                       gs_analysis_common_answer_t *answer)
{
    bool paper = self->options.variant != 0; /* is solved task by task */
    if (place->apart != NULL) {
        return gs_fail(ctx, GS_ERR_VALUE, "apart", -1, 1, "no tasks that are apart in this test");
    }
    const gs_analysis_contexts_options_t options = {
        .cpus = self->options.cpus,
        .sms = self->options.sms,
        .mode = self->options.mode,
        .fixed_point = paper ? GS_ANALYSIS_CONTEXTS_ONE_PASS : self->options.fixed_point,
        .paper = paper,
        .timeslice = self->options.timeslice,
        .context_switch = self->options.context_switch,
        .update_cost = self->options.update_cost,
        .stall = self->options.stall,
        .gpu_priority = place->gpu_priority,
        .skip = self->skip,
        .take = self->take,
    };
    return self->method->context(&self->memory->context, ctx, hosts, place->core, &options, answer);
}

int gs_analysis_placed_test_run(gs_analysis_placed_test_t *self, gs_context_t *ctx,
                                const gs_host_tasks_t *hosts,
                                const gs_analysis_placed_place_t *place,
                                gs_analysis_common_answer_t *answer)
{
    const gs_analysis_placed_options_t *options = &self->options;
    return self->method->lock != NULL ? run_lock(self, ctx, hosts, place, answer)
           : self->method->context != NULL
               ? run_context(self, ctx, hosts, place, answer)
               : gs_analysis_partitioned_stgm(&self->memory->stgm, ctx, hosts, place->core,
                                              place->sm, place->apart, options->sms, options->cpus,
                                              options->mode != 0, options->variant,
                                              !options->jitter, answer);
}
