/* One unit of GPU work at a time, the earliest deadline first, dispatched at run time.
 *
 * The unit of a job goes from its first kernel to its last one, with the CPU work and copies
 * between them. Let P be the longest time from the arrival until the unit may start, e that of the
 * unit itself, Z that of the work behind it, and d = D - Z. The dispatcher starts the waiting unit
 * with the earliest arrival + d, and no other while it runs. With delta = d - P,
 *
 *     sum of e / T <= 1, and for all x > 0 that are the delta of a task, or so many periods more,
 *     sum over delta_i <= x of (floor((x - delta_i) / T_i) + 1) e_i + max of e_k, d_k > x, <= x
 *
 * suffice for all deadlines, also of sporadic arrivals and of jobs that take less than their time.
 * Proof. Take the first unit that ends after its deadline, t2, and t1, the last instant before it
 * with no unit pending that is due by t2 and none running. In [t1, t2] run units that are requested
 * at t1 or later, so that their jobs arrived at t1 - P or later, and that are due by t2; and at
 * most one that began before t1 and is due later, d_k > t2 - t1. QED. Longer arrivals and shorter
 * times only remove terms.
 *
 * Tasks that others release. Their deadlines and the keys of their units count from the release. Of
 * a task with a release at most J behind arrivals that are T or more apart (triggered_tasks.c), let
 * X = J + D if it has a unit, the longest time from such an arrival to the end otherwise; X = D of
 * a timed task with a unit. Such a unit counts from x = delta = d - P on, P without J, and then
 * (floor((x - delta + J) / T) + 1) times. With P + e + Z <= D and X <= T for all tasks, the
 * condition above suffices for all deadlines and all X. Proof. As in triggered_tasks.c, look at the
 * first instant at which a claim fails; a late release is an earlier late end. As X <= T, a task
 * has one open job at most until then, so that P, e and Z, from the X of the others, hold. In [t1,
 * t2] run units of jobs that are released in [t1 - P, t2 - d], as they are due by t2: none where
 * x < d - P, otherwise those of arrivals in [t1 - P - J, t2 - d]; and at most one that was released
 * before t1 and is due later. QED. The least X are reached from below.
 *
 * A unit begins when the dispatcher says so; its thread waits for its core before the first call,
 * which belongs to the unit.
 *
 * P, e and Z are the longest times while all jobs meet their deadlines: CPU work takes its ready
 * interval (cpu_terms.c) with deadlines as responses, a copy waits for the longest one of each
 * other task on its engine.
 */
#include "analysis/holistic/holistic_state.h"

#include "core/int128.h"

/* Instants that are examined at most; a set with more is not accepted. */
#define MOST_INSTANTS INT64_C(20000000)

typedef struct {
    int64_t front, unit, behind;
    int64_t due;    /* d; from the arrival */
    int64_t window; /* delta */
    int64_t late;   /* J of a task that others release, 0 of others: theirs is in P */
} around_t;

static int64_t plus(int64_t a, int64_t b)
{
    return gs_analysis_holistic_plus(a, b);
}

static int64_t times(int64_t a, int64_t b)
{
    return gs_analysis_holistic_times(a, b);
}

/* Adds work that is in no section with a kernel. */
static void add_other(around_t *around, int64_t time)
{
    int64_t *to = around->unit > 0 ? &around->behind : &around->front;
    *to = plus(*to, time);
}

/* Adds a section with a kernel; what came since the last one belongs to the unit. */
static void add_to_unit(around_t *around, int64_t time)
{
    around->unit = plus(plus(around->unit, around->behind), time);
    around->behind = 0;
}

/* Waits of a copy of task i. */
static int64_t waits_of_copy(const gs_analysis_holistic_t *self, int64_t i, int64_t engine)
{
    int64_t sum = 0;
    for (int64_t k = 0; k < self->programs->n; k++) {
        const gs_analysis_holistic_list_t *copy = &self->task[k].copy[engine];
        sum = plus(sum, k != i && copy->kinds > 0 ? copy->item[0].value : 0);
    }
    return sum;
}

/* The end of the section that begins with segment j, and whether it has a kernel. */
static int64_t section_end(const gs_analysis_holistic_t *self, int64_t i, int64_t j, bool *kernel)
{
    const gs_programs_t *p = self->programs;
    int64_t end = j;
    *kernel = false;
    do {
        *kernel = *kernel || p->kind[end] == GS_PROGRAMS_KERNEL;
        end++;
    } while (self->options->launches[i] != GS_ANALYSIS_HOLISTIC_SYNC && p->waits[end - 1] == 0 &&
             end < p->begin[i + 1] && p->kind[end] != GS_PROGRAMS_CPU);
    return end;
}

