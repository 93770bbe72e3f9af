/* Column generation by fractional knapsacks, and rounding to a proof. */
#include "pbs/large/large_parts.h"

#include "core/int128.h"
#include "core/simplex.h"

#include <math.h>

/* Whether a task may be in a batch whose longest task is m: ties go to the greater index. */
static bool beside(const gs_pbs_large_function_t *f, int32_t i, int32_t m)
{
    return (f->alone >> i & 1) == 0 &&
           (f->wcet[i] < f->wcet[m] || (f->wcet[i] == f->wcet[m] && i < m));
}

/* Whether m may be the longest task of a batch of two or more. */
static bool leads(const gs_pbs_large_function_t *f, int32_t m)
{
    bool fits = (f->alone >> m & 1) == 0;
    for (int32_t r = 0; r < f->rows; r++) {
        fits = fits && f->need[r][m] <= f->room[r];
    }
    return fits;
}

/* The least time of a batch of two or more whose longest task is m. */
static int64_t least_of(const gs_pbs_large_function_t *f, int32_t m)
{
    gs_int128_t time =
        gs_int128_ceil_div((gs_int128_t)f->wcet[m] * f->slowdown.least, GS_PBS_ORACLE_SLOWDOWN_ONE);
    return (int64_t)time;
}

/* The tasks of positive price by price over need, descending; returns their number. */
static int32_t by_density(const int64_t *need, const double *price, int32_t n, int32_t *order)
{
    int32_t count = 0;
    for (int32_t i = 0; i < n; i++) {
        if (price[i] > 0) {
            int32_t p = count++;
            for (; p > 0; p--) {
                int32_t j = order[p - 1];
                if (!(price[i] * (double)need[j] > price[j] * (double)need[i])) {
                    break;
                }
                order[p] = j;
            }
            order[p] = i;
        }
    }
    return count;
}

/* The fractional batch that is worth most, with m its longest task. */
static double fill(const gs_pbs_large_function_t *f, int32_t row, int32_t m, const double *price,
                   const int32_t *order, int32_t count, double *column)
{
    double room = (double)(f->room[row] - f->need[row][m]), worth = price[m];
    for (int32_t i = 0; i < f->n; i++) {
        column[i] = i == m;
    }
    for (int32_t p = 0; p < count && room > 0; p++) {
        int32_t i = order[p];
        if (beside(f, i, m)) {
            double need = (double)f->need[row][i], share = need <= room ? 1 : room / need;
            column[i] = share;
            worth += share * price[i];
            room -= need;
        }
    }
    return worth;
}

/* Enters columns by one row of demand until none is worth more than its time. */
static int solve(const gs_pbs_large_function_t *f, gs_context_t *ctx, int32_t row,
                 gs_simplex_t *simplex)
{
    double column[GS_PBS_LARGE_TASKS], worst[GS_PBS_LARGE_TASKS];
    int32_t order[GS_PBS_LARGE_TASKS];
    int status = GS_OK;
    bool entered = true;
    /* More steps than are needed; stopping early gives weaker prices, not wrong ones. */
    for (int32_t step = 0; step < 100 * f->n && entered && status == GS_OK; step++) {
        int32_t count = by_density(f->need[row], simplex->price, f->n, order);
        double most = gs_simplex_tolerance(simplex), cost = 0;
        entered = false;
        for (int32_t m = 0; m < f->n; m++) {
            if (!leads(f, m)) {
                continue;
            }
            double time = (double)least_of(f, m);
            double worth = fill(f, row, m, simplex->price, order, count, column);
            if (worth - time > most) {
                most = worth - time;
                cost = time;
                entered = true;
                for (int32_t i = 0; i < f->n; i++) {
                    worst[i] = column[i];
                }
            }
        }
        entered = entered && gs_simplex_enter(simplex, worst, cost);
        status = gs_poll(ctx, 4 * (int64_t)f->n * f->n);
    }
    return status;
}

