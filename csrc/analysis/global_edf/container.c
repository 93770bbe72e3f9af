/* Container Method: test, budget of the server, and bounds inside and outside it. */
#include "analysis/global_edf/container.h"

#include "core/rational.h"
#include "core/int128.h"

/* Limits on the fractions of a tick: at most FINEST units per tick, and times of at most LONGEST
 * units, whose squares gs_analysis_global_edf_response can hold. Beyond them the budget is rounded
 * up. */
#define FINEST (1 << 20)
#define LONGEST ((int64_t)1 << 48)

/* The root of the hierarchy: the CPU-only tasks, and the server after them. */
typedef struct {
    const gs_analysis_global_edf_t *tasks;
    const int64_t *inside;
    gs_context_t *ctx;
    int64_t m;
    int64_t server_period;
    int64_t work;     /* total work of one job of each task inside */
    int64_t finer;    /* units of the columns per tick */
    int64_t *columns; /* owned */
    int64_t *period;  /* parts of columns, n + 1 entries each */
    int64_t *deadline;
    int64_t *demand;
    int64_t *rest;                         /* the last two parts */
    gs_analysis_global_edf_bound_t *bound; /* owned, n + 1 */
    int64_t n;                             /* tasks of the root, including the server */
} root_t;

static int root_init(root_t *self, gs_context_t *ctx)
{
    size_t room = (size_t)self->tasks->n + 1;
    self->columns = gs_alloc(ctx, 5 * room, sizeof *self->columns);
    self->bound = self->columns == NULL ? NULL : gs_alloc(ctx, room, sizeof *self->bound);
    if (self->bound == NULL) {
        return ctx->status;
    }
    self->period = self->columns;
    self->deadline = self->columns + room;
    self->demand = self->columns + 2 * room;
    self->rest = self->columns + 3 * room;
    return GS_OK;
}

/* Fills the columns with the tasks inside, or with all; returns their number. */
static int64_t gather(root_t *self, bool all)
{
    const gs_analysis_global_edf_t *t = self->tasks;
    int64_t n = 0;
    for (int64_t i = 0; i < t->n; i++) {
        if (all || self->inside[i] != 0) {
            self->period[n] = t->period[i];
            self->demand[n++] = t->demand[i];
        }
    }
    return n;
}

/* The sign of the utilization of these tasks minus a whole number. */
static int compare(root_t *self, bool all, int64_t bound, int *sign)
{
    int64_t n = gather(self, all);
    *sign = -1;
    return n == 0 ? GS_OK
                  : gs_rational_compare(self->ctx, self->demand, self->period, n, bound, self->rest,
                                        sign);
}

static int judge(root_t *self, bool paper, int *verdict, int64_t *failed)
{
    const gs_analysis_global_edf_t *t = self->tasks;
    *verdict = GS_ANALYSIS_GLOBAL_EDF_BOUNDED;
    *failed = -1;
    for (int64_t i = 0; i < t->n && !paper; i++) {
        if (self->inside[i] == 0 && t->demand[i] > t->period[i]) {
            *verdict = GS_ANALYSIS_GLOBAL_EDF_LONG;
            *failed = i;
            return GS_OK;
        }
    }
    int sign;
    int status = compare(self, false, 1, &sign);
    if (status == GS_OK && sign > 0) {
        *verdict = GS_ANALYSIS_GLOBAL_EDF_CONTAINER;
        return GS_OK;
    }
    if (status == GS_OK) {
        status = compare(self, true, self->m, &sign);
        *verdict = sign > 0 ? GS_ANALYSIS_GLOBAL_EDF_LOAD : GS_ANALYSIS_GLOBAL_EDF_BOUNDED;
    }
    return status;
}

/* The most units per tick that fit; 0 where even ticks do not. */
static int64_t finest(const root_t *self)
{
    const gs_analysis_global_edf_t *t = self->tasks;
    int64_t most = 2 * self->server_period, sum = self->server_period;
    for (int64_t i = 0; i < t->n; i++) {
        most = t->period[i] > most ? t->period[i] : most;
        most = t->deadline[i] > most ? t->deadline[i] : most;
        sum += t->demand[i];
    }
    most = sum > most ? sum : most;
    if (most > LONGEST) {
        return most < GS_NEVER / 2;
    }
    return LONGEST / most < FINEST ? LONGEST / most : FINEST;
}

/* The exact budget w P in units in which it is whole; 0 where that takes more than `most` units per
 * tick. */
