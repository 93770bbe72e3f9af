/* STGM: copy engine and kernels on shared SMs, [RTCSA19], section IV. */
#include "simulate/host/host_parts.h"

/* Set-up -------------------------------------------------------------------------------------- */

static bool share_sm(const gs_simulate_host_model_t *model, int64_t i, int64_t k)
{
    const uint8_t *one = model->sm + i * model->sms, *two = model->sm + k * model->sms;
    for (int64_t m = 0; m < model->sms; m++) {
        if (one[m] != 0 && two[m] != 0) {
            return true;
        }
    }
    return false;
}

static int init(gs_simulate_host_state_t *self, gs_context_t *ctx,
                const gs_simulate_host_model_t *model)
{
    size_t n = (size_t)self->n, words = self->words = (n + 63) / 64;
    if ((self->conflicts = gs_alloc(ctx, n * words, sizeof(uint64_t))) == NULL ||
        (self->blockers = gs_alloc(ctx, n * words, sizeof(uint64_t))) == NULL ||
        (self->pending = gs_alloc(ctx, words, sizeof(uint64_t))) == NULL) {
        return ctx->status;
    }
    for (size_t r = 0; r < n; r++) {
        int status = gs_poll(ctx, (int64_t)r * model->sms);
        if (status != GS_OK) {
            return status;
        }
        int64_t i = self->thread[r].task;
        for (size_t q = 0; q < r; q++) {
            int64_t k = self->thread[q].task;
            if (model->hosts.segments[i] > 0 && model->hosts.segments[k] > 0 &&
                share_sm(model, i, k)) {
                self->conflicts[r * words + q / 64] |= UINT64_C(1) << (q % 64);
                self->conflicts[q * words + r / 64] |= UINT64_C(1) << (r % 64);
            }
        }
    }
    return GS_OK;
}

/* Segments ------------------------------------------------------------------------------------ */

/* Lets the thread wait: it spins (busy mode) or is suspended. */
static void wait(gs_simulate_host_state_t *self, int32_t r, int8_t doing)
{
    if (self->mode == GS_SIMULATE_HOST_MODE_BUSY) {
        gs_simulate_host_enter(self, r, GS_SIMULATE_HOST_BOOST, GS_NEVER,
                               GS_SIMULATE_HOST_DOES_SPIN);
    } else {
        gs_simulate_host_leave(self, r, doing);
    }
}

/* Requests the CE, if there is anything to copy. */
static bool ask(gs_simulate_host_state_t *self, int32_t r)
{
    const gs_simulate_host_thread_t *t = &self->thread[r];
    if (t->most[t->part] == 0) {
        return false;
    }
    wait(self, r, GS_SIMULATE_HOST_DOES_WAIT_COPY);
    gs_simulate_host_insert(self, &self->asking, r, self->victim);
    return true;
}

/* Starts the kernel of a thread, which has all its SMs. */
static void start(gs_simulate_host_state_t *self, int32_t r)
{
    if (self->mode != GS_SIMULATE_HOST_MODE_BUSY) {
        gs_simulate_host_note(self, &self->thread[r], GS_SIMULATE_HOST_DOES_KERNEL);
    }
    gs_simulate_host_start_kernel(self, r);
}

/* Whether the kernel of a thread waits for others. */
static bool blocked(const gs_simulate_host_state_t *self, int32_t r)
{
    const uint64_t *blockers = self->blockers + (size_t)r * self->words;
    for (size_t w = 0; w < self->words; w++) {
        if (blockers[w] != 0) {
            return true;
        }
    }
    return false;
}

/* Releases the SMs of a kernel that has ended. */
static void free_sms(gs_simulate_host_state_t *self, int32_t r)
{
    size_t words = self->words, word = (size_t)r / 64;
    uint64_t bit = UINT64_C(1) << (r % 64);
    const uint64_t *conflict = self->conflicts + (size_t)r * words;
    self->pending[word] &= ~bit;
    for (size_t w = 0; w < words; w++) {
        for (uint64_t others = conflict[w] & self->pending[w]; others != 0; others &= others - 1) {
            int32_t other = (int32_t)(64 * w) + __builtin_ctzll(others);
            uint64_t *blockers = self->blockers + (size_t)other * words;
            if ((blockers[word] & bit) == 0) {
                continue; /* launched before this kernel */
            }
            blockers[word] &= ~bit;
            if (!blocked(self, other)) {
                start(self, other);
            }
        }
    }
}

