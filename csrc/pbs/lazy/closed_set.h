/* The proof of a negative answer: what is known to be dead and reached from the first state. */
#ifndef GS_PBS_LAZY_CLOSED_SET_H
#define GS_PBS_LAZY_CLOSED_SET_H

#include "pbs/lazy/engine.h"
#include "pbs/refutation.h"

/* Collects a proof of kind GS_PBS_REFUTATION_CLOSED from a store in which the first state is dead;
 * of kind GS_PBS_REFUTATION_NONE if something that is needed is not known to be dead. The prices of
 * self->store.windows need not be those that the search had. Errors and spent budgets as usual. */
int gs_pbs_lazy_closed_set(gs_pbs_lazy_engine_t *self, bool idling, gs_pbs_refutation_t *proof);

#endif
