/* Waiting under GCAPS: the GPU belongs to the most urgent task with an open section.
 *
 * The rule is that of analysis/contexts/gcaps.h, whose GPU segments are sections here: an update of
 * eps opens and closes each, on the core of its task and not preempted; the open task of the most
 * urgent level owns the GPU, and keeps it while it copies, calls, or waits. With eps = 0 a section
 * opens when its thread has the core, and closes when its operations have ended. Copies are with
 * their engine, whoever owns the GPU. Levels are unique (those of equal numbers go by CPU priority,
 * then by order) and agree with the CPU priorities of a core.
 *
 * Per job of k: eta_k sections; C_k CPU work outside of sections, M_k for calls in them; G_k = M_k
 * + operations, with latencies, gaps and wake-ups; x_k = C_k + M_k + 2 eta_k eps on the core.
 * GH(i): tasks with sections above i; hp(i): more urgent ones on its core; lpG(i): less urgent ones
 * there with sections; theta: a switch to another context, 0 with one of them. S_k = R_k + theta.
 * Pieces are the ready intervals of a job: before an update or a section, for calls, and for the
 * second update where eps > 0. The length L of one counts an update for each of lpG. Then
 *
 *     H_h = min(S_h - J_h, G_h + 3 eta_h eps + 2 eta_h theta + sum of L - m over pieces in
 * sections) F_i(q, w) = q (C_i + G_i + 4 eta_i eps + eta_i theta) + min(A, B)
 *                 + [eta_i > 0] (sum over other cores of REM + STALL) + ENG
 *
 * with A, B, REM and STALL of gcaps.h, where the ready intervals are q times the pieces of a job,
 * g_h = G_h - M_h + eta_h eps + 2 eta_h theta, z_h = [h != low] C_h + G_h + 3 eta_h eps + 2 eta_h
 * theta, and the longest copies in
 *
 *     ENG = sum over engines e and over l not in GH(i), hp(i), {i} of
 *           min(N(w, R_l, X_le) X_le, S(copies_le, n_l, q m_ie + sum over GH(i), hp(i) of n_h
 * m_he)),
 *
 * m_he the copies of a job of h on e, X_he their time. Where eps = 0 a job without kernels does not
 * need the GPU: it waits for its core and for engines alone.
 *
 * Proof. That of gcaps.h, of each of q jobs of a run; what is new are instants at which a copy of
 * i, or of the owner h in GH(i), waits. The engine serves a copy of some k. If k is i, that is own
 * work. If k is in GH(i) or hp(i), k has sections, so it is in GH(i): its work G_k proceeds, which
 * REM, A and B count whether k owns the GPU or not, each instant once. Else it is one copy of l for
 * a request of i or of those tasks: the next one of l comes behind it. Requests that can wait in
 * the window are of jobs that are open in it.
 *     Switches. A switch back to c after a section of h in GH(c) begins when c has a kernel at the
 * head of its stream, maybe after a copy, a latency or a gap, so later than theta after the end of
 * h. It is counted for h as if it began as the section closes: at most one such switch lies behind
 * the end of a job, as the next section above c takes it over, so Lemma 0 holds with S_h. If the
 * section closed before the window, c is not i, and its first switch to c was before the window,
 * too: then it is counted for c in place of that.
 *
 * busy: the window begins when no job of hp(i) or i is pending. Then, with f_k = C_k + G_k + 4
 * eta_k eps + 2 eta_k theta, H_h = S_h - J_h, z_h = f_h, U the tasks of other cores above the
 * lowest level of hp(i) and i, in place of GH(i) in REM, in ENG beside hp(i), and in STALL,
 *
 *     F_i(q, w) = q (f_i - eta_i theta) + |lpG(i)| eps + [U and hp(i) have sections] theta
 *                 + sum over hp(i) of ceil((w + J_h) / T_h) f_h + sum of REM + STALL + ENG,
 *
 * and in ENG there is one section of each less urgent task of the core.
 */
#include "analysis/holistic/holistic_state.h"

static int64_t plus(int64_t a, int64_t b)
{
    return gs_analysis_holistic_plus(a, b);
}

static int64_t times(int64_t a, int64_t b)
{
    return gs_analysis_holistic_times(a, b);
}

static bool uses(const gs_analysis_holistic_t *self, int64_t k)
{
    return self->task[k].turns > 0;
}

/* Whether h has sections and comes before i on the GPU. */
static bool is_before(const gs_analysis_holistic_t *self, int64_t h, int64_t i)
{
    const gs_programs_t *p = self->programs;
    if (h == i || !uses(self, h)) {
        return false;
    }
    if (p->level[h] != p->level[i]) {
        return p->level[h] < p->level[i];
    }
    return p->priority[h] != p->priority[i] ? p->priority[h] < p->priority[i] : h < i;
}

