/* Work of interfering jobs of other tasks in a backlogged interval, counted incrementally; internal
 * to analysis/fifo/theorem_*.c.
 *
 * All times are in 1/beta ticks from the start of the interval, work is in thread-ticks. A task
 * with period T and response bound R has at most ceil((x + R) / T) jobs that interfere up to x.
 */
#ifndef GS_ANALYSIS_FIFO_INTERFERING_JOBS_H
#define GS_ANALYSIS_FIFO_INTERFERING_JOBS_H

#include "core/context.h"
#include "core/int128.h"

/* An interfering task. Its n jobs counted so far interfere up to reach = n T - R. */
typedef struct {
    int64_t reach;
    int64_t period;
    int64_t work; /* of a job */
    int64_t jobs; /* number counted so far */
} gs_analysis_fifo_interfering_task_t;

typedef struct {
    gs_int128_t reach;
    gs_int128_t period;
    int64_t work;
    int64_t jobs;
} gs_analysis_fifo_interfering_wide_task_t;

typedef struct {
    gs_analysis_fifo_interfering_task_t
        *narrow; /* owned; 64 bits suffice for nearly all sets and are faster */
    gs_analysis_fifo_interfering_wide_task_t
        *wide; /* owned; used instead where 64 bits do not suffice */
    int64_t count;
    bool is_wide;
    gs_int128_t next; /* the least reach: later instants may have more jobs */
} gs_analysis_fifo_interfering_t;

/* Allocates memory for room tasks. Safe to free after a failure. */
int gs_analysis_fifo_interfering_init(gs_analysis_fifo_interfering_t *self, gs_context_t *ctx,
                                      int64_t room);
void gs_analysis_fifo_interfering_free(gs_analysis_fifo_interfering_t *self, gs_context_t *ctx);

void gs_analysis_fifo_interfering_clear(gs_analysis_fifo_interfering_t *self);

/* Adds a task with no job counted. */
void gs_analysis_fifo_interfering_add(gs_analysis_fifo_interfering_t *self, gs_int128_t response,
                                      gs_int128_t period, int64_t work);

/* Counts the jobs that interfere up to an instant, at most `most` of each task in total (INT64_MAX:
 * no limit). Returns the work of the jobs newly counted. */
gs_int128_t gs_analysis_fifo_interfering_count(gs_analysis_fifo_interfering_t *self, int64_t most,
                                               gs_int128_t instant);

#endif
