/* Theorem A: response times in any order in which at least beta threads are busy while a job waits.
 *
 * SC1: (beta - b) c <= (beta - U) T: the thread time that may be idle while the last block of a job
 * runs is recovered within its period.
 */
#include "analysis/fifo/theorem_state.h"

static bool meets_sc1(gs_analysis_fifo_state_t *self, int theorem, int64_t k, gs_int128_t slack)
{
    const gs_kernel_tasks_t *t = self->kernels;
    int64_t idle = self->beta > t->threads[k] ? self->beta - t->threads[k] : 0;
    gs_int128_t need = (gs_int128_t)idle * t->block_time[k], have;
    if (!gs_int128_mul(need, self->scale, &need)) {
        self->overflow |= 1 << theorem;
        return false;
    }
    if (!gs_int128_mul(slack, t->period[k], &have)) { /* overflow: it is at least 2^125 */
        self->overflow |= gs_int128_bits(need) > 125 ? 1 << theorem : 0;
        return gs_int128_bits(need) <= 125;
    }
    return need <= have;
}

/* H: an upper bound of the pending work when a job is released: of task k at most ceil(P) - 1 jobs,
 * P = 2 + SC / ((beta - U) T), or one where it is known to have no more. False on overflow. */
static bool backlog(const gs_analysis_fifo_state_t *self, gs_int128_t slack, gs_int128_t *most)
{
    const gs_kernel_tasks_t *t = self->kernels;
    gs_int128_t work = self->work * self->scale; /* < 2^123 */
    *most = 0;
    for (int64_t k = 0; k < t->n; k++) {
        gs_int128_t jobs = 1, room;
        if (!self->tasks[k].fits && !self->tasks[k].single) {
            jobs = 2;
            if (gs_int128_mul(slack, t->period[k], &room)) { /* overflow: it exceeds work */
                jobs = 1 + gs_int128_ceil_div(work, room);
            }
        }
        if (!gs_int128_mul(jobs, gs_kernel_tasks_work(t, k), &jobs) ||
            !gs_int128_add(*most, jobs, most)) {
            return false;
        }
    }
    return true;
}

/* a: the theorem, A or A_SINGLE; most: the pending work. */
static void set_bounds(gs_analysis_fifo_state_t *self, int a, gs_int128_t slack, gs_int128_t most)
{
    const gs_kernel_tasks_t *t = self->kernels;
    for (int64_t k = 0; k < t->n; k++) {
        gs_int128_t work = self->work - t->threads[k] * t->block_time[k];
        if (self->tasks[k].fits) {
            gs_analysis_fifo_set_reason(self, k, a, GS_ANALYSIS_FIFO_REASON_DOMINATED);
        } else if (self->tasks[k].single) {
            gs_analysis_fifo_record_bound(self, k, a, t->block_time[k],
                                          most - t->threads[k] * t->block_time[k], self->beta);
        } else if (!gs_int128_add(work, most, &work) || !gs_int128_mul(work, self->scale, &work)) {
            self->overflow |= 1 << a;
            gs_analysis_fifo_set_reason(self, k, a, GS_ANALYSIS_FIFO_REASON_OVERFLOW);
        } else {
            gs_analysis_fifo_record_bound(self, k, a, t->block_time[k], work,
                                          slack + self->tasks[k].utilization);
        }
    }
}

