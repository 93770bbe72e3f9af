/* Revised simplex method for the overload program, and the certificate in integers. */
#include "pbs/overload.h"

#include <math.h>

/* min sum x_b C_b subject to sum over b with i in b of x_b >= w_i. A basis has one column per task:
 * a batch, or the surplus of a task. It starts with the singletons. */
typedef struct {
    int32_t n;
    double inverse[GS_PERIODIC_TASKS_MAX][GS_PERIODIC_TASKS_MAX]; /* of the basis */
    double level[GS_PERIODIC_TASKS_MAX];                          /* of each basic column */
    double cost[GS_PERIODIC_TASKS_MAX];
    double price[GS_PERIODIC_TASKS_MAX]; /* the dual solution: cost times inverse */
} simplex_t;

static void set_prices(simplex_t *self)
{
    for (int32_t i = 0; i < self->n; i++) {
        self->price[i] = 0;
        for (int32_t r = 0; r < self->n; r++) {
            self->price[i] += self->cost[r] * self->inverse[r][i];
        }
    }
}

/* The eligible batch whose worth exceeds its completion time most, 0 when none does. worth: scratch
 * of 2^n. */
static uint32_t worst_batch(const simplex_t *self, const int64_t *completion, double *worth)
{
    uint32_t worst = 0;
    double most = 0, scale = 0;
    for (int32_t i = 0; i < self->n; i++) {
        scale += self->price[i] > 0 ? self->price[i] : -self->price[i];
    }
    most = scale * 1e-12; /* less is rounding error */
    worth[0] = 0;
    for (uint32_t b = 1; b < UINT32_C(1) << self->n; b++) {
        worth[b] = worth[b & (b - 1)] + self->price[__builtin_ctz(b)];
        if (completion[b] != 0 && worth[b] - (double)completion[b] > most) {
            most = worth[b] - (double)completion[b];
            worst = b;
        }
    }
    return worst;
}

/* Brings a column into the basis; false when no pivot is large enough. */
static bool enter(simplex_t *self, const double *column, double cost)
{
    double direction[GS_PERIODIC_TASKS_MAX], least = INFINITY;
    int32_t leaves = -1;
    for (int32_t r = 0; r < self->n; r++) {
        direction[r] = 0;
        for (int32_t i = 0; i < self->n; i++) {
            direction[r] += self->inverse[r][i] * column[i];
        }
        if (direction[r] > 1e-9 && self->level[r] / direction[r] < least) {
            least = self->level[r] / direction[r];
            leaves = r;
        }
    }
    if (leaves < 0) {
        return false;
    }
    double pivot = direction[leaves];
    for (int32_t i = 0; i < self->n; i++) {
        self->inverse[leaves][i] /= pivot;
    }
    for (int32_t r = 0; r < self->n; r++) {
        if (r != leaves) {
            for (int32_t i = 0; i < self->n; i++) {
                self->inverse[r][i] -= direction[r] * self->inverse[leaves][i];
            }
            self->level[r] -= direction[r] * least;
        }
    }
    self->level[leaves] = least;
    self->cost[leaves] = cost;
    return true;
}

static int solve(simplex_t *self, gs_context_t *ctx, const int64_t *completion, double *worth)
{
    /* More steps than are needed; the certificate is checked afterwards, so stopping early is
     * safe. */
    for (int32_t step = 0; step < 50 * self->n; step++) {
        double column[GS_PERIODIC_TASKS_MAX] = {0}, cost = 0;
        set_prices(self);
        int32_t negative = -1;
        for (int32_t i = 0; i < self->n; i++) {
            if (self->price[i] < -1e-9 &&
                (negative < 0 || self->price[i] < self->price[negative])) {
                negative = i;
            }
        }
        if (negative >= 0) {
            column[negative] = -1;
        } else {
            uint32_t batch = worst_batch(self, completion, worth);
            if (batch == 0) {
                return GS_OK;
            }
            cost = (double)completion[batch];
            for (int32_t i = 0; i < self->n; i++) {
                column[i] = (double)(batch >> i & 1);
            }
        }
        if (!enter(self, column, cost)) {
            return GS_OK;
        }
        int status = gs_poll(ctx, INT64_C(1) << self->n);
        if (status != GS_OK) {
            return status;
        }
    }
    set_prices(self);
    return GS_OK;
}

