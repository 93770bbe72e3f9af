/* Server: one thread runs the GPU segments of all tasks, the most urgent request first.
 *
 * Requests are on the stacks of the threads that make them, so that none can be refused for want of
 * room.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdbool.h>

#include "rt/rt.h"
#include "rt/thread_state.h"
#include "rt/wait_word.h"

/* The server looks so often whether it is to end. */
#define NAP_NS 50000000

typedef struct request {
    struct request *next; /* made earlier */
    const gs_rt_work_t *work;
    const gs_rt_job_t *job;
    int result;
    int64_t urgency;
    int64_t taken; /* instant */
    gs_rt_wait_word_t done;
} request_t;

struct gs_rt_server {
    gs_rt_server_options_t options;
    pthread_t thread;
    pthread_mutex_t guard;
    request_t *waiting; /* the latest one first; under the guard */
    gs_rt_wait_word_t changed;
    _Atomic int stopped; /* 0, or the status with which requests return */
    int started;         /* of the thread: a status */
    gs_rt_wait_word_t ready;
};

/* Takes out the most urgent request, of equal ones the earliest; NULL without any. */
static request_t *take(gs_rt_server_t *self)
{
    pthread_mutex_lock(&self->guard);
    request_t **best = &self->waiting;
    for (request_t **at = best; *at != NULL; at = &(*at)->next) {
        if ((*at)->urgency >= (*best)->urgency) {
            best = at;
        }
    }
    request_t *found = *best;
    if (found != NULL) {
        *best = found->next;
        found->taken = gs_rt_now();
    }
    pthread_mutex_unlock(&self->guard);
    return found;
}

static void answer(request_t *request, int result)
{
    request->result = result;
    /* The stack of the other thread ends with this store: it wakes by the value alone. */
    gs_rt_wait_word_change(&request->done, true, false);
}

/* Waits for the work of a segment that has been submitted. */
static int finish(gs_rt_server_t *self, const request_t *request)
{
    const gs_rt_work_t *work = request->work;
    if (work->wait == NULL) {
        return GS_RT_OK;
    }
    int64_t hang = self->options.hang_ns == 0 ? INT64_MAX : gs_rt_now() + self->options.hang_ns;
    for (;;) {
        int64_t now = gs_rt_now(), until = now + NAP_NS;
        int status = work->wait(work->arg, request->job,
                                self->options.spin ? 0 : (hang < until ? hang : until));
        if (status < 0) {
            return gs_rt_fail_number(GS_RT_ERR_WORK, "wait", status, "work that ends");
        }
        if (status != GS_RT_TIMEOUT) {
            return GS_RT_OK;
        }
        if (now >= hang) {
            return gs_rt_fail_number(GS_RT_ERR_HANG, "work of task", request->job->task,
                                     "to end within hang_ns");
        }
    }
}

static int run(gs_rt_server_t *self, const request_t *request)
{
    const gs_rt_job_t *job = request->job;
    gs_rt_log_t *log = self->options.log;
    gs_rt_log_event(log, GS_RT_EV_ACQUIRE, job->task, job->job, request->taken);
    if (self->options.overrun == GS_RT_OVERRUN_SKIP && request->taken >= job->deadline) {
        gs_rt_log_event(log, GS_RT_EV_SKIP, job->task, job->job, job->kernel);
        return GS_RT_SKIPPED;
    }
    gs_rt_log_event(log, GS_RT_EV_SUBMIT, job->task, job->job, job->kernel);
    int status = request->work->submit(request->work->arg, job);
    if (status < 0) {
        return gs_rt_fail_number(GS_RT_ERR_WORK, "submit", status, "0");
    }
    status = finish(self, request);
    if (status != GS_RT_OK) {
        return status;
    }
    int64_t now = gs_rt_now();
    gs_rt_log_event_at(log, now, GS_RT_EV_GPU_END, job->task, job->job, job->kernel);
    if (now > job->deadline) {
        gs_rt_log_event_at(log, now, GS_RT_EV_MISS, job->task, job->job, now - job->deadline);
        return GS_RT_LATE;
    }
    return GS_RT_OK;
}

