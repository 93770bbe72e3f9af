/* Whether a state is alive if the GPU never waits while work is ready, decided on demand.
 *
 * A query follows the moves of its state depth first. A state all of whose moves lead into known
 * dead time is dead, and so is the largest span of instants around it of which the same holds: the
 * span is recorded with its class. Every dead state is in some span, so no state is tried twice.
 */
#ifndef GS_PBS_LAZY_WORK_CONSERVING_H
#define GS_PBS_LAZY_WORK_CONSERVING_H

#include "pbs/lazy/engine.h"

typedef struct {
    int32_t width; /* most moves tried from a state, GS_PBS_LAZY_MOVES_WIDTH at most; 0: all */
    int order;     /* GS_PBS_LAZY_MOVES_SAVES ... */
    bool quick;    /* do not ask about inserted idle time first */
} gs_pbs_lazy_work_conserving_options_t;

/* Asks for the first state. *answer: GS_PBS_LAZY_*; open when the work limit is reached or
 * something was left out. When alive, schedule receives the frames. Errors and spent budgets as
 * usual. */
int gs_pbs_lazy_work_conserving(gs_pbs_lazy_engine_t *self,
                                const gs_pbs_lazy_work_conserving_options_t *options,
                                gs_schedule_t *schedule, int *answer);

#endif
