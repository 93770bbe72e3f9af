/* A library to be preloaded: clocks that jump backwards.
 *
 * jumping_clock_set(clocks, seconds) lets every later reading of a clock (clock_gettime) be so many
 * seconds earlier than the one before it, besides what went by; clocks: 1 the clock of the day,
 * 2 the monotonic one, 3 both, 0 none. Programs that use other calls see the true time. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

static atomic_int jumping;
static atomic_long step, readings;

int clock_gettime(clockid_t clock, struct timespec *now)
{
    static int (*real)(clockid_t, struct timespec *);
    if (real == NULL) {
        *(void **)&real = dlsym(RTLD_NEXT, "clock_gettime");
        if (real == NULL) {
            abort();
        }
    }
    int status = real(clock, now);
    int which = clock == CLOCK_REALTIME ? 1 : clock == CLOCK_MONOTONIC ? 2 : 0;
    if (status == 0 && (which & atomic_load(&jumping)) != 0) {
        now->tv_sec -= atomic_load(&step) * (atomic_fetch_add(&readings, 1) + 1);
    }
    return status;
}

void jumping_clock_set(int clocks, long seconds)
{
    atomic_store(&readings, 0);
    atomic_store(&step, seconds);
    atomic_store(&jumping, clocks);
}

long jumping_clock_readings(void)
{
    return atomic_load(&readings);
}