/* Adds a section, behind `begin` ticks: to the unit, if it has a kernel. */
static int add_section(const gs_analysis_holistic_t *self, int64_t i, int64_t j, int64_t end,
                       bool kernel, int64_t begin, around_t *around)
{
    const gs_programs_t *p = self->programs;
    int64_t time = plus(begin, self->options->latency);
    if (end < p->begin[i + 1]) {
        time = plus(time, self->options->wake_latency);
    }
    for (int64_t s = j; s < end; s++) {
        time = plus(time, p->time[s]);
        if (p->kind[s] == GS_PROGRAMS_KERNEL) {
            time = plus(time, self->options->kernel_gap);
        }
        if (p->kind[s] == GS_PROGRAMS_COPY) {
            time = plus(time, waits_of_copy(self, i, p->engine[s]));
        }
    }
    if (kernel) {
        add_to_unit(around, time);
    } else {
        add_other(around, time);
    }
    return gs_poll(self->ctx, (end - j + 1) * p->n);
}

/* P, e and Z of a task, without its jitter. */
static int find_around(const gs_analysis_holistic_t *self, int64_t i, around_t *around)
{
    const gs_programs_t *p = self->programs;
    int64_t cpu = 0, length;
    int status = GS_OK;
    *around = (around_t){0};
    for (int64_t j = p->begin[i]; j < p->begin[i + 1] && status == GS_OK;) {
        bool kernel;
        if (p->kind[j] == GS_PROGRAMS_CPU) {
            cpu += p->time[j++];
            continue;
        }
        int64_t end = section_end(self, i, j, &kernel), begin = 0;
        bool graph = self->options->launches[i] == GS_ANALYSIS_HOLISTIC_GRAPH;
        int64_t calls = times(graph ? 1 : end - j, gs_analysis_holistic_call(self, i));
        bool unit = kernel && around->unit == 0;
        status = gs_analysis_holistic_interval(self, i, unit ? cpu : plus(cpu, calls), &length);
        add_other(around, length);
        cpu = 0;
        if (status == GS_OK && unit) {
            status = gs_analysis_holistic_interval(self, i, calls, &begin);
        }
        if (status == GS_OK) {
            status = add_section(self, i, j, end, kernel, begin, around);
        }
        j = end;
    }
    if (cpu > 0 && status == GS_OK) {
        status = gs_analysis_holistic_interval(self, i, cpu, &length);
        add_other(around, length);
    }
    return status;
}

/* The largest x that has to be examined, 0 where the units take more than all time; false where it
 * is not known. */
static bool last_instant(const gs_programs_t *p, const around_t *around, int64_t *last)
{
    int64_t hyperperiod = 1, window = 0, sum = 0, longest = 0, end;
    gs_int128_t load = 0;
    bool fits = true;
    for (int64_t i = 0; i < p->n; i++) {
        fits = fits && (around[i].unit == 0 || gs_lcm(hyperperiod, p->period[i], &hyperperiod));
    }
    *last = 0;
    if (!fits || hyperperiod >= GS_ANALYSIS_COMMON_LIMIT) {
        hyperperiod = INT64_C(1) << 40; /* a unit of rates, which are rounded up */
        fits = false;
    }
    for (int64_t i = 0; i < p->n; i++) {
        gs_int128_t scaled = (gs_int128_t)around[i].unit * hyperperiod;
        load += gs_int128_ceil_div(scaled, p->period[i]);
        window = around[i].window > window ? around[i].window : window;
        longest = around[i].unit > longest ? around[i].unit : longest;
        sum = plus(sum, times(around[i].late > around[i].window ? 2 : 1, around[i].unit));
    }
    if (load > hyperperiod) {
        return fits;
    }
    end = fits ? plus(window, hyperperiod) : GS_ANALYSIS_COMMON_LIMIT;
    if (load < hyperperiod) { /* beyond, a window holds the rate and all that can come on top */
        gs_int128_t top =
            gs_int128_ceil_div((gs_int128_t)plus(sum, longest) * hyperperiod, hyperperiod - load);
        end = top < end ? (int64_t)top : end;
    }
    *last = end;
    return end < GS_ANALYSIS_COMMON_LIMIT;
}

/* Whether the demand of all windows of length x fits. */
static bool fits_in(const gs_programs_t *p, const around_t *around, int64_t x)
{
    int64_t sum = 0, later = 0;
    for (int64_t i = 0; i < p->n; i++) {
        if (around[i].unit > 0 && around[i].window <= x) {
            int64_t units = (x - around[i].window + around[i].late) / p->period[i] + 1;
            sum = plus(sum, times(units, around[i].unit));
        }
        if (around[i].due > x && around[i].unit > later) {
            later = around[i].unit;
        }
    }
    return plus(sum, later) <= x;
}

