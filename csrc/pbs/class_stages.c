/* Stages that look at classes of states: all of them, or those that are reached. */
#include "pbs/feasible_internal.h"
#include "pbs/latest_start.h"
#include "pbs/lazy/lazy.h"
#include "pbs/search_stages.h"

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
    OUTER_CLASSES = 1 << 21, /* with more, no outer approximation */
    FIRST_WORK = 48,         /* of the lazy search per class, before that ... */
    LARGE_FIRST_WORK = 128,  /* ... and where tasks are more, which takes longer per class ... */
    FIRST_CLASSES = 512,     /* ... where an interval has more classes than this */
    LARGE_WORK = 1 << 22     /* of the lazy search before more groups and cores are tried */
};

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

static bool is_open(const gs_pbs_stages_t *self)
{
    return self->search->answer < 0;
}

static bool does(const gs_pbs_stages_t *self, int skipped)
{
    return gs_pbs_search_does(self->options, skipped);
}

/* Whether all classes are looked at from the beginning. */
static bool are_few(const gs_pbs_stages_t *self)
{
    const gs_pbs_problem_t *p = &self->search->problem;
    return self->options->thorough || self->options->policy ||
           (p->n <= TASKS && does(self, GS_PBS_SEARCH_SKIP_CLASSES) &&
            does(self, GS_PBS_SEARCH_REDUCE) && few_classes(p, CLASSES));
}

/* Whether smaller problems are tried, where classes are not few. */
static bool is_reduced(const gs_pbs_stages_t *self)
{
    return (self->tasks->n > TASKS || !does(self, GS_PBS_SEARCH_REDUCE)) &&
           does(self, GS_PBS_SEARCH_SKIP_REDUCED);
}

bool gs_pbs_stage_has_many_classes(const gs_pbs_stages_t *self)
{
    return is_open(self) && !are_few(self);
}

bool gs_pbs_stage_is_reducible(const gs_pbs_stages_t *self)
{
    return gs_pbs_stage_has_many_classes(self) && is_reduced(self);
}

/* The next round of groups and cores. */
static int reduce(gs_pbs_stages_t *self)
{
    gs_pbs_reductions_t *reductions = &self->reductions;
    int status = gs_pbs_reductions_next(reductions, self->ctx);
    if (reductions->answer == 1) {
        gs_pbs_search_decide(self->search, GS_PBS_STAGE_GROUPS, true);
    } else if (reductions->answer == 0) {
        gs_pbs_search_decide(self->search, GS_PBS_STAGE_CORE, false);
        if (reductions->proof) {
            self->search->proof = reductions->refutation;
            self->search->proof.core = (uint32_t)reductions->core;
        }
    }
    return status;
}

int gs_pbs_stage_reductions(gs_pbs_stages_t *self)
{
    gs_pbs_reductions_init(&self->reductions, self->run, self->tasks, self->table, self->wcet,
                           &self->search->schedule);
    self->reductions.idling = self->options->idling;
    self->reductions.proof = self->options->proof;
    return reduce(self);
}

/* Rounds of the lazy search. work: give up after it; 0: never. */
static int run_rounds(gs_pbs_stages_t *self, int64_t work)
{
    gs_pbs_lazy_rounds_options_t rounds = {.idling = self->options->idling,
                                           .skip_tries = !does(self, GS_PBS_SEARCH_SKIP_TRIES),
                                           .first_work =
                                               does(self, GS_PBS_SEARCH_SHORT_ROUNDS) ? 0 : 16,
                                           .most_work = work};
    int answer;
    self->search->schedule.count = 0;
    int status = gs_pbs_lazy_rounds(&self->engine, &rounds, &self->search->schedule, &answer);
    if (status == GS_OK && answer != GS_PBS_LAZY_OPEN) {
        gs_pbs_search_decide(self->search, GS_PBS_STAGE_LAZY, answer == GS_PBS_LAZY_ALIVE);
    }
    return status;
}

int gs_pbs_stage_lazy(gs_pbs_stages_t *self)
{
    const gs_pbs_problem_t *p = &self->search->problem;
    bool reduced = is_reduced(self);
    int64_t work = self->options->most_work;
    int status = gs_pbs_stage_learn(self);
    while (status == GS_OK && is_open(self)) {
        if (reduced) {
            work = work == 0 ? LARGE_WORK : 2 * work;
        }
        status = run_rounds(self, work);
        if (!reduced ||
            (self->reductions.round > rounds_before(p) && can_look_at_all(self->ctx, p))) {
            break;
        }
        if (status == GS_OK && is_open(self)) {
            status = reduce(self);
        }
    }
    return status;
}

bool gs_pbs_stage_looks_at_all(const gs_pbs_stages_t *self)
{
    return (is_open(self) && (are_few(self) || is_reduced(self))) ||
           (self->search->answer == 1 && self->options->policy);
}

