/* The table of the stages of the exact schedulability test, the cheapest first, and its loop. */
#include "pbs/search.h"

#include "model/batch_table_internal.h"
#include "pbs/search_stages.h"

static const gs_pbs_stage_t STAGES[] = {
    {"overload of many jobs", gs_pbs_stage_has_many_jobs, gs_pbs_stage_overload,
     gs_pbs_certificate_of_prices},
    {"EDFserial", gs_pbs_stage_tries_edf, gs_pbs_stage_edf_serial, NULL},
    {"EDFParallel", gs_pbs_stage_tries_edf, gs_pbs_stage_edf_parallel, NULL},
    {"arrivals", gs_pbs_stage_needs_arrivals, gs_pbs_stage_arrivals, NULL},
    {"short depth-first search", gs_pbs_stage_dives, gs_pbs_stage_depth_first,
     gs_pbs_certificate_of_classes},
    {"overload", gs_pbs_stage_is_unrated, gs_pbs_stage_overload, gs_pbs_certificate_of_prices},
    {"dead interval", gs_pbs_stage_has_short_deadlines, gs_pbs_stage_dead_interval,
     gs_pbs_certificate_of_interval},
    {"groups and cores", gs_pbs_stage_is_reducible, gs_pbs_stage_reductions, NULL},
    {"lazy search", gs_pbs_stage_has_many_classes, gs_pbs_stage_lazy,
     gs_pbs_certificate_of_classes},
    {"latest starts", gs_pbs_stage_looks_at_all, gs_pbs_stage_latest_start,
     gs_pbs_certificate_of_classes},
    {"depth-first search along the latest starts", gs_pbs_stage_dives_bounded,
     gs_pbs_stage_depth_first_bounded, gs_pbs_certificate_of_classes},
    {"feasible instants", gs_pbs_stage_is_thorough, gs_pbs_stage_feasible,
     gs_pbs_certificate_of_classes},
    {"lazy search along the latest starts", gs_pbs_stage_is_bounded, gs_pbs_stage_lazy_bounded,
     gs_pbs_certificate_of_classes},
    {"policy", gs_pbs_stage_wants_policy, gs_pbs_stage_policy, NULL},
};

/* Decides about a checked table with undecided batches taken as ineligible. */
static int run_stages(gs_pbs_search_t *self, gs_context_t *ctx, const gs_periodic_tasks_t *tasks,
                      const gs_batch_table_t *table, const gs_pbs_search_options_t *options)
{
    gs_pbs_stages_t stages = {.search = self,
                              .ctx = ctx,
                              .tasks = tasks,
                              .table = table,
                              .options = options,
                              .run = gs_pbs_search_run};
    int status = GS_OK;
    for (size_t i = 0; i < sizeof STAGES / sizeof *STAGES && status == GS_OK; i++) {
        const gs_pbs_stage_t *stage = &STAGES[i];
        if (!stage->applies(&stages)) {
            continue;
        }
        status = stage->run(&stages);
        if (status == GS_OK && self->answer == 0 && self->proof.kind == GS_PBS_REFUTATION_NONE &&
            stage->certificate != NULL) {
            status = stage->certificate(&stages);
        }
        gs_pbs_stage_forget(&stages);
    }
    if (!self->has_policy) {
        gs_pbs_feasible_free(&self->feasible, ctx);
    }
    if (stages.bounded) {
        gs_pbs_latest_start_free(&stages.bound, ctx);
        gs_pbs_transitions_free(&stages.transitions, ctx);
    }
    return status;
}

/* The same about any table, whose batches are listed where they are few. */
static int run(gs_pbs_search_t *self, gs_context_t *ctx, const gs_periodic_tasks_t *tasks,
               const gs_batch_table_t *table, const gs_pbs_search_options_t *options)
{
    gs_batch_table_list_t list = {.count = 0};
    gs_batch_table_t own = *table;
    bool listed = false;
    self->answer = -1;
    int status = gs_pbs_problem_check(ctx, tasks, table);
    if (status == GS_OK) {
        status = gs_batch_table_list_init(&list, ctx, table, tasks->chained, &listed);
        own.list = listed ? &list : NULL;
    }
    if (status == GS_OK) {
        status = run_stages(self, ctx, tasks, &own, options);
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
    gs_pbs_search_t second = {0};
    int status = run(&second, ctx, tasks, &optimistic, &plain);
    self->stage = second.stage;
    gs_pbs_refutation_free(&self->proof, ctx);
    self->proof = second.proof;
    second.proof = (gs_pbs_refutation_t){0};
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
static const char *const SEARCH_VARIANT[] = {"sound", "paper", "printed", NULL};
static const gs_method_option_t SEARCH_OPTIONS[] = {
    {"method", "choice", SEARCH_METHOD, "interval", "interval search, or the scheduling graph"},
    {"variant", "choice", SEARCH_VARIANT, "sound", "of the graph: repaired, or as printed"},
    {"idling", "boolean", NULL, "False", "whether the GPU may idle while work is ready"},
    {"policy", "boolean", NULL, "False", "whether a policy for run time is made"},
    {"repeating", "boolean", NULL, "False", "whether the schedule must repeat without end"},
    {"thorough", "boolean", NULL, "False", "whether all parts of the search may take long"},
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
