/* Theorem M: a run of successive jobs of one task, kernel by kernel.
 *
 * While kernels of the run wait, work is done at least at a rate that grows with the time since the
 * kernel joined: at first blocks of less urgent tasks still hold threads (the residue), later they
 * do not. The longest total waiting that an amount of work permits takes the slowest rates first.
 */
#include "analysis/priority_streams/chain_state.h"

#include "core/vector.h"

/* Most steps of the recurrence in a run. */
#define MOST_STEPS (1 << 16)

/* Time that the kernels of a run may wait at one rate. */
typedef struct {
    int64_t rate;
    gs_int128_t length;
} phase_t;

typedef struct {
    gs_analysis_priority_streams_t *state;
    gs_context_t *ctx;
    const gs_analysis_priority_streams_roles_t *roles;
    int64_t k;
    phase_t *phase; /* by rising rate */
    int64_t phases, room;
    int64_t last_rate; /* once no residue is left; 0: then no kernel waits */
    gs_analysis_priority_streams_residue_t residue;
    int64_t steps; /* of the recurrence so far */
} run_t;

static int add_phase(run_t *self, int64_t rate, int64_t length)
{
    int64_t at = self->phases;
    while (at > 0 && self->phase[at - 1].rate >= rate) {
        at--;
    }
    if (at < self->phases && self->phase[at].rate == rate) {
        self->phase[at].length += length;
        return GS_OK;
    }
    if (self->phases == self->room) {
        phase_t *phase =
            gs_vector_reserve(self->ctx, self->phase, &self->room, self->phases + 1, sizeof *phase);
        if (phase == NULL) {
            return self->ctx->status;
        }
        self->phase = phase;
    }
    for (int64_t i = self->phases++; i > at; i--) {
        self->phase[i] = self->phase[i - 1];
    }
    self->phase[at] = (phase_t){rate, length};
    return GS_OK;
}

/* Adds the phases of kernel j, before its residue has ended. */
static int add_kernel(run_t *self, int64_t j, bool first)
{
    const gs_analysis_priority_streams_t *s = self->state;
    int64_t kap = gs_analysis_priority_streams_kap(s, self->k, j, first);
    int64_t rate = s->beta[s->rank[self->k]] - self->roles->height, steps, from = 0;
    const gs_analysis_priority_streams_step_t *step;
    int status =
        gs_analysis_priority_streams_residue_steps(&self->residue, self->ctx, kap, &step, &steps);
    for (int64_t i = 0; i < steps && status == GS_OK; i++) {
        int64_t left = step[i].held < rate ? rate - step[i].held : 0;
        status = add_phase(self, left, step[i].age - from);
        from = step[i].age;
    }
    return status == GS_OK ? gs_poll(self->ctx, steps + self->phases + 2) : status;
}

/* The longest waiting in which the run's kernels leave at most `demand` of work done. */
static gs_analysis_priority_streams_time_t longest_waiting(const run_t *self, gs_int128_t demand)
{
    gs_int128_t waiting = 0;
    for (int64_t i = 0; i < self->phases; i++) {
        const phase_t *phase = &self->phase[i];
        gs_int128_t cost = phase->rate * phase->length;
        if (cost > demand) {
            return (gs_analysis_priority_streams_time_t){waiting * phase->rate + demand,
                                                         phase->rate};
        }
        demand -= cost;
        waiting += phase->length;
    }
    if (self->last_rate == 0) {
        return gs_analysis_priority_streams_ticks(waiting);
    }
    return (gs_analysis_priority_streams_time_t){waiting * self->last_rate + demand,
                                                 self->last_rate};
}

/* The work of the `kernels` largest kernels of at most `jobs` jobs of task i. */
static gs_int128_t largest_kernels(const gs_analysis_priority_streams_t *s, int64_t i,
                                   gs_int128_t jobs, int64_t kernels)
{
    gs_int128_t sum = 0;
    for (int64_t j = s->chains->begin[i]; j < s->chains->begin[i + 1] && kernels > 0; j++) {
        int64_t taken = jobs < kernels ? (int64_t)jobs : kernels;
        sum += (gs_int128_t)taken * s->largest[j];
        kernels -= taken;
    }
    return sum;
}

/* Work of the kernels of its level that may be ahead of `kernels` kernels of the run, the last of
 * which joins by `join`. */
static gs_int128_t same_level(const run_t *self, gs_analysis_priority_streams_time_t join,
                              int64_t kernels)
{
    const gs_analysis_priority_streams_t *s = self->state;
    gs_int128_t sum = 0;
    for (int64_t i = 0; i < s->chains->n; i++) {
        if (i == self->k || s->rank[i] != s->rank[self->k]) {
            continue;
        }
        gs_int128_t jobs = kernels;
        if (s->response[i].denominator != 0) {
            jobs = gs_analysis_priority_streams_jobs(join, s->response[i], 0, s->chains->period[i]);
        }
        sum += largest_kernels(s, i, jobs, kernels);
    }
    return sum;
}

/* Work of the jobs of other levels that are counted by it, in a waiting that ends `others` ticks
 * plus `waiting` after the start of the run. */
static void other_levels(const run_t *self, gs_analysis_priority_streams_time_t waiting,
                         gs_int128_t others, gs_int128_t *more_urgent, gs_int128_t *less_urgent)
{
    const gs_analysis_priority_streams_t *s = self->state;
    int64_t level = s->rank[self->k];
    *more_urgent = *less_urgent = 0;
    for (int64_t i = 0; i < s->chains->n; i++) {
        bool higher = s->rank[i] < level && !self->roles->fluid[i];
        bool lower = s->rank[i] > level && self->roles->lower[i];
        if (higher || lower) {
            gs_int128_t jobs = gs_analysis_priority_streams_jobs(waiting, s->response[i], others,
                                                                 s->chains->period[i]);
            *(higher ? more_urgent : less_urgent) += jobs * s->work[i];
        }
    }
}

