/* Order of the stages of the exact schedulability test, the cheapest first. */
#include "pbs/search.h"

#include "pbs/stages/classes.h"
#include "pbs/stages/quick.h"

/* With more tasks, no dead interval is looked for. */
#define TASKS 12

/* Decides about a checked table with undecided batches taken as ineligible. */
static int run_checked(gs_pbs_search_t *self, gs_context_t *ctx, const gs_periodic_tasks_t *tasks,
                       const gs_batch_table_t *table, const gs_pbs_search_options_t *options)
{
    bool quick = !options->thorough, rated = true;
    int status = GS_OK;
    if (quick) {
        status = gs_pbs_stages_quick_before_cut(self, ctx, tasks, table, options, &rated);
    }
    if (status == GS_OK && (self->answer < 0 || (options->policy && self->answer == 1))) {
        status = gs_pbs_problem_cut(&self->problem, ctx, tasks, table, false);
    }
    if (status == GS_OK && self->answer < 0 && quick &&
        gs_pbs_search_does(options, GS_PBS_SEARCH_SKIP_DEPTH_FIRST)) {
        status = gs_pbs_stages_quick_depth_first(self, ctx, NULL, NULL, options->idling, 64,
                                                 GS_PBS_STAGE_DEPTH_FIRST);
    }
    if (status == GS_OK && self->answer < 0 && !rated) {
        status = gs_pbs_stages_quick_rates(self, ctx, tasks, table);
    }
    if (status == GS_OK && self->answer < 0 && quick && tasks->n <= TASKS &&
        gs_pbs_search_does(options, GS_PBS_SEARCH_SKIP_DEAD_INTERVAL)) {
        status = gs_pbs_stages_quick_interval(self, ctx);
    }
    bool proves = self->answer == 0 && options->proof && self->proof.kind == GS_PBS_REFUTATION_NONE;
    if (status != GS_OK || (self->answer >= 0 && !proves && !options->policy)) {
        return status;
    }
    if (proves) {
        return gs_pbs_stages_classes_prove(self, ctx, options);
    }
    if (self->answer < 0 && !gs_pbs_stages_classes_are_few(&self->problem, options)) {
        return gs_pbs_stages_classes_reached(self, ctx, tasks, table, options);
    }
    return self->answer == 0 ? GS_OK : gs_pbs_stages_classes_run(self, ctx, options);
}

/* The same about any table, whose batches are listed where they are few. */
static int run(gs_pbs_search_t *self, gs_context_t *ctx, const gs_periodic_tasks_t *tasks,
               const gs_batch_table_t *table, const gs_pbs_search_options_t *options)
{
    gs_batch_table_list_t list = {.count = 0};
    gs_batch_table_t own = *table;
    bool listed = false;
    int status = gs_pbs_problem_check(ctx, tasks, table);
    if (status == GS_OK) {
        status = gs_batch_table_list_init(&list, ctx, table, tasks->chained, &listed);
        own.list = listed ? &list : NULL;
    }
    if (status == GS_OK) {
        status = run_checked(self, ctx, tasks, &own, options);
    }
    self->problem.list = NULL;
    gs_batch_table_list_free(&list, ctx);
    return status;
}

/* Confirms "not schedulable" with the undecided batches of the table taken as eligible. */
static int confirm_infeasible(gs_pbs_search_t *self, gs_context_t *ctx,
                              const gs_periodic_tasks_t *tasks, const gs_batch_table_t *table,
                              const gs_pbs_search_options_t *options)
{
    int64_t *completion = gs_batch_table_hopeful(ctx, table);
    if (completion == NULL) {
        return ctx->status;
    }
    gs_batch_table_t optimistic = {table->n, completion, NULL, NULL};
    gs_pbs_search_options_t plain = {
        .idling = options->idling, .proof = options->proof, .skip = options->skip};
    gs_pbs_search_t second;
    gs_pbs_search_init(&second);
    int status = run(&second, ctx, tasks, &optimistic, &plain);
    self->stage = second.stage;
    gs_pbs_refutation_free(&self->proof, ctx);
    self->proof = second.proof;
    gs_pbs_refutation_init(&second.proof);
    if (status == GS_OK && second.answer != 0) {
        self->answer = -1;
        self->stage = GS_PBS_STAGE_NONE;
        self->spent = GS_UNDECIDED;
    }
    gs_pbs_search_free(&second, ctx);
    gs_free(ctx, completion);
    return status;
}

int gs_pbs_search_run(gs_pbs_search_t *self, gs_context_t *ctx, const gs_periodic_tasks_t *tasks,
                      const gs_batch_table_t *table, const gs_pbs_search_options_t *options)
{
    bool open = table->undecided != NULL;
    gs_pbs_search_options_t first = *options;
    first.proof = options->proof && !open; /* with undecided batches it is about another table */
    int status = run(self, ctx, tasks, table, &first);
    if (status == GS_OK && self->answer == 0 && open &&
        (options->proof || gs_batch_table_is_open(table))) {
        status = confirm_infeasible(self, ctx, tasks, table, options);
    }
    if (status > 0) { /* a budget: "schedulable" stands, anything else is undecided */
        if (self->answer <= 0) {
            self->answer = -1;
            self->stage = GS_PBS_STAGE_NONE;
        }
        self->spent = status;
        status = GS_OK;
    }
    if (self->answer != 1) {
        gs_schedule_free(&self->schedule, ctx);
    }
    if (self->answer != 0) {
        gs_pbs_refutation_free(&self->proof, ctx);
    }
    return status;
}

static const char *const SEARCH_METHOD[] = {"interval", "graph", NULL};
static const gs_method_option_t SEARCH_OPTIONS[] = {
    {"method", "choice", SEARCH_METHOD, "interval", "interval search, or the scheduling graph"},
    {"idling", "boolean", NULL, "False", "whether the GPU may idle while work is ready"},
};

const gs_method_t gs_pbs_search_method = {
    .name = "search",
    .model = "BatchTable",
    .function = "pbs.search",
    .claim = "exact",
    .source = "[RTNS24], section 3",
    .summary = "Exact test whether a Parallel Batch Schedule meets all deadlines, with schedule or "
               "certificate.",
    .options = SEARCH_OPTIONS,
    .option_count = sizeof SEARCH_OPTIONS / sizeof *SEARCH_OPTIONS,
};
