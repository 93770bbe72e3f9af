/* Theorem A: how late is a job in any order in which at least beta threads are busy while it waits?
 *
 * SC1: (beta - b) c <= (beta - U) T, the threads that may idle while a job's last block runs are
 * made up for within its period.
 */
#include "rta/fifo_work.h"

static bool meets_sc1(gs_fifo_work_t *self, int64_t k, gs_wide_t slack)
{
    const gs_kernels_t *t = self->kernels;
    int64_t idle = self->beta > t->threads[k] ? self->beta - t->threads[k] : 0;
    gs_wide_t need = (gs_wide_t)idle * t->block_time[k], have;
    if (!gs_wide_mul(need, self->scale, &need)) {
        self->overflow = true;
        return false;
    }
    if (!gs_wide_mul(slack, t->period[k], &have)) { /* so it is at least 2^125 */
        self->overflow = self->overflow || gs_wide_bits(need) > 125;
        return gs_wide_bits(need) <= 125;
    }
    return need <= have;
}

/* H: more work than is ever pending when a job is released; of task k at most ceil(P) - 1 jobs,
 * P = 2 + SC / ((beta - U) T), or one where case 1 of Theorem V1 applies. False on overflow. */
static bool backlog(const gs_fifo_work_t *self, gs_wide_t slack, gs_wide_t *most)
{
    const gs_kernels_t *t = self->kernels;
    gs_wide_t work = self->work * self->scale; /* < 2^123 */
    *most = 0;
    for (int64_t k = 0; k < t->n; k++) {
        gs_wide_t jobs = 1, room;
        if (!self->tasks[k].fits) {
            jobs = 2;
            if (gs_wide_mul(slack, t->period[k], &room)) { /* else it is more than work */
                jobs = 1 + gs_wide_ceil_div(work, room);
            }
        }
        if (!gs_wide_mul(jobs, gs_kernels_work(t, k), &jobs) || !gs_wide_add(*most, jobs, most)) {
            return false;
        }
    }
    return true;
}

static void give(gs_fifo_work_t *self, gs_wide_t slack)
{
    const int a = GS_FIFO_THEOREM_A;
    const gs_kernels_t *t = self->kernels;
    gs_wide_t most;
    if (!backlog(self, slack, &most)) {
        self->overflow = true;
        gs_fifo_why_all(self, a, GS_FIFO_WHY_CLOCK);
        return;
    }
    for (int64_t k = 0; k < t->n; k++) {
        gs_wide_t work = self->work - t->threads[k] * t->block_time[k];
        if (self->tasks[k].fits) {
            gs_fifo_why(self, k, a, GS_FIFO_WHY_NEEDLESS);
        } else if (!gs_wide_add(work, most, &work) || !gs_wide_mul(work, self->scale, &work)) {
            self->overflow = true;
            gs_fifo_why(self, k, a, GS_FIFO_WHY_CLOCK);
        } else {
            gs_fifo_take(self, k, a, t->block_time[k], work, slack + self->tasks[k].share);
        }
    }
}

void gs_fifo_a(gs_fifo_work_t *self)
{
    const int a = GS_FIFO_THEOREM_A;
    int64_t n = self->kernels->n, failing = 0, needed = 0;
    bool order = self->order == GS_FIFO_HARDWARE || self->order == GS_FIFO_RELEASE;
    if (!gs_fifo_try(self, a, order)) {
        return;
    }
    for (int64_t k = 0; k < n; k++) {
        needed += !self->tasks[k].fits;
    }
    if (needed == 0) {
        gs_fifo_why_all(self, a, GS_FIFO_WHY_NEEDLESS);
        return;
    }
    gs_fifo_shares(self);
    gs_wide_t slack = self->beta * self->scale - self->share;
    if (slack <= 0) {
        gs_fifo_why_all(self, a, GS_FIFO_WHY_UTILIZATION);
        return;
    }
    for (int64_t k = 0; k < n; k++) {
        gs_fifo_task_t *task = &self->tasks[k];
        task->sc1 = task->fits || meets_sc1(self, k, slack);
        failing += !task->sc1;
    }
    if (failing == 0) {
        give(self, slack);
        return;
    }
    for (int64_t k = 0; k < n; k++) {
        const gs_fifo_task_t *task = &self->tasks[k];
        gs_fifo_why(self, k, a,
                    task->fits  ? GS_FIFO_WHY_NEEDLESS
                    : task->sc1 ? GS_FIFO_WHY_SC1_OTHER
                                : GS_FIFO_WHY_SC1);
    }
}

