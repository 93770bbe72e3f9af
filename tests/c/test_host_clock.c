/* Host clock: both forms of sleep and timed wait; the portable one is compiled by its macro. */
#define _GNU_SOURCE
#include "cuda/host_clock.h"

#include <stdatomic.h>

#include "minunit.h"

/* The other form under names of its own. */
#undef GS_CUDA_HOST_CLOCK_H
#define GS_CUDA_PORTABLE_CLOCK
#define gs_cuda_host_clock_now portable_now
#define gs_cuda_host_clock_sleep_until portable_sleep_until
#define gs_cuda_host_clock_flag_t portable_flag_t
#define gs_cuda_host_clock_flag_init portable_flag_init
#define gs_cuda_host_clock_flag_free portable_flag_free
#define gs_cuda_host_clock_flag_raise portable_flag_raise
#define gs_cuda_host_clock_flag_wait portable_flag_wait
#include "cuda/host_clock.c"
#undef gs_cuda_host_clock_now
#undef gs_cuda_host_clock_sleep_until
#undef gs_cuda_host_clock_flag_t
#undef gs_cuda_host_clock_flag_init
#undef gs_cuda_host_clock_flag_free
#undef gs_cuda_host_clock_flag_raise
#undef gs_cuda_host_clock_flag_wait

typedef struct {
    gs_cuda_host_clock_flag_t *own;
    portable_flag_t *portable;
    atomic_bool go;
} raiser_t;

static void *raise_both(void *arg)
{
    raiser_t *raiser = arg;
    while (!atomic_load(&raiser->go)) {
        gs_cuda_host_clock_sleep_until(gs_cuda_host_clock_now() + 100000);
    }
    gs_cuda_host_clock_flag_raise(raiser->own);
    portable_flag_raise(raiser->portable);
    return NULL;
}

static void test_sleep(void)
{
    static const int64_t lengths[] = {-1000000000, 0, 1, 1000, 3000000};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        int64_t instant = gs_cuda_host_clock_now() + lengths[i];
        gs_cuda_host_clock_sleep_until(instant);
        MU_CHECK(gs_cuda_host_clock_now() >= instant);
        instant = portable_now() + lengths[i];
        portable_sleep_until(instant);
        MU_CHECK(portable_now() >= instant);
    }
    int64_t before = gs_cuda_host_clock_now();
    int64_t between = portable_now();
    MU_CHECK(before <= between && between <= gs_cuda_host_clock_now()); /* one clock */
}

static void test_flag(void)
{
    gs_cuda_host_clock_flag_t own;
    portable_flag_t portable;
    gs_cuda_host_clock_flag_init(&own);
    portable_flag_init(&portable);
    MU_CHECK(!gs_cuda_host_clock_flag_wait(&own, 0) && !portable_flag_wait(&portable, 0));
    int64_t end = portable_now() + 2500000;
    MU_CHECK(!portable_flag_wait(&portable, 2500000));
    MU_CHECK(portable_now() >= end);
    MU_CHECK(!gs_cuda_host_clock_flag_wait(&own, 1000000));

    raiser_t raiser = {.own = &own, .portable = &portable, .go = false};
    pthread_t thread;
    int error = pthread_create(&thread, NULL, raise_both, &raiser);
    MU_CHECK(error == 0);
    if (error == 0) {
        atomic_store(&raiser.go, true);
        while (!gs_cuda_host_clock_flag_wait(&own, 1000000000)) {
        }
        while (!portable_flag_wait(&portable, 1000000000)) {
        }
        pthread_join(thread, NULL);
        /* A raised flag stays raised, and waiting for it takes no time. */
        MU_CHECK(gs_cuda_host_clock_flag_wait(&own, 0) && portable_flag_wait(&portable, 0));
        MU_CHECK(gs_cuda_host_clock_flag_wait(&own, 1000000000000000000));
        MU_CHECK(portable_flag_wait(&portable, 1000000000000000000));
    }
    gs_cuda_host_clock_flag_free(&own);
    portable_flag_free(&portable);
}

int main(void)
{
    test_sleep();
    test_flag();
    return MU_END();
}
