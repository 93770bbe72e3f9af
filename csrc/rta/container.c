/* Does the container fit, and when has it served a job? */
#include "rta/container.h"

#include "core/load.h"
#include "core/wide.h"

/* Finer than this a tick is not divided, nor so finely that times go beyond LONGEST, whose squares
 * gs_gedf_response still has room for: the budget is rounded up. */
#define FINEST (1 << 20)
#define LONGEST ((int64_t)1 << 48)

/* The tasks that compete for the CPUs: those outside, and the server behind them. */
typedef struct {
    const gs_gedf_t *tasks;
    const int64_t *inside;
    gs_env_t *env;
    int64_t m;
    int64_t server_period;
    int64_t work;     /* of one job of each task inside */
    int64_t finer;    /* units of the columns below per tick */
    int64_t *columns; /* owned */
    int64_t *period;  /* parts of columns, n + 1 entries each */
    int64_t *deadline;
    int64_t *demand;
    int64_t *rest;          /* the last two parts */
    gs_gedf_bound_t *bound; /* owned, n + 1 */
    int64_t n;              /* tasks of the root, the server included */
} root_t;

static int root_init(root_t *self, gs_env_t *env)
{
    size_t room = (size_t)self->tasks->n + 1;
    self->columns = gs_alloc(env, 5 * room, sizeof *self->columns);
    self->bound = self->columns == NULL ? NULL : gs_alloc(env, room, sizeof *self->bound);
    if (self->bound == NULL) {
        return env->status;
    }
    self->period = self->columns;
    self->deadline = self->columns + room;
    self->demand = self->columns + 2 * room;
    self->rest = self->columns + 3 * room;
    return GS_OK;
}

/* The columns of the tasks inside, or of all; how many they are. */
static int64_t gather(root_t *self, bool all)
{
    const gs_gedf_t *t = self->tasks;
    int64_t n = 0;
    for (int64_t i = 0; i < t->n; i++) {
        if (all || self->inside[i] != 0) {
            self->period[n] = t->period[i];
            self->demand[n++] = t->demand[i];
        }
    }
    return n;
}

/* The sign of the load of these tasks less a whole number. */
static int compare(root_t *self, bool all, int64_t bound, int *sign)
{
    int64_t n = gather(self, all);
    *sign = -1;
    return n == 0
               ? GS_OK
               : gs_load_compare(self->env, self->demand, self->period, n, bound, self->rest, sign);
}

static int judge(root_t *self, bool paper, int *verdict, int64_t *failed)
{
    const gs_gedf_t *t = self->tasks;
    *verdict = GS_GEDF_BOUNDED;
    *failed = -1;
    for (int64_t i = 0; i < t->n && !paper; i++) {
        if (self->inside[i] == 0 && t->demand[i] > t->period[i]) {
            *verdict = GS_GEDF_LONG;
            *failed = i;
            return GS_OK;
        }
    }
    int sign;
    int status = compare(self, false, 1, &sign);
    if (status == GS_OK && sign > 0) {
        *verdict = GS_GEDF_CONTAINER;
        return GS_OK;
    }
    if (status == GS_OK) {
        status = compare(self, true, self->m, &sign);
        *verdict = sign > 0 ? GS_GEDF_LOAD : GS_GEDF_BOUNDED;
    }
    return status;
}

