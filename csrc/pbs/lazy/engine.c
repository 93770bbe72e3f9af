/* Construction of a lazy search, and its paths. */
#include "pbs/lazy/engine.h"

#include "core/vector.h"

int gs_pbs_lazy_engine_init(gs_pbs_lazy_engine_t *self, gs_context_t *ctx,
                            const gs_pbs_problem_t *problem, const gs_pbs_windows_t *windows,
                            const gs_pbs_latest_start_t *bound, const gs_pbs_feasible_t *outer)
{
    *self = (gs_pbs_lazy_engine_t){.ctx = ctx, .work_limit = INT64_MAX};
    gs_pbs_lazy_store_init(&self->store, problem, windows, bound, outer);
    return gs_pbs_lazy_moves_init(&self->moves, ctx, &self->store);
}

void gs_pbs_lazy_engine_free(gs_pbs_lazy_engine_t *self)
{
    gs_pbs_lazy_moves_free(&self->moves, self->ctx);
    gs_pbs_lazy_store_free(&self->store, self->ctx);
    gs_free(self->ctx, self->idle_path.states);
    gs_free(self->ctx, self->path.states);
    self->idle_path = self->path = (gs_pbs_lazy_path_t){NULL, 0, 0};
}

int gs_pbs_lazy_engine_push(gs_pbs_lazy_engine_t *self, gs_pbs_lazy_path_t *path, int64_t instant,
                            int64_t k, int64_t class_index)
{
    const gs_pbs_problem_t *p = self->moves.problem;
    if (path->length == path->capacity) {
        gs_pbs_lazy_state_t *states = gs_vector_reserve(self->ctx, path->states, &path->capacity,
                                                        path->length + 1, sizeof *states);
        if (states == NULL) {
            return self->ctx->status;
        }
        path->states = states;
    }
    while (class_index == 0 && k + 1 < p->intervals) {
        k++;
        instant = p->start[k];
        class_index = p->arrived[k] - p->arrived[k - 1];
    }
    gs_pbs_lazy_state_t *state = &path->states[path->length++];
    state->instant = instant;
    state->k = k;
    state->class_index = class_index;
    state->count = state->next = 0;
    state->fresh = true;
    state->open = false;
    return GS_OK;
}
