/* Simulation of a dispatcher that plays a schedule, or follows the run-time policy, when jobs end
 * early or late.
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
    GS_PBS_DISPATCH_TABLE = 0, /* starts every entry of the schedule at its time */
    GS_PBS_DISPATCH_RECLAIM =
        1,                     /* starts it as soon as the last one ended and its jobs are there */
    GS_PBS_DISPATCH_POLICY = 2 /* chooses by F */
};

typedef struct {
    int64_t misses;
    int64_t jobs;
    int64_t frames;
    int64_t finish;         /* the end of the last frame */
    int64_t response_total; /* over all jobs */
    int64_t waited;         /* time idle although work was ready */
} gs_pbs_dispatch_t;

/* Plays one hyperperiod. Every frame takes its completion time times a factor drawn uniformly from
 * low..high, rounded up, at least 1; factors above 1 model an overrun. frames: the schedule of
 * GS_PBS_DISPATCH_TABLE and GS_PBS_DISPATCH_RECLAIM. The policy gives up (the jobs left count as
 * misses) where no batch is safe and waiting is not, which takes an overrun. */
int gs_pbs_dispatch(gs_context_t *ctx, const gs_pbs_feasible_t *feasible, int strategy,
                    const gs_schedule_frame_t *frames, int64_t count, gs_rng_t *rng, double low,
                    double high, gs_pbs_dispatch_t *result);

#endif
