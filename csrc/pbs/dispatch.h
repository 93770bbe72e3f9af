/* Simulation of a dispatcher that follows a schedule or the run-time policy when jobs end early or
 * late.
 *
 * [RTNS24], section 4.1.
 */
#ifndef GS_PBS_DISPATCH_H
#define GS_PBS_DISPATCH_H

#include "core/rng.h"
#include "model/schedule.h"
#include "pbs/feasible.h"

/* Rules for the time between the frames of a hyperperiod. */
enum {
    GS_PBS_DISPATCH_TABLE = 0, /* starts every frame of the schedule at its time */
    GS_PBS_DISPATCH_RECLAIM =
        1, /* starts it once the previous one has ended and its jobs are released */
    GS_PBS_DISPATCH_POLICY = 2 /* chooses a safe batch of F */
};

typedef struct {
    int64_t misses;
    int64_t jobs;
    int64_t frames;
    int64_t finish;         /* the end of the last frame */
    int64_t response_total; /* over all jobs */
    int64_t waited;         /* time the GPU was idle with jobs ready */
} gs_pbs_dispatch_t;

/* Simulates one hyperperiod. Every frame takes its completion time times a factor drawn uniformly
 * from low..high, rounded up, at least 1 tick; factors above 1 model an overrun. frames: the
 * schedule of GS_PBS_DISPATCH_TABLE and GS_PBS_DISPATCH_RECLAIM. The policy stops where no batch is
 * safe and waiting is not safe either, which takes an overrun; the jobs left count as misses.
 * Errors: GS_ERR_VALUE for a batch of a task without a job left, GS_ERR_OVERFLOW for times of 2**60
 * - 1 ticks or more and for a sum of response times of 2**63 or more. */
int gs_pbs_dispatch(gs_context_t *ctx, const gs_pbs_feasible_t *feasible, int strategy,
                    const gs_schedule_frame_t *frames, int64_t count, gs_rng_t *rng, double low,
                    double high, gs_pbs_dispatch_t *result);

#endif
