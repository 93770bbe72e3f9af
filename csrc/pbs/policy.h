/* Run-time policy of F: the safe batches at an instant, and the next instant with one.
 *
 * At a frame boundary at instant t every batch b with t + completion[b] in F is safe: a
 * continuation that meets every deadline exists whatever the dispatcher does next, also when jobs
 * end early. Where t itself is no longer in F (ending early can hurt a scheduler that never idles),
 * waiting until the next instant in F is safe. F: pbs/feasible.h.
 */
#ifndef GS_PBS_POLICY_H
#define GS_PBS_POLICY_H

#include "core/rng.h"
#include "model/schedule.h"
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

/* Simulation of a dispatcher that follows a schedule or the run-time policy when jobs end early or
 * late.
 *
 * [RTNS24], section 4.1.
 */

/* Rules for the time between the frames of a hyperperiod. */
enum {
    GS_PBS_DISPATCH_TABLE = 0, /* starts every frame of the schedule at its time */
    GS_PBS_DISPATCH_RECLAIM =
        1, /* starts it once the previous one has ended and its jobs are released */
    GS_PBS_DISPATCH_POLICY = 2 /* chooses a safe batch of F */
};

typedef struct {
    int64_t late_count;
    int64_t jobs;
    int64_t frames;
    int64_t end;            /* the end of the last frame */
    int64_t response_total; /* over all jobs */
    int64_t waited;         /* time the GPU was idle with jobs ready */
} gs_pbs_dispatch_t;

/* Simulates one hyperperiod. Every frame takes its completion time times a factor drawn uniformly
 * from low..high, rounded up, at least 1 tick; factors above 1 model an overrun. frames: the
 * schedule of GS_PBS_DISPATCH_TABLE and GS_PBS_DISPATCH_RECLAIM. The policy stops where no batch is
 * safe and waiting is not safe either, which takes an overrun; the jobs left count as late.
 * Errors: GS_ERR_VALUE for a batch of a task without a job left, GS_ERR_OVERFLOW for times of 2**60
 * - 1 ticks or more and for a sum of response times of 2**63 or more. */
int gs_pbs_dispatch(gs_context_t *ctx, const gs_pbs_feasible_t *feasible, int strategy,
                    const gs_schedule_frame_t *frames, int64_t count, gs_rng_t *rng, double low,
                    double high, gs_pbs_dispatch_t *result);

#endif