static void kernel_ended(gs_simulate_host_state_t *self, int32_t r)
{
    gs_simulate_host_thread_t *t = &self->thread[r];
    if (t->most[t->part] != 0) {
        free_sms(self, r);
    }
    t->part++;
    if (!ask(self, r)) {
        gs_simulate_host_resume(self, r);
    }
}

static void launch(gs_simulate_host_state_t *self, int32_t r)
{
    gs_simulate_host_thread_t *t = &self->thread[r];
    t->part++;
    if (t->most[t->part] == 0) {
        kernel_ended(self, r);
        return;
    }
    wait(self, r, GS_SIMULATE_HOST_DOES_WAIT_SM);
    gs_simulate_host_insert(self, &self->launching, r, self->victim);
}

static void begin(gs_simulate_host_state_t *self, int32_t r)
{
    if (!ask(self, r)) {
        launch(self, r);
    }
}

static void worked(gs_simulate_host_state_t *self, int32_t r)
{
    self->holder = -1;
    if (self->thread[r].part % GS_SIMULATE_HOST_PARTS == GS_SIMULATE_HOST_PART_IN) {
        launch(self, r);
    } else {
        gs_simulate_host_resume(self, r);
    }
}

/* Lines up the kernel of a thread on its SMs: behind those launched before, and by priority among
 * those launched at this instant that have not started. */
static void take_sms(gs_simulate_host_state_t *self, int32_t r)
{
    size_t words = self->words;
    const uint64_t *conflict = self->conflicts + (size_t)r * words;
    uint64_t *blockers = self->blockers + (size_t)r * words;
    uint64_t bit = UINT64_C(1) << (r % 64);
    for (size_t w = 0; w < words; w++) {
        blockers[w] = conflict[w] & self->pending[w];
        for (uint64_t others = blockers[w]; others != 0; others &= others - 1) {
            int32_t other = (int32_t)(64 * w) + __builtin_ctzll(others);
            if (self->thread[other].asked == self->now && blocked(self, other) &&
                gs_simulate_host_precedes(self, r, other, self->victim)) {
                blockers[w] &= ~(others & (~others + 1));
                self->blockers[(size_t)other * words + (size_t)r / 64] |= bit;
            }
        }
    }
    self->thread[r].asked = self->now;
    self->pending[r / 64] |= bit;
    if (!blocked(self, r)) {
        start(self, r);
    }
}

static void grant(gs_simulate_host_state_t *self)
{
    while (self->asking.head >= 0) {
        gs_simulate_host_line_up(self, &self->waiting, gs_simulate_host_pop(self, &self->asking));
    }
    while (self->launching.head >= 0) {
        take_sms(self, gs_simulate_host_pop(self, &self->launching));
    }
    if (self->holder < 0 && self->waiting.head >= 0) {
        int32_t r = self->holder = gs_simulate_host_pop(self, &self->waiting);
        const gs_simulate_host_thread_t *t = &self->thread[r];
        bool in = t->part % GS_SIMULATE_HOST_PARTS == GS_SIMULATE_HOST_PART_IN;
        gs_simulate_host_enter(self, r, GS_SIMULATE_HOST_BOOST,
                               gs_simulate_host_time(self, t, t->part),
                               in ? GS_SIMULATE_HOST_DOES_COPY_IN : GS_SIMULATE_HOST_DOES_COPY_OUT);
    }
}

static bool by_arrival(const gs_simulate_host_model_t *model)
{
    (void)model;
    return true;
}

const gs_simulate_host_way_t gs_simulate_host_stgm = {
    .name = "stgm",
    .modes = {[GS_SIMULATE_HOST_PARTITIONED] = GS_SIMULATE_HOST_SUSPEND | GS_SIMULATE_HOST_BUSY},
    .expected_modes = "suspend or busy with STGM",
    .own_sms = true,
    .by_arrival = by_arrival,
    .init = init,
    .begin = begin,
    .worked = worked,
    .kernel_ended = kernel_ended,
    .grant = grant,
};
