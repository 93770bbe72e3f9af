/* Blocks of less urgent tasks that run when a kernel joins its queue, and small parts of the
 * theorems. */
#include "analysis/priority_streams/chain_state.h"

#include "core/vector.h"

#include <stdlib.h>
#include <string.h>

int64_t gs_analysis_priority_streams_kap(const gs_analysis_priority_streams_t *self, int64_t k,
                                         int64_t j, bool first)
{
    const gs_kernel_chains_t *c = self->chains;
    int64_t threads = self->threads;
    if (gs_analysis_priority_streams_is(self, GS_ANALYSIS_PRIORITY_STREAMS_SHARED)) {
        threads = threads / self->sms * gs_analysis_priority_streams_sms(self, k);
    }
    if (first || c->latency[j] > 0) {
        return threads;
    }
    int64_t before = j > c->begin[k] ? j - 1 : c->begin[k + 1] - 1;
    return threads - c->threads[before];
}

static int by_block_time(const void *a, const void *b)
{
    const gs_analysis_priority_streams_lower_kernel_t *x = a, *y = b;
    return (x->block_time < y->block_time) - (x->block_time > y->block_time);
}

int gs_analysis_priority_streams_residue_init(gs_analysis_priority_streams_residue_t *self,
                                              gs_context_t *ctx,
                                              const gs_analysis_priority_streams_t *state,
                                              int64_t level, const bool *without, int64_t part)
{
    const gs_kernel_chains_t *c = state->chains;
    *self = (gs_analysis_priority_streams_residue_t){.tasks = c->n};
    self->kernel = gs_alloc(ctx, (size_t)c->begin[c->n], sizeof *self->kernel);
    self->held = gs_alloc(ctx, (size_t)c->n, sizeof *self->held);
    if (self->kernel == NULL || self->held == NULL) {
        return ctx->status;
    }
    for (int64_t i = 0; i < c->n; i++) {
        if (state->rank[i] <= level || without[i] ||
            (part >= 0 && gs_analysis_priority_streams_part(state, i) != part)) {
            continue;
        }
        for (int64_t j = c->begin[i]; j < c->begin[i + 1]; j++) {
            self->kernel[self->kernels++] = (gs_analysis_priority_streams_lower_kernel_t){
                c->block_time[j], c->threads[j], gs_analysis_priority_streams_width(state, i, j),
                i};
        }
    }
    qsort(self->kernel, (size_t)self->kernels, sizeof *self->kernel, by_block_time);
    return gs_poll(ctx, 16 * self->kernels);
}

void gs_analysis_priority_streams_residue_free(gs_analysis_priority_streams_residue_t *self,
                                               gs_context_t *ctx)
{
    gs_free(ctx, self->kernel);
    gs_free(ctx, self->held);
    gs_free(ctx, self->step);
    gs_free(ctx, self->known);
}

static int append(gs_analysis_priority_streams_residue_t *self, gs_context_t *ctx, int64_t age,
                  int64_t held)
{
    if (self->steps == self->step_room) {
        gs_analysis_priority_streams_step_t *step =
            gs_vector_reserve(ctx, self->step, &self->step_room, self->steps + 1, sizeof *step);
        if (step == NULL) {
            return ctx->status;
        }
        self->step = step;
    }
    self->step[self->steps++] = (gs_analysis_priority_streams_step_t){age, held};
    return GS_OK;
}

/* Appends the steps for kap: from the longest blocks to the shortest ones, then turned round. */
static int compute(gs_analysis_priority_streams_residue_t *self, gs_context_t *ctx, int64_t kap)
{
    int64_t begin = self->steps, sum = 0, age = 0;
    int status = GS_OK;
    memset(self->held, 0, (size_t)self->tasks * sizeof *self->held);
    for (int64_t k = 0; k < self->kernels && status == GS_OK; k++) {
        const gs_analysis_priority_streams_lower_kernel_t *kernel = &self->kernel[k];
        if (kernel->threads > kap) {
            continue;
        }
        if (age != 0 && kernel->block_time < age) {
            status = append(self, ctx, age, sum < kap ? sum : kap);
        }
        age = kernel->block_time;
        if (kernel->width > self->held[kernel->task]) {
            sum += kernel->width - self->held[kernel->task];
            self->held[kernel->task] = kernel->width;
        }
    }
    if (status == GS_OK && age != 0) {
        status = append(self, ctx, age, sum < kap ? sum : kap);
    }
    for (int64_t a = begin, b = self->steps - 1; a < b; a++, b--) {
        gs_analysis_priority_streams_step_t swap = self->step[a];
        self->step[a] = self->step[b];
        self->step[b] = swap;
    }
    return status == GS_OK ? gs_poll(ctx, 4 * (self->kernels + self->tasks)) : status;
}

int gs_analysis_priority_streams_residue_steps(gs_analysis_priority_streams_residue_t *self,
                                               gs_context_t *ctx, int64_t kap,
                                               const gs_analysis_priority_streams_step_t **step,
                                               int64_t *steps)
{
    int64_t at = 0;
    while (at < self->known_count && self->known[at].kap != kap) {
        at++;
    }
    if (at == self->known_count) {
        if (at == self->known_room) {
            gs_analysis_priority_streams_residue_of_t *known =
                gs_vector_reserve(ctx, self->known, &self->known_room, at + 1, sizeof *known);
            if (known == NULL) {
                return ctx->status;
            }
            self->known = known;
        }
        int64_t begin = self->steps;
        int status = compute(self, ctx, kap);
        if (status != GS_OK) {
            return status;
        }
        self->known[self->known_count++] =
            (gs_analysis_priority_streams_residue_of_t){kap, begin, self->steps - begin};
    }
    *steps = self->known[at].count;
    *step = *steps == 0 ? NULL : self->step + self->known[at].begin;
    return GS_OK;
}

int64_t gs_analysis_priority_streams_scale(const gs_analysis_priority_streams_t *self)
{
    const int64_t most = INT64_C(1) << 40;
    int64_t scale = 1;
    for (int64_t i = 0; i < self->chains->n; i++) {
        int64_t period = self->chains->period[i];
        int64_t part = period / (int64_t)gs_int128_gcd(scale, period);
        if (part > most / scale) {
            return most;
        }
        scale *= part;
    }
    return scale;
}

gs_int128_t gs_analysis_priority_streams_utilization(const gs_analysis_priority_streams_t *self,
                                                     int64_t i, int64_t scale)
{
    return gs_int128_ceil_div((gs_int128_t)self->work[i] * scale, self->chains->period[i]);
}

bool gs_analysis_priority_streams_make_time(int64_t whole, gs_int128_t numerator,
                                            gs_int128_t denominator,
                                            gs_analysis_priority_streams_time_t *made)
{
    const gs_int128_t most = (gs_int128_t)1 << 60;
    gs_int128_t ticks = numerator / denominator, rest = numerator % denominator;
    if (ticks >= most || ticks + whole >= most) {
        return false;
    }
    gs_int128_t divisor = gs_int128_gcd(rest, denominator), scaled;
    rest /= divisor;
    denominator /= divisor;
    if (denominator > INT32_MAX) {
        const int64_t coarse = INT64_C(1) << 20;
        rest =
            gs_int128_mul(rest, coarse, &scaled) ? gs_int128_ceil_div(scaled, denominator) : coarse;
        denominator = coarse;
    }
    made->denominator = (int64_t)denominator;
    made->numerator = (ticks + whole) * denominator + rest;
    return true;
}