/* C: CPU work outside of sections. */
static int64_t outside(const gs_analysis_holistic_task_t *t)
{
    return t->cpu - t->calls;
}

/* G. */
static int64_t inside(const gs_analysis_holistic_task_t *t)
{
    return plus(plus(t->alone, t->copy_time), plus(t->delay, t->calls));
}

/* So many updates and switches for each section of a job. */
static int64_t costs(const gs_analysis_holistic_t *self, const gs_analysis_holistic_task_t *t,
                     int64_t updates, int64_t switches)
{
    int64_t each =
        plus(times(updates, self->options->update_cost), times(switches, self->switch_cost));
    return times(t->turns, each);
}

/* f of busy threads. */
static int64_t spun(const gs_analysis_holistic_t *self, const gs_analysis_holistic_task_t *t)
{
    return plus(plus(outside(t), inside(t)), costs(self, t, 4, 2));
}

/* The work of jobs of k that take `work` each, between their arrivals and theta after their ends.
 */
static int64_t held(const gs_analysis_holistic_t *self, int64_t k, int64_t work, int64_t window)
{
    int64_t until = plus(self->response[k], self->switch_cost);
    if (until >= GS_ANALYSIS_COMMON_LIMIT || window >= GS_ANALYSIS_COMMON_LIMIT) {
        return times(GS_ANALYSIS_COMMON_LIMIT, work);
    }
    until -= gs_analysis_holistic_least(work, until);
    return times(gs_analysis_holistic_jobs(window + until, self->programs->period[k]), work);
}

/* CPU work of jobs of k. */
static int64_t on_core(const gs_analysis_holistic_t *self, int64_t k, int64_t window)
{
    int64_t work = self->task[k].on_core;
    return times(gs_analysis_holistic_carried(self, k, work, window), work);
}

/* u: updates of jobs of k. */
static int64_t updates(const gs_analysis_holistic_t *self, int64_t k, int64_t window)
{
    return times(gs_analysis_holistic_open(self, k, window), 2 * self->task[k].turns);
}

static bool is_lower_user(const gs_analysis_holistic_t *self, int64_t l, int64_t i)
{
    return uses(self, l) && self->programs->core[l] == self->programs->core[i] &&
           gs_analysis_holistic_is_higher(self, i, l);
}

int gs_analysis_holistic_gcaps_facts(gs_analysis_holistic_t *self)
{
    const gs_programs_t *p = self->programs;
    for (int64_t i = 0; i < p->n; i++) {
        int64_t lower = 0;
        for (int64_t k = 0; k < p->n; k++) {
            bool more = uses(self, i) && gs_analysis_holistic_is_higher(self, k, i);
            if (more && is_before(self, i, k) && uses(self, k)) {
                return gs_fail(self->ctx, GS_ERR_VALUE, "level", i, p->level[i],
                               "the order of the CPU priorities among the tasks of a core");
            }
            lower += is_lower_user(self, k, i);
        }
        self->task[i].on_core = plus(self->task[i].cpu, costs(self, &self->task[i], 2, 0));
        self->task[i].blocks = times(lower, self->options->update_cost);
    }
    return gs_poll(self->ctx, p->n * p->n);
}

/* H. */
static int find_hold(gs_analysis_holistic_t *self, int64_t h)
{
    gs_analysis_holistic_task_t *t = &self->task[h];
    int64_t most = plus(self->response[h], self->switch_cost) - self->programs->jitter[h];
    t->held = most;
    if (self->options->busy) {
        return GS_OK;
    }
    int64_t hold = plus(inside(t), costs(self, t, 3, 2));
    for (int64_t c = 0; c < t->inner.kinds && hold < most; c++) {
        int64_t m = t->inner.item[c].value, length;
        int status = gs_analysis_holistic_interval(self, h, m, &length);
        if (status != GS_OK) {
            return status;
        }
        hold = plus(hold, times(length - m, t->inner.item[c].count));
    }
    t->held = gs_analysis_holistic_least(hold, most);
    return GS_OK;
}

int gs_analysis_holistic_gcaps_start(gs_analysis_holistic_t *self, int64_t i)
{
    int status = self->options->busy ? GS_OK : gs_analysis_holistic_cpu_start(self, i);
    for (int64_t h = 0; h < self->programs->n && status == GS_OK; h++) {
        if (h != i && uses(self, h)) {
            status = find_hold(self, h);
        }
    }
    return status;
}

