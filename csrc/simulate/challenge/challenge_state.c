/* States of the host simulator between two ticks as strings of bytes. */
#include "simulate/challenge/challenge_state.h"

#include <string.h>

#define NOW GS_SIMULATE_CHALLENGE_NOW
#define NONE 255

enum { HOLDER, SERVER, RUNS, LAST, SWITCHES, ALARM, PHASE, WAITING, GLOBALS };
enum { AGE, WAIT, PART, WORK, LEFT, FLAGS, KERNEL, BLOCKERS, THREAD };
enum { READY = 1, BOOSTED = 2, OPEN = 4 };

size_t gs_simulate_challenge_state_bytes(int64_t n)
{
    return (size_t)(GLOBALS + n + THREAD * (n + 1));
}

/* A number of -1 .. 254 as a byte. */
static uint8_t pack(int64_t value)
{
    return (uint8_t)(value < 0 || value >= NONE ? NONE : value);
}

static int32_t unpack(uint8_t byte)
{
    return byte == NONE ? -1 : byte;
}

static bool is_kernel(const gs_simulate_host_thread_t *t)
{
    return t->job >= 0 && t->part % GS_SIMULATE_HOST_PARTS == GS_SIMULATE_HOST_PART_KERNEL;
}

/* Taking -------------------------------------------------------------------------------------- */

static void take_thread(const gs_simulate_host_state_t *self, int32_t r, int64_t wait,
                        uint8_t *bytes)
{
    const gs_simulate_host_thread_t *t = &self->thread[r];
    memset(bytes, 0, THREAD);
    bytes[AGE] = NONE;
    bytes[KERNEL] = NONE;
    bytes[WAIT] = pack(wait);
    if (t->job >= 0) {
        bytes[AGE] = pack(self->now - self->job[t->job].release);
        bytes[PART] = pack(t->part);
    }
    if (t->ready) {
        int64_t work = t->work;
        if (work < GS_NEVER && t->cpu >= 0) {
            work -= self->now - self->cpu[t->cpu].since;
        }
        bytes[WORK] = pack(work < GS_NEVER ? work : -1);
        bytes[FLAGS] = READY;
        if (t->key == GS_SIMULATE_HOST_BOOST) {
            bytes[FLAGS] |= BOOSTED;
        }
    }
    if (t->open) {
        bytes[FLAGS] |= OPEN;
    }
    if (is_kernel(t)) {
        bytes[LEFT] = pack(t->left);
    }
    if (self->words > 0 && is_kernel(t)) {
        bytes[BLOCKERS] = (uint8_t)self->blockers[r];
    }
}

/* The turn on the GPU: of a kernel that runs alone whole slices are left out. */
static void take_turn(const gs_simulate_host_state_t *self, uint8_t *state, uint8_t *threads)
{
    const gs_simulate_host_turn_t *turn = &self->turn;
    state[RUNS] = pack(turn->runs);
    state[LAST] = pack(turn->last);
    state[SWITCHES] = turn->switches;
    state[ALARM] = pack(self->alarm < GS_NEVER ? self->alarm - self->now : -1);
    state[PHASE] = 0;
    if (turn->runs < 0 || turn->switches) {
        return;
    }
    int64_t past = self->now - turn->since, phase = 0;
    if (self->way->sliced) {
        phase = past % self->host->model.slice;
    }
    state[PHASE] = pack(phase);
    threads[THREAD * turn->runs + LEFT] = pack(self->thread[turn->runs].left - (past - phase));
}

void gs_simulate_challenge_state_take(const gs_simulate_host_state_t *self, const int64_t *wait,
                                      uint8_t *state)
{
    int32_t n = self->n, queued = 0;
    uint8_t *queue = state + GLOBALS, *threads = queue + n;
    state[HOLDER] = pack(self->holder);
    state[SERVER] = pack(self->server);
    memset(queue, NONE, (size_t)n);
    for (int32_t r = self->waiting.head; r >= 0; r = self->thread[r].next) {
        queue[queued++] = pack(r);
    }
    state[WAITING] = pack(queued);
    for (int32_t r = 0; r <= n; r++) {
        take_thread(self, r, r < n ? wait[r] : 0, threads + THREAD * r);
    }
    for (int64_t k = 0; k < self->kernels.count; k++) {
        gs_heap_entry_t entry = self->kernels.entry[k];
        threads[THREAD * entry.item + KERNEL] = pack(entry.time - self->now);
    }
    take_turn(self, state, threads);
}

/* Restoring ----------------------------------------------------------------------------------- */

/* Adds a ready thread to the list of its core, in order of keys, then numbers. */
static void make_ready(gs_simulate_host_state_t *self, int32_t r)
{
    const gs_simulate_host_thread_t *t = &self->thread[r];
    gs_simulate_host_cluster_t *cluster = &self->cluster[t->cluster];
    int32_t at = cluster->count++;
    for (; at > 0 && self->thread[cluster->ready[at - 1]].key > t->key; at--) {
        cluster->ready[at] = cluster->ready[at - 1];
    }
    cluster->ready[at] = r;
}

