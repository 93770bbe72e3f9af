/* Loop over the jobs of a task, step by step, for threads that cannot be called back. */
#ifndef GS_RT_JOB_LOOP_H
#define GS_RT_JOB_LOOP_H

#include "rt/rt.h"

typedef struct {
    const gs_rt_jobs_t *jobs; /* without `run` */
    gs_rt_timer_t timer;
    int64_t released; /* jobs so far */
    int64_t used;     /* CPU time of the thread at the last release */
    gs_rt_job_t job;  /* the last one */
} gs_rt_job_loop_t;

/* Begins a loop in the thread that calls all functions; `jobs` is not copied. */
int gs_rt_job_loop_open(gs_rt_job_loop_t *self, const gs_rt_jobs_t *jobs);

/* Waits for the release of the next job and logs it: GS_RT_OK, GS_RT_TIMEOUT behind the last job,
 * GS_RT_STOPPED or an error. */
int gs_rt_job_loop_next(gs_rt_job_loop_t *self);

/* Logs the CPU time and the end of the job, which took so much CPU time in busy waits. */
void gs_rt_job_loop_end(gs_rt_job_loop_t *self, int64_t waited);

#endif
