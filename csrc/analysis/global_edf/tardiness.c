/* Tardiness test and the least of the response-time bounds under global EDF. */
#include "analysis/global_edf/tardiness.h"

#include "core/rational.h"
#include "core/int128.h"

#include <stdlib.h>

/* A task in common units: all numbers are multiples of 1 / unit. */
typedef struct {
    gs_int128_t slope; /* u', rounded up */
    gs_int128_t start; /* e' - e' u' / m - S, rounded up; may be negative */
    gs_int128_t value; /* at the current s */
} line_t;

typedef struct {
    const gs_analysis_global_edf_t *tasks;
    gs_context_t *ctx;
    int64_t m;
    int64_t busy; /* L = ceil(U) - 1 */
    gs_int128_t unit;
    int64_t first; /* the least deadline */
    line_t *lines; /* owned, n */
    int64_t *rest; /* owned, n */
    gs_analysis_global_edf_bound_t *bound;
} work_t;

int gs_analysis_global_edf_check(gs_context_t *ctx, const gs_analysis_global_edf_t *tasks,
                                 int64_t m)
{
    if (m < 1 || m > INT32_MAX) {
        return gs_fail(ctx, GS_ERR_VALUE, "cpus", -1, m, "a positive number of CPUs below 2**31");
    }
    if (tasks->n < 1 || tasks->n > INT32_MAX) {
        return gs_fail(ctx, GS_ERR_VALUE, "tasks", -1, tasks->n,
                       "a positive number of tasks below 2**31");
    }
    const struct {
        const char *field;
        const int64_t *column;
        int64_t least;
    } columns[3] = {{"period", tasks->period, 1},
                    {"deadline", tasks->deadline, 1},
                    {"demand", tasks->demand, 0}};
    int64_t sum = 0;
    for (int64_t i = 0; i < tasks->n; i++) {
        for (int c = 0; c < 3; c++) {
            int64_t value = columns[c].column[i];
            if (value < columns[c].least) {
                return gs_fail(ctx, GS_ERR_VALUE, columns[c].field, i, value,
                               columns[c].least > 0 ? "a positive number of ticks"
                                                    : "a number of ticks of at least 0");
            }
            if (value >= GS_NEVER / 2) {
                return gs_fail(ctx, GS_ERR_OVERFLOW, columns[c].field, i, value,
                               "at most 2**60 - 2 ticks");
            }
        }
        sum += tasks->demand[i];
        if (sum >= GS_NEVER / 2) {
            return gs_fail(ctx, GS_ERR_OVERFLOW, "demand", i, tasks->demand[i],
                           "demands that add up to at most 2**60 - 2 ticks");
        }
    }
    return GS_OK;
}

int gs_analysis_global_edf_bounded(gs_context_t *ctx, const gs_analysis_global_edf_t *tasks,
                                   int64_t m, int *verdict, int64_t *failed)
{
    *failed = -1;
    for (int64_t i = 0; i < tasks->n; i++) {
        if (tasks->demand[i] > tasks->period[i]) {
            *verdict = GS_ANALYSIS_GLOBAL_EDF_LONG;
            *failed = i;
            return GS_OK;
        }
    }
    int64_t *rest = gs_alloc(ctx, (size_t)tasks->n, sizeof *rest);
    if (rest == NULL) {
        return ctx->status;
    }
    int sign = 0;
    int status = gs_rational_compare(ctx, tasks->demand, tasks->period, tasks->n, m, rest, &sign);
    gs_free(ctx, rest);
    *verdict = sign > 0 ? GS_ANALYSIS_GLOBAL_EDF_LOAD : GS_ANALYSIS_GLOBAL_EDF_BOUNDED;
    return status;
}

/* Whether numerator / denominator is below the present bound. */
static bool is_less(const gs_analysis_global_edf_bound_t *bound, gs_int128_t numerator,
                    gs_int128_t denominator)
{
    gs_int128_t one, other;
    if (gs_int128_mul(numerator, bound->denominator, &one) &&
        gs_int128_mul(bound->numerator, denominator, &other)) {
        return one < other;
    }
    /* Too long to compare exactly: the bound that is not rounded up is at least as good. */
    return gs_int128_ceil_div(numerator, denominator) <
           gs_int128_ceil_div(bound->numerator, bound->denominator);
}

/* Records a bound for task i if it is the least so far, rounded up to a whole number where its
 * terms exceed 63 bits. */