static void restore_thread(gs_simulate_host_state_t *self, int32_t r, const uint8_t *bytes,
                           int64_t *record)
{
    gs_simulate_host_thread_t *t = &self->thread[r];
    int64_t job = -1;
    if (bytes[AGE] != NONE) {
        job = (*record)++;
        self->job[job] = (gs_simulate_host_job_t){NOW - bytes[AGE], 0, -1, 0};
    }
    t->job = t->last = job;
    t->number = 0;
    t->part = bytes[PART];
    t->base = r;
    t->asked = NOW; /* or before: no request to come is of that instant */
    t->left = bytes[LEFT];
    t->cpu = t->was = t->next = -1;
    t->what = GS_SIMULATE_HOST_DOES_CPU;
    t->open = (bytes[FLAGS] & OPEN) != 0;
    t->ready = (bytes[FLAGS] & READY) != 0;
    t->key = (bytes[FLAGS] & BOOSTED) != 0 ? GS_SIMULATE_HOST_BOOST : r;
    t->work = bytes[WORK] == NONE ? GS_NEVER : bytes[WORK];
    if (t->ready) {
        make_ready(self, r);
    }
    if (self->words > 0 && r < self->n) {
        self->blockers[r] = bytes[BLOCKERS];
        if (is_kernel(t)) {
            self->pending[0] |= UINT64_C(1) << r;
        }
    }
}

/* The first ready thread of each core runs. */
static void restore_cpus(gs_simulate_host_state_t *self)
{
    for (size_t k = 0; k < 2 * self->leaves; k++) {
        self->end[k] = GS_NEVER;
    }
    for (int32_t c = 0; c < self->clusters; c++) {
        const gs_simulate_host_cluster_t *cluster = &self->cluster[c];
        gs_simulate_host_cpu_t *cpu = &self->cpu[cluster->cpu];
        cpu->thread = cluster->count > 0 ? cluster->ready[0] : -1;
        cpu->since = NOW;
        if (cpu->thread >= 0) {
            gs_simulate_host_thread_t *t = &self->thread[cpu->thread];
            t->cpu = t->was = cluster->cpu;
            self->end[self->leaves + (size_t)cluster->cpu] =
                t->work < GS_NEVER ? NOW + t->work : GS_NEVER;
        }
    }
    for (size_t k = self->leaves - 1; k > 0; k--) {
        int64_t one = self->end[2 * k], two = self->end[2 * k + 1];
        self->end[k] = one < two ? one : two;
    }
}

/* Free records of jobs: those beyond the first `used`. */
static void restore_records(gs_simulate_host_state_t *self, int64_t used)
{
    self->job_free = -1;
    for (int64_t k = self->job_count - 1; k >= used; k--) {
        self->job[k].next = self->job_free;
        self->job_free = k;
    }
}

int gs_simulate_challenge_state_restore(gs_simulate_host_state_t *self, gs_context_t *ctx,
                                        const uint8_t *state, int64_t *wait)
{
    int32_t n = self->n;
    const uint8_t *queue = state + GLOBALS, *threads = queue + n;
    gs_simulate_host_turn_t *turn = &self->turn;
    int64_t record = 0;
    int status = GS_OK;
    self->now = NOW;
    self->holder = unpack(state[HOLDER]);
    self->server = state[SERVER];
    turn->runs = unpack(state[RUNS]);
    turn->last = unpack(state[LAST]);
    turn->switches = state[SWITCHES] != 0;
    self->alarm = state[ALARM] == NONE ? GS_NEVER : NOW + state[ALARM];
    turn->since = NOW - state[PHASE];
    for (int32_t c = 0; c < self->clusters; c++) {
        self->cluster[c].count = 0;
    }
    if (self->words > 0) {
        self->pending[0] = 0;
    }
    self->kernels.count = self->releases.count = 0;
    self->asking.head = self->launching.head = self->waiting.head = -1;
    for (int32_t r = 0; r <= n && status == GS_OK; r++) {
        const uint8_t *bytes = threads + THREAD * r;
        restore_thread(self, r, bytes, &record);
        if (bytes[KERNEL] != NONE) {
            status = gs_heap_push(&self->kernels, ctx, NOW + bytes[KERNEL], r);
        }
        if (r < n) {
            wait[r] = bytes[WAIT];
        }
    }
    for (int32_t k = 0; k < state[WAITING]; k++) {
        gs_simulate_host_append(self, &self->waiting, queue[k]);
    }
    restore_records(self, record);
    restore_cpus(self);
    memset(self->dirty, 0, (size_t)self->dirty_words * sizeof *self->dirty);
    self->marked = false;
    return status;
}
