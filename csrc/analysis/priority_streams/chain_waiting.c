/* The longest time that kernels of a run wait while an amount of work is done.
 *
 * While kernels of the run wait, work is done at least at a rate that grows with the time since the
 * kernel joined: at first blocks of less urgent tasks still hold threads (the residue), later they
 * do not. The longest total waiting that an amount of work permits takes the slowest rates first.
 * The proofs for limits and shared queues are in priority_streams.h.
 */
#include "analysis/priority_streams/chain_state.h"

#include <stdlib.h>
#include <string.h>

#include "core/vector.h"

typedef gs_analysis_priority_streams_waiting_t waiting_t;
typedef gs_analysis_priority_streams_phase_t phase_t;

/* More work than any run of less than 2^60 ticks can do. */
static const gs_int128_t TOO_MUCH = (gs_int128_t)1 << 92;

/* Residue ------------------------------------------------------------------------------------- */

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

static int append_step(gs_analysis_priority_streams_residue_t *self, gs_context_t *ctx, int64_t age,
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
            status = append_step(self, ctx, age, sum < kap ? sum : kap);
        }
        age = kernel->block_time;
        if (kernel->width > self->held[kernel->task]) {
            sum += kernel->width - self->held[kernel->task];
            self->held[kernel->task] = kernel->width;
        }
    }
    if (status == GS_OK && age != 0) {
        status = append_step(self, ctx, age, sum < kap ? sum : kap);
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

/* Limits -------------------------------------------------------------------------------------- */

/* The smallest block of a partition that may run while a kernel of a level waits; 0: none. */
static int64_t narrowest(const waiting_t *self, int64_t part)
{
    const gs_analysis_priority_streams_t *s = self->state;
    const gs_kernel_chains_t *c = s->chains;
    int64_t least = 0;
    for (int64_t i = 0; i < c->n; i++) {
        if (gs_analysis_priority_streams_part(s, i) != part ||
            (s->rank[i] > s->rank[self->k] && !self->roles->lower[i])) {
            continue;
        }
        for (int64_t j = c->begin[i]; j < c->begin[i + 1]; j++) {
            least = least == 0 || c->threads[j] < least ? c->threads[j] : least;
        }
    }
    return least;
}

static bool has_fluid(const waiting_t *self, int64_t part)
{
    for (int64_t i = 0; i < self->state->chains->n; i++) {
        if (self->roles->fluid[i] && gs_analysis_priority_streams_part(self->state, i) == part) {
            return true;
        }
    }
    return false;
}

static int init_limits(waiting_t *self)
{
    const gs_analysis_priority_streams_t *s = self->state;
    const int64_t last = self->last_rate;
    self->limited = gs_alloc(self->ctx, (size_t)self->parts, sizeof *self->limited);
    if (self->limited == NULL) {
        return self->ctx->status;
    }
    for (int64_t p = 0; p < self->parts; p++) {
        int64_t rate = s->part_beta[p] - self->roles->height; /* above 0 where kernels wait */
        if (s->part_beta[p] == 0 || rate >= last) {
            continue;
        }
        if (has_fluid(self, p)) {
            self->last_rate = rate < self->last_rate ? rate : self->last_rate;
            continue;
        }
        int64_t at = self->limits++;
        for (; at > 0 && self->limited[at - 1].rate > rate; at--) {
            self->limited[at] = self->limited[at - 1];
        }
        self->limited[at] = (gs_analysis_priority_streams_limited_t){
            p, rate, s->partitions->sms[p] * narrowest(self, p)};
    }
    while (self->limits > 0 && self->limited[self->limits - 1].rate >= self->last_rate) {
        self->limits--;
    }
    return gs_poll(self->ctx, self->parts * s->chains->n);
}

/* Shared queues ------------------------------------------------------------------------------- */

/* Shares are in units of 1 / COARSE, rounded up, where the saturation levels have no smaller common
 * multiple. */
static const int64_t COARSE = INT64_C(1) << 30;

static int64_t common_multiple(const int64_t *beta, int64_t parts)
{
    int64_t multiple = 1;
    for (int64_t p = 0; p < parts; p++) {
        if (beta[p] != 0) {
            int64_t part = beta[p] / (int64_t)gs_int128_gcd(multiple, beta[p]);
            if (part > COARSE / multiple) {
                return COARSE;
            }
            multiple *= part;
        }
    }
    return multiple;
}

static int init_shared(waiting_t *self)
{
    const gs_analysis_priority_streams_t *s = self->state;
    const int64_t *beta = s->part_beta + s->rank[self->k] * self->parts;
    self->lost = gs_alloc(self->ctx, (size_t)self->parts, sizeof *self->lost);
    self->share = gs_alloc(self->ctx, (size_t)self->parts, sizeof *self->share);
    if (self->lost == NULL || self->share == NULL) {
        return self->ctx->status;
    }
    self->unit = self->left = common_multiple(beta, self->parts);
    for (int64_t p = 0; p < self->parts; p++) {
        self->share[p] = beta[p] == 0 ? 0 : (self->unit + beta[p] - 1) / beta[p];
        self->waits = self->waits || beta[p] != 0;
    }
    for (int64_t i = 0; i < s->chains->n && self->left > 0; i++) {
        if (self->roles->fluid[i]) {
            gs_int128_t taken =
                (gs_int128_t)s->height[i] * self->share[gs_analysis_priority_streams_part(s, i)];
            self->left = taken < self->left ? self->left - (int64_t)taken : 0;
        }
    }
    return gs_poll(self->ctx, self->parts + s->chains->n);
}

static int add_shared(waiting_t *self, int64_t j, bool first)
{
    const gs_analysis_priority_streams_t *s = self->state;
    const int64_t *beta = s->part_beta + s->rank[self->k] * self->parts;
    const int64_t mine = gs_analysis_priority_streams_part(s, self->k);
    int status = GS_OK;
    for (int64_t p = 0; p < self->parts && status == GS_OK; p++) {
        int64_t kap = p == mine ? gs_analysis_priority_streams_kap(s, self->k, j, first)
                                : s->threads / s->sms * s->partitions->sms[p];
        int64_t steps = 0, from = 0;
        const gs_analysis_priority_streams_step_t *step;
        if (self->share[p] != 0) {
            status = gs_analysis_priority_streams_residue_steps(&self->residue[p], self->ctx, kap,
                                                                &step, &steps);
        }
        for (int64_t i = 0; i < steps && status == GS_OK; i++) {
            int64_t held = step[i].held < beta[p] ? step[i].held : beta[p];
            self->lost[p] += (gs_int128_t)held * (step[i].age - from);
            from = step[i].age;
        }
        status = status == GS_OK ? gs_poll(self->ctx, steps + 2) : status;
    }
    return status;
}

static gs_analysis_priority_streams_time_t longest_shared(const waiting_t *self)
{
    const gs_analysis_priority_streams_time_t never =
        gs_analysis_priority_streams_ticks((gs_int128_t)1 << 60);
    gs_int128_t sum = 0, lost = 0;
    for (int64_t p = 0; p < self->parts; p++) { /* all work is below 2^92, a share below 2^31 */
        lost += self->lost[p];
        if (lost >= (gs_int128_t)1 << 92) {
            return never;
        }
        sum += (self->demand[p] + self->lost[p]) * self->share[p];
    }
    if (sum >= (gs_int128_t)self->left << 60) {
        return never; /* also where fluid tasks leave nothing */
    }
    return (gs_analysis_priority_streams_time_t){sum, self->left};
}

/* One pool of SMs ----------------------------------------------------------------------------- */

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
        return add_shared(self, j, first);
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

/* The longest waiting with limits: the phases and those of the limits, by rising rate. */
static gs_analysis_priority_streams_time_t longest_with_limits(const waiting_t *self,
                                                               gs_int128_t demand)
{
    gs_int128_t waiting = 0;
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

gs_analysis_priority_streams_time_t
gs_analysis_priority_streams_waiting_longest(const waiting_t *self)
{
    gs_int128_t demand = 0;
    for (int64_t p = 0; p < self->parts; p++) {
        demand += self->demand[p];
    }
    if (demand >= TOO_MUCH) {
        return gs_analysis_priority_streams_ticks((gs_int128_t)1 << 60);
    }
    if (gs_analysis_priority_streams_is(self->state, GS_ANALYSIS_PRIORITY_STREAMS_SHARED)) {
        return longest_shared(self);
    }
    return self->limits == 0 ? longest_without_limits(self, demand)
                             : longest_with_limits(self, demand);
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
        status = init_shared(self);
    } else if (status == GS_OK && state->partitions != NULL) {
        status = init_limits(self);
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