/* Steps of all least waits of one recurrence together. */
#define MOST_STEPS (16 * GS_FIFO_MOST_JOBS)

/* One other task in the window of a backlogged run. */
typedef struct {
    gs_wide_t reach; /* its jobs counted so far can be in the way up to here, in 1/beta */
    gs_wide_t period;
    int64_t work;
} other_t;

/* Counts the jobs that can be in the way up to an instant; their work. */
static gs_wide_t count_jobs(other_t *others, int64_t n, gs_wide_t end)
{
    gs_wide_t work = 0;
    for (int64_t i = 0; i < n; i++) {
        other_t *o = &others[i];
        if (o->reach >= end) {
            continue;
        }
        gs_wide_t gap = end - o->reach;
        if (gap <= o->period) {
            o->reach += o->period;
            work += o->work;
        } else {
            gs_wide_t jobs = gs_wide_ceil_div(gap, o->period);
            o->reach += jobs * o->period;
            work += jobs * o->work;
        }
    }
    return work;
}

/* Over N = 1, 2, ... jobs of a backlogged run of task k: the least time W that its last block can
 * have waited in all, F_N = W + N c; the run has ended when F_N <= N T.
 *
 * No overflow: the work counted within W is at most U W + SC <= beta W + SC, and W is given up when
 * it shows that the bound is not improved. */
static int refine(gs_fifo_work_t *self, gs_env_t *env, int64_t k, other_t *others)
{
    const gs_kernels_t *t = self->kernels;
    gs_wide_t own = gs_fifo_own(self, k), tail = gs_fifo_tail(self, k);
    gs_wide_t period = gs_fifo_period(self, k), limit = self->tasks[k].parts;
    gs_wide_t work = 0, wait = 0, worst = 0;
    int64_t n = 0;
    for (int64_t i = 0; i < t->n; i++) {
        if (i != k) {
            others[n++] =
                (other_t){-self->tasks[i].parts, gs_fifo_period(self, i), gs_kernels_work(t, i)};
        }
    }
    int64_t steps = 0;
    for (int64_t jobs = 1; jobs <= GS_FIFO_MOST_JOBS; jobs++) {
        gs_wide_t before = (jobs - 1) * tail, mine = jobs * own;
        for (; steps < MOST_STEPS; steps++) {
            int status = gs_poll(env, t->n);
            if (status != GS_OK) {
                return status;
            }
            work += count_jobs(others, n, wait + before);
            if (work + mine <= wait) {
                break;
            }
            wait = work + mine;
            if (limit != GS_FIFO_OPEN && wait + jobs * tail - (jobs - 1) * period >= limit) {
                return GS_OK; /* no better than what there is */
            }
        }
        if (steps >= MOST_STEPS) {
            break;
        }
        gs_wide_t end = wait + jobs * tail, response = end - (jobs - 1) * period;
        worst = response > worst ? response : worst;
        if (end <= jobs * period) {
            gs_fifo_take(self, k, GS_FIFO_THEOREM_A_REFINED, 0, worst, self->beta);
            return GS_OK;
        }
        if (n == 0) {
            break; /* alone, every job adds as much */
        }
    }
    gs_fifo_why(self, k, GS_FIFO_THEOREM_A_REFINED, GS_FIFO_WHY_ENDLESS);
    return GS_OK;
}

static int improve(gs_fifo_work_t *self, gs_env_t *env, int64_t k)
{
    other_t *others = gs_alloc(env, (size_t)self->kernels->n, sizeof *others);
    if (others == NULL) {
        return env->status;
    }
    int status = refine(self, env, k, others);
    gs_free(env, others);
    return status;
}

int gs_fifo_a_refined(gs_fifo_work_t *self, gs_env_t *env)
{
    const int refined = GS_FIFO_THEOREM_A_REFINED;
    if (!gs_fifo_try(self, refined, self->order == GS_FIFO_RELEASE)) {
        return GS_OK;
    }
    /* It needs the bounds of all other tasks; a single task has none. */
    for (int64_t k = 0; k < self->kernels->n && self->kernels->n > 1; k++) {
        if (self->tasks[k].parts == GS_FIFO_OPEN) {
            gs_fifo_why_all(self, refined, GS_FIFO_WHY_NO_START);
            return GS_OK;
        }
    }
    return gs_fifo_rounds(self, env, improve);
}
