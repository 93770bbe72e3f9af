/* Dead interval: an interval too short for the jobs that must run inside it.
 *
 * Jobs released at or after an instant, with deadlines at or before another, must run between the
 * two, at most one job of each task per batch. The least total time of batches that cover them is a
 * lower bound, whatever else the batches contain. Where it exceeds the length of the interval, no
 * schedule exists, with or without inserted idle time.
 */
#ifndef GS_PBS_DEAD_INTERVAL_H
#define GS_PBS_DEAD_INTERVAL_H

#include "pbs/problem.h"

typedef struct {
    bool found;
    int64_t from;   /* an arrival */
    int64_t to;     /* a deadline */
    uint32_t tasks; /* each has a job released at or after from and due at or before to */
    int64_t least;  /* least total time of batches that cover these tasks; exceeds to - from */
} gs_pbs_dead_interval_t;

/* Searches the intervals that start at an arrival and contain at most one job of each task. Work:
 * 3^n / 2. Errors: GS_ERR_MEMORY, GS_ERR_INTERRUPTED. */
int gs_pbs_dead_interval_find(gs_pbs_dead_interval_t *self, gs_context_t *ctx,
                              const gs_pbs_problem_t *problem);

#endif
