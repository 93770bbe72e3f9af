/* The longest time that kernels of a run wait while an amount of work is done.
 *
 * While kernels of the run wait, work is done at least at a rate that grows with the time since the
 * kernel joined: at first blocks of less urgent tasks still hold threads (the residue), later they
 * do not. The longest total waiting that an amount of work permits takes the slowest rates first.
 */
#include "analysis/priority_streams/chain_state.h"

#include "core/vector.h"

typedef gs_analysis_priority_streams_waiting_t waiting_t;
typedef gs_analysis_priority_streams_phase_t phase_t;

/* More work than any run of less than 2^60 ticks can do. */
static const gs_int128_t TOO_MUCH = (gs_int128_t)1 << 92;

static void append(phase_t *phase, int64_t *count, int64_t rate, gs_int128_t length)
{
    if (*count > 0 && phase[*count - 1].rate == rate) {
        phase[*count - 1].length += length;
    } else {
        phase[(*count)++] = (phase_t){.rate = rate, .length = length};
    }
}

/* Merges the steps of a residue, whose rates rise, into the phases. rate: without residue. */
static int merge(waiting_t *self, const gs_analysis_priority_streams_step_t *step, int64_t steps,
                 int64_t rate)
{
    phase_t *merged = gs_vector_reserve(self->ctx, self->merged, &self->merged_room,
                                        self->phases + steps, sizeof *merged);
    if (merged == NULL) {
        return self->ctx->status;
    }
    int64_t count = 0, from = 0, room = self->room;
    for (int64_t i = 0, t = 0; i < self->phases || t < steps;) {
        int64_t left = t < steps && step[t].held < rate ? rate - step[t].held : 0;
        if (t == steps || (i < self->phases && self->phase[i].rate <= left)) {
            append(merged, &count, self->phase[i].rate, self->phase[i].length);
            i++;
        } else {
            append(merged, &count, left, step[t].age - from);
            from = step[t++].age;
        }
    }
    gs_int128_t length = 0, work = 0;
    for (int64_t i = 0; i < count; i++) {
        length += merged[i].length;
        work += merged[i].rate * merged[i].length;
        merged[i].length_so_far = length;
        merged[i].work_so_far = work;
    }
    self->merged = self->phase;
    self->room = self->merged_room;
    self->phase = merged;
    self->merged_room = room;
    self->phases = count;
    return gs_poll(self->ctx, self->phases + steps + 1);
}

/* Adds the phases of kernel j, before its residue has ended. */
int gs_analysis_priority_streams_waiting_add(waiting_t *self, int64_t j, bool first)
{
    const gs_analysis_priority_streams_t *s = self->state;
    if (gs_analysis_priority_streams_is(s, GS_ANALYSIS_PRIORITY_STREAMS_SHARED)) {
        return gs_analysis_priority_streams_waiting_add_shared(self, j, first);
    }
    int64_t kap = gs_analysis_priority_streams_kap(s, self->k, j, first);
    int64_t rate = s->beta[s->rank[self->k]] - self->roles->height, steps;
    const gs_analysis_priority_streams_step_t *step;
    int status =
        gs_analysis_priority_streams_residue_steps(self->residue, self->ctx, kap, &step, &steps);
    return status == GS_OK && steps > 0 ? merge(self, step, steps, rate) : status;
}

/* The phase of a limit: its rate, and how long it may last. */
static phase_t limited_phase(const waiting_t *self, int64_t at)
{
    const gs_analysis_priority_streams_limited_t *limited = &self->limited[at];
    return (phase_t){.rate = limited->rate,
                     .length = gs_int128_ceil_div(self->demand[limited->part], limited->width)};
}