static int64_t exact_budget(root_t *self, int64_t most)
{
    const gs_analysis_global_edf_t *t = self->tasks;
    int64_t lcm = 1;
    gs_int128_t sum = 0, part, budget;
    for (int64_t i = 0; i < t->n; i++) {
        if (self->inside[i] != 0 && !gs_lcm(lcm, t->period[i], &lcm)) {
            return 0;
        }
    }
    for (int64_t i = 0; i < t->n; i++) {
        if (self->inside[i] != 0 && (!gs_int128_mul(t->demand[i], lcm / t->period[i], &part) ||
                                     !gs_int128_add(sum, part, &sum))) {
            return 0;
        }
    }
    if (sum == 0 || !gs_int128_mul(sum, self->server_period, &budget)) {
        return 0;
    }
    gs_int128_t divisor = gs_int128_gcd(budget, lcm);
    if (lcm / divisor > most) {
        return 0;
    }
    self->finer = (int64_t)(lcm / divisor);
    return (int64_t)(budget / divisor); /* at most the period of the server in these units */
}

static int64_t rounded_budget(root_t *self, int64_t most)
{
    const gs_analysis_global_edf_t *t = self->tasks;
    self->finer = most;
    int64_t period = self->server_period * most, budget = 0;
    for (int64_t i = 0; i < t->n; i++) {
        if (self->inside[i] != 0) {
            gs_int128_t part = gs_int128_ceil_div((gs_int128_t)t->demand[i] * period, t->period[i]);
            budget = part < period - budget ? budget + (int64_t)part : period;
        }
    }
    return budget;
}

/* The budget in whole ticks, as a server in time has it. */
static int whole_budget(root_t *self, int64_t *budget)
{
    self->finer = 1;
    int64_t n = gather(self, false);
    return gs_rational_share(self->ctx, self->demand, self->period, n, self->server_period,
                             self->rest, budget);
}

static void fill(root_t *self, int64_t budget)
{
    const gs_analysis_global_edf_t *t = self->tasks;
    self->n = 0;
    for (int64_t i = 0; i < t->n; i++) {
        if (self->inside[i] == 0) {
            self->period[self->n] = t->period[i] * self->finer;
            self->deadline[self->n] = t->deadline[i] * self->finer;
            self->demand[self->n++] = t->demand[i] * self->finer;
        }
    }
    self->period[self->n] = self->deadline[self->n] = self->server_period * self->finer;
    self->demand[self->n++] = budget;
}

/* numerator / denominator in lowest terms, rounded up where they exceed 63 bits. */
static gs_analysis_global_edf_bound_t fraction(gs_int128_t numerator, gs_int128_t denominator,
                                               int64_t method)
{
    gs_int128_t divisor = gs_int128_gcd(numerator, denominator);
    numerator /= divisor;
    denominator /= divisor;
    gs_int128_t up = gs_int128_ceil_div(numerator, denominator);
    if (up >= GS_NEVER) {
        return (gs_analysis_global_edf_bound_t){0, 0, GS_ANALYSIS_GLOBAL_EDF_NONE};
    }
    if (numerator > INT64_MAX || denominator > INT64_MAX) {
        return (gs_analysis_global_edf_bound_t){(int64_t)up, 1, method};
    }
    return (gs_analysis_global_edf_bound_t){(int64_t)numerator, (int64_t)denominator, method};
}

/* Theta + 2 P + (sum of e + s) P / budget, from the bound and the budget of the server. */
static gs_analysis_global_edf_bound_t inside_bound(const root_t *self, int64_t budget)
{
    gs_analysis_global_edf_bound_t server = self->bound[self->n - 1];
    if (server.method == GS_ANALYSIS_GLOBAL_EDF_NONE) {
        return server;
    }
    gs_int128_t period = (gs_int128_t)self->server_period * self->finer;
    gs_int128_t late = server.numerator - period * server.denominator;
    late = late > 0 ? late : 0;
    gs_int128_t late_of = (gs_int128_t)server.denominator * self->finer;
    gs_int128_t divisor = gs_int128_gcd(late, late_of);
    late /= divisor;
    late_of /= divisor;
    gs_int128_t serving = self->work * period, serving_of = budget > 0 ? budget : 1;
    divisor = gs_int128_gcd(serving, serving_of);
    serving /= divisor;
    serving_of /= divisor;
    gs_int128_t one, other, whole, of, sum;
    if (gs_int128_mul(late_of, serving_of, &of) && gs_int128_mul(late, serving_of, &one) &&
        gs_int128_mul(serving, late_of, &other) &&
        gs_int128_mul(of, 2 * (gs_int128_t)self->server_period, &whole) &&
        gs_int128_add(one, other, &sum) && gs_int128_add(sum, whole, &sum)) {
        return fraction(sum, of, GS_ANALYSIS_GLOBAL_EDF_FIFO);
    }
    sum = gs_int128_ceil_div(late, late_of) + gs_int128_ceil_div(serving, serving_of) +
          2 * (gs_int128_t)self->server_period;
    return fraction(sum, 1, GS_ANALYSIS_GLOBAL_EDF_FIFO);
}

