/* Lazy search in rounds: quick tries, single states, class sweeps, with budgets that grow fourfold.
 *
 * Single states stall where a long kernel leaves a few narrow start windows; sweeps alone stall
 * where the dead time of most classes is in many spans that no state reaches. Both record what they
 * find in the same store.
 */
#ifndef GS_PBS_LAZY_ROUNDS_H
#define GS_PBS_LAZY_ROUNDS_H

#include "pbs/lazy/engine.h"

/* Parts of a round, for tests. Without inserted idle time, points or both others are needed: else
 * the rounds end where their limits no longer grow, and the answer may stay open. */
enum {
    GS_PBS_LAZY_ROUNDS_TRIES = 1,
    GS_PBS_LAZY_ROUNDS_POINTS = 2,
    GS_PBS_LAZY_ROUNDS_SWEEPS = 4,
    GS_PBS_LAZY_ROUNDS_ALL = 7
};

typedef struct {
    bool idling;
    int parts;           /* GS_PBS_LAZY_ROUNDS_* */
    int64_t first_work;  /* work of each part of the first round; 0: the default */
    int64_t first_spans; /* spans of the first sweep; 0: the default */
    int64_t most_work;   /* give up after this much work; 0: never */
} gs_pbs_lazy_rounds_options_t;

/* Asks for the first state. *answer: GS_PBS_LAZY_*; open only after most_work, or for lack of
 * parts. When alive, schedule receives the frames. Errors and spent budgets as usual. */
int gs_pbs_lazy_rounds(gs_pbs_lazy_engine_t *self, const gs_pbs_lazy_rounds_options_t *options,
                       gs_schedule_t *schedule, int *answer);

#endif