/* How much finer than ticks units can be. */
static int64_t finest(const root_t *self)
{
    const gs_gedf_t *t = self->tasks;
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

/* The exact budget w P in units so fine that it is a whole number; 0 where they are too fine. */
static int64_t exact_budget(root_t *self, int64_t most)
{
    const gs_gedf_t *t = self->tasks;
    int64_t lcm = 1;
    gs_wide_t sum = 0, part, budget;
    for (int64_t i = 0; i < t->n; i++) {
        if (self->inside[i] != 0 && !gs_lcm(lcm, t->period[i], &lcm)) {
            return 0;
        }
    }
    for (int64_t i = 0; i < t->n; i++) {
        if (self->inside[i] != 0 && (!gs_wide_mul(t->demand[i], lcm / t->period[i], &part) ||
                                     !gs_wide_add(sum, part, &sum))) {
            return 0;
        }
    }
    if (sum == 0 || !gs_wide_mul(sum, self->server_period, &budget)) {
        return 0;
    }
    gs_wide_t divisor = gs_wide_gcd(budget, lcm);
    if (lcm / divisor > most) {
        return 0;
    }
    self->finer = (int64_t)(lcm / divisor);
    return (int64_t)(budget / divisor); /* at most the server's period in these units */
}

static int64_t rounded_budget(root_t *self, int64_t most)
{
    const gs_gedf_t *t = self->tasks;
    self->finer = most;
    int64_t period = self->server_period * most, budget = 0;
    for (int64_t i = 0; i < t->n; i++) {
        if (self->inside[i] != 0) {
            gs_wide_t part = gs_wide_ceil_div((gs_wide_t)t->demand[i] * period, t->period[i]);
            budget = part < period - budget ? budget + (int64_t)part : period;
        }
    }
    return budget;
}

/* In ticks, as a server in time has it. */
static int whole_budget(root_t *self, int64_t *budget)
{
    self->finer = 1;
    int64_t n = gather(self, false);
    return gs_load_share(self->env, self->demand, self->period, n, self->server_period, self->rest,
                         budget);
}

static void fill(root_t *self, int64_t budget)
{
    const gs_gedf_t *t = self->tasks;
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

/* numerator / denominator, in lowest terms, or rounded up where they are too long. */
static gs_gedf_bound_t fraction(gs_wide_t numerator, gs_wide_t denominator, int64_t method)
{
    gs_wide_t divisor = gs_wide_gcd(numerator, denominator);
    numerator /= divisor;
    denominator /= divisor;
    gs_wide_t up = gs_wide_ceil_div(numerator, denominator);
    if (up >= GS_NEVER) {
        return (gs_gedf_bound_t){0, 0, GS_GEDF_NONE};
    }
    if (numerator > INT64_MAX || denominator > INT64_MAX) {
        return (gs_gedf_bound_t){(int64_t)up, 1, method};
    }
    return (gs_gedf_bound_t){(int64_t)numerator, (int64_t)denominator, method};
}

/* Theta + 2 P + (sum of e + s) P / budget, from the server's own response and budget. */
static gs_gedf_bound_t inside_bound(const root_t *self, int64_t budget)
{
    gs_gedf_bound_t server = self->bound[self->n - 1];
    if (server.method == GS_GEDF_NONE) {
        return server;
    }
    gs_wide_t period = (gs_wide_t)self->server_period * self->finer;
    gs_wide_t late = server.numerator - period * server.denominator;
    late = late > 0 ? late : 0;
    gs_wide_t late_of = (gs_wide_t)server.denominator * self->finer;
    gs_wide_t divisor = gs_wide_gcd(late, late_of);
    late /= divisor;
    late_of /= divisor;
    gs_wide_t serving = self->work * period, serving_of = budget > 0 ? budget : 1;
    divisor = gs_wide_gcd(serving, serving_of);
    serving /= divisor;
    serving_of /= divisor;
    gs_wide_t one, other, whole, of, sum;
    if (gs_wide_mul(late_of, serving_of, &of) && gs_wide_mul(late, serving_of, &one) &&
        gs_wide_mul(serving, late_of, &other) &&
        gs_wide_mul(of, 2 * (gs_wide_t)self->server_period, &whole) &&
        gs_wide_add(one, other, &sum) && gs_wide_add(sum, whole, &sum)) {
        return fraction(sum, of, GS_GEDF_FIFO);
    }
    sum = gs_wide_ceil_div(late, late_of) + gs_wide_ceil_div(serving, serving_of) +
          2 * (gs_wide_t)self->server_period;
    return fraction(sum, 1, GS_GEDF_FIFO);
}

/* Bounds from those of the root, in units of 1 / finer ticks. */
static void hand_out(const root_t *self, int64_t budget, gs_gedf_bound_t *bound)
{
    gs_gedf_bound_t inside = inside_bound(self, budget);
    int64_t next = 0;
    for (int64_t i = 0; i < self->tasks->n; i++) {
        if (self->inside[i] != 0) {
            bound[i] = inside;
            continue;
        }
        gs_gedf_bound_t of = self->bound[next++];
        if (of.method != GS_GEDF_NONE) {
            of = fraction(of.numerator, (gs_wide_t)of.denominator * self->finer, of.method);
        }
        bound[i] = of;
    }
}

static int find_bounds(root_t *self, bool whole, int64_t methods, gs_gedf_bound_t *bound)
{
    int64_t most = finest(self), budget = 0;
    if (most == 0) { /* the clock has no room for the server */
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
    gs_gedf_t root = {self->n, self->period, self->deadline, self->demand};
    int verdict;
    int64_t failed;
    status = gs_gedf_bounded(self->env, &root, self->m, &verdict, &failed);
    if (status == GS_OK && verdict == GS_GEDF_BOUNDED) {
        status = gs_gedf_response(self->env, &root, self->m, methods, self->bound);
        if (status == GS_OK) {
            hand_out(self, budget, bound);
        }
    }
    return status;
}

int gs_container(gs_env_t *env, const gs_gedf_t *tasks, const int64_t *inside, int64_t m,
                 int64_t server_period, bool whole, bool paper, int64_t methods, int *verdict,
                 int64_t *failed, gs_gedf_bound_t *bound)
{
    if (server_period < 1) {
        return gs_fail(env, GS_ERR_VALUE, "server_period", -1, server_period, "must be positive");
    }
    if (server_period >= GS_NEVER / 2) {
        return gs_fail(env, GS_ERR_OVERFLOW, "server_period", -1, server_period,
                       "is too large for the clock");
    }
    root_t self = {
        .tasks = tasks, .inside = inside, .env = env, .m = m, .server_period = server_period};
    bool any = false;
    for (int64_t i = 0; i < tasks->n; i++) {
        bound[i] = (gs_gedf_bound_t){0, 0, GS_GEDF_NONE};
        self.work += inside[i] != 0 ? tasks->demand[i] : 0;
        any = any || inside[i] != 0;
    }
    int status = root_init(&self, env);
    if (status == GS_OK) {
        status = judge(&self, paper, verdict, failed);
    }
    if (status == GS_OK && *verdict == GS_GEDF_BOUNDED) {
        status = any ? find_bounds(&self, whole, methods, bound)
                     : gs_gedf_response(env, tasks, m, methods, bound);
    }
    gs_free(env, self.columns);
    gs_free(env, self.bound);
    return status;
}