/* The tasks that i waits for on the GPU: those before `first`, busy only ones of other cores beside
 * the more urgent ones of its own. -1: none. */
static int64_t last_user(const gs_analysis_holistic_t *self, int64_t i)
{
    int64_t last = uses(self, i) ? i : -1;
    for (int64_t h = 0; h < self->programs->n && self->options->busy; h++) {
        if (uses(self, h) && gs_analysis_holistic_is_higher(self, h, i) &&
            (last < 0 || is_before(self, last, h))) {
            last = h;
        }
    }
    return last;
}

/* REM of a core for the tasks before `last`. */
static int64_t remote(const gs_analysis_holistic_t *self, int64_t core, int64_t last,
                      int64_t window)
{
    const gs_programs_t *p = self->programs;
    const bool busy = self->options->busy;
    int64_t low = -1, holds = 0, work = 0, begun = 0;
    for (int64_t h = 0; h < p->n; h++) {
        if (p->core[h] == core && is_before(self, h, last) &&
            (low < 0 || p->priority[h] > p->priority[low])) {
            low = h;
        }
    }
    for (int64_t h = 0; h < p->n && low >= 0; h++) {
        const gs_analysis_holistic_task_t *t = &self->task[h];
        if (p->core[h] != core) {
            continue;
        }
        if (is_before(self, h, last)) {
            int64_t z = plus(plus(h == low ? 0 : outside(t), inside(t)), costs(self, t, 3, 2));
            holds = plus(holds, held(self, h, t->held, window));
            work = plus(work, held(self, h, busy ? spun(self, t) : z, window));
            begun = plus(begun, updates(self, h, window));
        } else if (p->priority[h] < p->priority[low]) {
            work = plus(work, on_core(self, h, window));
        }
    }
    for (int64_t l = 0; l < p->n && low >= 0; l++) {
        if (p->core[l] == core && p->priority[l] > p->priority[low] && uses(self, l)) {
            int64_t most = gs_analysis_holistic_least(begun, updates(self, l, window));
            work = plus(work, times(self->options->update_cost, most));
        }
    }
    return gs_analysis_holistic_least(holds, work);
}

/* REM of all other cores, and STALL. */
static int64_t other_cores(const gs_analysis_holistic_t *self, int64_t i, int64_t last,
                           int64_t window)
{
    const gs_programs_t *p = self->programs;
    int64_t sum = 0, stalls = 0;
    for (int64_t k = 0; k < p->n && last >= 0; k++) {
        bool first = p->core[k] != p->core[i];
        for (int64_t h = 0; h < k && first; h++) {
            first = p->core[h] != p->core[k];
        }
        if (first) {
            sum = plus(sum, remote(self, p->core[k], last, window));
        }
        bool counted = k == i || gs_analysis_holistic_is_higher(self, k, i);
        if (self->options->stall && uses(self, k) && !counted &&
            (self->options->busy || is_before(self, i, k))) {
            stalls = plus(stalls, updates(self, k, window));
        }
    }
    return plus(sum, times(self->options->update_cost, stalls));
}

/* Tasks that count with all of their sections while i waits. */
static bool is_counted(const gs_analysis_holistic_t *self, int64_t i, int64_t k, int64_t last)
{
    return gs_analysis_holistic_is_higher(self, k, i) || (last >= 0 && is_before(self, k, last));
}

/* ENG; without `last` of the copies of i alone. */
static int64_t engines(const gs_analysis_holistic_t *self, int64_t i, int64_t q, int64_t last,
                       int64_t window)
{
    const gs_programs_t *p = self->programs;
    int64_t sum = 0;
    for (int e = 0; e < GS_PROGRAMS_ENGINES; e++) {
        int64_t requests = times(q, self->task[i].copies[e]);
        for (int64_t h = 0; h < p->n; h++) {
            if (h != i && is_counted(self, i, h, last)) {
                int64_t jobs = gs_analysis_holistic_open(self, h, window);
                if (gs_analysis_holistic_share(self, i, h) == GS_ANALYSIS_HOLISTIC_NONE) {
                    jobs = gs_analysis_holistic_jobs(plus(window, p->jitter[h]), p->period[h]);
                }
                requests = plus(requests, times(jobs, self->task[h].copies[e]));
            }
        }
        for (int64_t l = 0; l < p->n && requests > 0; l++) {
            const gs_analysis_holistic_list_t *copy = &self->task[l].copy[e];
            if (l == i || copy->sum == 0 || is_counted(self, i, l, last)) {
                continue;
            }
            int share = gs_analysis_holistic_share(self, i, l);
            sum = plus(sum, gs_analysis_holistic_items(self, i, l, copy, share, requests, window));
        }
    }
    return sum;
}