void gs_analysis_fifo_theorem_a(gs_analysis_fifo_state_t *self)
{
    const int a = GS_ANALYSIS_FIFO_THEOREM_A;
    int64_t n = self->kernels->n, failing = 0, needed = 0;
    bool order = self->order == GS_FIFO_ORDER_HARDWARE || self->order == GS_FIFO_ORDER_RELEASE;
    if (!gs_analysis_fifo_is_selected(self, a, order)) {
        return;
    }
    for (int64_t k = 0; k < n; k++) {
        needed += !self->tasks[k].fits;
    }
    if (needed == 0) {
        gs_analysis_fifo_set_reason_all(self, a, GS_ANALYSIS_FIFO_REASON_DOMINATED);
        return;
    }
    gs_analysis_fifo_set_utilizations(self);
    gs_int128_t slack = self->beta * self->scale - self->utilization;
    if (slack <= 0) {
        gs_analysis_fifo_set_reason_all(self, a, GS_ANALYSIS_FIFO_REASON_UTILIZATION);
        return;
    }
    for (int64_t k = 0; k < n; k++) {
        gs_analysis_fifo_task_t *task = &self->tasks[k];
        task->sc1 = task->fits || meets_sc1(self, a, k, slack);
        task->single = false; /* from an earlier pass */
        failing += !task->sc1;
    }
    gs_int128_t most;
    if (failing == 0 && !backlog(self, slack, &most)) {
        self->overflow |= 1 << a;
        gs_analysis_fifo_set_reason_all(self, a, GS_ANALYSIS_FIFO_REASON_OVERFLOW);
        return;
    }
    if (failing == 0) {
        set_bounds(self, a, slack, most);
        return;
    }
    for (int64_t k = 0; k < n; k++) {
        const gs_analysis_fifo_task_t *task = &self->tasks[k];
        gs_analysis_fifo_set_reason(self, k, a,
                                    task->fits  ? GS_ANALYSIS_FIFO_REASON_DOMINATED
                                    : task->sc1 ? GS_ANALYSIS_FIFO_REASON_SC1_OTHER
                                                : GS_ANALYSIS_FIFO_REASON_SC1);
    }
}

/* Whether the others can be backlogged: (SC1) and U < beta; not asked where all tasks are single.
 * Sets the reasons if not. */
static bool may_queue(gs_analysis_fifo_state_t *self, gs_int128_t slack)
{
    const int a = GS_ANALYSIS_FIFO_THEOREM_A_SINGLE;
    int64_t n = self->kernels->n, failing = 0, queueing = 0;
    for (int64_t k = 0; k < n; k++) {
        gs_analysis_fifo_task_t *task = &self->tasks[k];
        queueing += !task->single;
        task->sc1 = task->single || (slack > 0 && meets_sc1(self, a, k, slack));
        failing += !task->sc1;
    }
    for (int64_t k = 0; k < n && failing > 0; k++) {
        gs_analysis_fifo_set_reason(self, k, a,
                                    slack <= 0           ? GS_ANALYSIS_FIFO_REASON_UTILIZATION
                                    : self->tasks[k].sc1 ? GS_ANALYSIS_FIFO_REASON_SC1_OTHER
                                                         : GS_ANALYSIS_FIFO_REASON_SC1);
    }
    return queueing == 0 || failing == 0;
}

/* Theorem A with the greatest set of tasks whose jobs end within a period: beta (T - c) >= H - b c,
 * where H counts one job of each of them. A job waits, once it heads its stream, at most until the
 * work that is pending then is done, since only jobs that were released before it go ahead. Taking
 * a task out of the set increases H, so the tasks that fail are taken out until none does. */
int gs_analysis_fifo_theorem_a_single(gs_analysis_fifo_state_t *self, gs_context_t *ctx)
{
    const int a = GS_ANALYSIS_FIFO_THEOREM_A_SINGLE;
    const gs_kernel_tasks_t *t = self->kernels;
    bool changed = true;
    if (!gs_analysis_fifo_is_selected(self, a, self->order == GS_FIFO_ORDER_RELEASE)) {
        return GS_OK;
    }
    gs_analysis_fifo_set_utilizations(self);
    gs_int128_t slack = self->beta * self->scale - self->utilization, most = 0;
    for (int64_t k = 0; k < t->n; k++) {
        self->tasks[k].single = true;
    }
    while (changed) {
        changed = false;
        int status = gs_poll(ctx, t->n);
        if (status != GS_OK) {
            return status;
        }
        if (!may_queue(self, slack)) {
            return GS_OK;
        }
        if (!backlog(self, slack, &most)) {
            self->overflow |= 1 << a;
            gs_analysis_fifo_set_reason_all(self, a, GS_ANALYSIS_FIFO_REASON_OVERFLOW);
            return GS_OK;
        }
        for (int64_t k = 0; k < t->n; k++) {
            gs_int128_t room = gs_analysis_fifo_scaled_period(self, k) -
                               gs_analysis_fifo_scaled_block_time(self, k),
                        ahead = most - t->threads[k] * t->block_time[k];
            if (self->tasks[k].single && ahead > room) {
                self->tasks[k].single = false;
                changed = true;
            }
        }
    }
    set_bounds(self, a, slack, most);
    return GS_OK;
}

