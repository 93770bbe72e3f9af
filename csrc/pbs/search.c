/* Stages of the exact schedulability test, the cheapest first. */
#include "pbs/search.h"

#include "pbs/depth_first.h"
#include "pbs/edf.h"

void gs_pbs_search_init(gs_pbs_search_t *self)
{
    *self = (gs_pbs_search_t){.answer = -1};
    gs_schedule_init(&self->schedule);
}

void gs_pbs_search_free(gs_pbs_search_t *self, gs_context_t *ctx)
{
    gs_schedule_free(&self->schedule, ctx);
    gs_pbs_feasible_free(&self->feasible, ctx);
    gs_pbs_problem_free(&self->problem, ctx);
}

static int decide(gs_pbs_search_t *self, int stage, bool schedulable)
{
    if (self->answer < 0) {
        self->answer = schedulable;
        self->stage = stage;
    }
    return GS_OK;
}

static int try_edf(gs_pbs_search_t *self, gs_context_t *ctx, const gs_periodic_tasks_t *tasks,
                   const gs_batch_table_t *table, bool parallel)
{
    gs_pbs_edf_miss_t miss;
    self->schedule.count = 0;
    int status = gs_pbs_edf_simulate(ctx, tasks, table, parallel, &self->schedule, &miss);
    if (status == GS_OK) {
        status = gs_count_states(ctx, self->schedule.count);
    }
    if (status == GS_OK && miss.task < 0) {
        decide(self, parallel ? GS_PBS_STAGE_EDF_PARALLEL : GS_PBS_STAGE_EDF_SERIAL, true);
    }
    return status;
}

/* Depth-first search. bound and feasible may be NULL; states: limit beyond one per job, 0: no
 * limit. */
static int try_depth_first(gs_pbs_search_t *self, gs_context_t *ctx,
                           const gs_pbs_latest_start_t *bound, const gs_pbs_feasible_t *feasible,
                           bool idling, int64_t states, int stage)
{
    const gs_pbs_problem_t *p = &self->problem;
    bool found = false, complete = false;
    if (states != 0) {
        for (int32_t i = 0; i < p->n; i++) {
            states += p->hyperperiod / p->tasks.period[i];
        }
    }
    gs_pbs_depth_first_options_t options = {bound, feasible, idling, states};
    self->schedule.count = 0;
    int status = gs_pbs_depth_first(ctx, p, &options, &self->schedule, &found, &complete);
    if (status == GS_OK && (found || complete)) {
        decide(self, stage, found);
    }
    return status;
}

static int reject_by_certificate(gs_pbs_search_t *self, gs_context_t *ctx)
{
    int status = gs_pbs_overload_find(&self->overload, ctx, &self->problem);
    if (status == GS_OK && self->overload.proven) {
        return decide(self, GS_PBS_STAGE_OVERLOAD, false);
    }
    if (status == GS_OK) {
        status = gs_pbs_dead_interval_find(&self->dead_interval, ctx, &self->problem);
    }
    if (status == GS_OK && self->dead_interval.found) {
        decide(self, GS_PBS_STAGE_DEAD_INTERVAL, false);
    }
    return status;
}

/* Computes F, or a superset, and tests the first instant: outside, there is no schedule; inside, F
 * guides a depth-first search. On return feasible is empty unless keep is set. */
static int search_feasible(gs_pbs_search_t *self, gs_context_t *ctx,
                           gs_pbs_transitions_t *transitions, const gs_pbs_latest_start_t *bound,
                           bool idling, int mode, int64_t limit, bool keep)
{
    gs_pbs_feasible_t *f = &self->feasible;
    const gs_pbs_problem_t *p = &self->problem;
    int status = gs_pbs_feasible_init(f, ctx, p, transitions, bound, idling, mode, limit);
    if (status == GS_OK && self->answer < 0) {
        if (!gs_pbs_feasible_holds(f, 0, p->arrived[0], 0)) {
            decide(self, GS_PBS_STAGE_INTERVAL, false);
        } else {
            /* F exact: some transition always stays inside, so no limit is needed. */
            status = try_depth_first(self, ctx, NULL, f, idling, f->exact ? 0 : 1024,
                                     GS_PBS_STAGE_INTERVAL);
        }
    }
    if (status != GS_OK || !keep) {
        gs_pbs_feasible_free(f, ctx);
    }
    return status;
}

/* Outer approximations of F of rising precision, until the first instant is outside or a schedule
 * is found. */
static int search_outer(gs_pbs_search_t *self, gs_context_t *ctx, gs_pbs_transitions_t *transitions,
                        const gs_pbs_latest_start_t *bound)
{
    int status = GS_OK;
    for (int64_t limit = 8; status == GS_OK && self->answer < 0 && limit <= 4096; limit *= 8) {
        status = search_feasible(self, ctx, transitions, bound, false, GS_PBS_FEASIBLE_OUTER, limit,
                                 false);
    }
    return status;
}

