/* The latest starts, the feasible instants and the lazy search, with groups and cores between. */
#include "pbs/stages/classes.h"

#include "pbs/latest/latest_start_row.h"
#include "pbs/lazy/rounds.h"
#include "pbs/reduced/reductions.h"
#include "pbs/stages/certify.h"
#include "pbs/stages/quick.h"

enum {
    TASKS = 12,             /* with more, classes are not all looked at */
    CLASSES = 1 << 22,      /* nor with more of them */
    LAST_CLASSES = 1 << 23, /* but in the end, where there are at most so many ... */
    LAST_ROWS = 1 << 25,    /* ... or so many, and their latest starts are found row by row */
    FEW_CLASSES = 1 << 21,  /* and soon, where there are at most so many */
    FEW_ROUNDS = 0,         /* of reductions after the first one, before few classes ... */
    ROUNDS = 3,             /* ... before at most LAST_CLASSES ... */
    MANY_ROUNDS = 6,        /* ... and before more of them */
    OUTER_SPANS = 8,
    OUTER_CLASSES = 1 << 18, /* with more, no outer approximation */
    FIRST_WORK = 16,         /* of the lazy search per class, before that ... */
    FIRST_CLASSES = 512,     /* ... where an interval has more of them */
    FEW_WINDOWS = 12, /* with more than PRICED tasks, whose tables take long to look through */
    PRICED = 16,
    LARGE_WORK = 1 << 22 /* of the lazy search before more groups and cores are tried */
};

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
            gs_pbs_search_decide(self, GS_PBS_STAGE_INTERVAL, false);
        } else {
            /* F exact: some transition always stays inside, so no limit is needed. */
            status = gs_pbs_stages_quick_depth_first(self, ctx, NULL, f, idling,
                                                     f->exact ? 0 : 1024, GS_PBS_STAGE_INTERVAL);
        }
    }
    return status;
}

static bool few_classes(const gs_pbs_problem_t *p, int64_t most)
{
    int64_t classes;
    return gs_mul(p->intervals, p->classes, &classes) && classes <= most;
}

/* Whether the latest starts of all classes can be had in the end: they are not too many, and fit
 * into the memory that is left with the tables of an interval. */
static bool can_look_at_all(const gs_context_t *ctx, const gs_pbs_problem_t *p)
{
    int64_t classes, bytes = INT64_MAX;
    int64_t most = gs_pbs_latest_start_row_applies(p) ? LAST_ROWS : LAST_CLASSES;
    if (!few_classes(p, most) || !gs_mul(p->intervals + 8, p->classes, &classes)) {
        return false;
    }
    bytes = ctx->bytes_limit != 0 ? ctx->bytes_limit - ctx->bytes_used : bytes;
    return classes <= bytes / (int64_t)sizeof(int64_t);
}

/* Rounds of reductions after the first one, before that. */
static int32_t rounds_before(const gs_pbs_problem_t *p)
{
    return few_classes(p, FEW_CLASSES)    ? FEW_ROUNDS
           : few_classes(p, LAST_CLASSES) ? ROUNDS
                                          : MANY_ROUNDS;
}

/* The next round of groups and cores. */
static int reduce(gs_pbs_search_t *self, gs_context_t *ctx, const gs_pbs_search_options_t *options,
                  gs_pbs_reduced_reductions_t *reductions)
{
    int answer;
    gs_pbs_refutation_t *proof = options->proof ? &self->proof : NULL;
    int status = gs_pbs_reduced_reductions_next(reductions, ctx, &self->schedule, proof, &answer);
    if (answer >= 0) {
        gs_pbs_search_decide(self, answer == 1 ? GS_PBS_STAGE_GROUPS : GS_PBS_STAGE_CORE,
                             answer == 1);
    }
    return status;
}

