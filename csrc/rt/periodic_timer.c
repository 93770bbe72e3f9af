/* Attributes of the calling thread, and releases at absolute instants. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include "rt/rt.h"
#include "rt/thread_state.h"
#include "rt/wait_word.h"

#define PAGE_BYTES 4096
#define MOST_STACK_BYTES (64 << 20)

int gs_rt_thread(int cpu, int fifo)
{
    if (cpu < -1) {
        return gs_rt_fail_number(GS_RT_ERR_VALUE, "cpu", cpu, "-1 or the number of a CPU");
    }
    if (fifo < 0) {
        return gs_rt_fail_number(GS_RT_ERR_VALUE, "fifo", fifo, "0 or a priority of SCHED_FIFO");
    }
    if (fifo > 0) { /* before it moves to a CPU where others of such a priority may run */
        struct sched_param parameter = {.sched_priority = fifo};
        int error = pthread_setschedparam(pthread_self(), SCHED_FIFO, &parameter);
        if (error != 0) {
            return gs_rt_fail_system("fifo", error);
        }
    }
#ifdef __linux__
    if (cpu >= 0) {
        cpu_set_t set;
        CPU_ZERO(&set);
        if (cpu >= CPU_SETSIZE) {
            return gs_rt_fail_number(GS_RT_ERR_VALUE, "cpu", cpu, "a CPU of this machine");
        }
        CPU_SET((size_t)cpu, &set);
        int error = pthread_setaffinity_np(pthread_self(), sizeof set, &set);
        if (error != 0) {
            return gs_rt_fail_system("cpu", error);
        }
    }
    prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
#else
    if (cpu >= 0) {
        return gs_rt_fail_number(GS_RT_ERR_SYSTEM, "cpu", cpu, "-1 on this system");
    }
#endif
    return GS_RT_OK;
}

/* Touches one page of the stack after the other. */
static void touch_stack(size_t bytes)
{
    volatile char page[PAGE_BYTES];
    page[0] = 0;
    if (bytes > PAGE_BYTES) {
        touch_stack(bytes - PAGE_BYTES);
    }
    page[PAGE_BYTES - 1] = page[0]; /* behind the call, which is therefore no jump */
}

int gs_rt_lock_memory(size_t stack)
{
    if (stack > MOST_STACK_BYTES) {
        return gs_rt_fail_number(GS_RT_ERR_VALUE, "stack",
                                 stack > INT64_MAX ? INT64_MAX : (int64_t)stack, "at most 64 MiB");
    }
    if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0) {
        return gs_rt_fail_system("lock_memory", errno);
    }
    touch_stack(stack);
    return GS_RT_OK;
}

void gs_rt_timer_start(gs_rt_timer_t *self, int64_t first, int64_t period)
{
    *self = (gs_rt_timer_t){.next = first, .period = period};
}

int gs_rt_timer_wait(gs_rt_timer_t *self, int64_t awake_ns, int skip_missed)
{
    if (self->period <= 0) {
        return gs_rt_fail_number(GS_RT_ERR_VALUE, "period", self->period, "at least 1 ns");
    }
    int64_t now = gs_rt_now();
    if (skip_missed && now - self->next >= self->period) {
        int64_t missed = (now - self->next) / self->period;
        self->skipped += missed;
        self->next += missed * self->period;
    }
    gs_rt_wait_word_t never = 0;
    while ((now = gs_rt_now()) < self->next) {
        if (awake_ns < self->next - now) {
            gs_rt_wait_word_sleep(&never, 0, self->next - awake_ns, false);
        } else {
            gs_rt_wait_word_pause();
        }
    }
    int64_t late = now - self->next;
    int bits = 0;
    while (bits < 31 && late >> bits != 0) {
        bits++;
    }
    self->histogram[bits]++;
    self->late_max = late > self->late_max ? late : self->late_max;
    self->late_sum += late;
    self->releases++;
    self->next += self->period;
    return GS_RT_OK;
}
