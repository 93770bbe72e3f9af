/* Jobs of a task: releases by a timer or by ends of other jobs, and what the log has of each job.
 */
#include "rt/job_loop.h"

#include "rt/job_ends.h"
#include "rt/rt.h"
#include "rt/thread_state.h"
#include "rt/wait_word.h"

/* A thread that waits for a release looks so often whether it is to stop. */
#define NAP_NS 20000000
#define MOST_NS (INT64_MAX / 8)

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
    if ((jobs->period < 1 && jobs->afters == 0) || jobs->period > MOST_NS) {
        return gs_rt_fail_number(GS_RT_ERR_VALUE, "period", jobs->period, "1 to 2**60 ns");
    }
    if (jobs->first < 0 || jobs->first > MOST_NS) {
        return gs_rt_fail_number(GS_RT_ERR_VALUE, "first", jobs->first, "0 to 2**60 ns");
    }
    if (jobs->deadline < 0 || jobs->deadline > MOST_NS) {
        return gs_rt_fail_number(GS_RT_ERR_VALUE, "deadline", jobs->deadline, "0 to 2**60 ns");
    }
    if (jobs->jobs < 0) {
        return gs_rt_fail_number(GS_RT_ERR_VALUE, "jobs", jobs->jobs, "at least 0");
    }
    if (jobs->afters < 0 || jobs->every < 0 || (jobs->afters > 0 && jobs->after == NULL)) {
        return gs_rt_fail_number(GS_RT_ERR_VALUE, "afters or every",
                                 jobs->every < 0 ? jobs->every : jobs->afters,
                                 "at least 0, and ends of jobs");
    }
    return GS_RT_OK;
}

int gs_rt_job_loop_open(gs_rt_job_loop_t *self, const gs_rt_jobs_t *jobs)
{
    *self = (gs_rt_job_loop_t){.jobs = jobs};
    gs_rt_timer_start(&self->timer, jobs->first, jobs->period);
    return check(jobs);
}

int gs_rt_job_loop_next(gs_rt_job_loop_t *self)
{
    const gs_rt_jobs_t *jobs = self->jobs;
    if (jobs->jobs != 0 && self->released == jobs->jobs) {
        return GS_RT_TIMEOUT;
    }
    int64_t number = self->released, release;
    int status = wait_for_release(jobs, &self->timer, number, &release);
    if (status != GS_RT_OK) {
        return status;
    }
    self->released++;
    self->used = gs_rt_cpu_time();
    self->job = (gs_rt_job_t){.task = jobs->task,
                              .job = number,
                              .release = release,
                              .deadline = release + jobs->deadline};
    gs_rt_log_event(jobs->log, GS_RT_EV_RELEASE, jobs->task, number, release);
    return GS_RT_OK;
}

void gs_rt_job_loop_end(gs_rt_job_loop_t *self, int64_t waited)
{
    const gs_rt_jobs_t *jobs = self->jobs;
    const gs_rt_job_t *job = &self->job;
    int64_t now = gs_rt_now();
    if (now > job->deadline) {
        gs_rt_log_event_at(jobs->log, now, GS_RT_EV_MISS, job->task, job->job, now - job->deadline);
    }
    gs_rt_log_event(jobs->log, GS_RT_EV_CPU, job->task, job->job,
                    gs_rt_cpu_time() - self->used - waited);
    gs_rt_log_event_at(jobs->log, now, GS_RT_EV_COMPLETE, job->task, job->job, job->deadline);
    if (jobs->ends != NULL) {
        gs_rt_ends_tell(jobs->ends, now);
    }
}

static int run_jobs(const gs_rt_jobs_t *jobs)
{
    gs_rt_job_loop_t loop;
    int status = gs_rt_job_loop_open(&loop, jobs);
    if (status == GS_RT_OK && jobs->run == NULL) {
        status = gs_rt_fail(GS_RT_ERR_VALUE, "run", NULL, "a function");
    }
    while (status == GS_RT_OK && (status = gs_rt_job_loop_next(&loop)) == GS_RT_OK) {
        int64_t waited = 0;
        status = jobs->run(jobs->arg, &loop.job, &waited);
        if (status == GS_RT_STOPPED || status < 0) {
            break;
        }
        gs_rt_job_loop_end(&loop, waited);
        status = GS_RT_OK;
    }
    return status == GS_RT_TIMEOUT ? GS_RT_OK : status;
}

int gs_rt_jobs_run(const gs_rt_jobs_t *jobs)
{
    int status = run_jobs(jobs);
    if (jobs->ends != NULL) {
        gs_rt_ends_finish(jobs->ends);
    }
    return status;
}
