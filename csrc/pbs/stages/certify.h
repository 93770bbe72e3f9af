/* Proof of a negative answer that a stage gave without one. */
#ifndef GS_PBS_STAGES_CERTIFY_H
#define GS_PBS_STAGES_CERTIFY_H

#include "pbs/lazy/engine.h"
#include "pbs/search_state.h"

/* Proves "not schedulable" by one window, or by the classes that are reached. The engine, which may
 * know nothing yet, searches on. Errors and spent budgets as usual; self->proof stays empty where
 * no proof was found. */
int gs_pbs_stages_certify(gs_pbs_search_t *self, gs_context_t *ctx, gs_pbs_lazy_engine_t *engine,
                          const gs_pbs_search_options_t *options);

#endif