/* Writes the bounds from those of the root, in units of 1 / finer ticks. */
static void hand_out(const root_t *self, int64_t budget, gs_analysis_global_edf_bound_t *bound)
{
    gs_analysis_global_edf_bound_t inside = inside_bound(self, budget);
    int64_t next = 0;
    for (int64_t i = 0; i < self->tasks->n; i++) {
        if (self->inside[i] != 0) {
            bound[i] = inside;
            continue;
        }
        gs_analysis_global_edf_bound_t of = self->bound[next++];
        if (of.method != GS_ANALYSIS_GLOBAL_EDF_NONE) {
            of = fraction(of.numerator, (gs_int128_t)of.denominator * self->finer, of.method);
        }
        bound[i] = of;
    }
}

static int find_bounds(root_t *self, bool whole, int64_t methods,
                       gs_analysis_global_edf_bound_t *bound)
{
    int64_t most = finest(self), budget = 0;
    if (most == 0) { /* times too large for a server */
        return GS_OK;
    }
    int status = whole ? whole_budget(self, &budget) : GS_OK;
    if (status != GS_OK) {
        return status;
    }
    budget = whole ? budget : exact_budget(self, most);
    if (budget == 0) {
        budget = rounded_budget(self, most);
    }
    fill(self, budget);
    gs_analysis_global_edf_t root = {self->n, self->period, self->deadline, self->demand};
    int verdict;
    int64_t failed;
    status = gs_analysis_global_edf_bounded(self->ctx, &root, self->m, &verdict, &failed);
    if (status == GS_OK && verdict == GS_ANALYSIS_GLOBAL_EDF_BOUNDED) {
        status = gs_analysis_global_edf_response(self->ctx, &root, self->m, methods, self->bound);
        if (status == GS_OK) {
            hand_out(self, budget, bound);
        }
    }
    return status;
}

int gs_analysis_global_edf_container(gs_context_t *ctx, const gs_analysis_global_edf_t *tasks,
                                     const int64_t *inside, int64_t m, int64_t server_period,
                                     bool whole, bool paper, int64_t methods, int *verdict,
                                     int64_t *failed, gs_analysis_global_edf_bound_t *bound)
{
    if (server_period < 1) {
        return gs_fail(ctx, GS_ERR_VALUE, "server_period", -1, server_period,
                       "a positive number of ticks");
    }
    if (server_period >= GS_NEVER / 2) {
        return gs_fail(ctx, GS_ERR_OVERFLOW, "server_period", -1, server_period,
                       "at most 2**60 - 2 ticks");
    }
    root_t self = {
        .tasks = tasks, .inside = inside, .ctx = ctx, .m = m, .server_period = server_period};
    bool any = false;
    for (int64_t i = 0; i < tasks->n; i++) {
        bound[i] = (gs_analysis_global_edf_bound_t){0, 0, GS_ANALYSIS_GLOBAL_EDF_NONE};
        self.work += inside[i] != 0 ? tasks->demand[i] : 0;
        any = any || inside[i] != 0;
    }
    int status = root_init(&self, ctx);
    if (status == GS_OK) {
        status = judge(&self, paper, verdict, failed);
    }
    if (status == GS_OK && *verdict == GS_ANALYSIS_GLOBAL_EDF_BOUNDED) {
        status = any ? find_bounds(&self, whole, methods, bound)
                     : gs_analysis_global_edf_response(ctx, tasks, m, methods, bound);
    }
    gs_free(ctx, self.columns);
    gs_free(ctx, self.bound);
    return status;
}

static const char *const CONTAINER_VARIANT[] = {"sound", "paper", NULL};
static const char *const CONTAINER_METHOD[] = {"best", "devi_anderson", "compliant", NULL};
static const gs_method_option_t CONTAINER_OPTIONS[] = {
    {"variant", "choice", CONTAINER_VARIANT, "sound", "corrected, or as printed"},
    {"server_period", "positive time", NULL, NULL,
     "period of the server; default: the shortest one of its tasks"},
    {"whole_budget", "boolean", NULL, "False", "bounds for a server budget rounded up to a tick"},
    {"method", "choice", CONTAINER_METHOD, "best",
     "tardiness bound; best: the smallest applicable one for each task"},
};

const gs_method_t gs_analysis_global_edf_container_method = {
    .name = "container",
    .model = "HostTasks",
    .function = "analysis.container",
    .claim = "sufficient",
    .source = "[RTNS10], section 4.2",
    .summary = "Container Method: tasks that use the GPU are served in FIFO order by one server.",
    .options = CONTAINER_OPTIONS,
    .option_count = sizeof CONTAINER_OPTIONS / sizeof *CONTAINER_OPTIONS,
};
