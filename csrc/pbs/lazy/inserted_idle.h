/* Whether a state is alive if the GPU may wait while work is ready, decided on demand.
 *
 * Each class has a bracket: alive up to `low`, dead after `latest`. A query follows the moves of
 * its state until one leads below the bracket of its class; when none does, the bracket of the
 * class shrinks to the latest instant before that no known bracket excludes.
 */
#ifndef GS_PBS_LAZY_INSERTED_IDLE_H
#define GS_PBS_LAZY_INSERTED_IDLE_H

#include "pbs/lazy/engine.h"

/* *answer: GS_PBS_LAZY_*; open when the work limit is reached. Errors and spent budgets as usual.
 */
int gs_pbs_lazy_inserted_idle(gs_pbs_lazy_engine_t *self, int64_t instant, int64_t k,
                              int64_t class_index, int *answer);

/* The frames of a schedule with inserted idle time, after the query for the first state was
 * answered with "alive". */
int gs_pbs_lazy_inserted_idle_schedule(gs_pbs_lazy_engine_t *self, gs_schedule_t *schedule);

#endif