static void take(work_t *self, int64_t i, int method, gs_int128_t numerator,
                 gs_int128_t denominator)
{
    gs_analysis_global_edf_bound_t *bound = &self->bound[i];
    gs_int128_t divisor = gs_int128_gcd(numerator, denominator);
    numerator /= divisor;
    denominator /= divisor;
    if (numerator > INT64_MAX || denominator > INT64_MAX) {
        numerator = gs_int128_ceil_div(numerator, denominator);
        denominator = 1;
    }
    if (gs_int128_ceil_div(numerator, denominator) < GS_NEVER &&
        (bound->method == GS_ANALYSIS_GLOBAL_EDF_NONE || is_less(bound, numerator, denominator))) {
        *bound = (gs_analysis_global_edf_bound_t){(int64_t)numerator, (int64_t)denominator, method};
    }
}

/* Records the bound whole + part / of, all not negative, of > 0. */
static void take_sum(work_t *self, int64_t i, int method, gs_int128_t whole, gs_int128_t part,
                     gs_int128_t of)
{
    gs_int128_t divisor = gs_int128_gcd(part, of), scaled, sum;
    part /= divisor;
    of /= divisor;
    if (gs_int128_mul(whole, of, &scaled) && gs_int128_add(scaled, part, &sum)) {
        take(self, i, method, sum, of);
    } else if (gs_int128_add(whole, gs_int128_ceil_div(part, of), &sum)) {
        take(self, i, method, sum, 1);
    }
}

/* m times the least common multiple of the periods; false where it is too large. */
static bool common_unit(const work_t *self, int most_bits, gs_int128_t *unit)
{
    int64_t lcm = 1;
    for (int64_t i = 0; i < self->tasks->n; i++) {
        if (!gs_lcm(lcm, self->tasks->period[i], &lcm)) {
            return false;
        }
    }
    return gs_int128_mul(lcm, self->m, unit) && gs_int128_bits(*unit) <= most_bits;
}

static gs_int128_t quotient_up(gs_int128_t a, gs_int128_t b)
{
    return a >= 0 ? gs_int128_ceil_div(a, b) : -(-a / b);
}

/* Y, the deadline minus the least one. */
static int64_t point(const work_t *self, int64_t i)
{
    return self->tasks->deadline[i] - self->first;
}

/* m min(p, Y) - e', which is (1 - u' / m) e' - S times m p / e'. */
static gs_int128_t lead(const work_t *self, int64_t i)
{
    const gs_analysis_global_edf_t *t = self->tasks;
    int64_t y = point(self, i) < t->period[i] ? point(self, i) : t->period[i];
    return (gs_int128_t)self->m * y - t->demand[i];
}

/* Chooses the unit so that no number below exceeds 126 bits; false where that leaves less than
 * eight bits for fractions. */
static bool choose_unit(work_t *self)
{
    const gs_analysis_global_edf_t *t = self->tasks;
    gs_int128_t sum = 0;
    int longest = 0; /* of e' |m min(p, Y) - e'| and of e' p */
    for (int64_t i = 0; i < t->n; i++) {
        sum += t->demand[i];
        gs_int128_t of = lead(self, i) < 0 ? -lead(self, i) : lead(self, i);
        of = of > t->period[i] ? of : t->period[i];
        int bits = gs_int128_bits(t->demand[i]) + gs_int128_bits(of);
        longest = bits > longest ? bits : longest;
    }
    /* s is a quotient of less than (sum + n) unit and at most m unit; lines are compared at s times
     * the latter: twice the bits of the unit, and those of sum + n, m and a sum of two. */
    int m_bits = gs_int128_bits(self->m);
    int most = (124 - gs_int128_bits(sum + t->n) - m_bits) / 2;
    most = most < 124 - longest ? most : 124 - longest;
    if (most < 8) {
        return false;
    }
    if (!common_unit(self, most, &self->unit)) {
        self->unit = (gs_int128_t)1 << (most - 1);
    }
    return true;
}

static void make_lines(work_t *self, gs_int128_t *stalls)
{
    const gs_analysis_global_edf_t *t = self->tasks;
    *stalls = 0; /* the sum of S */
    for (int64_t i = 0; i < t->n; i++) {
        gs_int128_t e = t->demand[i], p = t->period[i];
        int64_t early = point(self, i) < t->period[i] ? t->period[i] - point(self, i) : 0;
        self->lines[i].slope = gs_int128_ceil_div(e * self->unit, p);
        self->lines[i].start = quotient_up(e * lead(self, i) * self->unit, p * self->m);
        *stalls += gs_int128_ceil_div(e * early * self->unit, p);
    }
}