static int64_t narrow(gs_int128_t value)
{
    return value < INT64_MAX ? (int64_t)value : INT64_MAX;
}

/* Follows the run until a job ends before the next one is released. */
static int follow(run_t *self, gs_analysis_priority_streams_found_t *found)
{
    const gs_analysis_priority_streams_t *s = self->state;
    const gs_kernel_chains_t *c = s->chains;
    /* A run of the most jobs that ends later goes on. */
    gs_int128_t latest = (gs_int128_t)1 << 60;
    gs_int128_t last = (gs_int128_t)GS_ANALYSIS_PRIORITY_STREAMS_MOST_JOBS * c->period[self->k] + 1;
    latest = last < latest ? last : latest;
    int64_t begin = c->begin[self->k], end = c->begin[self->k + 1], kernels = 0;
    gs_int128_t latency = 0, tail = 0, own = 0;
    bool waits = s->beta[s->rank[self->k]] != 0;
    gs_analysis_priority_streams_time_t waiting = gs_analysis_priority_streams_ticks(0);
    gs_analysis_priority_streams_time_t finish = waiting;
    for (int64_t job = 1; job <= GS_ANALYSIS_PRIORITY_STREAMS_MOST_JOBS; job++) {
        gs_int128_t same = 0, more_urgent = 0, less_urgent = 0, demand = 0;
        for (int64_t j = begin; j < end; j++) {
            int64_t block = c->block_time[j];
            kernels++;
            own += gs_kernel_chains_kernel_work(c, j) - c->threads[j] * block;
            gs_analysis_priority_streams_time_t join = finish;
            join.numerator += (gs_int128_t)c->latency[j] * join.denominator;
            latency += c->latency[j];
            int status = waits ? add_kernel(self, j, kernels == 1) : GS_OK;
            if (status != GS_OK) {
                return status;
            }
            same = waits ? same_level(self, join, kernels) : 0;
            for (bool longer = waits; longer;) {
                other_levels(self, waiting, latency + tail, &more_urgent, &less_urgent);
                demand = own + same + more_urgent + less_urgent;
                gs_analysis_priority_streams_time_t next = longest_waiting(self, demand);
                longer = gs_analysis_priority_streams_is_less(waiting, next);
                waiting = longer ? next : waiting;
                if (waiting.numerator >= latest * waiting.denominator ||
                    self->steps++ == MOST_STEPS) {
                    return GS_OK;
                }
                status = gs_poll(self->ctx, 8 * (c->n + self->phases));
                if (status != GS_OK) {
                    return status;
                }
            }
            tail += block;
            finish = waiting;
            finish.numerator += (latency + tail) * finish.denominator;
            if (finish.numerator >= latest * finish.denominator) {
                return GS_OK;
            }
        }
        gs_analysis_priority_streams_time_t response = finish;
        response.numerator -= (gs_int128_t)(job - 1) * c->period[self->k] * response.denominator;
        if (job == 1 || gs_analysis_priority_streams_is_less(found->response, response)) {
            found->response = response;
            found->waiting = waiting;
            found->demand = demand;
            found->terms = (gs_analysis_priority_streams_bound_t){
                .jobs = job,
                .latency = narrow(latency),
                .tail = narrow(tail),
                .own = narrow(own),
                .same = narrow(same),
                .more_urgent = narrow(more_urgent),
                .less_urgent = narrow(less_urgent),
            };
        }
        if (finish.numerator <= (gs_int128_t)job * c->period[self->k] * finish.denominator) {
            found->terms.theorem =
                waits ? GS_ANALYSIS_PRIORITY_STREAMS_M : GS_ANALYSIS_PRIORITY_STREAMS_FITS;
            return GS_OK;
        }
    }
    return GS_OK;
}

/* The threads that are busy while a kernel waits, and the part of them that the counted work does
 * not need. */
static void set_residue(const run_t *self, gs_analysis_priority_streams_found_t *found)
{
    const gs_analysis_priority_streams_t *s = self->state;
    int64_t beta = s->beta[s->rank[self->k]];
    int64_t busy = self->last_rate != 0 ? self->last_rate + self->roles->height : beta;
    gs_int128_t all = found->waiting.numerator * busy;
    gs_int128_t rest = all - found->demand * found->waiting.denominator;
    found->terms.busy = busy;
    found->terms.residue =
        rest > 0 ? narrow(gs_int128_ceil_div(rest, found->waiting.denominator)) : 0;
}

int gs_analysis_priority_streams_theorem_m(gs_analysis_priority_streams_t *self, gs_context_t *ctx,
                                           int64_t k,
                                           const gs_analysis_priority_streams_roles_t *roles,
                                           gs_analysis_priority_streams_found_t *found)
{
    run_t run = {.state = self, .ctx = ctx, .roles = roles, .k = k};
    run.last_rate = roles->saturation == 0 ? 0 : roles->saturation - roles->height;
    *found = (gs_analysis_priority_streams_found_t){0};
    int status = gs_analysis_priority_streams_residue_init(&run.residue, ctx, self, self->rank[k],
                                                           roles->lower);
    if (status == GS_OK) {
        status = follow(&run, found);
    }
    if (found->terms.theorem == GS_ANALYSIS_PRIORITY_STREAMS_NONE) {
        found->response.denominator = 0;
    } else if (found->terms.theorem == GS_ANALYSIS_PRIORITY_STREAMS_M) {
        set_residue(&run, found);
    }
    gs_analysis_priority_streams_residue_free(&run.residue, ctx);
    gs_free(ctx, run.phase);
    return status;
}
