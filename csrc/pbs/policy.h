/* At run time: which batches are safe now, or until when to wait?
 *
 * F (pbs/feasible.h) says more than yes or no. At a frame boundary at instant t every batch b with
 * t + completion[b] in F is safe: whatever the dispatcher does next, a continuation that meets
 * every deadline exists, also when jobs end early. Where t itself has fallen out of F (ending
 * early can hurt a scheduler that never idles), waiting until the next instant in F is safe.
 */
#ifndef GS_PBS_POLICY_H
#define GS_PBS_POLICY_H

#include "pbs/feasible.h"

/* The class of a state of the problem, given the pending jobs of each task; -1 where some count is
 * negative or beyond what can be pending in time. */
int64_t gs_pbs_policy_class(const gs_pbs_problem_t *problem, const int64_t *pending);

/* Writes the safe batches (2^n entries at most) in increasing order; returns how many. */
int64_t gs_pbs_policy_safe(const gs_pbs_feasible_t *feasible, int64_t instant, int64_t class_index,
                           uint32_t *batches);

/* The first instant from the given one on at which some batch is safe, if the GPU waits that long;
 * arrivals meanwhile count. GS_NEVER when there is none: nothing is left to run, or it is too late
 * for some job. */
int64_t gs_pbs_policy_next(const gs_pbs_feasible_t *feasible, int64_t instant, int64_t class_index);

/* The same, without waiting beyond the interval k that holds the instant. */
int64_t gs_pbs_policy_next_within(const gs_pbs_feasible_t *feasible, int64_t instant, int64_t k,
                                  int64_t class_index);

/* The safe batch to start at an instant: it contains the most urgent job if one such is safe, and
 * saves the most time against running its members one after the other. 0 when none is. */
uint32_t gs_pbs_policy_choose(const gs_pbs_feasible_t *feasible, int64_t instant,
                              int64_t class_index);

#endif