/* At most the worth of a batch of two or more whose longest task is m, by one row of demand. */
static gs_int128_t most_worth(const gs_pbs_large_function_t *f, int32_t row, int32_t m,
                              const int64_t *price)
{
    int32_t order[GS_PBS_LARGE_TASKS], count = 0;
    const int64_t *need = f->need[row];
    for (int32_t i = 0; i < f->n; i++) {
        if (price[i] > 0 && beside(f, i, m)) {
            int32_t p = count++;
            for (; p > 0 && (gs_int128_t)price[i] * need[order[p - 1]] >
                                (gs_int128_t)price[order[p - 1]] * need[i];
                 p--) {
                order[p] = order[p - 1];
            }
            order[p] = i;
        }
    }
    gs_int128_t worth = price[m];
    int64_t room = f->room[row] - need[m];
    for (int32_t p = 0; p < count; p++) {
        int32_t i = order[p];
        if (need[i] > room) {
            return worth + (gs_int128_t)price[i] * room / need[i];
        }
        worth += price[i];
        room -= need[i];
    }
    return worth;
}

/* At most the excess of the worth of any eligible batch over its time, in units of 1/scale ticks.
 */
static gs_int128_t excess_of(const gs_pbs_large_function_t *f, const int64_t *price, int64_t scale)
{
    gs_int128_t most = 0;
    for (int32_t m = 0; m < f->n; m++) {
        gs_int128_t excess = price[m] - (gs_int128_t)scale * f->wcet[m];
        most = excess > most ? excess : most;
        if (leads(f, m)) {
            gs_int128_t worth = most_worth(f, 0, m, price);
            for (int32_t row = 1; row < f->rows; row++) {
                gs_int128_t other = most_worth(f, row, m, price);
                worth = other < worth ? other : worth;
            }
            excess = worth - (gs_int128_t)scale * least_of(f, m);
            most = excess > most ? excess : most;
        }
    }
    return most;
}

/* Rounds prices to integers that hold for every batch, and looks for a window. */
static void prove(gs_pbs_rates_t *rates, const gs_periodic_tasks_t *tasks,
                  const gs_pbs_large_function_t *function, const double *price)
{
    double largest = 1;
    for (int32_t i = 0; i < tasks->n; i++) {
        largest = fabs(price[i]) > largest ? fabs(price[i]) : largest;
    }
    rates->scale = gs_pbs_prices_scale(largest, 50);
    rates->scale = rates->scale == 0 && largest < 0x1p57 ? 1 : rates->scale;
    if (rates->scale == 0) {
        return;
    }
    for (int32_t i = 0; i < tasks->n; i++) {
        rates->price[i] = (int64_t)floor((double)rates->scale * price[i]);
    }
    gs_int128_t excess = excess_of(function, rates->price, rates->scale);
    if (excess > INT64_C(1) << 57) {
        return;
    }
    /* A batch holds at least one task, so this takes at least the excess from each. */
    for (int32_t i = 0; i < tasks->n && excess > 0; i++) {
        rates->price[i] -= (int64_t)excess;
    }
    gs_pbs_rates_prove(rates, tasks, false);
}

int gs_pbs_large_prices_find(gs_pbs_rates_t *rates, gs_context_t *ctx,
                             const gs_periodic_tasks_t *tasks,
                             const gs_pbs_large_function_t *function, double *price)
{
    double weight[GS_PBS_LARGE_TASKS], cost[GS_PBS_LARGE_TASKS], period = 1, load = 0, most = 0;
    int status = GS_OK;
    *rates = (gs_pbs_rates_t){.scale = 1};
    for (int32_t i = 0; i < tasks->n; i++) {
        period = (double)tasks->period[i] > period ? (double)tasks->period[i] : period;
        load += (double)function->wcet[i] / (double)tasks->period[i];
    }
    for (int32_t i = 0; i < tasks->n; i++) {
        weight[i] = period / (double)tasks->period[i];
        price[i] = cost[i] = (double)function->wcet[i];
    }
    for (int32_t row = 0; row < function->rows && load > 1 && !rates->proven; row++) {
        gs_simplex_t simplex;
        status = gs_simplex_init(&simplex, ctx, tasks->n, weight, cost);
        if (status == GS_OK) {
            status = solve(function, ctx, row, &simplex);
        }
        if (status == GS_OK) {
            double value = gs_simplex_value(&simplex) / period;
            for (int32_t i = 0; i < tasks->n && value > most; i++) {
                price[i] = simplex.price[i];
            }
            most = value > most ? value : most;
            if (value > 1) {
                prove(rates, tasks, function, simplex.price);
            }
        }
        gs_simplex_free(&simplex, ctx);
        if (status != GS_OK) {
            break;
        }
    }
    rates->load = most;
    return status;
}
