/* Ends of the jobs of a task, told by its thread, for which threads of other tasks wait. */
#ifndef GS_RT_JOB_ENDS_H
#define GS_RT_JOB_ENDS_H

#include <stdint.h>

#include "rt/rt.h"

/* The next job has ended at an instant. One thread tells. */
void gs_rt_ends_tell(gs_rt_ends_t *ends, int64_t instant);

/* No more jobs will end. */
void gs_rt_ends_finish(gs_rt_ends_t *ends);

/* Waits until a job has ended: GS_RT_OK with the instant, GS_RT_STOPPED where it will not or when
 * `stopped` (or NULL) says so, GS_RT_ERR_FULL. */
int gs_rt_ends_wait(gs_rt_ends_t *ends, int64_t job, int (*stopped)(void *arg), void *arg,
                    int64_t *instant);

#endif
