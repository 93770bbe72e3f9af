/* State of a search. */
#include "pbs/search_state.h"

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
