/* Incremental count of interfering jobs, in 64 bits where they suffice and 128 bits elsewhere. */
#include "analysis/fifo/interfering_jobs.h"

/* Sums of a few numbers below this fit 64 bits. */
#define NARROW ((gs_int128_t)1 << 60)

int gs_analysis_fifo_interfering_init(gs_analysis_fifo_interfering_t *self, gs_context_t *ctx,
                                      int64_t room)
{
    *self = (gs_analysis_fifo_interfering_t){0};
    self->narrow = gs_alloc(ctx, (size_t)room, sizeof *self->narrow);
    self->wide = self->narrow == NULL ? NULL : gs_alloc(ctx, (size_t)room, sizeof *self->wide);
    return self->wide == NULL ? ctx->status : GS_OK;
}

void gs_analysis_fifo_interfering_free(gs_analysis_fifo_interfering_t *self, gs_context_t *ctx)
{
    gs_free(ctx, self->narrow);
    gs_free(ctx, self->wide);
    self->narrow = NULL;
    self->wide = NULL;
}

void gs_analysis_fifo_interfering_clear(gs_analysis_fifo_interfering_t *self)
{
    self->count = 0;
    self->is_wide = false;
    self->next = -GS_INT128_MAX;
}

static void widen(gs_analysis_fifo_interfering_t *self)
{
    for (int64_t i = 0; i < self->count && !self->is_wide; i++) {
        const gs_analysis_fifo_interfering_task_t *o = &self->narrow[i];
        self->wide[i] =
            (gs_analysis_fifo_interfering_wide_task_t){o->reach, o->period, o->work, o->jobs};
    }
    self->is_wide = true;
}

void gs_analysis_fifo_interfering_add(gs_analysis_fifo_interfering_t *self, gs_int128_t response,
                                      gs_int128_t period, int64_t work)
{
    if (response >= NARROW || period >= NARROW) {
        widen(self);
    }
    int64_t i = self->count++;
    if (self->is_wide) {
        self->wide[i] = (gs_analysis_fifo_interfering_wide_task_t){-response, period, work, 0};
    } else {
        self->narrow[i] =
            (gs_analysis_fifo_interfering_task_t){-(int64_t)response, (int64_t)period, work, 0};
    }
}

/* One job per call where that is enough: divisions dominate the time. */
static gs_int128_t count_narrow(gs_analysis_fifo_interfering_t *self, int64_t most, int64_t instant)
{
    gs_int128_t work = 0;
    int64_t next = INT64_MAX;
    for (int64_t i = 0; i < self->count; i++) {
        gs_analysis_fifo_interfering_task_t *o = &self->narrow[i];
        if (o->reach < instant && o->jobs < most) {
            int64_t gap = instant - o->reach, jobs = 1;
            if (gap > o->period) {
                jobs = (gap - 1) / o->period + 1;
                jobs = jobs < most - o->jobs ? jobs : most - o->jobs;
            }
            o->jobs += jobs;
            o->reach += jobs * o->period;
            work += (gs_int128_t)jobs * o->work;
        }
        next = o->reach < next ? o->reach : next;
    }
    self->next = self->count == 0 ? GS_INT128_MAX : next;
    return work;
}

static gs_int128_t count_wide(gs_analysis_fifo_interfering_t *self, int64_t most,
                              gs_int128_t instant)
{
    gs_int128_t work = 0;
    self->next = GS_INT128_MAX;
    for (int64_t i = 0; i < self->count; i++) {
        gs_analysis_fifo_interfering_wide_task_t *o = &self->wide[i];
        if (o->reach < instant && o->jobs < most) {
            gs_int128_t jobs = gs_int128_ceil_div(instant - o->reach, o->period);
            jobs = jobs < most - o->jobs ? jobs : most - o->jobs;
            o->jobs += (int64_t)jobs;
            o->reach += jobs * o->period;
            work += jobs * o->work;
        }
        self->next = o->reach < self->next ? o->reach : self->next;
    }
    return work;
}

gs_int128_t gs_analysis_fifo_interfering_count(gs_analysis_fifo_interfering_t *self, int64_t most,
                                               gs_int128_t instant)
{
    if (!self->is_wide && instant >= NARROW) {
        widen(self);
    }
    return self->is_wide ? count_wide(self, most, instant)
                         : count_narrow(self, most, (int64_t)instant);
}
