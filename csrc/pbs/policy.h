/* Run-time policy of F: the safe batches at an instant, and the next instant with one.
 *
 * At a frame boundary at instant t every batch b with t + completion[b] in F is safe: a
 * continuation that meets every deadline exists whatever the dispatcher does next, also when jobs
 * end early. Where t itself is no longer in F (ending early can hurt a scheduler that never idles),
 * waiting until the next instant in F is safe. F: pbs/feasible.h.
 */
#ifndef GS_PBS_POLICY_H
#define GS_PBS_POLICY_H

#include "pbs/feasible.h"

/* The class of a state, given the pending jobs of each task (of each kernel of a chain: the jobs in
 * which it is left); -1 where a count is negative or more than can be pending in time, or where
 * kernels have not run in order. */
int64_t gs_pbs_policy_class(const gs_pbs_problem_t *problem, const int64_t *pending);

/* Writes the safe batches (at most 2^n entries) in increasing order; returns their number. */
int64_t gs_pbs_policy_safe(const gs_pbs_feasible_t *feasible, int64_t instant, int64_t class_index,
                           uint32_t *batches);

/* The first instant at or after the given one at which some batch is safe if the GPU waits until
 * then; arrivals meanwhile count. GS_NEVER when there is none: no job is left, or some job must
 * miss its deadline. */
int64_t gs_pbs_policy_next(const gs_pbs_feasible_t *feasible, int64_t instant, int64_t class_index);

/* As gs_pbs_policy_next, within the interval k that holds the instant. */
int64_t gs_pbs_policy_next_within(const gs_pbs_feasible_t *feasible, int64_t instant, int64_t k,
                                  int64_t class_index);

/* The safe batch to start at an instant: one with the most urgent job if such a batch is safe, and
 * of these the one that saves most time over running its members one after the other. 0 when none
 * is safe. */
uint32_t gs_pbs_policy_choose(const gs_pbs_feasible_t *feasible, int64_t instant,
                              int64_t class_index);

#endif