static void *serve(void *arg)
{
    gs_rt_server_t *self = arg;
    self->started = gs_rt_thread(self->options.cpu, self->options.fifo);
    gs_rt_wait_word_change(&self->ready, true, false);
    while (self->started == GS_RT_OK) {
        uint32_t before = atomic_load(&self->changed);
        request_t *request = take(self);
        int stopped = atomic_load(&self->stopped);
        if (request == NULL) {
            if (stopped != 0) {
                break;
            }
            gs_rt_wait_word_sleep(&self->changed, before, INT64_MAX, false);
            continue;
        }
        int result = stopped != 0 ? stopped : run(self, request);
        gs_rt_log_event(self->options.log, GS_RT_EV_RELEASE_LOCK, request->job->task,
                        request->job->job, 0);
        if (result == GS_RT_ERR_HANG) { /* nothing behind it can run */
            atomic_store(&self->stopped, GS_RT_ERR_HANG);
        }
        answer(request, result);
    }
    return NULL;
}

int gs_rt_server_open(const gs_rt_server_options_t *options, gs_rt_server_t **server)
{
    *server = NULL;
    if (options->hang_ns < 0) {
        return gs_rt_fail_number(GS_RT_ERR_VALUE, "hang_ns", options->hang_ns, "at least 0 ns");
    }
    if (options->overrun != GS_RT_OVERRUN_CONTINUE && options->overrun != GS_RT_OVERRUN_SKIP) {
        return gs_rt_fail_number(GS_RT_ERR_VALUE, "overrun", options->overrun,
                                 "GS_RT_OVERRUN_CONTINUE or GS_RT_OVERRUN_SKIP");
    }
    gs_rt_server_t *self = gs_rt_allocate(1, sizeof *self, "server");
    if (self == NULL) {
        return GS_RT_ERR_SYSTEM;
    }
    self->options = *options;
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
    pthread_mutex_init(&self->guard, &attributes);
    pthread_mutexattr_destroy(&attributes);
    int error = pthread_create(&self->thread, NULL, serve, self), status = GS_RT_OK;
    if (error != 0) {
        status = gs_rt_fail_system("thread of the server", error);
    } else {
        while (atomic_load(&self->ready) == 0) {
            gs_rt_wait_word_sleep(&self->ready, 0, INT64_MAX, false);
        }
        status = self->started;
        if (status != GS_RT_OK) {
            pthread_join(self->thread, NULL);
            /* The reason is known to that thread alone. */
            gs_rt_fail_number(status, "fifo of the server", options->fifo,
                              "a CPU and a priority that the system grants (see ulimit -r)");
        }
    }
    if (status != GS_RT_OK) {
        pthread_mutex_destroy(&self->guard);
        gs_rt_free(self);
        return status;
    }
    *server = self;
    return GS_RT_OK;
}

int gs_rt_server_run(gs_rt_server_t *self, int64_t urgency, const gs_rt_work_t *work,
                     const gs_rt_job_t *job)
{
    request_t request = {.work = work, .job = job, .urgency = urgency};
    pthread_mutex_lock(&self->guard);
    int stopped = atomic_load(&self->stopped);
    if (stopped == 0) {
        gs_rt_log_event(self->options.log, GS_RT_EV_REQUEST, job->task, job->job, urgency);
        request.next = self->waiting;
        self->waiting = &request;
    }
    pthread_mutex_unlock(&self->guard);
    if (stopped != 0) {
        return stopped;
    }
    gs_rt_wait_word_change(&self->changed, false, false);
    while (atomic_load(&request.done) == 0) {
        gs_rt_wait_word_sleep(&request.done, 0, INT64_MAX, false);
    }
    if (request.result == GS_RT_ERR_HANG || request.result == GS_RT_ERR_WORK) {
        gs_rt_fail_number(request.result, "work of task", job->task,
                          request.result == GS_RT_ERR_HANG ? "to end within hang_ns"
                                                           : "callbacks that succeed");
    }
    return request.result;
}

void gs_rt_server_close(gs_rt_server_t *self)
{
    if (self == NULL) {
        return;
    }
    int none = 0;
    pthread_mutex_lock(&self->guard);
    atomic_compare_exchange_strong(&self->stopped, &none, GS_RT_STOPPED);
    pthread_mutex_unlock(&self->guard);
    gs_rt_wait_word_change(&self->changed, true, false);
    pthread_join(self->thread, NULL);
    pthread_mutex_destroy(&self->guard);
    gs_rt_free(self);
}
