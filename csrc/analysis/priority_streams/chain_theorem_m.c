/* Theorem M: a run of successive jobs of one task, kernel by kernel. How long its kernels wait for
 * the work that is counted here: chain_waiting.c. */
#include "analysis/priority_streams/chain_state.h"

#include <string.h>

/* Most steps of the recurrence in a run. */
#define MOST_STEPS (1 << 16)

/* Work of other tasks that a run waits for, in thread-ticks. */
typedef struct {
    gs_int128_t own, same, more_urgent, less_urgent;
} work_t;

typedef struct {
    gs_analysis_priority_streams_waiting_t wait;
    gs_int128_t *steady; /* owned, per partition: of the run's kernels and of its level */
    work_t work;         /* of all partitions */
    int64_t steps;       /* of the recurrence so far */
} run_t;

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

/* Adds the work of the kernels of its level that may be ahead of `kernels` kernels of the run, the
 * last of which joins by `join`. */
static void add_same_level(run_t *self, gs_analysis_priority_streams_time_t join, int64_t kernels)
{
    const gs_analysis_priority_streams_t *s = self->wait.state;
    const int64_t k = self->wait.k;
    self->work.same = 0;
    for (int64_t i = 0; i < s->chains->n; i++) {
        if (i == k || s->rank[i] != s->rank[k]) {
            continue;
        }
        gs_int128_t jobs = kernels;
        if (s->response[i].denominator != 0) {
            jobs = gs_analysis_priority_streams_jobs(join, s->response[i], 0, s->chains->period[i]);
        }
        gs_int128_t work = largest_kernels(s, i, jobs, kernels);
        self->steady[gs_analysis_priority_streams_part(s, i)] += work;
        self->work.same += work;
    }
}

/* Adds the work of the jobs of other levels that are counted by it, in a waiting that ends `others`
 * ticks plus `waiting` after the start of the run. */
static void add_other_levels(run_t *self, gs_analysis_priority_streams_time_t waiting,
                             gs_int128_t others)
{
    const gs_analysis_priority_streams_t *s = self->wait.state;
    const gs_analysis_priority_streams_roles_t *roles = self->wait.roles;
    const int64_t level = s->rank[self->wait.k];
    self->work.more_urgent = self->work.less_urgent = 0;
    for (int64_t i = 0; i < s->chains->n; i++) {
        bool higher = s->rank[i] < level && !roles->fluid[i];
        bool lower = s->rank[i] > level && roles->lower[i];
        if (higher || lower) {
            gs_int128_t jobs = gs_analysis_priority_streams_jobs(waiting, s->response[i], others,
                                                                 s->chains->period[i]);
            gs_int128_t work = jobs * s->work[i];
            self->wait.demand[gs_analysis_priority_streams_part(s, i)] += work;
            *(higher ? &self->work.more_urgent : &self->work.less_urgent) += work;
        }
    }
}

static int64_t narrow(gs_int128_t value)
{
    return value < INT64_MAX ? (int64_t)value : INT64_MAX;
}

static gs_int128_t sum_of(const work_t *work)
{
    return work->own + work->same + work->more_urgent + work->less_urgent;
}