/* Most steps of one recurrence over all its least waits. */
#define MOST_STEPS (16 * GS_ANALYSIS_FIFO_MOST_JOBS)

static bool is_counted(const gs_analysis_fifo_state_t *self, int64_t k, int64_t i)
{
    (void)self;
    return i != k;
}

/* Over N = 1, 2, ... jobs of a backlogged interval of task k: the least total time W that its last
 * block can have waited, F_N = W + N c; the interval has ended when F_N <= N T.
 *
 * No overflow: the work counted within W is at most U W + SC <= beta W + SC, and W is abandoned
 * when it shows that the bound is not improved. */
static int refine(gs_analysis_fifo_state_t *self, gs_context_t *ctx, int64_t k,
                  gs_analysis_fifo_interfering_t *interfering)
{
    const gs_kernel_tasks_t *t = self->kernels;
    gs_int128_t own = gs_analysis_fifo_work_before_last_block(self, k),
                tail = gs_analysis_fifo_scaled_block_time(self, k);
    gs_int128_t period = gs_analysis_fifo_scaled_period(self, k), limit = self->tasks[k].parts;
    gs_int128_t work = 0, worst = 0;
    int64_t steps = 0, next_check = GS_ANALYSIS_FIFO_FIRST_CHECK;
    bool is_final = false;
    for (int64_t i = 0; i < t->n; i++) {
        if (i != k) {
            gs_analysis_fifo_interfering_add(interfering, self->tasks[i].parts,
                                             gs_analysis_fifo_scaled_period(self, i),
                                             gs_kernel_tasks_work(t, i));
        }
    }
    for (int64_t jobs = 1; jobs <= GS_ANALYSIS_FIFO_MOST_JOBS; jobs++) {
        gs_int128_t before = (jobs - 1) * tail, late = jobs * (tail - period);
        gs_int128_t wait = work + jobs * own;
        for (; wait + before > interfering->next && steps < MOST_STEPS; steps++) {
            int status = gs_poll(ctx, t->n);
            if (status != GS_OK) {
                return status;
            }
            work += gs_analysis_fifo_interfering_count(interfering, INT64_MAX, wait + before);
            wait = work + jobs * own;
            if (limit != GS_ANALYSIS_FIFO_NO_BOUND && wait + late + period >= limit) {
                return GS_OK; /* no improvement on the present bound */
            }
        }
        worst = wait + late + period > worst ? wait + late + period : worst;
        if (steps >= MOST_STEPS || (limit != GS_ANALYSIS_FIFO_NO_BOUND && worst >= limit)) {
            break;
        }
        if (jobs >= next_check) {
            next_check = 4 * jobs;
            is_final =
                gs_analysis_fifo_is_worst_final(self, k, own + tail, jobs, worst, is_counted);
        }
        if (is_final || wait + late <= 0) {
            gs_analysis_fifo_record_bound(self, k, GS_ANALYSIS_FIFO_THEOREM_A_REFINED, 0, worst,
                                          self->beta);
            return GS_OK;
        }
        jobs += gs_analysis_fifo_uniform_jobs(interfering->next - wait - before, own + tail,
                                              wait + late, period, jobs);
    }
    if (limit == GS_ANALYSIS_FIFO_NO_BOUND || worst < limit) {
        gs_analysis_fifo_set_reason(self, k, GS_ANALYSIS_FIFO_THEOREM_A_REFINED,
                                    GS_ANALYSIS_FIFO_REASON_JOB_LIMIT);
    }
    return GS_OK;
}

int gs_analysis_fifo_theorem_a_refined(gs_analysis_fifo_state_t *self, gs_context_t *ctx)
{
    const int refined = GS_ANALYSIS_FIFO_THEOREM_A_REFINED;
    if (!gs_analysis_fifo_is_selected(self, refined, self->order == GS_FIFO_ORDER_RELEASE)) {
        return GS_OK;
    }
    /* Needs the bounds of all other tasks; a single task has none. */
    for (int64_t k = 0; k < self->kernels->n && self->kernels->n > 1; k++) {
        if (self->tasks[k].parts == GS_ANALYSIS_FIFO_NO_BOUND) {
            gs_analysis_fifo_set_reason_all(self, refined, GS_ANALYSIS_FIFO_REASON_NO_START);
            return GS_OK;
        }
    }
    return gs_analysis_fifo_refine_bounds(self, ctx, refine);
}