/* Rounds the prices down to integers, scaled down first where floating point left a batch worth
 * more than its time. */
static void round_prices(gs_pbs_overload_t *self, const gs_pbs_problem_t *problem,
                         const double *price, double *worth)
{
    double most = 1;
    worth[0] = 0;
    for (uint32_t b = 1; b <= problem->all; b++) {
        double p = price[__builtin_ctz(b)];
        worth[b] = worth[b & (b - 1)] + (p > 0 ? p : 0);
        if (problem->completion[b] != 0 && worth[b] > most * (double)problem->completion[b]) {
            most = worth[b] / (double)problem->completion[b];
        }
    }
    double largest = 1;
    for (int32_t i = 0; i < problem->n; i++) {
        largest = price[i] > largest ? price[i] : largest;
    }
    self->scale = 1;
    while (self->scale < (INT64_C(1) << 40) && (double)self->scale * largest < 0x1p40) {
        self->scale *= 2;
    }
    for (int32_t i = 0; i < problem->n; i++) {
        double rounded = floor((double)self->scale * price[i] / most * (1 - 1e-13));
        self->price[i] = rounded > 0 && rounded < 0x1p60 ? (int64_t)rounded : 0;
    }
}

bool gs_pbs_overload_check(const gs_pbs_overload_t *self, const gs_pbs_problem_t *problem)
{
    __int128 demand = 0;
    for (int32_t i = 0; i < problem->n; i++) {
        if (self->price[i] < 0 || self->price[i] >= INT64_C(1) << 60) {
            return false;
        }
        demand += (__int128)self->price[i] * (problem->hyperperiod / problem->tasks.period[i]);
    }
    if (self->scale < 1 || demand <= (__int128)self->scale * problem->hyperperiod) {
        return false;
    }
    for (uint32_t b = 1; b <= problem->all; b++) {
        __int128 worth = 0;
        for (uint32_t rest = b; rest != 0; rest &= rest - 1) {
            worth += self->price[__builtin_ctz(rest)];
        }
        if (problem->completion[b] != 0 && worth > (__int128)self->scale * problem->completion[b]) {
            return false;
        }
    }
    return true;
}

int gs_pbs_overload_find(gs_pbs_overload_t *self, gs_context_t *ctx,
                         const gs_pbs_problem_t *problem)
{
    *self = (gs_pbs_overload_t){.scale = 1};
    for (int32_t i = 0; i < problem->n && problem->limit != GS_NEVER; i++) {
        if (problem->tasks.deadline[i] > problem->tasks.period[i] ||
            gs_periodic_tasks_offset(&problem->tasks, i) != 0) {
            return GS_OK;
        }
    }
    double *worth = gs_alloc(ctx, (size_t)1 << problem->n, sizeof *worth);
    if (worth == NULL) {
        return ctx->status;
    }
    simplex_t simplex = {.n = problem->n};
    double h = (double)problem->hyperperiod;
    for (int32_t i = 0; i < problem->n; i++) {
        simplex.inverse[i][i] = 1;
        simplex.level[i] = h / (double)problem->tasks.period[i];
        simplex.cost[i] = (double)problem->completion[UINT32_C(1) << i];
    }
    int status = solve(&simplex, ctx, problem->completion, worth);
    if (status == GS_OK) {
        double value = 0;
        for (int32_t i = 0; i < problem->n; i++) {
            value += simplex.cost[i] * simplex.level[i];
        }
        self->load = value / h;
        if (self->load > 1) {
            round_prices(self, problem, simplex.price, worth);
            self->proven = gs_pbs_overload_check(self, problem);
        }
    }
    gs_free(ctx, worth);
    return status;
}
