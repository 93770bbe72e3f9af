/* Theorems A and O: bounds from the work that can be pending at one time. */
#include "analysis/priority_streams/chain_state.h"

/* Thread-ticks that are lost while a job of task k runs its kernels: in their last blocks, in their
 * latencies, and to blocks of less urgent tasks that run when they join. */
static int loss_of(gs_analysis_priority_streams_t *self, gs_context_t *ctx, int64_t k,
                   gs_analysis_priority_streams_residue_t *residue, gs_int128_t *loss)
{
    const gs_kernel_chains_t *c = self->chains;
    int64_t beta = self->beta[self->rank[k]];
    *loss = 0;
    for (int64_t j = c->begin[k]; j < c->begin[k + 1]; j++) {
        int64_t over = beta > c->threads[j] ? beta - c->threads[j] : 0, steps, from = 0;
        *loss += (gs_int128_t)over * c->block_time[j] + (gs_int128_t)beta * c->latency[j];
        const gs_analysis_priority_streams_step_t *step;
        /* The first kernel of a job may be the first one of a run. */
        int64_t kap = gs_analysis_priority_streams_kap(self, k, j, j == c->begin[k]);
        int status = gs_analysis_priority_streams_residue_steps(residue, ctx, kap, &step, &steps);
        if (status != GS_OK) {
            return status;
        }
        for (int64_t s = 0; s < steps; s++) {
            int64_t held = step[s].held < beta ? step[s].held : beta;
            *loss += (gs_int128_t)held * (step[s].age - from);
            from = step[s].age;
        }
    }
    return GS_OK;
}

/* Sums over the tasks of levels up to `level`: utilization in units of 1 / scale, and work. */
static void sum_up(const gs_analysis_priority_streams_t *self, int64_t level, int64_t scale,
                   gs_int128_t *utilization, gs_int128_t *work)
{
    *utilization = *work = 0;
    for (int64_t i = 0; i < self->chains->n; i++) {
        if (self->rank[i] <= level) {
            *utilization += gs_analysis_priority_streams_utilization(self, i, scale);
            *work += self->work[i];
        }
    }
}

/* The most work of the levels up to `level` that is pending at one time (H0 of the theorem); false
 * where it is too large to be of use. */
static bool pending_work(const gs_analysis_priority_streams_t *self, int64_t level, int64_t scale,
                         gs_int128_t spare, gs_int128_t work, gs_int128_t *pending)
{
    const gs_kernel_chains_t *c = self->chains;
    const gs_analysis_priority_streams_time_t none = gs_analysis_priority_streams_ticks(0);
    const gs_int128_t most = (gs_int128_t)1 << 120; /* work and losses can be added */
    *pending = 0;
    for (int64_t i = 0; i < c->n; i++) {
        if (self->rank[i] > level) {
            continue;
        }
        gs_int128_t jobs, scaled, room, more;
        if (self->response[i].denominator != 0) {
            jobs = gs_analysis_priority_streams_jobs(self->response[i], none, 0, c->period[i]);
        } else if (gs_int128_mul(work, scale, &scaled) &&
                   gs_int128_mul(spare, c->period[i], &room)) {
            jobs = 1 + gs_int128_ceil_div(scaled, room); /* 2 jobs and a share, less one */
        } else {
            return false;
        }
        if (!gs_int128_mul(jobs, self->work[i], &more) || !gs_int128_add(*pending, more, pending) ||
            *pending > most) {
            return false;
        }
    }
    return true;
}

int gs_analysis_priority_streams_theorem_a(gs_analysis_priority_streams_t *self, gs_context_t *ctx,
                                           int64_t level, bool *changed)
{
    const gs_kernel_chains_t *c = self->chains;
    int64_t scale = gs_analysis_priority_streams_scale(self), beta = self->beta[level];
    gs_int128_t utilization, work, pending, loss, spare;
    sum_up(self, level, scale, &utilization, &work);
    spare = (gs_int128_t)beta * scale - utilization;
    *changed = false;
    if (spare <= 0 || !pending_work(self, level, scale, spare, work, &pending)) {
        return GS_OK;
    }
    bool *nobody = self->busy; /* no task is left out of the residue */
    for (int64_t i = 0; i < c->n; i++) {
        nobody[i] = false;
    }
    gs_analysis_priority_streams_residue_t residue;
    int status = gs_analysis_priority_streams_residue_init(&residue, ctx, self, level, nobody, -1);
    bool holds = true;
    for (int64_t k = 0; k < c->n && holds && status == GS_OK; k++) {
        if (self->rank[k] == level && self->response[k].denominator == 0) {
            gs_int128_t lost = 0, room = 0;
            status = loss_of(self, ctx, k, &residue, &loss);
            holds = gs_int128_mul(loss, scale, &lost) &&
                    gs_int128_mul(spare, c->period[k], &room) && lost <= room;
        }
    }
    /* Recorded after all of them: the bounds of one another are not used. */
    for (int64_t k = 0; k < c->n && holds && status == GS_OK; k++) {
        if (self->rank[k] != level || self->response[k].denominator != 0) {
            continue;
        }
        int64_t last = c->begin[k + 1] - 1, over = beta - c->threads[last];
        status = loss_of(self, ctx, k, &residue, &loss);
        gs_int128_t sum = pending + work + loss -
                          (gs_int128_t)c->threads[last] * c->block_time[last] -
                          (gs_int128_t)(over > 0 ? over : 0) * c->block_time[last];
        gs_int128_t rate = spare + gs_analysis_priority_streams_utilization(self, k, scale);
        gs_analysis_priority_streams_found_t found = {
            .terms = {.theorem = GS_ANALYSIS_PRIORITY_STREAMS_A, .busy = beta}};
        if (status == GS_OK && gs_int128_mul(sum, scale, &sum) &&
            gs_analysis_priority_streams_make_time(c->block_time[last], sum, rate,
                                                   &found.response)) {
            *changed = gs_analysis_priority_streams_record(self, k, &found) || *changed;
        }
    }
    gs_analysis_priority_streams_residue_free(&residue, ctx);
    return status;
}

void gs_analysis_priority_streams_theorem_o(gs_analysis_priority_streams_t *self)
{
    const gs_kernel_chains_t *c = self->chains;
    int64_t scale = gs_analysis_priority_streams_scale(self), longest = 0;
    for (int64_t i = 0; i < c->n; i++) {
        longest = c->block_time[i] > longest ? c->block_time[i] : longest;
    }
    for (int64_t k = 0; k < c->n; k++) {
        int64_t level = self->rank[k], beta = self->beta[level];
        gs_analysis_priority_streams_found_t found = {
            .terms = {.theorem = GS_ANALYSIS_PRIORITY_STREAMS_FITS, .busy = beta}};
        bool bounded = true;
        if (beta == 0) {
            found.response = gs_analysis_priority_streams_ticks(c->block_time[k]);
        } else {
            gs_int128_t above, upto, work, ignored, sum;
            sum_up(self, level, scale, &upto, &work);
            sum_up(self, level - 1, scale, &above, &ignored);
            gs_int128_t all = (gs_int128_t)beta * scale;
            found.terms.theorem = GS_ANALYSIS_PRIORITY_STREAMS_O;
            sum =
                (gs_int128_t)beta * longest + work - (gs_int128_t)c->threads[k] * c->block_time[k];
            bounded = upto <= all && above < all && gs_int128_mul(sum, scale, &sum) &&
                      gs_analysis_priority_streams_make_time(c->block_time[k], sum, all - above,
                                                             &found.response);
        }
        if (bounded) {
            gs_analysis_priority_streams_record(self, k, &found);
        }
    }
}
