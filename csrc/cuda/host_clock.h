/* Monotonic clock of the host, sleeping on it, and a flag that another thread waits for.
 *
 * Systems without clock_nanosleep and pthread_condattr_setclock (macOS) take the portable form:
 * sleeping for what is left, and waiting by short sleeps. GS_CUDA_PORTABLE_CLOCK chooses it on any
 * system, for tests. Neither form depends on the wall clock, which may be set meanwhile.
 */
#ifndef GS_CUDA_HOST_CLOCK_H
#define GS_CUDA_HOST_CLOCK_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#if defined(__APPLE__) && !defined(GS_CUDA_PORTABLE_CLOCK)
#define GS_CUDA_PORTABLE_CLOCK
#endif

/* Monotonic time in ns. */
int64_t gs_cuda_host_clock_now(void);

/* Sleeps until an instant of that clock; returns at once where it has passed. */
void gs_cuda_host_clock_sleep_until(int64_t instant);

/* A flag that is raised once. */
typedef struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool raised;
} gs_cuda_host_clock_flag_t;

void gs_cuda_host_clock_flag_init(gs_cuda_host_clock_flag_t *self);
void gs_cuda_host_clock_flag_free(gs_cuda_host_clock_flag_t *self);
void gs_cuda_host_clock_flag_raise(gs_cuda_host_clock_flag_t *self);

/* Waits at most ns (0 to 10^18) for the flag; whether it is raised. It may return early. */
bool gs_cuda_host_clock_flag_wait(gs_cuda_host_clock_flag_t *self, int64_t ns);

#endif
