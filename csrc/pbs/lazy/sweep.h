/* Dead time of whole classes, as few spans each.
 *
 * The dead time of a class is what every batch leads into dead time of later classes. A sweep
 * computes it for the classes that can be reached from the first one, and keeps the longest spans.
 * It finds at once what single states would have to find one by one.
 */
#ifndef GS_PBS_LAZY_SWEEP_H
#define GS_PBS_LAZY_SWEEP_H

#include "pbs/lazy/engine.h"

/* Sweeps the classes that are reached from the first one with at most `spans` spans each; classes
 * that were swept with as many are left alone. Stops early at the work limit: *complete. */
int gs_pbs_lazy_sweep(gs_pbs_lazy_engine_t *self, int64_t spans, bool *complete);

#endif
