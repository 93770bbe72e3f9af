/* Who gets the copy engine, and when do kernels on shared SMs start? Paper 002, section IV. */
#include "simulate/host/host_parts.h"

/* Until it gets what it waits for, the thread spins or is suspended. */
static void wait(gs_simulate_host_state_t *s, int32_t r, int8_t doing)
{
    if (s->mode == GS_SIMULATE_HOST_MODE_BUSY) {
        gs_simulate_host_enter(s, r, GS_SIMULATE_HOST_BOOST, GS_NEVER, GS_SIMULATE_HOST_DOES_SPIN);
    } else {
        gs_simulate_host_leave(s, r, doing);
    }
}

/* Asks for the CE, if there is anything to copy. */
static bool ask(gs_simulate_host_state_t *s, int32_t r)
{
    const gs_simulate_host_thread_t *t = &s->thread[r];
    if (t->most[t->part] == 0) {
        return false;
    }
    wait(s, r, GS_SIMULATE_HOST_DOES_WAIT_COPY);
    gs_simulate_host_insert(s, &s->asking, r, s->victim);
    return true;
}

static void launch(gs_simulate_host_state_t *s, int32_t r)
{
    gs_simulate_host_thread_t *t = &s->thread[r];
    t->part++;
    if (t->most[t->part] == 0) {
        gs_simulate_host_stgm_kernel_ended(s, r);
        return;
    }
    wait(s, r, GS_SIMULATE_HOST_DOES_WAIT_SM);
    gs_simulate_host_insert(s, &s->launching, r, s->victim);
}

void gs_simulate_host_stgm_begin(gs_simulate_host_state_t *s, int32_t r)
{
    if (!ask(s, r)) {
        launch(s, r);
    }
}

void gs_simulate_host_stgm_copied(gs_simulate_host_state_t *s, int32_t r)
{
    s->holder = -1;
    if (s->thread[r].part % GS_SIMULATE_HOST_PARTS == GS_SIMULATE_HOST_PART_IN) {
        launch(s, r);
    } else {
        gs_simulate_host_resume(s, r);
    }
}

/* The kernel of a thread has all its SMs. */
static void start(gs_simulate_host_state_t *s, int32_t r)
{
    if (s->mode != GS_SIMULATE_HOST_MODE_BUSY) {
        gs_simulate_host_note(s, &s->thread[r], GS_SIMULATE_HOST_DOES_KERNEL);
    }
    gs_simulate_host_start_kernel(s, r);
}

/* Lets go of the SMs of a kernel that has ended. */
static void free_sms(gs_simulate_host_state_t *s, int32_t r)
{
    size_t words = s->words, word = (size_t)r / 64;
    uint64_t bit = UINT64_C(1) << (r % 64);
    const uint64_t *conflict = s->conflicts + (size_t)r * words;
    s->pending[word] &= ~bit;
    for (size_t w = 0; w < words; w++) {
        for (uint64_t others = conflict[w] & s->pending[w]; others != 0; others &= others - 1) {
            int32_t other = (int32_t)(64 * w) + __builtin_ctzll(others);
            uint64_t *blockers = s->blockers + (size_t)other * words, left = 0;
            if ((blockers[word] & bit) == 0) {
                continue; /* it was launched before */
            }
            blockers[word] &= ~bit;
            for (size_t k = 0; k < words; k++) {
                left |= blockers[k];
            }
            if (left == 0) {
                start(s, other);
            }
        }
    }
}

void gs_simulate_host_stgm_kernel_ended(gs_simulate_host_state_t *s, int32_t r)
{
    gs_simulate_host_thread_t *t = &s->thread[r];
    if (t->most[t->part] != 0) {
        free_sms(s, r);
    }
    t->part++;
    if (!ask(s, r)) {
        gs_simulate_host_resume(s, r);
    }
}

static void take_sms(gs_simulate_host_state_t *s, int32_t r)
{
    size_t words = s->words;
    const uint64_t *conflict = s->conflicts + (size_t)r * words;
    uint64_t *blockers = s->blockers + (size_t)r * words, any = 0;
    for (size_t w = 0; w < words; w++) {
        any |= blockers[w] = conflict[w] & s->pending[w];
    }
    s->pending[r / 64] |= UINT64_C(1) << (r % 64);
    if (any == 0) {
        start(s, r);
    }
}

void gs_simulate_host_stgm_grant(gs_simulate_host_state_t *s)
{
    while (s->asking.head >= 0) {
        gs_simulate_host_append(s, &s->waiting, gs_simulate_host_pop(s, &s->asking));
    }
    while (s->launching.head >= 0) {
        take_sms(s, gs_simulate_host_pop(s, &s->launching));
    }
    if (s->holder < 0 && s->waiting.head >= 0) {
        int32_t r = s->holder = gs_simulate_host_pop(s, &s->waiting);
        const gs_simulate_host_thread_t *t = &s->thread[r];
        bool in = t->part % GS_SIMULATE_HOST_PARTS == GS_SIMULATE_HOST_PART_IN;
        gs_simulate_host_enter(s, r, GS_SIMULATE_HOST_BOOST, gs_simulate_host_time(s, t, t->part),
                               in ? GS_SIMULATE_HOST_DOES_COPY_IN : GS_SIMULATE_HOST_DOES_COPY_OUT);
    }
}