/* Follows the run until a job ends before the next one is released. */
static int follow(run_t *self, gs_context_t *ctx, gs_analysis_priority_streams_found_t *found)
{
    const gs_analysis_priority_streams_t *s = self->wait.state;
    const gs_kernel_chains_t *c = s->chains;
    const int64_t k = self->wait.k, mine = gs_analysis_priority_streams_part(s, k);
    /* A run of the most jobs that ends later goes on. */
    gs_int128_t latest = (gs_int128_t)1 << 60;
    gs_int128_t last = (gs_int128_t)GS_ANALYSIS_PRIORITY_STREAMS_MOST_JOBS * c->period[k] + 1;
    latest = last < latest ? last : latest;
    int64_t begin = c->begin[k], end = c->begin[k + 1], kernels = 0;
    gs_int128_t latency = 0, tail = 0;
    const bool waits = self->wait.waits;
    const size_t parts = (size_t)self->wait.parts;
    gs_analysis_priority_streams_time_t waiting = gs_analysis_priority_streams_ticks(0);
    gs_analysis_priority_streams_time_t finish = waiting;
    for (int64_t job = 1; job <= GS_ANALYSIS_PRIORITY_STREAMS_MOST_JOBS; job++) {
        for (int64_t j = begin; j < end; j++) {
            int64_t block = c->block_time[j];
            kernels++;
            self->work.own += gs_kernel_chains_kernel_work(c, j) - c->threads[j] * block;
            gs_analysis_priority_streams_time_t join = finish;
            join.numerator += (gs_int128_t)c->latency[j] * join.denominator;
            latency += c->latency[j];
            int status = GS_OK;
            if (waits) {
                status = gs_analysis_priority_streams_waiting_add(&self->wait, j, kernels == 1);
                memset(self->steady, 0, parts * sizeof *self->steady);
                self->steady[mine] = self->work.own;
                add_same_level(self, join, kernels);
            }
            if (status != GS_OK) {
                return status;
            }
            for (bool longer = waits; longer;) {
                memcpy(self->wait.demand, self->steady, parts * sizeof *self->steady);
                add_other_levels(self, waiting, latency + tail);
                gs_analysis_priority_streams_time_t next =
                    gs_analysis_priority_streams_waiting_longest(&self->wait);
                longer = gs_analysis_priority_streams_is_less(waiting, next);
                waiting = longer ? next : waiting;
                if (waiting.numerator >= latest * waiting.denominator ||
                    self->steps++ == MOST_STEPS) {
                    return GS_OK;
                }
                status = gs_poll(ctx, 8 * (c->n + self->wait.phases + self->wait.parts));
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
        response.numerator -= (gs_int128_t)(job - 1) * c->period[k] * response.denominator;
        if (job == 1 || gs_analysis_priority_streams_is_less(found->response, response)) {
            found->response = response;
            found->waiting = waiting;
            found->demand = sum_of(&self->work);
            found->terms = (gs_analysis_priority_streams_bound_t){
                .jobs = job,
                .latency = narrow(latency),
                .tail = narrow(tail),
                .own = narrow(self->work.own),
                .same = narrow(self->work.same),
                .more_urgent = narrow(self->work.more_urgent),
                .less_urgent = narrow(self->work.less_urgent),
            };
        }
        if (finish.numerator <= (gs_int128_t)job * c->period[k] * finish.denominator) {
            found->terms.theorem =
                waits ? GS_ANALYSIS_PRIORITY_STREAMS_M : GS_ANALYSIS_PRIORITY_STREAMS_FITS;
            return GS_OK;
        }
        if (waits && (job & (job - 1)) == 0) {
            bool endless;
            int status = gs_analysis_priority_streams_is_endless(&self->wait, job + 1, &endless);
            if (status != GS_OK || endless) {
                return status;
            }
        }
    }
    return GS_OK;
}

/* The threads that are busy while a kernel waits, and the part of them that the counted work does
 * not need; with shared queues, the residue. */
static void set_residue(const run_t *self, gs_analysis_priority_streams_found_t *found)
{
    const gs_analysis_priority_streams_waiting_t *wait = &self->wait;
    const gs_analysis_priority_streams_t *s = wait->state;
    const int64_t level = s->rank[wait->k];
    if (gs_analysis_priority_streams_is(s, GS_ANALYSIS_PRIORITY_STREAMS_SHARED)) {
        gs_int128_t lost = 0;
        for (int64_t p = 0; p < wait->parts; p++) {
            lost += wait->lost[p];
        }
        found->terms.residue = narrow(lost);
        found->terms.busy =
            s->part_beta[level * wait->parts + gs_analysis_priority_streams_part(s, wait->k)];
        return;
    }
    int64_t busy = wait->last_rate != 0 ? wait->last_rate + wait->roles->height : s->beta[level];
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
    run_t run = {0};
    *found = (gs_analysis_priority_streams_found_t){0};
    int status = gs_analysis_priority_streams_waiting_init(&run.wait, ctx, self, k, roles);
    if (status == GS_OK) {
        run.steady = gs_alloc(ctx, (size_t)run.wait.parts, sizeof *run.steady);
        status = run.steady == NULL ? ctx->status : follow(&run, ctx, found);
    }
    if (found->terms.theorem == GS_ANALYSIS_PRIORITY_STREAMS_NONE) {
        found->response.denominator = 0;
    } else if (found->terms.theorem == GS_ANALYSIS_PRIORITY_STREAMS_M) {
        set_residue(&run, found);
    }
    gs_analysis_priority_streams_waiting_free(&run.wait);
    gs_free(ctx, run.steady);
    return status;
}
