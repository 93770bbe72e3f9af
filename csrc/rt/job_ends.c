/* Ends of the jobs of a task: a ring of instants that one thread writes and others read. */
#include "rt/job_ends.h"

#include "rt/thread_state.h"
#include "rt/wait_word.h"

/* A thread that waits looks so often whether it is to stop. */
#define NAP_NS 20000000
/* More than the jobs that are read, so that none of these is overwritten meanwhile. */
#define SLOTS (2 * GS_RT_ENDS)

struct gs_rt_ends {
    _Atomic int64_t count, at[SLOTS];
    _Atomic int finished;
    gs_rt_wait_word_t changed;
};

int gs_rt_ends_open(gs_rt_ends_t **ends)
{
    *ends = gs_rt_allocate(1, sizeof **ends, "ends");
    return *ends == NULL ? GS_RT_ERR_SYSTEM : GS_RT_OK;
}

void gs_rt_ends_close(gs_rt_ends_t *ends)
{
    gs_rt_free(ends);
}

void gs_rt_ends_tell(gs_rt_ends_t *ends, int64_t instant)
{
    int64_t count = atomic_load(&ends->count);
    atomic_store(&ends->at[count % SLOTS], instant);
    atomic_store(&ends->count, count + 1);
    gs_rt_wait_word_change(&ends->changed, true, false);
}

void gs_rt_ends_finish(gs_rt_ends_t *ends)
{
    atomic_store(&ends->finished, 1);
    gs_rt_wait_word_change(&ends->changed, true, false);
}

int gs_rt_ends_wait(gs_rt_ends_t *ends, int64_t job, int (*stopped)(void *arg), void *arg,
                    int64_t *instant)
{
    for (;;) {
        uint32_t before = atomic_load(&ends->changed);
        int finished = atomic_load(&ends->finished); /* before the count: its last job counts */
        int64_t waiting = atomic_load(&ends->count) - job;
        if (waiting > 0) {
            *instant = atomic_load(&ends->at[job % SLOTS]);
            waiting = atomic_load(&ends->count) - job;
            return waiting <= GS_RT_ENDS
                       ? GS_RT_OK
                       : gs_rt_fail_number(GS_RT_ERR_FULL, "after", waiting,
                                           "at most 64 ended jobs that wait to release others");
        }
        if (finished || (stopped != NULL && stopped(arg) != 0)) {
            return GS_RT_STOPPED;
        }
        gs_rt_wait_word_sleep(&ends->changed, before, gs_rt_now() + NAP_NS, false);
    }
}
