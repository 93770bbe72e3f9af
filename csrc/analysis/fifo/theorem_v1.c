/* Theorem V1: response times where the jobs at the heads of their streams are served in the order
 * in which they got there.
 *
 * At most one job of every other stream is ahead of a job.
 */
#include "analysis/fifo/theorem_state.h"

/* Case 1: L = c + (SC - b c) / beta, the job and one job of every other task, is at most T. No
 * condition on U or on the other tasks. */
void gs_analysis_fifo_theorem_v1_first(gs_analysis_fifo_state_t *self)
{
    const int first = GS_ANALYSIS_FIFO_THEOREM_V1_FIRST, chain = GS_ANALYSIS_FIFO_THEOREM_V1_CHAIN;
    const gs_kernel_tasks_t *t = self->kernels;
    bool hardware = self->order == GS_FIFO_ORDER_HARDWARE;
    bool asked = gs_analysis_fifo_is_selected(self, first, hardware);
    bool asked_chain =
        gs_analysis_fifo_is_selected(self, chain, hardware); /* its first job is case 1 */
    for (int64_t k = 0; k < t->n && (asked || asked_chain); k++) {
        gs_int128_t length = gs_analysis_fifo_scaled_block_time(self, k) + self->work -
                             t->threads[k] * t->block_time[k];
        if (length <= gs_analysis_fifo_scaled_period(self, k)) {
            self->tasks[k].fits = gs_analysis_fifo_record_bound(self, k, asked ? first : chain, 0,
                                                                length, self->beta);
        } else if (asked) {
            gs_analysis_fifo_set_reason(self, k, first, GS_ANALYSIS_FIFO_REASON_LONG);
        }
    }
}

/* Whether the interfering jobs of task i are counted by its bound: those of a task with a longer
 * period and a known bound. Any other task has one interfering job for each job of k. */
static bool is_counted(const gs_analysis_fifo_state_t *self, int64_t k, int64_t i)
{
    return self->tasks[i].parts != GS_ANALYSIS_FIFO_NO_BOUND &&
           self->kernels->period[i] > self->kernels->period[k];
}

/* Parameters of a backlogged interval besides the counted tasks. */
typedef struct {
    gs_int128_t step;   /* added to F by each job of the interval: its own work and the jobs of
                           uncounted tasks */
    gs_int128_t growth; /* see start_run */
    gs_int128_t lag;
} run_t;

/* Detects a recurrence that never ends: while F_N > N T, a task with period T_i > T and response R
 * has at least (N T - (T - R)) / T_i interfering jobs, so
 *     beta (F_N - N T) >= N growth - lag,
 * which stays positive once it is, if growth is not negative. Products of work and T / T_i are
 * rounded down. */
static run_t start_run(const gs_analysis_fifo_state_t *self, int64_t k,
                       gs_analysis_fifo_interfering_t *interfering)
{
    const gs_kernel_tasks_t *t = self->kernels;
    gs_int128_t period = gs_analysis_fifo_scaled_period(self, k);
    run_t run = {.step = gs_analysis_fifo_work_before_last_block(self, k) +
                         gs_analysis_fifo_scaled_block_time(self, k)};
    run.growth = run.step - period;
    for (int64_t i = 0; i < t->n; i++) {
        int64_t work = gs_kernel_tasks_work(t, i);
        gs_int128_t bound = self->tasks[i].parts;
        if (i == k) {
            continue;
        }
        if (!is_counted(self, k, i)) {
            run.step += work;
            run.growth += work;
        } else {
            gs_int128_t share = (gs_int128_t)work * t->period[k] / t->period[i];
            run.growth += share;
            run.lag += bound < period ? share + 1 : 0;
            gs_analysis_fifo_interfering_add(interfering, bound,
                                             gs_analysis_fifo_scaled_period(self, i), work);
        }
    }
    return run;
}

/* Case 2 for task k: over N = 1, 2, ... jobs of a backlogged interval that starts at 0, the last of
 * them ends by F_N, and the interval has ended when F_N <= N T. Nothing overflows: fewer than 2^17
 * jobs of less than 2^61 thread-ticks and of beta c < 2^91. */
static int chain(gs_analysis_fifo_state_t *self, gs_context_t *ctx, int64_t k,
                 gs_analysis_fifo_interfering_t *interfering)
{
    gs_int128_t period = gs_analysis_fifo_scaled_period(self, k), limit = self->tasks[k].parts;
    gs_int128_t end = 0, worst = 0, work = 0;
    int64_t next_check = GS_ANALYSIS_FIFO_FIRST_CHECK;
    bool is_final = false;
    run_t run = start_run(self, k, interfering);
    for (int64_t jobs = 1; jobs <= GS_ANALYSIS_FIFO_MOST_JOBS; jobs++) {
        work += gs_analysis_fifo_interfering_count(interfering, jobs, end);
        end = work + jobs * run.step;
        gs_int128_t response = end - (jobs - 1) * period;
        worst = response > worst ? response : worst;
        if (limit != GS_ANALYSIS_FIFO_NO_BOUND && worst >= limit) {
            return GS_OK; /* no improvement on the present bound */
        }
        if (jobs >= next_check) {
            next_check = 4 * jobs;
            is_final = gs_analysis_fifo_is_worst_final(self, k, run.step, jobs, worst, is_counted);
        }
        if (is_final || end <= jobs * period) {
            gs_analysis_fifo_record_bound(self, k, GS_ANALYSIS_FIFO_THEOREM_V1_CHAIN, 0, worst,
                                          self->beta);
            return GS_OK;
        }
        if (run.growth >= 0 && jobs * run.growth > run.lag) {
            break;
        }
        int status = gs_poll(ctx, interfering->count + 1);
        if (status != GS_OK) {
            return status;
        }
        int64_t skipped = gs_analysis_fifo_uniform_jobs(interfering->next - end, run.step,
                                                        end - jobs * period, period, jobs);
        jobs += skipped;
        end += skipped * run.step;
    }
    gs_analysis_fifo_set_reason(self, k, GS_ANALYSIS_FIFO_THEOREM_V1_CHAIN,
                                GS_ANALYSIS_FIFO_REASON_JOB_LIMIT);
    return GS_OK;
}

int gs_analysis_fifo_theorem_v1_chain(gs_analysis_fifo_state_t *self, gs_context_t *ctx)
{
    bool hardware = self->order == GS_FIFO_ORDER_HARDWARE;
    if (!gs_analysis_fifo_is_selected(self, GS_ANALYSIS_FIFO_THEOREM_V1_CHAIN, hardware)) {
        return GS_OK;
    }
    return gs_analysis_fifo_refine_bounds(self, ctx, chain);
}