static int by_value(const void *a, const void *b)
{
    gs_int128_t x = ((const line_t *)a)->value, y = ((const line_t *)b)->value;
    return (x < y) - (x > y);
}

/* The root s of C.4, *part / *of. The left side is the maximum of lines with slopes below m: from
 * the left, the root of the line that is maximal at s never exceeds the root. */
static int find_root(work_t *self, gs_int128_t *part, gs_int128_t *of)
{
    const gs_analysis_global_edf_t *t = self->tasks;
    gs_int128_t stalls;
    make_lines(self, &stalls);
    *part = 0;
    *of = 1;
    for (;;) {
        for (int64_t i = 0; i < t->n; i++) {
            line_t *line = &self->lines[i];
            line->value = line->slope * *part + line->start * *of;
        }
        qsort(self->lines, (size_t)t->n, sizeof *self->lines, by_value);
        gs_int128_t above = stalls, below = self->m * self->unit;
        for (int64_t i = 0; i < self->busy; i++) {
            above += self->lines[i].start;
            below -= self->lines[i].slope;
        }
        /* above and part are below (sum + n) unit, below and of at most m unit. */
        if (above * *of <= *part * below) {
            return GS_OK;
        }
        *part = above;
        *of = below;
        int status = gs_poll(self->ctx, 100 * t->n);
        if (status != GS_OK) {
            return status;
        }
    }
}

static int compliant(work_t *self)
{
    const gs_analysis_global_edf_t *t = self->tasks;
    gs_int128_t part, of;
    int status = find_root(self, &part, &of);
    if (status != GS_OK) {
        return status;
    }
    gs_int128_t divisor = gs_int128_gcd(part, of), scaled, last;
    part /= divisor;
    of /= divisor;
    for (int64_t i = 0; i < t->n; i++) {
        /* Y + e' + s - e' / m, the last two over m of; s >= 0 and e' (m - 1) / m >= 0. */
        gs_int128_t rest = (gs_int128_t)t->demand[i] * (self->m - 1);
        gs_int128_t whole = point(self, i);
        if (gs_int128_mul(part, self->m, &scaled) && gs_int128_mul(rest, of, &last) &&
            gs_int128_add(scaled, last, &scaled) &&
            gs_int128_bits(of) + gs_int128_bits(self->m) < 126) {
            take_sum(self, i, GS_ANALYSIS_GLOBAL_EDF_COMPLIANT, whole, scaled, of * self->m);
        } else {
            take_sum(self, i, GS_ANALYSIS_GLOBAL_EDF_COMPLIANT,
                     whole + gs_int128_ceil_div(rest, self->m), part, of);
        }
    }
    return GS_OK;
}

static int downwards(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x < y) - (x > y);
}

static int by_slope(const void *a, const void *b)
{
    gs_int128_t x = ((const line_t *)a)->slope, y = ((const line_t *)b)->slope;
    return (x < y) - (x > y);
}

/* Requires the lines of make_lines. */
static void devi_anderson(work_t *self)
{
    const gs_analysis_global_edf_t *t = self->tasks;
    for (int64_t i = 0; i < t->n; i++) {
        self->rest[i] = t->demand[i];
    }
    qsort(self->rest, (size_t)t->n, sizeof *self->rest, downwards);
    qsort(self->lines, (size_t)t->n, sizeof *self->lines, by_slope);
    gs_int128_t above = -self->rest[t->n - 1], below = self->m * self->unit;
    for (int64_t i = 0; i < self->busy; i++) {
        above += self->rest[i];
        below -= i < self->busy - 1 ? self->lines[i].slope : 0;
    }
    above = above > 0 ? above * self->unit : 0;
    for (int64_t i = 0; i < t->n; i++) {
        gs_int128_t whole = (gs_int128_t)t->period[i] + t->demand[i];
        take_sum(self, i, GS_ANALYSIS_GLOBAL_EDF_DEVI_ANDERSON, whole, above, below);
    }
}

static bool has_implicit_deadlines(const gs_analysis_global_edf_t *tasks)
{
    for (int64_t i = 0; i < tasks->n; i++) {
        if (tasks->deadline[i] != tasks->period[i]) {
            return false;
        }
    }
    return true;
}

static void without_waiting(work_t *self, int64_t methods, bool implicit)
{
    const gs_analysis_global_edf_t *t = self->tasks;
    for (int64_t i = 0; i < t->n; i++) {
        if (t->n <= self->m && (methods & 1 << GS_ANALYSIS_GLOBAL_EDF_ALONE) != 0) {
            take(self, i, GS_ANALYSIS_GLOBAL_EDF_ALONE, t->demand[i], 1);
        }
        if (self->m == 1 && implicit && (methods & 1 << GS_ANALYSIS_GLOBAL_EDF_UNIPROCESSOR) != 0) {
            take(self, i, GS_ANALYSIS_GLOBAL_EDF_UNIPROCESSOR, t->period[i], 1);
        }
    }
}

