/* Search of the scheduling graph: choice of the exploration, budgets and undecided batches. */
#include "pbs/graph/graph.h"

#include "model/batch_table_internal.h"
#include "pbs/graph/graph_engine.h"

static int explore(gs_pbs_graph_engine_t *self)
{
    if (self->options->variant != GS_PBS_GRAPH_REPAIRED) {
        return gs_pbs_graph_paper(self);
    }
    return self->options->merge ? gs_pbs_graph_repaired(self) : gs_pbs_graph_tree(self);
}

/* Checks that the variant supports the options and the task set. */
static int check_variant(gs_context_t *ctx, const gs_periodic_tasks_t *tasks,
                         const gs_pbs_graph_options_t *options)
{
    if (options->pruning < GS_PBS_GRAPH_PRUNING_FRAME ||
        options->pruning > GS_PBS_GRAPH_PRUNING_BATCH) {
        return gs_fail(ctx, GS_ERR_VALUE, "pruning", -1, options->pruning,
                       "0 (frame), 1 (ready) or 2 (batch)");
    }
    if (options->variant == GS_PBS_GRAPH_REPAIRED) {
        if (options->pruning != GS_PBS_GRAPH_PRUNING_FRAME) {
            return gs_fail(ctx, GS_ERR_VALUE, "pruning", -1, options->pruning,
                           "0 (frame): the repaired graph checks every deadline");
        }
        return !options->lifo
                   ? GS_OK
                   : gs_fail(ctx, GS_ERR_VALUE, "order", -1, 1,
                             "an order of 0: the repaired graph is always expanded by depth");
    }
    if (options->variant != GS_PBS_GRAPH_PAPER && options->variant != GS_PBS_GRAPH_PRINTED) {
        return gs_fail(ctx, GS_ERR_VALUE, "variant", -1, options->variant,
                       "0 (repaired), 1 (paper) or 2 (printed)");
    }
    if (options->idling) {
        return gs_fail(ctx, GS_ERR_VALUE, "idling", -1, 1,
                       "0: the listing of [RTNS24] never waits while work is ready");
    }
    for (int32_t i = 0; i < tasks->n; i++) {
        if (gs_periodic_tasks_offset(tasks, i) != 0) {
            return gs_fail(ctx, GS_ERR_VALUE, "offset", i, tasks->offset[i],
                           "an offset of 0: the listing of [RTNS24] has no offsets");
        }
        if (tasks->deadline[i] > tasks->period[i]) {
            return gs_fail(
                ctx, GS_ERR_VALUE, "deadline", i, tasks->deadline[i],
                "a deadline of at most the period: the listing of [RTNS24] has no longer ones");
        }
    }
    return GS_OK;
}

/* Whether a schedule exists with every undecided batch eligible. Returns GS_OK with *possible, a
 * spent budget or an error. */
static int explore_optimistic(const gs_pbs_graph_engine_t *first, const gs_batch_table_t *table,
                              bool *possible)
{
    gs_context_t *ctx = first->ctx;
    int64_t *completion = gs_batch_table_hopeful(ctx, table);
    if (completion == NULL) {
        return ctx->status;
    }
    gs_pbs_graph_options_t options = *first->options;
    options.first_only = true;
    options.keep = false;
    gs_pbs_graph_result_t result = {0};
    gs_pbs_graph_engine_t self = {
        .ctx = ctx,
        .jobs = first->jobs,
        .completion = completion,
        .options = &options,
        .result = &result,
    };
    int status = explore(&self);
    *possible = result.schedulable == 1;
    gs_pbs_graph_result_free(&result, ctx);
    gs_free(ctx, completion);
    return status;
}

int gs_pbs_graph_search(gs_context_t *ctx, const gs_periodic_tasks_t *tasks,
                        const gs_batch_table_t *table, const gs_pbs_graph_options_t *options,
                        gs_pbs_graph_result_t *result)
{
    gs_pbs_graph_engine_t self = {
        .ctx = ctx,
        .completion = table->completion,
        .options = options,
        .result = result,
    };
    int status = gs_pbs_graph_jobs_init(&self.jobs, ctx, tasks);
    if (status == GS_OK) {
        status = check_variant(ctx, tasks, options);
    }
    if (status == GS_OK && options->states_limit < 0) {
        status = gs_fail(ctx, GS_ERR_VALUE, "states", -1, options->states_limit,
                         "a number of at least 0");
    }
    if (status == GS_OK && table->n != tasks->n) {
        status = gs_fail(ctx, GS_ERR_VALUE, "tasks", -1, table->n,
                         "a table for as many tasks as the task set has");
    }
    if (status == GS_OK) {
        status = gs_batch_table_check(ctx, table);
    }
    if (status != GS_OK) {
        return status;
    }
    result->graph.n = tasks->n;
    status = explore(&self);
    if (status < 0) {
        return status;
    }
    bool found = result->schedulable == 1;
    result->reason = status != GS_OK                ? status
                     : found && options->first_only ? GS_PBS_GRAPH_FOUND
                     : self.cut                     ? GS_PBS_GRAPH_DEPTH
                                                    : GS_PBS_GRAPH_COMPLETE;
    if (!found && result->reason != GS_PBS_GRAPH_COMPLETE) {
        result->schedulable = -1;
    }
    if (!found && result->reason == GS_PBS_GRAPH_COMPLETE && gs_batch_table_is_open(table)) {
        bool possible = false;
        status = explore_optimistic(&self, table, &possible);
        if (status < 0) {
            return status;
        }
        if (possible || status > 0) {
            result->schedulable = -1;
            result->reason = possible ? GS_PBS_GRAPH_UNDECIDED : status;
        }
    }
    return GS_OK;
}