/* Rounds of the lazy search with some of their parts. work: give up after it; 0: never. */
static int run_rounds(gs_pbs_search_t *self, gs_pbs_lazy_engine_t *engine,
                      const gs_pbs_search_options_t *options, int parts, int64_t work)
{
    parts &=
        gs_pbs_search_does(options, GS_PBS_SEARCH_SKIP_TRIES) ? parts : ~GS_PBS_LAZY_ROUNDS_TRIES;
    parts &=
        gs_pbs_search_does(options, GS_PBS_SEARCH_SKIP_POINTS) ? parts : ~GS_PBS_LAZY_ROUNDS_POINTS;
    parts &=
        gs_pbs_search_does(options, GS_PBS_SEARCH_SKIP_SWEEPS) ? parts : ~GS_PBS_LAZY_ROUNDS_SWEEPS;
    bool brief = !gs_pbs_search_does(options, GS_PBS_SEARCH_SHORT_ROUNDS);
    gs_pbs_lazy_rounds_options_t rounds = {.idling = options->idling,
                                           .parts = parts,
                                           .first_work = brief ? 16 : 0,
                                           .first_spans = brief ? 1 : 0,
                                           .most_work = work};
    int answer;
    self->schedule.count = 0;
    int status = gs_pbs_lazy_rounds(engine, &rounds, &self->schedule, &answer);
    if (status == GS_OK && answer != GS_PBS_LAZY_OPEN) {
        gs_pbs_search_decide(self, GS_PBS_STAGE_LAZY, answer == GS_PBS_LAZY_ALIVE);
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
        if (reductions == NULL || (reductions->round > rounds_before(&self->problem) &&
                                   can_look_at_all(ctx, &self->problem))) {
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
    if (p->classes > FIRST_CLASSES || !gs_pbs_search_does(options, GS_PBS_SEARCH_SHORT_ROUNDS)) {
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
    bool priced = bound == NULL && gs_pbs_search_does(options, GS_PBS_SEARCH_SKIP_WINDOWS);
    int64_t most = self->problem.n > PRICED ? FEW_WINDOWS : GS_PBS_WINDOWS_USUAL;
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
        ctx->states = 0; /* the states of the proof have a budget of their own, not counted */
        status = gs_pbs_stages_certify(self, ctx, &engine, options);
        ctx->states = states;
    }
    gs_pbs_lazy_engine_free(&engine);
    gs_pbs_windows_free(&windows, ctx);
    return status;
}

int gs_pbs_stages_classes_prove(gs_pbs_search_t *self, gs_context_t *ctx,
                                const gs_pbs_search_options_t *options)
{
    return search_lazily(self, ctx, NULL, NULL, options, NULL);
}

int gs_pbs_stages_classes_run(gs_pbs_search_t *self, gs_context_t *ctx,
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
        if (gs_pbs_latest_start_at(&bound, 0, p->arrived[0]) == GS_PBS_LATEST_DEAD) {
            gs_pbs_search_decide(self, GS_PBS_STAGE_LATEST_START, false);
        } else if (!options->thorough || options->idling) {
            /* With idling the search never backtracks; without, it usually succeeds. */
            status = gs_pbs_stages_quick_depth_first(self, ctx, &bound, NULL, options->idling,
                                                     options->idling ? 0 : 256,
                                                     GS_PBS_STAGE_LATEST_START);
        }
    }
    if (status == GS_OK && self->answer < 0 && options->thorough) {
        status = search_feasible(self, ctx, &transitions, &bound, false, GS_PBS_FEASIBLE_EXACT, 0);
    }
    if (status == GS_OK && (self->answer < 0 || (self->answer == 0 && options->proof))) {
        bool outer =
            gs_pbs_search_does(options, GS_PBS_SEARCH_SKIP_OUTER) && few_classes(p, OUTER_CLASSES);
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

int gs_pbs_stages_classes_reached(gs_pbs_search_t *self, gs_context_t *ctx,
                                  const gs_periodic_tasks_t *tasks, const gs_batch_table_t *table,
                                  const gs_pbs_search_options_t *options)
{
    bool reduced = (tasks->n > TASKS || !gs_pbs_search_does(options, GS_PBS_SEARCH_REDUCE)) &&
                   gs_pbs_search_does(options, GS_PBS_SEARCH_SKIP_REDUCED);
    gs_pbs_reduced_reductions_t reductions;
    gs_pbs_reduced_reductions_init(&reductions, tasks, table, options->idling);
    int status = reduced ? reduce(self, ctx, options, &reductions) : GS_OK;
    if (status == GS_OK && self->answer < 0) {
        status = search_lazily(self, ctx, NULL, NULL, options, reduced ? &reductions : NULL);
    }
    if (status == GS_OK && self->answer < 0 && reduced) {
        status = gs_pbs_stages_classes_run(self, ctx, options);
    }
    return status;
}

bool gs_pbs_stages_classes_are_few(const gs_pbs_problem_t *p,
                                   const gs_pbs_search_options_t *options)
{
    return options->thorough || options->policy ||
           (p->n <= TASKS && gs_pbs_search_does(options, GS_PBS_SEARCH_SKIP_CLASSES) &&
            gs_pbs_search_does(options, GS_PBS_SEARCH_REDUCE) && few_classes(p, CLASSES));
}
