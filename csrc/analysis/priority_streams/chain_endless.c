/* Runs that never end, found without following them.
 *
 * Symbols of chain_state.h; k has q kernels and period T. A job of a run adds d of latencies and
 * blocks, c of them for its last block, A of work of its own, and phases to those in which its
 * kernels may wait. Phases of a kernel that is not the first one of the run have rates at least as
 * high, and W'(Y) is the longest waiting for work Y in the phases of one job of such kernels. For a
 * run of N jobs, N >= M, that has not ended before, the longest waiting for Y is at least
 * N W'(Y / N), and the work that is counted while it waits for w is at least
 *
 *     N ( A + (1 - 1/M) sum_same min(T / T_i, q / q_i) C_i + U (w / N + d - c / M) )
 *
 * where U = sum C_i / T_i over the tasks of other levels whose jobs are counted: the run is longer
 * than (N - 1) T, so at least (N - 1) T / T_i jobs of a task of its own level are ahead, of which
 * it waits for the N q largest kernels, and these have at least the average work of a kernel. A
 * task of its level without a bound counts with q of its largest kernels. So w >= N v for the
 * least v with v >= W'(work / N), and for every value on the way to it. If v + d > T, the run is
 * longer than N T for every N >= M.
 */
#include "analysis/priority_streams/chain_state.h"

/* Values that are tried on the way to v. */
#define MOST_STEPS 64

/* More than the relative error of the sums, below. */
static const double SAFE = 1 - 1e-9;

/* Work of a task of the run's level in a job of the run. */
static double same_level(const gs_analysis_priority_streams_t *s, int64_t k, int64_t i, double part)
{
    const int64_t *begin = s->chains->begin;
    double kernels = (double)(begin[k + 1] - begin[k]);
    if (s->response[i].denominator == 0) {
        return kernels * (double)s->largest[begin[i]];
    }
    double jobs = (double)s->chains->period[k] / (double)s->chains->period[i];
    double share = kernels / (double)(begin[i + 1] - begin[i]);
    return part * (jobs < share ? jobs : share) * (double)s->work[i];
}

static bool is_longer(gs_analysis_priority_streams_waiting_t *job, double steady, double rate,
                      double others, double period)
{
    double waiting = 0;
    for (int step = 0; step < MOST_STEPS; step++) {
        double work = (steady + rate * waiting) * SAFE;
        if (work >= 0x1p90) {
            return true;
        }
        job->demand[0] = (gs_int128_t)work;
        gs_analysis_priority_streams_time_t time =
            gs_analysis_priority_streams_waiting_longest(job);
        double next = (double)time.numerator / (double)time.denominator * SAFE;
        if (next + others > period) {
            return true;
        }
        if (next <= waiting * (1 + 1e-6)) {
            return false;
        }
        waiting = next;
    }
    return false;
}

int gs_analysis_priority_streams_is_endless(const gs_analysis_priority_streams_waiting_t *run,
                                            int64_t jobs, bool *endless)
{
    const gs_analysis_priority_streams_t *s = run->state;
    const gs_kernel_chains_t *c = s->chains;
    const int64_t k = run->k, level = s->rank[k];
    *endless = false;
    if (s->partitions != NULL) {
        return GS_OK;
    }
    gs_int128_t demand = 0;
    gs_analysis_priority_streams_waiting_t job = *run;
    job.demand = &demand;
    job.phase = job.merged = NULL;
    job.phases = job.room = job.merged_room = 0;
    double part = 1 - 1 / (double)jobs, steady = 0, rate = 0, each = 0, last = 0;
    int status = GS_OK;
    for (int64_t j = c->begin[k]; j < c->begin[k + 1] && status == GS_OK; j++) {
        last = (double)c->block_time[j];
        each += (double)c->latency[j] + last;
        steady += (double)(gs_kernel_chains_kernel_work(c, j) - c->threads[j] * c->block_time[j]);
        status = gs_analysis_priority_streams_waiting_add(&job, j, false);
    }
    for (int64_t i = 0; i < c->n; i++) {
        if (i != k && s->rank[i] == level) {
            steady += same_level(s, k, i, part);
        } else if ((s->rank[i] < level && !run->roles->fluid[i]) ||
                   (s->rank[i] > level && run->roles->lower[i])) {
            rate += (double)s->work[i] / (double)c->period[i];
        }
    }
    if (status == GS_OK) {
        steady += rate * (each - last / (double)jobs);
        *endless = is_longer(&job, steady, rate, each, (double)c->period[k] * (1 + 1e-9));
    }
    gs_free(run->ctx, job.phase);
    gs_free(run->ctx, job.merged);
    return status == GS_OK ? gs_poll(run->ctx, 8 * c->n + 64) : status;
}
