/* Stages of the exact schedulability test, the cheapest first. */
#include "pbs/search.h"

#include "pbs/depth_first.h"
#include "pbs/edf.h"
#include "pbs/lazy/closed_set.h"
#include "pbs/lazy/rounds.h"
#include "pbs/reduced/reductions.h"

enum {
    MANY_JOBS = 4096,       /* with more, overload is tested before any schedule is built */
    TASKS = 12,             /* with more, classes are not all looked at */
    CLASSES = 1 << 22,      /* nor with more of them */
    LAST_CLASSES = 1 << 23, /* but in the end, where there are at most so many */
    FEW_CLASSES = 1 << 21,  /* and soon, where there are at most so many */
    ROUNDS = 3,             /* of reductions before that */
    FEW_ROUNDS = 1,         /* before the classes where they are few */
    OUTER_SPANS = 8,
    OUTER_CLASSES = 1 << 18, /* with more, no outer approximation */
    FIRST_WORK = 16,         /* of the lazy search per class, before that ... */
    FIRST_CLASSES = 512,     /* ... where an interval has more of them */
    PROOF_WORK = 1 << 26,    /* of a search for a smaller proof */
    WINDOWS = 48,
    FEW_WINDOWS = 12, /* with more than PRICED tasks, whose tables take long to look through */
    PRICED = 16,
    LARGE_WORK = 1 << 22 /* of the lazy search before more groups and cores are tried */
};

void gs_pbs_search_init(gs_pbs_search_t *self)
{
    *self = (gs_pbs_search_t){.answer = -1};
    gs_schedule_init(&self->schedule);
    gs_pbs_refutation_init(&self->proof);
}