static int check_demand(const gs_analysis_holistic_t *self, const around_t *around, bool *accepted)
{
    const gs_programs_t *p = self->programs;
    int64_t last, instants = 0;
    *accepted = last_instant(p, around, &last) && last > 0;
    for (int64_t i = 0; i < p->n && *accepted; i++) {
        if (around[i].unit == 0) {
            continue;
        }
        int64_t x = around[i].window, next = x - around[i].late;
        for (; x <= last && *accepted; x = next) {
            next += p->period[i];
            *accepted = ++instants <= MOST_INSTANTS && fits_in(p, around, x);
            int status = gs_poll(self->ctx, p->n);
            if (status != GS_OK) {
                return status;
            }
        }
    }
    return GS_OK;
}

/* Whether a task counts deadlines from a release that others make. */
static bool is_released(const gs_analysis_holistic_t *self, int64_t i)
{
    return self->groups != NULL && self->groups->source[i] != i;
}

/* P with the jitter, e, Z, d and delta of a task, and whether a job alone ends in time. */
static int find_window(const gs_analysis_holistic_t *self, int64_t i, around_t *around,
                       bool *accepted)
{
    const gs_programs_t *p = self->programs;
    int status = find_around(self, i, around);
    int64_t late = is_released(self, i) ? 0 : p->jitter[i];
    int64_t all = plus(plus(plus(around->front, late), around->unit), around->behind);
    *accepted = *accepted && p->deadline[i] <= p->period[i] && all <= p->deadline[i];
    around->late = p->jitter[i] - late;
    around->due = p->deadline[i] - around->behind;
    around->window = around->due - plus(around->front, late);
    around->front = plus(around->front, p->jitter[i]);
    return status;
}

/* X of tasks that others release, and of those that release them. */
static int find_ends(gs_analysis_holistic_t *self, around_t *around, bool *accepted)
{
    const gs_programs_t *p = self->programs;
    int status = GS_OK;
    for (int64_t i = 0; i < p->n; i++) {
        self->response[i] = 0;
    }
    for (bool changed = true; changed && *accepted && status == GS_OK;) {
        changed = false;
        for (int64_t at = 0; at < p->n && *accepted && status == GS_OK; at++) {
            const int64_t i = self->groups->order[at], before = self->response[i];
            gs_analysis_holistic_find_release(self, i);
            status = find_window(self, i, &around[i], accepted);
            int64_t end = around[i].front;
            if (around[i].unit > 0) {
                end = plus(p->deadline[i], is_released(self, i) ? p->jitter[i] : 0);
            }
            self->response[i] = end > before ? end : before;
            self->groups->delayed[i] = self->response[i] - p->jitter[i];
            *accepted = *accepted && self->response[i] <= p->period[i];
            changed = changed || self->response[i] != before;
        }
    }
    return status;
}

/* No task has a bound, so that none has a latest release or end. */
static void leave_open(gs_analysis_holistic_t *self)
{
    for (int64_t at = 0; at < self->programs->n; at++) {
        const int64_t i = self->groups->order[at];
        gs_analysis_holistic_find_release(self, i);
        self->response[i] = GS_ANALYSIS_COMMON_LIMIT;
    }
}

int gs_analysis_holistic_edf(gs_analysis_holistic_t *self, gs_analysis_holistic_answer_t *answer)
{
    const gs_programs_t *p = self->programs;
    around_t *around = gs_alloc(self->ctx, (size_t)p->n, sizeof *around);
    bool accepted = true, units = false;
    int status = around == NULL ? self->ctx->status : GS_OK;
    for (int64_t i = 0; i < p->n; i++) {
        self->response[i] = p->deadline[i];
    }
    if (status == GS_OK && self->groups != NULL) {
        status = find_ends(self, around, &accepted);
    }
    for (int64_t i = 0; i < p->n && status == GS_OK; i++) {
        if (self->groups == NULL) {
            status = find_window(self, i, &around[i], &accepted);
        }
        units = units || around[i].unit > 0;
    }
    if (status == GS_OK && accepted && units) {
        status = check_demand(self, around, &accepted);
    }
    for (int64_t i = 0; i < p->n && status == GS_OK; i++) {
        int64_t *terms = answer->terms + i * GS_ANALYSIS_HOLISTIC_TERMS;
        bool alone =
            around[i].unit == 0; /* no unit: what it takes does not depend on others' units */
        answer->response[i] = !accepted ? -1 : alone ? around[i].front : p->deadline[i];
        answer->jobs[i] = accepted;
        if (accepted) {
            terms[GS_ANALYSIS_HOLISTIC_OWN] = around[i].unit;
            terms[GS_ANALYSIS_HOLISTIC_CPU] = around[i].front - p->jitter[i];
            terms[GS_ANALYSIS_HOLISTIC_GPU] = alone ? 0 : around[i].window - around[i].unit;
            terms[GS_ANALYSIS_HOLISTIC_BEHIND] = around[i].behind;
        }
    }
    if (status == GS_OK && self->groups != NULL) {
        if (!accepted) {
            leave_open(self);
        }
        for (int64_t i = 0; i < p->n; i++) {
            gs_analysis_holistic_report(self, i, answer);
        }
    }
    gs_free(self->ctx, around);
    return status;
}
