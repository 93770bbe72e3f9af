/* Is there a window of time that cannot hold the jobs that must run inside it?
 *
 * Jobs released at or after an instant, with deadlines at or before another, must run between the
 * two, each task's at most once in a batch. The least total time of batches that cover them is a
 * lower bound, whatever else the batches contain; where it exceeds the window no schedule exists,
 * with or without inserted idle time.
 */
#ifndef GS_PBS_DEAD_INTERVAL_H
#define GS_PBS_DEAD_INTERVAL_H

#include "pbs/problem.h"

typedef struct {
    bool found;
    int64_t from;   /* an arrival */
    int64_t to;     /* a deadline */
    uint32_t tasks; /* each has a job released at from or later, due by to */
    int64_t least;  /* the least total time of batches that cover these tasks; above to - from */
} gs_pbs_dead_interval_t;

/* Looks for such a window among those that start at an arrival and contain at most one job of each
 * task. Work: 3^n / 2. */
int gs_pbs_dead_interval_find(gs_pbs_dead_interval_t *self, gs_context_t *ctx,
                              const gs_pbs_problem_t *problem);

#endif
