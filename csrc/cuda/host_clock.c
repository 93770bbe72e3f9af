/* Clock, sleep and timed wait by POSIX; two forms, as the header says. */
#define _GNU_SOURCE
#include "cuda/host_clock.h"

#include <errno.h>
#include <time.h>

#define SECOND_NS 1000000000

static struct timespec timespec_of(int64_t ns)
{
    return (struct timespec){.tv_sec = (time_t)(ns / SECOND_NS), .tv_nsec = (long)(ns % SECOND_NS)};
}

int64_t gs_cuda_host_clock_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * SECOND_NS + now.tv_nsec;
}

void gs_cuda_host_clock_flag_raise(gs_cuda_host_clock_flag_t *self)
{
    pthread_mutex_lock(&self->lock);
    self->raised = true;
    pthread_cond_signal(&self->changed);
    pthread_mutex_unlock(&self->lock);
}

void gs_cuda_host_clock_flag_free(gs_cuda_host_clock_flag_t *self)
{
    pthread_cond_destroy(&self->changed);
    pthread_mutex_destroy(&self->lock);
}

#ifdef GS_CUDA_PORTABLE_CLOCK

void gs_cuda_host_clock_sleep_until(int64_t instant)
{
    for (int64_t left = instant - gs_cuda_host_clock_now(); left > 0;
         left = instant - gs_cuda_host_clock_now()) {
        struct timespec duration = timespec_of(left);
        nanosleep(&duration, NULL); /* interrupted or too short: what is left is slept again */
    }
}

void gs_cuda_host_clock_flag_init(gs_cuda_host_clock_flag_t *self)
{
    self->raised = false;
    pthread_mutex_init(&self->lock, NULL);
    pthread_cond_init(&self->changed, NULL);
}

/* Longest sleep between two looks at the flag. */
#define PORTABLE_NAP_NS 1000000

bool gs_cuda_host_clock_flag_wait(gs_cuda_host_clock_flag_t *self, int64_t ns)
{
    /* A timed wait on the condition would follow the wall clock here. */
    int64_t end = gs_cuda_host_clock_now() + ns;
    for (;;) {
        pthread_mutex_lock(&self->lock);
        bool raised = self->raised;
        pthread_mutex_unlock(&self->lock);
        int64_t now = gs_cuda_host_clock_now();
        if (raised || now >= end) {
            return raised;
        }
        gs_cuda_host_clock_sleep_until(end - now < PORTABLE_NAP_NS ? end : now + PORTABLE_NAP_NS);
    }
}

#else

void gs_cuda_host_clock_sleep_until(int64_t instant)
{
    struct timespec until = timespec_of(instant);
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR) {
    }
}

void gs_cuda_host_clock_flag_init(gs_cuda_host_clock_flag_t *self)
{
    self->raised = false;
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_mutex_init(&self->lock, NULL);
    pthread_cond_init(&self->changed, &attributes);
    pthread_condattr_destroy(&attributes);
}

bool gs_cuda_host_clock_flag_wait(gs_cuda_host_clock_flag_t *self, int64_t ns)
{
    struct timespec until = timespec_of(gs_cuda_host_clock_now() + ns);
    pthread_mutex_lock(&self->lock);
    if (!self->raised) {
        pthread_cond_timedwait(&self->changed, &self->lock, &until);
    }
    bool raised = self->raised;
    pthread_mutex_unlock(&self->lock);
    return raised;
}

#endif