void gs_pbs_search_free(gs_pbs_search_t *self, gs_context_t *ctx)
{
    gs_schedule_free(&self->schedule, ctx);
    gs_pbs_refutation_free(&self->proof, ctx);
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

static bool does(const gs_pbs_search_options_t *options, int stage)
{
    return (options->skip & stage) == 0;
}

/* The number of jobs of [0, H), at most MANY_JOBS + 1. */
static int64_t count_jobs(const gs_periodic_tasks_t *tasks)
{
    int64_t h = gs_periodic_tasks_hyperperiod_or_never(tasks), jobs = 0;
    for (int32_t i = 0; i < tasks->n; i++) {
        int64_t own = h / tasks->period[i];
        jobs = h < GS_NEVER && own <= MANY_JOBS - jobs ? jobs + own : MANY_JOBS + 1;
        if (jobs > MANY_JOBS) {
            return jobs;
        }
    }
    return jobs;
}

static int try_edf(gs_pbs_search_t *self, gs_context_t *ctx, const gs_periodic_tasks_t *tasks,
                   const gs_batch_table_t *table, bool parallel)
{
    gs_pbs_edf_miss_t miss;
    self->schedule.count = 0;
    int status = gs_pbs_edf_run(ctx, tasks, table, parallel, &self->schedule, &miss);
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

static int reject_by_rates(gs_pbs_search_t *self, gs_context_t *ctx,
                           const gs_periodic_tasks_t *tasks, const gs_batch_table_t *table)
{
    gs_pbs_rates_t rates;
    int status = gs_pbs_rates_find(&rates, ctx, tasks, table, false);
    if (status == GS_OK && rates.proven) {
        self->proof.kind = GS_PBS_REFUTATION_WINDOW;
        self->proof.n = tasks->n;
        self->proof.rates = rates;
        decide(self, GS_PBS_STAGE_OVERLOAD, false);
    }
    return status;
}

static int reject_by_interval(gs_pbs_search_t *self, gs_context_t *ctx)
{
    gs_pbs_dead_interval_t interval;
    int status = gs_pbs_dead_interval_find(&interval, ctx, &self->problem);
    if (status == GS_OK && interval.found) {
        self->proof.kind = GS_PBS_REFUTATION_INTERVAL;
        self->proof.n = self->problem.n;
        self->proof.interval = interval;
        decide(self, GS_PBS_STAGE_DEAD_INTERVAL, false);
    }
    return status;
}

/* Computes F, or a superset, and tests the first instant: outside, there is no schedule; inside, F
 * guides a depth-first search. */
static int search_feasible(gs_pbs_search_t *self, gs_context_t *ctx,
                           gs_pbs_transitions_t *transitions, const gs_pbs_latest_start_t *bound,
                           bool idling, int mode, int64_t limit)
{
    gs_pbs_feasible_t *f = &self->feasible;
    const gs_pbs_problem_t *p = &self->problem;
    gs_pbs_feasible_free(f, ctx);
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
    return status;
}

/* The proof of a window, if its prices alone leave no time at instant 0. */
static bool prove_by_window(gs_pbs_search_t *self, const gs_pbs_windows_t *windows)
{
    const gs_pbs_problem_t *p = &self->problem;
    for (int64_t w = 0; w < windows->count; w++) {
        gs_pbs_windows_t one = *windows;
        one.count = 1;
        one.deadline += w;
        one.price += w * p->n;
        one.jobs += w * p->n;
        if (gs_pbs_windows_latest(&one, 0, p->arrived[0]) < 0) {
            gs_pbs_rates_t *rates = &self->proof.rates;
            *rates = (gs_pbs_rates_t){
                .proven = true, .scale = windows->scale, .window = one.deadline[0]};
            double worth = 0;
            for (int32_t i = 0; i < p->n; i++) {
                rates->price[i] = one.price[i];
                int64_t jobs = one.price[i] > 0 ? one.jobs[i].must : one.jobs[i].may;
                worth += (double)one.price[i] * (double)jobs;
            }
            rates->load = worth / (double)windows->scale / (double)rates->window;
            self->proof.kind = GS_PBS_REFUTATION_WINDOW;
            self->proof.n = p->n;
            return true;
        }
    }
    return false;
}

/* Proves that the first state is dead with inserted idle time by a lazy search of its own, which
 * meets fewer classes than the latest starts of all; leaves the proof open after some work. */
static int prove_idle(gs_pbs_search_t *self, gs_context_t *ctx, const gs_pbs_windows_t *windows)
{
    gs_pbs_lazy_engine_t engine;
    int answer;
    int status = gs_pbs_lazy_engine_init(&engine, ctx, &self->problem, windows, NULL, NULL);
    if (status == GS_OK) {
        gs_pbs_lazy_rounds_options_t rounds = {.idling = true, .most_work = PROOF_WORK};
        status = gs_pbs_lazy_rounds(&engine, &rounds, &self->schedule, &answer);
        if (status == GS_OK && answer == GS_PBS_LAZY_DEAD) {
            status = gs_pbs_lazy_closed_set(&engine, true, &self->proof);
        }
    }
    gs_pbs_lazy_engine_free(&engine);
    return status;
}

/* Proves "not schedulable" from what the engine knows, after it is made to know enough. */
static int prove_by_classes(gs_pbs_search_t *self, gs_pbs_lazy_engine_t *engine, bool idling)
{
    int answer, status = gs_pbs_lazy_closed_set(engine, idling, &self->proof);
    if (status == GS_OK && self->proof.kind == GS_PBS_REFUTATION_NONE) {
        /* Decided without the store: let it find out. */
        gs_pbs_lazy_rounds_options_t rounds = {.idling = idling, .parts = GS_PBS_LAZY_ROUNDS_ALL};
        status = gs_pbs_lazy_rounds(engine, &rounds, &self->schedule, &answer);
        if (status == GS_OK) {
            status = gs_pbs_lazy_closed_set(engine, idling, &self->proof);
        }
    }
    return status;
}

/* Proves "not schedulable" by one window, or by the classes that are reached. */
static int prove(gs_pbs_search_t *self, gs_context_t *ctx, gs_pbs_lazy_engine_t *engine,
                 const gs_pbs_search_options_t *options)
{
    gs_pbs_windows_t windows = {.count = 0};
    const gs_pbs_windows_t *before = engine->store.windows;
    const gs_pbs_latest_start_t *bound = engine->store.bound;
    int status = GS_OK;
    if (before == NULL && does(options, GS_PBS_SEARCH_SKIP_WINDOWS)) {
        status = gs_pbs_windows_init(&windows, ctx, &self->problem, WINDOWS);
        engine->store.windows = &windows;
    }
    const gs_pbs_windows_t *used = engine->store.windows;
    if (status == GS_OK && (used == NULL || !prove_by_window(self, used))) {
        int64_t first = self->problem.arrived[0];
        if (bound != NULL && gs_pbs_latest_start_at(bound, 0, first) == GS_PBS_DEAD) {
            status = prove_idle(self, ctx, used);
        }
        if (status == GS_OK && self->proof.kind == GS_PBS_REFUTATION_NONE) {
            status = prove_by_classes(self, engine, options->idling);
        }
    }
    engine->store.windows = before;
    gs_pbs_windows_free(&windows, ctx);
    return status;
}

static bool few_classes(const gs_pbs_problem_t *p, int64_t most)
{
    int64_t classes;
    return gs_mul(p->intervals, p->classes, &classes) && classes <= most;
}

/* The next round of groups and cores. */
static int reduce(gs_pbs_search_t *self, gs_context_t *ctx, const gs_pbs_search_options_t *options,
                  gs_pbs_reduced_reductions_t *reductions)
{
    int answer;
    gs_pbs_refutation_t *proof = options->proof ? &self->proof : NULL;
    int status = gs_pbs_reduced_reductions_next(reductions, ctx, &self->schedule, proof, &answer);
    if (answer >= 0) {
        decide(self, answer == 1 ? GS_PBS_STAGE_GROUPS : GS_PBS_STAGE_CORE, answer == 1);
    }
    return status;
}

/* Rounds of the lazy search with some of their parts. work: give up after it; 0: never. */
static int run_rounds(gs_pbs_search_t *self, gs_pbs_lazy_engine_t *engine,
                      const gs_pbs_search_options_t *options, int parts, int64_t work)
{
    parts &= does(options, GS_PBS_SEARCH_SKIP_TRIES) ? parts : ~GS_PBS_LAZY_ROUNDS_TRIES;
    parts &= does(options, GS_PBS_SEARCH_SKIP_POINTS) ? parts : ~GS_PBS_LAZY_ROUNDS_POINTS;
    parts &= does(options, GS_PBS_SEARCH_SKIP_SWEEPS) ? parts : ~GS_PBS_LAZY_ROUNDS_SWEEPS;
    bool brief = !does(options, GS_PBS_SEARCH_SHORT_ROUNDS);
    gs_pbs_lazy_rounds_options_t rounds = {.idling = options->idling,
                                           .parts = parts,
                                           .first_work = brief ? 16 : 0,
                                           .first_spans = brief ? 1 : 0,
                                           .most_work = work};
    int answer;
    self->schedule.count = 0;
    int status = gs_pbs_lazy_rounds(engine, &rounds, &self->schedule, &answer);
    if (status == GS_OK && answer != GS_PBS_LAZY_OPEN) {
        decide(self, GS_PBS_STAGE_LAZY, answer == GS_PBS_LAZY_ALIVE);
    }
    return status;
}

/* Rounds of the lazy search, with groups and cores between them where there are many tasks. */
static int search_rounds(gs_pbs_search_t *self, gs_context_t *ctx, gs_pbs_lazy_engine_t *engine,
                         const gs_pbs_search_options_t *options,
                         gs_pbs_reduced_reductions_t *reductions)
{
    int status = GS_OK;
    int64_t work = options->most_work;
    while (status == GS_OK && self->answer < 0) {
        if (reductions != NULL) {
            work = work == 0 ? LARGE_WORK : 2 * work;
        }
        status = run_rounds(self, engine, options, GS_PBS_LAZY_ROUNDS_ALL, work);
        int32_t rounds = few_classes(&self->problem, FEW_CLASSES) ? FEW_ROUNDS : ROUNDS;
        if (reductions == NULL ||
            (reductions->round > rounds && few_classes(&self->problem, LAST_CLASSES))) {
            break;
        }
        if (status == GS_OK && self->answer < 0) {
            status = reduce(self, ctx, options, reductions);
        }
    }
    return status;
}

/* The search with the latest starts of all classes: first a short one, then with an outer
 * approximation of F. */
static int search_outer(gs_pbs_search_t *self, gs_context_t *ctx, gs_pbs_lazy_engine_t *engine,
                        gs_pbs_transitions_t *transitions, const gs_pbs_search_options_t *options)
{
    const gs_pbs_problem_t *p = &self->problem;
    int64_t work = FIRST_WORK * p->intervals * p->classes;
    int status = GS_OK;
    if (p->classes > FIRST_CLASSES || !does(options, GS_PBS_SEARCH_SHORT_ROUNDS)) {
        status = run_rounds(self, engine, options,
                            GS_PBS_LAZY_ROUNDS_TRIES | GS_PBS_LAZY_ROUNDS_POINTS, work);
    }
    if (status == GS_OK && self->answer < 0) {
        status = search_feasible(self, ctx, transitions, engine->store.bound, false,
                                 GS_PBS_FEASIBLE_OUTER, OUTER_SPANS);
        engine->store.outer = status == GS_OK ? &self->feasible : NULL;
    }
    return status;
}

/* The lazy search where no answer was found, and the proof where it is "not schedulable". */
static int search_lazily(gs_pbs_search_t *self, gs_context_t *ctx,
                         const gs_pbs_latest_start_t *bound, gs_pbs_transitions_t *transitions,
                         const gs_pbs_search_options_t *options,
                         gs_pbs_reduced_reductions_t *reductions)
{
    gs_pbs_windows_t windows = {.count = 0};
    gs_pbs_lazy_engine_t engine;
    bool priced = bound == NULL && does(options, GS_PBS_SEARCH_SKIP_WINDOWS);
    int64_t most = self->problem.n > PRICED ? FEW_WINDOWS : WINDOWS;
    int status = priced ? gs_pbs_windows_init(&windows, ctx, &self->problem, most) : GS_OK;
    if (status != GS_OK) {
        gs_pbs_windows_free(&windows, ctx);
        return status;
    }
    /* F of the first search, where it was computed: exact, and so all of it is known. */
    const gs_pbs_feasible_t *exact = self->feasible.begin == NULL ? NULL : &self->feasible;
    status = gs_pbs_lazy_engine_init(&engine, ctx, &self->problem, priced ? &windows : NULL, bound,
                                     exact);
    if (status == GS_OK && self->answer < 0 && transitions != NULL) {
        status = search_outer(self, ctx, &engine, transitions, options);
    }
    if (status == GS_OK && self->answer < 0) {
        status = search_rounds(self, ctx, &engine, options, reductions);
    }
    if (status == GS_OK && self->answer == 0 && options->proof &&
        self->proof.kind == GS_PBS_REFUTATION_NONE) {
        int64_t states = ctx->states;
        ctx->states = 0; /* the proof has a budget of its own, and is not counted */
        status = prove(self, ctx, &engine, options);
        status = status > 0 ? GS_OK : status; /* the answer stands without it */
        ctx->states = states;
    }
    gs_pbs_lazy_engine_free(&engine);
    gs_pbs_windows_free(&windows, ctx);
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
        status = gs_pbs_latest_start_init(&bound, ctx, p, &transitions, options->policy);
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
    if (status == GS_OK && self->answer < 0 && options->thorough) {
        status = search_feasible(self, ctx, &transitions, &bound, false, GS_PBS_FEASIBLE_EXACT, 0);
    }
    if (status == GS_OK && (self->answer < 0 || (self->answer == 0 && options->proof))) {
        bool outer = does(options, GS_PBS_SEARCH_SKIP_OUTER) && few_classes(p, OUTER_CLASSES);
        status = search_lazily(self, ctx, &bound, outer ? &transitions : NULL, options, NULL);
    }
    gs_pbs_feasible_free(&self->feasible, ctx);
    /* A limited policy keeps the least limit, times a power of 4, that holds the first instant. */
    int64_t limit = options->policy_limit;
    while (status == GS_OK && options->policy && self->answer == 1 && !self->has_policy) {
        int mode = limit == 0 ? GS_PBS_FEASIBLE_EXACT : GS_PBS_FEASIBLE_INNER;
        status = search_feasible(self, ctx, &transitions, &bound, options->idling, mode, limit);
        self->has_policy =
            status == GS_OK && gs_pbs_feasible_holds(&self->feasible, 0, p->arrived[0], 0);
        limit = limit < INT64_MAX / 4 ? 4 * limit : 0;
    }
    gs_pbs_latest_start_free(&bound, ctx);
    gs_pbs_transitions_free(&transitions, ctx);
    return status;
}

/* Many tasks, or many classes. */
static int search_large(gs_pbs_search_t *self, gs_context_t *ctx, const gs_periodic_tasks_t *tasks,
                        const gs_batch_table_t *table, const gs_pbs_search_options_t *options)
{
    bool reduced = (tasks->n > TASKS || !does(options, GS_PBS_SEARCH_REDUCE)) &&
                   does(options, GS_PBS_SEARCH_SKIP_REDUCED);
    gs_pbs_reduced_reductions_t reductions;
    gs_pbs_reduced_reductions_init(&reductions, tasks, table, options->idling);
    int status = reduced ? reduce(self, ctx, options, &reductions) : GS_OK;
    if (status == GS_OK && self->answer < 0) {
        status = search_lazily(self, ctx, NULL, NULL, options, reduced ? &reductions : NULL);
    }
    if (status == GS_OK && self->answer < 0 && reduced) {
        status = search_classes(self, ctx, options);
    }
    return status;
}

/* Whether to look at all classes. */
static bool is_small(const gs_pbs_problem_t *p, const gs_pbs_search_options_t *options)
{
    return options->thorough || options->policy ||
           (p->n <= TASKS && does(options, GS_PBS_SEARCH_SKIP_CLASSES) &&
            does(options, GS_PBS_SEARCH_REDUCE) && few_classes(p, CLASSES));
}

/* The quick tests before the hyperperiod is cut; *rated: overload was tested. */
static int try_before_cut(gs_pbs_search_t *self, gs_context_t *ctx,
                          const gs_periodic_tasks_t *tasks, const gs_batch_table_t *table,
                          const gs_pbs_search_options_t *options, bool *rated)
{
    int status = GS_OK;
    *rated = !does(options, GS_PBS_SEARCH_SKIP_RATES);
    if (!*rated && count_jobs(tasks) > MANY_JOBS) {
        status = reject_by_rates(self, ctx, tasks, table);
        *rated = true;
    }
    for (int parallel = 0; parallel < 2 && does(options, GS_PBS_SEARCH_SKIP_EDF); parallel++) {
        if (status == GS_OK && self->answer < 0) {
            status = try_edf(self, ctx, tasks, table, parallel != 0);
        }
    }
    return status;
}

/* Decides about a checked table with undecided batches taken as ineligible. */
static int run_checked(gs_pbs_search_t *self, gs_context_t *ctx, const gs_periodic_tasks_t *tasks,
                       const gs_batch_table_t *table, const gs_pbs_search_options_t *options)
{
    bool quick = !options->thorough, rated = true;
    int status = GS_OK;
    if (quick) {
        status = try_before_cut(self, ctx, tasks, table, options, &rated);
    }
    if (status == GS_OK && (self->answer < 0 || (options->policy && self->answer == 1))) {
        status = gs_pbs_problem_cut(&self->problem, ctx, tasks, table, false);
    }
    if (status == GS_OK && self->answer < 0 && quick &&
        does(options, GS_PBS_SEARCH_SKIP_DEPTH_FIRST)) {
        status =
            try_depth_first(self, ctx, NULL, NULL, options->idling, 64, GS_PBS_STAGE_DEPTH_FIRST);
    }
    if (status == GS_OK && self->answer < 0 && !rated) {
        status = reject_by_rates(self, ctx, tasks, table);
    }
    if (status == GS_OK && self->answer < 0 && quick && tasks->n <= TASKS &&
        does(options, GS_PBS_SEARCH_SKIP_DEAD_INTERVAL)) {
        status = reject_by_interval(self, ctx);
    }
    bool proves = self->answer == 0 && options->proof && self->proof.kind == GS_PBS_REFUTATION_NONE;
    if (status != GS_OK || (self->answer >= 0 && !proves && !options->policy)) {
        return status;
    }
    if (proves) {
        return search_lazily(self, ctx, NULL, NULL, options, NULL);
    }
    if (self->answer < 0 && !is_small(&self->problem, options)) {
        return search_large(self, ctx, tasks, table, options);
    }
    return self->answer == 0 ? GS_OK : search_classes(self, ctx, options);
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
