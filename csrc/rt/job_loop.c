/* Jobs of a task: releases by a timer or by ends of other jobs, and what the log has of each job.
 */
#include "rt/job_ends.h"
#include "rt/rt.h"
#include "rt/thread_state.h"
#include "rt/wait_word.h"

/* A thread that waits for a release looks so often whether it is to stop. */
#define NAP_NS 20000000

static int is_stopped(const gs_rt_jobs_t *jobs)
{
    return jobs->stopped != NULL && jobs->stopped(jobs->arg) != 0;
}

/* Sleeps until an instant, or until shortly before it: then what waits is left to a timer. */
static int sleep_until(const gs_rt_jobs_t *jobs, int64_t instant, int64_t before)
{
    gs_rt_wait_word_t never = 0;
    for (int64_t now; (now = gs_rt_now()) < instant - before;) {
        if (is_stopped(jobs)) {
            return GS_RT_STOPPED;
        }
        int64_t nap = instant < now + NAP_NS ? instant : now + NAP_NS;
        gs_rt_wait_word_sleep(&never, 0, nap, false);
    }
    return GS_RT_OK;
}

/* The arrival of a job, or its release by others. */
static int wait_for_release(const gs_rt_jobs_t *jobs, gs_rt_timer_t *timer, int64_t number,
                            int64_t *release)
{
    int status = GS_RT_OK;
    *release = 0;
    for (int32_t k = 0; k < jobs->afters && status == GS_RT_OK; k++) {
        int64_t end = 0, every = jobs->every == 0 ? 1 : jobs->every;
        status = gs_rt_ends_wait(jobs->after[k], number * every, jobs->stopped, jobs->arg, &end);
        *release = end > *release ? end : *release;
    }
    if (jobs->afters == 0) {
        status = jobs->stopped == NULL ? GS_RT_OK : sleep_until(jobs, timer->next, NAP_NS);
        status = status == GS_RT_OK ? gs_rt_timer_wait(timer, 0, 0) : status;
        *release = timer->next - timer->period;
    }
    if (jobs->delay != NULL && status == GS_RT_OK) {
        status = sleep_until(jobs, *release + jobs->delay(jobs->arg, number), 0);
    }
    return status == GS_RT_OK && is_stopped(jobs) ? GS_RT_STOPPED : status;
}

static int check(const gs_rt_jobs_t *jobs)
{
    if (jobs->run == NULL) {
        return gs_rt_fail(GS_RT_ERR_VALUE, "run", NULL, "a function");
    }
    if ((jobs->period < 1 && jobs->afters == 0) || jobs->jobs < 0 || jobs->deadline < 0) {
        return gs_rt_fail_number(GS_RT_ERR_VALUE, "period, jobs or deadline",
                                 jobs->jobs < 0       ? jobs->jobs
                                 : jobs->deadline < 0 ? jobs->deadline
                                                      : jobs->period,
                                 "a positive period, and at least 0");
    }
    if (jobs->afters < 0 || jobs->every < 0 || (jobs->afters > 0 && jobs->after == NULL)) {
        return gs_rt_fail_number(GS_RT_ERR_VALUE, "afters or every",
                                 jobs->every < 0 ? jobs->every : jobs->afters,
                                 "at least 0, and ends of jobs");
    }
    return GS_RT_OK;
}

static int run_jobs(const gs_rt_jobs_t *jobs)
{
    gs_rt_timer_t timer;
    gs_rt_timer_start(&timer, jobs->first, jobs->period);
    int status = GS_RT_OK;
    for (int64_t number = 0; status >= 0 && (jobs->jobs == 0 || number < jobs->jobs); number++) {
        int64_t release;
        status = wait_for_release(jobs, &timer, number, &release);
        if (status != GS_RT_OK) {
            break;
        }
        int64_t used = gs_rt_cpu_time(), waited = 0;
        gs_rt_job_t job = {.task = jobs->task,
                           .job = number,
                           .release = release,
                           .deadline = release + jobs->deadline};
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
        if (jobs->ends != NULL) {
            gs_rt_ends_tell(jobs->ends, now);
        }
        status = GS_RT_OK;
    }
    return status;
}

int gs_rt_jobs_run(const gs_rt_jobs_t *jobs)
{
    int status = check(jobs);
    status = status == GS_RT_OK ? run_jobs(jobs) : status;
    if (jobs->ends != NULL) {
        gs_rt_ends_finish(jobs->ends);
    }
    return status;
}
