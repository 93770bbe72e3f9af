/* Schedules by dispatch rules: EDFserial, EDFParallel, and a search over batches of what is
 * pending.
 *
 * A state is an instant and the next job of each task. The batches considered in it, instead of all
 * subsets of what is pending:
 *
 *   serial, parallel: the one batch of EDFserial or EDFParallel (pbs/edf.h);
 *   searched: each pending task alone, and for each pending task m the batch that begins with m and
 *   takes the others that are no longer, by deadline, as far as it stays eligible: a batch takes as
 *   long as its longest task.
 *
 * A batch is followed where it ends by the deadlines of its jobs and before those of all others. Of
 * these, the `width` best go in turn, depth first. So a schedule that is found meets every deadline
 * and never idles while work is ready (with idling, waiting for the next release is a move, too); a
 * failure proves nothing.
 */
#ifndef GS_PBS_LARGE_DISPATCH_SEARCH_H
#define GS_PBS_LARGE_DISPATCH_SEARCH_H

#include "core/rng.h"
#include "pbs/large/batch_function.h"

/* A frame of a schedule, as gs_schedule_frame_t with more tasks. */
typedef struct {
    int64_t start;
    int64_t end;
    uint64_t batch;
} gs_pbs_large_frame_t;

typedef struct {
    gs_pbs_large_frame_t *frames; /* owned */
    int64_t count;
    int64_t capacity;
} gs_pbs_large_schedule_t;

int gs_pbs_large_schedule_append(gs_pbs_large_schedule_t *self, gs_context_t *ctx, int64_t start,
                                 int64_t end, uint64_t batch);
void gs_pbs_large_schedule_free(gs_pbs_large_schedule_t *self, gs_context_t *ctx);

enum {
    GS_PBS_LARGE_DISPATCH_SERIAL = 0,
    GS_PBS_LARGE_DISPATCH_PARALLEL = 1,
    GS_PBS_LARGE_DISPATCH_SEARCHED = 2
};

/* Ranks of batches: those with the most urgent job first, or not; then by what their jobs are worth
 * beyond their time, or relative to it. */
enum {
    GS_PBS_LARGE_DISPATCH_URGENT_BEYOND = 0,
    GS_PBS_LARGE_DISPATCH_URGENT_RATIO = 1,
    GS_PBS_LARGE_DISPATCH_BEYOND = 2,
    GS_PBS_LARGE_DISPATCH_RATIO = 3,
    GS_PBS_LARGE_DISPATCH_RANKS = 4
};

/* Most batches followed from a state. */
#define GS_PBS_LARGE_DISPATCH_WIDTH 8

typedef struct {
    int rule;
    int rank;
    const double *worth; /* of a job of each task: prices, or its wcet, where NULL */
    int32_t width;       /* 1 to GS_PBS_LARGE_DISPATCH_WIDTH */
    bool idling;         /* waiting is a move */
    int64_t states;      /* give up after so many */
    gs_rng_t *rng;       /* NULL, or multiplies ranks by random factors */
} gs_pbs_large_dispatch_options_t;

/* Looks for a schedule of the jobs released in [0, hyperperiod). *found: schedule has the frames.
 * Errors and spent budgets as usual. */
int gs_pbs_large_dispatch(gs_context_t *ctx, const gs_periodic_tasks_t *tasks, int64_t hyperperiod,
                          gs_pbs_large_function_t *function,
                          const gs_pbs_large_dispatch_options_t *options,
                          gs_pbs_large_schedule_t *schedule, bool *found);

#endif
