/* Proofs of "not schedulable", the smallest first. */
#include "pbs/lazy/lazy.h"
#include "pbs/search_stages.h"

enum {
    PROOF_WORK = 1 << 26, /* of a search for a smaller proof */
    FEW_WINDOWS = 12,     /* with more than PRICED tasks, whose tables take long to look through */
    PRICED = 16
};

int gs_pbs_certificate_of_prices(gs_pbs_stages_t *self)
{
    gs_pbs_refutation_t *proof = &self->search->proof;
    proof->kind = GS_PBS_REFUTATION_WINDOW;
    proof->n = self->tasks->n;
    proof->rates = self->rates;
    return GS_OK;
}

int gs_pbs_certificate_of_interval(gs_pbs_stages_t *self)
{
    gs_pbs_refutation_t *proof = &self->search->proof;
    proof->kind = GS_PBS_REFUTATION_INTERVAL;
    proof->n = self->tasks->n;
    proof->interval = self->interval;
    return GS_OK;
}

int gs_pbs_stage_learn(gs_pbs_stages_t *self)
{
    gs_pbs_search_t *search = self->search;
    if (self->learns) {
        return GS_OK;
    }
    bool priced = !self->bounded && gs_pbs_search_does(self->options, GS_PBS_SEARCH_SKIP_WINDOWS);
    int64_t most = self->tasks->n > PRICED ? FEW_WINDOWS : GS_PBS_WINDOWS_USUAL;
    self->windows = (gs_pbs_windows_t){.count = 0};
    int status =
        priced ? gs_pbs_windows_init(&self->windows, self->ctx, &search->problem, most) : GS_OK;
    if (status != GS_OK) {
        gs_pbs_windows_free(&self->windows, self->ctx);
        return status;
    }
    /* F of the first search, where it was computed: exact, and so all of it is known. */
    const gs_pbs_feasible_t *exact = search->feasible.begin == NULL ? NULL : &search->feasible;
    self->learns = true;
    return gs_pbs_lazy_engine_init(&self->engine, self->ctx, &search->problem,
                                   priced ? &self->windows : NULL,
                                   self->bounded ? &self->bound : NULL, exact);
}

void gs_pbs_stage_forget(gs_pbs_stages_t *self)
{
    if (self->learns) {
        gs_pbs_lazy_engine_free(&self->engine);
        gs_pbs_windows_free(&self->windows, self->ctx);
    }
    self->learns = false;
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
        gs_pbs_lazy_rounds_options_t rounds = {.idling = idling};
        status = gs_pbs_lazy_rounds(engine, &rounds, &self->schedule, &answer);
        if (status == GS_OK) {
            status = gs_pbs_lazy_closed_set(engine, idling, &self->proof);
        }
    }
    return status;
}

/* By one window, or by classes. */
static int prove(gs_pbs_search_t *self, gs_context_t *ctx, gs_pbs_lazy_engine_t *engine,
                 const gs_pbs_search_options_t *options)
{
    gs_pbs_windows_t windows = {.count = 0};
    const gs_pbs_windows_t *before = engine->store.windows;
    const gs_pbs_latest_start_t *bound = engine->store.bound;
    int status = GS_OK;
    if (before == NULL && gs_pbs_search_does(options, GS_PBS_SEARCH_SKIP_WINDOWS)) {
        status = gs_pbs_windows_init(&windows, ctx, &self->problem, GS_PBS_WINDOWS_USUAL);
        engine->store.windows = &windows;
    }
    const gs_pbs_windows_t *used = engine->store.windows;
    if (status == GS_OK && (used == NULL || !prove_by_window(self, used))) {
        int64_t first = self->problem.arrived[0];
        if (bound != NULL && gs_pbs_latest_start_at(bound, 0, first) == GS_PBS_LATEST_DEAD) {
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

int gs_pbs_certificate_of_classes(gs_pbs_stages_t *self)
{
    if (!self->options->proof) {
        return GS_OK;
    }
    int status = gs_pbs_stage_learn(self);
    if (status == GS_OK) {
        int64_t states = self->ctx->states;
        self->ctx->states = 0; /* the states of the proof have a budget of their own, not counted */
        status = prove(self->search, self->ctx, &self->engine, self->options);
        self->ctx->states = states;
    }
    return status;
}