/* The longest waiting without limits: the first phase in which the work is done, by bisection. */
static gs_analysis_priority_streams_time_t longest_without_limits(const waiting_t *self,
                                                                  gs_int128_t demand)
{
    int64_t low = 0, high = self->phases;
    while (low < high) {
        int64_t middle = (low + high) / 2;
        if (self->phase[middle].work_so_far > demand) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    gs_int128_t waiting = low > 0 ? self->phase[low - 1].length_so_far : 0;
    gs_int128_t left = low > 0 ? demand - self->phase[low - 1].work_so_far : demand;
    int64_t rate = low < self->phases ? self->phase[low].rate : self->last_rate;
    return rate == 0 ? gs_analysis_priority_streams_ticks(waiting)
                     : (gs_analysis_priority_streams_time_t){waiting * rate + left, rate};
}

gs_analysis_priority_streams_time_t
gs_analysis_priority_streams_waiting_longest(const waiting_t *self)
{
    gs_int128_t waiting = 0, demand = 0;
    for (int64_t p = 0; p < self->parts; p++) {
        demand += self->demand[p];
    }
    if (demand >= TOO_MUCH) {
        return gs_analysis_priority_streams_ticks((gs_int128_t)1 << 60);
    }
    if (gs_analysis_priority_streams_is(self->state, GS_ANALYSIS_PRIORITY_STREAMS_SHARED)) {
        return gs_analysis_priority_streams_waiting_longest_shared(self);
    }
    if (self->limits == 0) {
        return longest_without_limits(self, demand);
    }
    for (int64_t i = 0, l = 0; i < self->phases || l < self->limits;) {
        bool is_limit =
            i == self->phases || (l < self->limits && self->limited[l].rate < self->phase[i].rate);
        phase_t phase = is_limit ? limited_phase(self, l++) : self->phase[i++];
        gs_int128_t cost = phase.rate * phase.length;
        if (cost > demand) {
            return (gs_analysis_priority_streams_time_t){waiting * phase.rate + demand, phase.rate};
        }
        demand -= cost;
        waiting += phase.length;
    }
    if (self->last_rate == 0) {
        return gs_analysis_priority_streams_ticks(waiting);
    }
    return (gs_analysis_priority_streams_time_t){waiting * self->last_rate + demand,
                                                 self->last_rate};
}

int gs_analysis_priority_streams_waiting_init(waiting_t *self, gs_context_t *ctx,
                                              gs_analysis_priority_streams_t *state, int64_t k,
                                              const gs_analysis_priority_streams_roles_t *roles)
{
    const int64_t level = state->rank[k];
    const bool shared = gs_analysis_priority_streams_is(state, GS_ANALYSIS_PRIORITY_STREAMS_SHARED);
    *self = (waiting_t){.state = state, .ctx = ctx, .roles = roles, .k = k};
    self->parts = state->partitions == NULL ? 1 : state->partitions->count;
    self->waits = state->beta[level] != 0;
    self->last_rate = roles->saturation == 0 ? 0 : roles->saturation - roles->height;
    int64_t residues = shared ? self->parts : 1;
    self->demand = gs_alloc(ctx, (size_t)self->parts, sizeof *self->demand);
    self->residue = gs_alloc(ctx, (size_t)residues, sizeof *self->residue);
    int status = self->demand == NULL || self->residue == NULL ? ctx->status : GS_OK;
    for (; self->residues < residues && status == GS_OK; self->residues++) {
        status = gs_analysis_priority_streams_residue_init(&self->residue[self->residues], ctx,
                                                           state, level, roles->lower,
                                                           shared ? self->residues : -1);
    }
    if (status == GS_OK && shared) {
        status = gs_analysis_priority_streams_waiting_init_shared(self);
    } else if (status == GS_OK && state->partitions != NULL) {
        status = gs_analysis_priority_streams_waiting_init_limits(self);
    }
    return status;
}

void gs_analysis_priority_streams_waiting_free(waiting_t *self)
{
    for (int64_t i = 0; i < self->residues; i++) {
        gs_analysis_priority_streams_residue_free(&self->residue[i], self->ctx);
    }
    gs_free(self->ctx, self->residue);
    gs_free(self->ctx, self->demand);
    gs_free(self->ctx, self->phase);
    gs_free(self->ctx, self->merged);
    gs_free(self->ctx, self->limited);
    gs_free(self->ctx, self->lost);
    gs_free(self->ctx, self->share);
}
