/* The jobs of other tasks that can be in the way of a backlogged run: internal to rta/fifo_*.c.
 *
 * All times are counted in 1/beta ticks from the start of the run, work in thread-ticks. A task
 * with period T and response bound R has ceil((x + R) / T) jobs in the way up to x.
 */
#ifndef GS_ANALYSIS_FIFO_INTERFERING_JOBS_H
#define GS_ANALYSIS_FIFO_INTERFERING_JOBS_H

#include "core/context.h"
#include "core/int128.h"

/* A task; the jobs counted so far reach up to n T - R. */
typedef struct {
    int64_t reach;
    int64_t period;
    int64_t work; /* of a job */
    int64_t jobs; /* counted so far */
} gs_analysis_fifo_interfering_task_t;

typedef struct {
    gs_int128_t reach;
    gs_int128_t period;
    int64_t work;
    int64_t jobs;
} gs_analysis_fifo_interfering_wide_task_t;

typedef struct {
    gs_analysis_fifo_interfering_task_t
        *narrow; /* owned; 64 bits are enough for nearly all sets, and faster */
    gs_analysis_fifo_interfering_wide_task_t *wide; /* owned; instead, where they are not enough */
    int64_t count;
    bool is_wide;
    gs_int128_t next; /* the least reach: after it, more jobs can be in the way */
} gs_analysis_fifo_interfering_t;

/* Memory for so many tasks. Safe to free after a failure. */
int gs_analysis_fifo_interfering_init(gs_analysis_fifo_interfering_t *self, gs_context_t *ctx,
                                      int64_t room);
void gs_analysis_fifo_interfering_free(gs_analysis_fifo_interfering_t *self, gs_context_t *ctx);

void gs_analysis_fifo_interfering_clear(gs_analysis_fifo_interfering_t *self);

/* Adds a task; none of its jobs is counted yet. */
void gs_analysis_fifo_interfering_add(gs_analysis_fifo_interfering_t *self, gs_int128_t response,
                                      gs_int128_t period, int64_t work);

/* Counts the jobs in the way up to an instant, but no more than `most` of each task in all
 * (INT64_MAX: no limit); the work of those that were not counted before. */
gs_int128_t gs_analysis_fifo_interfering_count(gs_analysis_fifo_interfering_t *self, int64_t most,
                                               gs_int128_t instant);

#endif