/* The stages that need the latest starts. */
static int search_classes(gs_pbs_search_t *self, gs_context_t *ctx,
                          const gs_pbs_search_options_t *options)
{
    gs_pbs_problem_t *p = &self->problem;
    gs_pbs_transitions_t transitions;
    gs_pbs_latest_start_t bound = {NULL, NULL};
    int status = gs_pbs_transitions_init(&transitions, ctx, p);
    if (status == GS_OK) {
        status = gs_pbs_latest_start_init(&bound, ctx, p, &transitions);
    }
    if (status == GS_OK && self->answer < 0) {
        if (gs_pbs_latest_start_at(&bound, 0, p->arrived[0]) == GS_PBS_DEAD) {
            decide(self, GS_PBS_STAGE_LATEST_START, false);
        } else if (!options->thorough || options->idling) {
            /* With idling the search never backtracks; without, it usually succeeds. */
            status = try_depth_first(self, ctx, &bound, NULL, options->idling,
                                     options->idling ? 0 : 256, GS_PBS_STAGE_LATEST_START);
        }
    }
    if (status == GS_OK && self->answer < 0 && !options->thorough) {
        status = search_outer(self, ctx, &transitions, &bound);
    }
    if (status == GS_OK && self->answer < 0) {
        status = search_feasible(self, ctx, &transitions, &bound, false, GS_PBS_FEASIBLE_EXACT, 0,
                                 false);
    }
    /* A limited policy keeps the least limit, times a power of 4, that holds the first instant. */
    int64_t limit = options->policy_limit;
    while (status == GS_OK && options->policy && self->answer == 1 && !self->has_policy) {
        int mode = limit == 0 ? GS_PBS_FEASIBLE_EXACT : GS_PBS_FEASIBLE_INNER;
        gs_pbs_feasible_free(&self->feasible, ctx);
        status =
            search_feasible(self, ctx, &transitions, &bound, options->idling, mode, limit, true);
        self->has_policy =
            status == GS_OK && gs_pbs_feasible_holds(&self->feasible, 0, p->arrived[0], 0);
        limit = limit < INT64_MAX / 4 ? 4 * limit : 0;
    }
    gs_pbs_latest_start_free(&bound, ctx);
    gs_pbs_transitions_free(&transitions, ctx);
    return status;
}

/* Decides with undecided batches taken as ineligible. */
static int run(gs_pbs_search_t *self, gs_context_t *ctx, const gs_periodic_tasks_t *tasks,
               const gs_batch_table_t *table, const gs_pbs_search_options_t *options)
{
    bool quick = !options->thorough;
    int status = quick ? try_edf(self, ctx, tasks, table, false) : GS_OK;
    if (status == GS_OK && self->answer < 0 && quick) {
        status = try_edf(self, ctx, tasks, table, true);
    }
    if (status == GS_OK && (self->answer < 0 || options->policy)) {
        status = gs_pbs_problem_init(&self->problem, ctx, tasks, table, false);
    }
    if (status == GS_OK && self->answer < 0 && quick) {
        status =
            try_depth_first(self, ctx, NULL, NULL, options->idling, 64, GS_PBS_STAGE_DEPTH_FIRST);
    }
    if (status == GS_OK && self->answer < 0 && quick) {
        status = reject_by_certificate(self, ctx);
    }
    if (status == GS_OK && (self->answer < 0 || (options->policy && self->answer == 1))) {
        status = search_classes(self, ctx, options);
    }
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
    gs_batch_table_t optimistic = {table->n, completion, NULL};
    gs_pbs_search_options_t plain = {.idling = options->idling};
    gs_pbs_search_t second;
    gs_pbs_search_init(&second);
    int status = run(&second, ctx, tasks, &optimistic, &plain);
    self->overload = second.overload;
    self->dead_interval = second.dead_interval;
    self->stage = second.stage;
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
    int status = run(self, ctx, tasks, table, options);
    if (status == GS_OK && self->answer == 0 && gs_batch_table_is_open(table)) {
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
    return status;
}

static const char *const SEARCH_METHOD[] = {"interval", "graph", NULL};
static const gs_method_option_t SEARCH_OPTIONS[] = {
    {"method", "choice", SEARCH_METHOD, "interval", "interval engine, or the scheduling graph"},
    {"idling", "boolean", NULL, "False", "whether the GPU may idle while work is ready"},
};

const gs_method_t gs_pbs_search_method = {
    .name = "search",
    .model = "BatchTable",
    .function = "pbs.search",
    .claim = "exact",
    .source = "[RTNS24], section 3",
    .summary = "Whether a Parallel Batch Schedule meets every deadline, with the schedule or a "
               "certificate.",
    .options = SEARCH_OPTIONS,
    .option_count = sizeof SEARCH_OPTIONS / sizeof *SEARCH_OPTIONS,
};
