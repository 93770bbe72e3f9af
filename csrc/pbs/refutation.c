/* Construction and release of proofs. */
#include "pbs/refutation.h"

void gs_pbs_refutation_init(gs_pbs_refutation_t *self)
{
    *self = (gs_pbs_refutation_t){.kind = GS_PBS_REFUTATION_NONE};
}

void gs_pbs_refutation_free(gs_pbs_refutation_t *self, gs_context_t *ctx)
{
    gs_free(ctx, self->deadline);
    gs_free(ctx, self->price);
    gs_free(ctx, self->start);
    gs_free(ctx, self->pending);
    gs_free(ctx, self->latest);
    gs_free(ctx, self->span_begin);
    gs_free(ctx, self->spans);
    gs_pbs_refutation_init(self);
}