int gs_pbs_stage_latest_start(gs_pbs_stages_t *self)
{
    const gs_pbs_problem_t *p = &self->search->problem;
    self->bounded = true;
    int status = gs_pbs_transitions_init(&self->transitions, self->ctx, p);
    if (status == GS_OK) {
        status = gs_pbs_latest_start_init(&self->bound, self->ctx, p, &self->transitions,
                                          self->options->policy);
    }
    if (status == GS_OK && is_open(self) &&
        gs_pbs_latest_start_at(&self->bound, 0, p->arrived[0]) == GS_PBS_LATEST_DEAD) {
        gs_pbs_search_decide(self->search, GS_PBS_STAGE_LATEST_START, false);
    }
    return status;
}

bool gs_pbs_stage_is_bounded(const gs_pbs_stages_t *self)
{
    return self->bounded && is_open(self);
}

bool gs_pbs_stage_dives_bounded(const gs_pbs_stages_t *self)
{
    return gs_pbs_stage_is_bounded(self) && (!self->options->thorough || self->options->idling);
}

int gs_pbs_stage_depth_first_bounded(gs_pbs_stages_t *self)
{
    /* With idling the search never backtracks; without, it usually succeeds. */
    bool idling = self->options->idling;
    return gs_pbs_stage_dive(self, &self->bound, NULL, idling, idling ? 0 : 256,
                             GS_PBS_STAGE_LATEST_START);
}

/* Computes F, or a superset, and tests the first instant: outside, there is no schedule; inside, F
 * guides a depth-first search. */
static int search_feasible(gs_pbs_stages_t *self, bool idling, int mode, int64_t limit)
{
    gs_pbs_feasible_t *f = &self->search->feasible;
    const gs_pbs_problem_t *p = &self->search->problem;
    gs_pbs_feasible_free(f, self->ctx);
    int status = gs_pbs_feasible_init(f, self->ctx, p, &self->transitions, &self->bound, idling,
                                      mode, limit);
    if (status == GS_OK && is_open(self)) {
        if (!gs_pbs_feasible_holds(f, 0, p->arrived[0], 0)) {
            gs_pbs_search_decide(self->search, GS_PBS_STAGE_INTERVAL, false);
        } else {
            /* F exact: some transition always stays inside, so no limit is needed. */
            status = gs_pbs_stage_dive(self, NULL, f, idling, f->exact ? 0 : 1024,
                                       GS_PBS_STAGE_INTERVAL);
        }
    }
    return status;
}

bool gs_pbs_stage_is_thorough(const gs_pbs_stages_t *self)
{
    return gs_pbs_stage_is_bounded(self) && self->options->thorough;
}

int gs_pbs_stage_feasible(gs_pbs_stages_t *self)
{
    return search_feasible(self, false, GS_PBS_FEASIBLE_EXACT, 0);
}

/* A search that takes less time than what follows: F as far as a few spans for each class give it,
 * if these fit into memory. */
static int search_outer(gs_pbs_stages_t *self)
{
    const gs_pbs_problem_t *p = &self->search->problem;
    int64_t work = p->n <= TASKS ? FIRST_WORK : LARGE_FIRST_WORK;
    work *= p->intervals * p->classes;
    int status = GS_OK;
    if (p->classes > FIRST_CLASSES || !does(self, GS_PBS_SEARCH_SHORT_ROUNDS)) {
        status = run_rounds(self, work);
    }
    if (status == GS_OK && is_open(self)) {
        status = search_feasible(self, false, GS_PBS_FEASIBLE_OUTER, OUTER_SPANS);
        self->engine.store.outer = status == GS_OK ? &self->search->feasible : NULL;
        if (status == GS_SPENT_BYTES) { /* the lazy search may do with what is left */
            gs_pbs_feasible_free(&self->search->feasible, self->ctx);
            status = GS_OK;
        }
    }
    return status;
}

int gs_pbs_stage_lazy_bounded(gs_pbs_stages_t *self)
{
    bool outer =
        does(self, GS_PBS_SEARCH_SKIP_OUTER) && few_classes(&self->search->problem, OUTER_CLASSES);
    int status = gs_pbs_stage_learn(self);
    if (status == GS_OK && outer) {
        status = search_outer(self);
    }
    if (status == GS_OK && is_open(self)) {
        status = run_rounds(self, self->options->most_work);
    }
    return status;
}

bool gs_pbs_stage_wants_policy(const gs_pbs_stages_t *self)
{
    return self->bounded && self->search->answer == 1 && self->options->policy;
}

/* A limited policy keeps the least limit, times a power of 4, that holds the first instant. */
int gs_pbs_stage_policy(gs_pbs_stages_t *self)
{
    gs_pbs_search_t *search = self->search;
    int64_t limit = self->options->policy_limit;
    int status = GS_OK;
    while (status == GS_OK && !search->has_policy) {
        int mode = limit == 0 ? GS_PBS_FEASIBLE_EXACT : GS_PBS_FEASIBLE_INNER;
        status = search_feasible(self, self->options->idling, mode, limit);
        search->has_policy =
            status == GS_OK &&
            gs_pbs_feasible_holds(&search->feasible, 0, search->problem.arrived[0], 0);
        limit = limit < INT64_MAX / 4 ? 4 * limit : 0;
    }
    return status;
}
