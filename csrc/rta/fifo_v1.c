/* Theorem V1: how late is a job when the streams' heads are served in the order they got there?
 *
 * At most one job of every other stream is ahead of it.
 */
#include "rta/fifo_work.h"

/* Case 1: L = c + (SC - b c) / beta, the job and one job of every other task, is at most T. No
 * condition on U or on the other tasks. */
void gs_fifo_v1_first(gs_fifo_work_t *self)
{
    const int first = GS_FIFO_THEOREM_V1_FIRST, chain = GS_FIFO_THEOREM_V1_CHAIN;
    const gs_kernels_t *t = self->kernels;
    bool hardware = self->order == GS_FIFO_HARDWARE;
    bool asked = gs_fifo_try(self, first, hardware);
    bool asked_chain = gs_fifo_try(self, chain, hardware); /* whose first job is case 1 */
    for (int64_t k = 0; k < t->n && (asked || asked_chain); k++) {
        gs_wide_t length = gs_fifo_tail(self, k) + self->work - t->threads[k] * t->block_time[k];
        if (length <= gs_fifo_period(self, k)) {
            self->tasks[k].fits =
                gs_fifo_take(self, k, asked ? first : chain, 0, length, self->beta);
        } else if (asked) {
            gs_fifo_why(self, k, first, GS_FIFO_WHY_LONG);
        }
    }
}

/* One other task during a backlogged run. */
typedef struct {
    gs_wide_t reach; /* its jobs counted so far can be in the way up to here, in 1/beta */
    int64_t jobs;
} other_t;

/* A recurrence that will not end. While F_N > N T, a task i with T_i <= T, or without a bound, has
 * N jobs in the way of N jobs, and any other one at least N T / T_i - 1; so
 *     beta (F_N - N T) >= N growth - least
 * which, once it is positive without falling, stays so. Shares are rounded down. */
typedef struct {
    gs_wide_t growth;
    gs_wide_t least;
} trend_t;

static trend_t trend(const gs_fifo_work_t *self, int64_t k)
{
    const gs_kernels_t *t = self->kernels;
    trend_t result = {gs_fifo_own(self, k) + gs_fifo_tail(self, k) - gs_fifo_period(self, k), 0};
    for (int64_t i = 0; i < t->n; i++) {
        int64_t work = gs_kernels_work(t, i);
        if (i == k) {
            continue;
        }
        if (self->tasks[i].parts == GS_FIFO_OPEN || t->period[i] <= t->period[k]) {
            result.growth += work;
        } else {
            result.growth += (gs_wide_t)work * t->period[k] / t->period[i];
            result.least += self->tasks[i].parts < gs_fifo_period(self, k) ? work : 0;
        }
    }
    return result;
}

/* Case 2 for task k: over N = 1, 2, ... jobs of a backlogged run that starts at 0, the last of them
 * ends by F_N, and the run has ended when F_N <= N T. others: scratch. Nothing overflows: fewer
 * than 2^17 jobs of less than 2^61 thread-ticks and of beta c < 2^91. */
static int chain(gs_fifo_work_t *self, gs_env_t *env, int64_t k, other_t *others)
{
    const gs_kernels_t *t = self->kernels;
    gs_wide_t own = gs_fifo_own(self, k) + gs_fifo_tail(self, k), period = gs_fifo_period(self, k);
    gs_wide_t limit = self->tasks[k].parts, end = 0, work = 0, worst = 0;
    for (int64_t i = 0; i < t->n; i++) {
        others[i] = (other_t){-self->tasks[i].parts, 0};
    }
    trend_t toward = trend(self, k);
    for (int64_t jobs = 1; jobs <= GS_FIFO_MOST_JOBS; jobs++) {
        for (int64_t i = 0; i < t->n; i++) {
            bool open = self->tasks[i].parts == GS_FIFO_OPEN;
            while (i != k && others[i].jobs < jobs && (open || others[i].reach < end)) {
                others[i].jobs++;
                others[i].reach += gs_fifo_period(self, i);
                work += gs_kernels_work(t, i);
            }
        }
        end = work + jobs * own;
        gs_wide_t response = end - (jobs - 1) * period;
        worst = response > worst ? response : worst;
        if (limit != GS_FIFO_OPEN && worst >= limit) {
            return GS_OK; /* there is one already that is no worse */
        }
        if (end <= jobs * period) {
            gs_fifo_take(self, k, GS_FIFO_THEOREM_V1_CHAIN, 0, worst, self->beta);
            return GS_OK;
        }
        if (toward.growth >= 0 && jobs * toward.growth > toward.least) {
            break;
        }
        int status = gs_poll(env, t->n);
        if (status != GS_OK) {
            return status;
        }
    }
    gs_fifo_why(self, k, GS_FIFO_THEOREM_V1_CHAIN, GS_FIFO_WHY_ENDLESS);
    return GS_OK;
}

static int improve(gs_fifo_work_t *self, gs_env_t *env, int64_t k)
{
    other_t *others = gs_alloc(env, (size_t)self->kernels->n, sizeof *others);
    if (others == NULL) {
        return env->status;
    }
    int status = chain(self, env, k, others);
    gs_free(env, others);
    return status;
}

int gs_fifo_v1_chain(gs_fifo_work_t *self, gs_env_t *env)
{
    bool hardware = self->order == GS_FIFO_HARDWARE;
    if (!gs_fifo_try(self, GS_FIFO_THEOREM_V1_CHAIN, hardware)) {
        return GS_OK;
    }
    return gs_fifo_rounds(self, env, improve);
}
