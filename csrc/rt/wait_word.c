/* Clock, and waiting: futexes on Linux; elsewhere, a look at the word every 0.2 ms. */
#define _GNU_SOURCE
#include "rt/wait_word.h"

#include <limits.h>
#include <stddef.h>
#include <time.h>

#include "rt/rt.h"

#define SECOND_NS 1000000000
#define LONGEST_NS (INT64_C(3600) * SECOND_NS)

static int64_t clock_ns(clockid_t clock)
{
    struct timespec at;
    clock_gettime(clock, &at);
    return (int64_t)at.tv_sec * SECOND_NS + at.tv_nsec;
}

int64_t gs_rt_now(void)
{
    return clock_ns(CLOCK_MONOTONIC);
}

int64_t gs_rt_cpu_time(void)
{
    return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

void gs_rt_wait_word_pause(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

#ifdef __linux__

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

void gs_rt_wait_word_sleep(gs_rt_wait_word_t *word, uint32_t value, int64_t until, bool shared)
{
    int64_t most = gs_rt_now() + LONGEST_NS;
    until = until < most ? until : most;
    if (until < 0) {
        return;
    }
    struct timespec at = {.tv_sec = (time_t)(until / SECOND_NS),
                          .tv_nsec = (long)(until % SECOND_NS)};
    syscall(SYS_futex, word, FUTEX_WAIT_BITSET | (shared ? 0 : FUTEX_PRIVATE_FLAG), value, &at,
            NULL, FUTEX_BITSET_MATCH_ANY);
}

void gs_rt_wait_word_change(gs_rt_wait_word_t *word, bool all, bool shared)
{
    atomic_fetch_add(word, 1);
    syscall(SYS_futex, word, FUTEX_WAKE | (shared ? 0 : FUTEX_PRIVATE_FLAG), all ? INT_MAX : 1,
            NULL, NULL, 0);
}

#else

#define NAP_NS 200000

void gs_rt_wait_word_sleep(gs_rt_wait_word_t *word, uint32_t value, int64_t until, bool shared)
{
    (void)shared;
    int64_t left = until - gs_rt_now();
    if (left > 0 && atomic_load(word) == value) {
        struct timespec nap = {.tv_sec = 0, .tv_nsec = (long)(left < NAP_NS ? left : NAP_NS)};
        nanosleep(&nap, NULL);
    }
}

void gs_rt_wait_word_change(gs_rt_wait_word_t *word, bool all, bool shared)
{
    (void)all;
    (void)shared;
    atomic_fetch_add(word, 1);
}

#endif