/* Delay by the tasks of the core. */
typedef struct {
    int64_t core, gpu;
} local_t;

/* A, or B with `by_piece`. */
static local_t local_work(const gs_analysis_holistic_t *self, int64_t i, int64_t q, int64_t window,
                          bool by_piece)
{
    const gs_programs_t *p = self->programs;
    const gs_analysis_holistic_task_t *t = &self->task[i];
    int64_t often = times(q, t->pieces);
    local_t sum = {0, 0};
    for (int64_t h = 0; h < p->n; h++) {
        const gs_analysis_holistic_task_t *of = &self->task[h];
        if (!gs_analysis_holistic_is_higher(self, h, i)) {
            continue;
        }
        int64_t work = on_core(self, h, window);
        if (by_piece) {
            int64_t jobs = times(q, self->ready[h]);
            work = gs_analysis_holistic_least(work, times(jobs, of->on_core));
        }
        sum.core = plus(sum.core, work);
        if (uses(self, i) && uses(self, h)) {
            int64_t open = plus(inside(of) - of->calls, costs(self, of, 1, 2));
            sum.gpu = plus(sum.gpu, held(self, h, by_piece ? of->held : open, window));
            often = by_piece ? often : plus(often, updates(self, h, window));
        }
    }
    for (int64_t l = 0; l < p->n && self->options->update_cost > 0; l++) {
        if (is_lower_user(self, l, i)) {
            int64_t most = gs_analysis_holistic_least(often, updates(self, l, window));
            most = times(self->options->update_cost, most);
            sum.core = plus(sum.core, gs_analysis_holistic_least(most, on_core(self, l, window)));
        }
    }
    return sum;
}

static void suspend(const gs_analysis_holistic_t *self, int64_t i, int64_t q, int64_t window,
                    int64_t *terms)
{
    const gs_analysis_holistic_task_t *t = &self->task[i];
    int64_t last = last_user(self, i);
    local_t best = local_work(self, i, q, window, true);
    if (self->options->update_cost == 0 && t->kernels == 0) {
        terms[GS_ANALYSIS_HOLISTIC_CPU] = best.core;
        terms[GS_ANALYSIS_HOLISTIC_COPY] = gs_analysis_holistic_copy(self, i, q, NULL, window);
        return;
    }
    local_t open = local_work(self, i, q, window, false);
    best = plus(open.core, open.gpu) < plus(best.core, best.gpu) ? open : best;
    terms[GS_ANALYSIS_HOLISTIC_CPU] = best.core;
    terms[GS_ANALYSIS_HOLISTIC_GPU] = plus(best.gpu, other_cores(self, i, last, window));
    if (uses(self, i)) {
        terms[GS_ANALYSIS_HOLISTIC_COPY] = engines(self, i, q, last, window);
    }
}

static void spin(const gs_analysis_holistic_t *self, int64_t i, int64_t q, int64_t window,
                 int64_t *terms)
{
    const gs_programs_t *p = self->programs;
    int64_t last = last_user(self, i), higher = self->task[i].blocks;
    int64_t others = other_cores(self, i, last, window);
    bool local = false, crosses = false;
    for (int64_t h = 0; h < p->n; h++) {
        if (gs_analysis_holistic_is_higher(self, h, i)) {
            int64_t jobs = gs_analysis_holistic_jobs(plus(window, p->jitter[h]), p->period[h]);
            higher = plus(higher, times(jobs, spun(self, &self->task[h])));
            local = local || uses(self, h);
        } else if (p->core[h] != p->core[i] && last >= 0) {
            crosses = crosses || is_before(self, h, last);
        }
    }
    terms[GS_ANALYSIS_HOLISTIC_CPU] = higher;
    terms[GS_ANALYSIS_HOLISTIC_GPU] = plus(others, local && crosses ? self->switch_cost : 0);
    terms[GS_ANALYSIS_HOLISTIC_COPY] = engines(self, i, q, last, window);
}

void gs_analysis_holistic_gcaps(const gs_analysis_holistic_t *self, int64_t i, int64_t q,
                                int64_t window, int64_t *terms)
{
    const gs_analysis_holistic_task_t *t = &self->task[i];
    int64_t own = plus(plus(outside(t), inside(t)), costs(self, t, 4, 1));
    terms[GS_ANALYSIS_HOLISTIC_OWN] = times(q, own);
    (self->options->busy ? spin : suspend)(self, i, q, window, terms);
}