int gs_analysis_global_edf_response(gs_context_t *ctx, const gs_analysis_global_edf_t *tasks,
                                    int64_t m, int64_t methods,
                                    gs_analysis_global_edf_bound_t *bound)
{
    work_t self = {.tasks = tasks, .ctx = ctx, .m = m, .bound = bound};
    bool implicit = has_implicit_deadlines(tasks);
    self.first = tasks->deadline[0];
    for (int64_t i = 0; i < tasks->n; i++) {
        bound[i] = (gs_analysis_global_edf_bound_t){0, 0, GS_ANALYSIS_GLOBAL_EDF_NONE};
        self.first = tasks->deadline[i] < self.first ? tasks->deadline[i] : self.first;
    }
    without_waiting(&self, methods, implicit);
    bool wanted = (methods & (1 << GS_ANALYSIS_GLOBAL_EDF_COMPLIANT |
                              1 << GS_ANALYSIS_GLOBAL_EDF_DEVI_ANDERSON)) != 0;
    if (!wanted || !choose_unit(&self)) {
        return GS_OK;
    }
    int status = GS_OK;
    self.lines = gs_alloc(ctx, (size_t)tasks->n, sizeof *self.lines);
    self.rest = self.lines == NULL ? NULL : gs_alloc(ctx, (size_t)tasks->n, sizeof *self.rest);
    if (self.rest == NULL) {
        status = ctx->status;
        goto out;
    }
    status = gs_rational_ceil(ctx, tasks->demand, tasks->period, tasks->n, self.rest, &self.busy);
    if (status != GS_OK) {
        goto out;
    }
    self.busy = self.busy > 0 ? self.busy - 1 : 0; /* no utilization: demands of 0 */
    if ((methods & 1 << GS_ANALYSIS_GLOBAL_EDF_COMPLIANT) != 0) {
        status = compliant(&self);
    }
    if (status == GS_OK && implicit && (methods & 1 << GS_ANALYSIS_GLOBAL_EDF_DEVI_ANDERSON) != 0) {
        gs_int128_t stalls;
        make_lines(&self, &stalls);
        devi_anderson(&self);
    }
out:
    gs_free(ctx, self.lines);
    gs_free(ctx, self.rest);
    return status;
}

static const char *const GEDF_TARDINESS_METHOD[] = {"best", "devi_anderson", "compliant", NULL};
static const gs_method_option_t GEDF_TARDINESS_OPTIONS[] = {
    {"blocking", "times", NULL, "0", "time that a job of each task waits, charged as execution"},
    {"method", "choice", GEDF_TARDINESS_METHOD, "best",
     "tardiness bound; best: the smallest applicable one for each task"},
};

const gs_method_t gs_analysis_global_edf_gedf_tardiness_method = {
    .name = "gedf_tardiness",
    .model = "HostTasks",
    .function = "analysis.gedf_tardiness",
    .claim = "sufficient",
    .source = "Devi and Anderson 2008; Erickson, Devi and Baruah 2010",
    .summary = "Bounded tardiness under global EDF, counting all demand as CPU time.",
    .options = GEDF_TARDINESS_OPTIONS,
    .option_count = sizeof GEDF_TARDINESS_OPTIONS / sizeof *GEDF_TARDINESS_OPTIONS,
};

static const char *const CPU_ONLY_METHOD[] = {"best", "devi_anderson", "compliant", NULL};
static const gs_method_option_t CPU_ONLY_OPTIONS[] = {
    {"speed_up", "number", NULL, NULL, "how many times faster the GPU runs a kernel than a CPU"},
    {"method", "choice", CPU_ONLY_METHOD, "best",
     "tardiness bound; best: the smallest applicable one for each task"},
};

const gs_method_t gs_analysis_global_edf_cpu_only_method = {
    .name = "cpu_only",
    .model = "HostTasks",
    .function = "analysis.cpu_only",
    .claim = "exact",
    .source = "[RTNS10], section 5.1",
    .summary = "Global EDF with kernels executed on the CPUs, slower by a factor.",
    .options = CPU_ONLY_OPTIONS,
    .option_count = sizeof CPU_ONLY_OPTIONS / sizeof *CPU_ONLY_OPTIONS,
};
