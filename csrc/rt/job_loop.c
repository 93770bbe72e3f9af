/* Jobs of a periodic task: releases, and what the log has of each job. */
#include "rt/rt.h"
#include "rt/thread_state.h"
#include "rt/wait_word.h"

/* A thread that waits for a release looks so often whether it is to stop. */
#define NAP_NS 20000000

static int is_stopped(const gs_rt_jobs_t *jobs)
{
    return jobs->stopped != NULL && jobs->stopped(jobs->arg) != 0;
}

static int wait_for_release(const gs_rt_jobs_t *jobs, gs_rt_timer_t *timer)
{
    gs_rt_wait_word_t never = 0;
    for (int64_t now; jobs->stopped != NULL && (now = gs_rt_now()) < timer->next - NAP_NS;) {
        if (is_stopped(jobs)) {
            return GS_RT_STOPPED;
        }
        gs_rt_wait_word_sleep(&never, 0, now + NAP_NS, false);
    }
    int status = gs_rt_timer_wait(timer, 0, 0);
    return status == GS_RT_OK && is_stopped(jobs) ? GS_RT_STOPPED : status;
}

int gs_rt_jobs_run(const gs_rt_jobs_t *jobs)
{
    if (jobs->run == NULL) {
        return gs_rt_fail(GS_RT_ERR_VALUE, "run", NULL, "a function");
    }
    if (jobs->period < 1 || jobs->jobs < 0 || jobs->deadline < 0) {
        return gs_rt_fail_number(GS_RT_ERR_VALUE, "period, jobs or deadline",
                                 jobs->period < 1 ? jobs->period
                                 : jobs->jobs < 0 ? jobs->jobs
                                                  : jobs->deadline,
                                 "a positive period, and at least 0");
    }
    gs_rt_timer_t timer;
    gs_rt_timer_start(&timer, jobs->first, jobs->period);
    int status = GS_RT_OK;
    for (int64_t number = 0; status >= 0 && (jobs->jobs == 0 || number < jobs->jobs); number++) {
        status = wait_for_release(jobs, &timer);
        if (status != GS_RT_OK) {
            break;
        }
        int64_t used = gs_rt_cpu_time(), waited = 0;
        gs_rt_job_t job = {.task = jobs->task,
                           .job = number,
                           .release = timer.next - timer.period,
                           .deadline = timer.next - timer.period + jobs->deadline};
        gs_rt_log_event(jobs->log, GS_RT_EV_RELEASE, job.task, number, job.release);
        status = jobs->run(jobs->arg, &job, &waited);
        if (status == GS_RT_STOPPED || status < 0) {
            break;
        }
        int64_t now = gs_rt_now();
        if (now > job.deadline) {
            gs_rt_log_event_at(jobs->log, now, GS_RT_EV_MISS, job.task, number, now - job.deadline);
        }
        gs_rt_log_event(jobs->log, GS_RT_EV_CPU, job.task, number,
                        gs_rt_cpu_time() - used - waited);
        gs_rt_log_event_at(jobs->log, now, GS_RT_EV_COMPLETE, job.task, number, job.deadline);
        status = GS_RT_OK;
    }
    return status;
}
