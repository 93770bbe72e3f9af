/* Choice of a proof, the smallest first. */
#include "pbs/stages/certify.h"

#include "pbs/lazy/closed_set.h"
#include "pbs/lazy/rounds.h"

enum { PROOF_WORK = 1 << 26 /* of a search for a smaller proof */ };

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

int gs_pbs_stages_certify(gs_pbs_search_t *self, gs_context_t *ctx, gs_pbs_lazy_engine_t *engine,
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
