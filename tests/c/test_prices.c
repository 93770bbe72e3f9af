/* The simplex method, prices of jobs, their rounding, latest starts by prices, and overload by
 * rates, called from C. */
#include "core/rng.h"
#include "core/simplex.h"
#include "gpusched.h"
#include "model/batch_table_internal.h"
#include "model/periodic_tasks_internal.h"
#include "pbs/prices.h"

#include "minunit.h"

#include <math.h>
#include <stdlib.h>

static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-9 * (1 + fabs(a) + fabs(b));
}

/* Two items of weights 3 and 2, alone at costs 5 and 4. */
static void test_simplex(void)
{
    const double weight[] = {3, 2}, cost[] = {5, 4};
    const double both[] = {1, 1}, surplus[] = {-1, 0}, nothing[] = {0, 0};
    gs_context_t ctx;
    gs_context_init(&ctx);
    gs_simplex_t simplex;
    MU_CHECK(gs_simplex_init(&simplex, &ctx, 2, weight, cost) == GS_OK);
    MU_CHECK(near(gs_simplex_value(&simplex), 23));
    MU_CHECK(simplex.price[0] == 5 && simplex.price[1] == 4);
    MU_CHECK(near(gs_simplex_tolerance(&simplex), 9e-12));
    /* Both at a cost of 6: the second one alone leaves, since its level is the lower one. */
    MU_CHECK(gs_simplex_enter(&simplex, both, 6));
    MU_CHECK(near(gs_simplex_value(&simplex), 2 * 6 + 1 * 5));
    MU_CHECK(near(simplex.price[0], 5) && near(simplex.price[1], 1));
    MU_CHECK(near(simplex.level[0], 1) && near(simplex.level[1], 2));
    /* A price below 0 counts in the tolerance by its size: -2 after a column of cost 3. */
    MU_CHECK(gs_simplex_enter(&simplex, both, 3));
    MU_CHECK(near(simplex.price[0], 5) && near(simplex.price[1], -2));
    MU_CHECK(near(gs_simplex_tolerance(&simplex), 7e-12));
    MU_CHECK(near(gs_simplex_value(&simplex), 2 * 3 + 1 * 5));
    /* No pivot: nothing changes, the prices neither. */
    MU_CHECK(!gs_simplex_enter(&simplex, surplus, 0) && !gs_simplex_enter(&simplex, nothing, 0));
    MU_CHECK(near(simplex.price[0], 5) && near(simplex.price[1], -2));
    MU_CHECK(near(gs_simplex_value(&simplex), 11));
    gs_simplex_free(&simplex, &ctx);
    ctx.fail_at = ctx.allocations + 1;
    MU_CHECK(gs_simplex_init(&simplex, &ctx, 2, weight, cost) == GS_ERR_MEMORY);
    gs_simplex_free(&simplex, &ctx);
    MU_CHECK(ctx.bytes_used == 0);
}

/* A random table of n tasks; few sets of more than two tasks are eligible. */
static int64_t *random_table(gs_rng_t *rng, int32_t n)
{
    int64_t *completion = calloc((size_t)1 << n, sizeof *completion);
    if (completion == NULL) {
        abort();
    }
    for (uint32_t b = 1; b < UINT32_C(1) << n; b++) {
        int rows = __builtin_popcount(b);
        bool eligible = rows == 1 || gs_rng_below(rng, rows == 2 ? 2 : 16) == 0;
        completion[b] = eligible ? 5 + (int64_t)gs_rng_below(rng, 40) : 0;
    }
    return completion;
}

static double worth_of(const double *price, uint32_t batch)
{
    double worth = 0;
    for (uint32_t rest = batch; rest != 0; rest &= rest - 1) {
        worth += price[__builtin_ctz(rest)];
    }
    return worth;
}

/* The prices are feasible and worth the value of the program: by duality both are optimal. The
 * rounded ones are feasible in integers, and no lower than they must be. */
static void check_program(gs_rng_t *rng, int32_t n, bool listed)
{
    gs_context_t ctx;
    gs_context_init(&ctx);
    int64_t *completion = random_table(rng, n);
    gs_batch_table_t table = {.n = n, .completion = completion};
    gs_batch_table_list_t list = {0};
    bool complete = false;
    if (listed) {
        MU_CHECK(gs_batch_table_list_init(&list, &ctx, &table, 0, &complete) == GS_OK);
        table.list = complete ? &list : NULL;
    }
    double weight[GS_PERIODIC_TASKS_MAX], price[GS_PERIODIC_TASKS_MAX], value, sum = 0;
    for (int32_t i = 0; i < n; i++) {
        weight[i] = (double)gs_rng_below(rng, 5); /* 0 among them */
    }
    uint32_t free_tasks = (uint32_t)gs_rng_below(rng, UINT64_C(1) << n);
    gs_pbs_prices_t program;
    MU_CHECK(gs_pbs_prices_init(&program, &ctx, &table) == GS_OK);
    MU_CHECK(gs_pbs_prices_solve(&program, &ctx, weight, free_tasks, price, &value) == GS_OK);
    for (int32_t i = 0; i < n; i++) {
        sum += weight[i] * price[i];
        MU_CHECK((free_tasks >> i & 1) != 0 || price[i] > -1e-8);
    }
    MU_CHECK(fabs(sum - value) < 1e-6);
    double excess = 0;
    for (uint32_t b = 1; b < UINT32_C(1) << n; b++) {
        if (completion[b] != 0) {
            excess = fmax(excess, worth_of(price, b) - (double)completion[b]);
        }
    }
    MU_CHECK(excess < 1e-6);
    /* Prices that are too high: everyone pays for the batch that exceeds its time most. */
    for (int64_t scale = 1; scale <= 1024; scale *= 32) {
        int64_t rounded[GS_PERIODIC_TASKS_MAX], most = 0;
        double raised[GS_PERIODIC_TASKS_MAX];
        for (int32_t i = 0; i < n; i++) {
            raised[i] = price[i] + (scale > 1 ? 0.75 : 0);
        }
        for (uint32_t b = 1; b < UINT32_C(1) << n; b++) {
            int64_t worth = 0;
            for (uint32_t rest = b; rest != 0; rest &= rest - 1) {
                worth += (int64_t)floor((double)scale * raised[__builtin_ctz(rest)]);
            }
            int64_t over = completion[b] != 0 ? worth - scale * completion[b] : 0;
            most = over > most ? over : most;
        }
        MU_CHECK(gs_pbs_prices_round(&program, &ctx, raised, scale, rounded) == GS_OK);
        for (int32_t i = 0; i < n; i++) {
            MU_CHECK(rounded[i] == (int64_t)floor((double)scale * raised[i]) - most);
        }
    }
    gs_pbs_prices_free(&program, &ctx);
    gs_batch_table_list_free(&list, &ctx);
    MU_CHECK(ctx.bytes_used == 0);
    free(completion);
}

static void test_programs(void)
{
    gs_rng_t rng;
    gs_rng_init(&rng, (const uint64_t[4]){1, 2, 3, 4}, 0, 0);
    for (int round = 0; round < 60; round++) {
        check_program(&rng, 1 + (int32_t)gs_rng_below(&rng, 7), round % 2 == 0);
    }
    /* More tasks than one half of the sums of worths holds. */
    check_program(&rng, 13, false);
    check_program(&rng, 14, true);
}

/* Prices where no batch is faster than its kernels alone: each job is worth the time of its own
 * kernel, which one look through the table shows. */
static void test_one_look(void)
{
    enum { TASKS = 10 };
    static int64_t completion[1 << TASKS];
    double weight[TASKS], price[TASKS], value, expected = 0;
    for (uint32_t b = 1; b < UINT32_C(1) << TASKS; b++) {
        completion[b] = completion[b & (b - 1)] + 3 + __builtin_ctz(b);
    }
    for (int i = 0; i < TASKS; i++) {
        weight[i] = 1 + i % 3;
        expected += weight[i] * (3 + i);
    }
    gs_batch_table_t table = {.n = TASKS, .completion = completion};
    gs_context_t ctx;
    gs_context_init(&ctx);
    gs_pbs_prices_t program;
    MU_CHECK(gs_pbs_prices_init(&program, &ctx, &table) == GS_OK);
    MU_CHECK(gs_pbs_prices_solve(&program, &ctx, weight, 0, price, &value) == GS_OK);
    MU_CHECK(near(value, expected) && near(price[0], 3) && near(price[TASKS - 1], 2 + TASKS));
    MU_CHECK(ctx.work >= 1 << TASKS && ctx.work < 2 << TASKS);
    gs_pbs_prices_free(&program, &ctx);
    MU_CHECK(ctx.bytes_used == 0);
}

/* Two jobs due at 10 that never run together start by 10 less their times, if they do at all. */
static void test_latest_by_windows(void)
{
    static const int64_t period[] = {20, 20}, deadline[] = {10, 10};
    const gs_periodic_tasks_t tasks = {2, period, deadline, NULL, 0};
    for (int64_t time = 3; time < 8; time++) {
        const int64_t completion[] = {0, time, time, 0};
        const gs_batch_table_t table = {.n = 2, .completion = completion};
        gs_context_t ctx;
        gs_context_init(&ctx);
        gs_pbs_problem_t problem;
        gs_pbs_windows_t windows;
        MU_CHECK(gs_pbs_problem_init(&problem, &ctx, &tasks, &table, false) == GS_OK);
        MU_CHECK(gs_pbs_windows_init(&windows, &ctx, &problem, GS_PBS_WINDOWS_USUAL) == GS_OK);
        int64_t latest = 10 - 2 * time;
        MU_CHECK(gs_pbs_windows_latest(&windows, 0, 3) == (latest < 0 ? -1 : latest));
        MU_CHECK(gs_pbs_windows_latest(&windows, 0, 1) == 10 - time);
        MU_CHECK(gs_pbs_windows_latest(&windows, 0, 0) == INT64_MAX);
        gs_pbs_windows_free(&windows, &ctx);
        gs_pbs_problem_free(&problem, &ctx);
        MU_CHECK(ctx.bytes_used == 0);
    }
}

static void test_scale(void)
{
    MU_CHECK(gs_pbs_prices_scale(0, 50) == INT64_C(1) << 40);
    MU_CHECK(gs_pbs_prices_scale(1, 41) == INT64_C(1) << 40);
    MU_CHECK(gs_pbs_prices_scale(1, 40) == INT64_C(1) << 39); /* strictly below */
    MU_CHECK(gs_pbs_prices_scale(0x1p49, 50) == 1);
    MU_CHECK(gs_pbs_prices_scale(0x1.8p49, 50) == 1);
    MU_CHECK(gs_pbs_prices_scale(0x1p50, 50) == 0);
}

/* Jobs of a window against all jobs one by one. */
static void test_counts(void)
{
    const int64_t period[] = {5}, deadline[] = {7}, offset[] = {3};
    const gs_periodic_tasks_t tasks = {1, period, deadline, offset, 0};
    for (int64_t limit = 0; limit < 30; limit++) {
        for (int64_t end = 0; end < 40; end++) {
            int64_t must = 0, may = 0;
            for (int64_t release = 3; release < limit; release += 5) {
                must += release + 7 <= end;
                may += release < end;
            }
            gs_pbs_rates_count_t count = gs_pbs_rates_count(&tasks, 0, end, limit);
            MU_CHECK(count.must == must && count.may == may);
        }
    }
}

/* Certificates at the limits of what they may claim. */
static void test_certificates(void)
{
    static const int64_t six[] = {6, 6}, five[] = {5, 6}, apart[] = {0, 3, 3, 0};
    const gs_batch_table_t pair = {2, apart, NULL};
    gs_periodic_tasks_t tasks = {2, six, six, NULL, 0};
    gs_pbs_rates_t rates = {
        .scale = 1, .price = {3, 3}, .window = GS_PBS_RATES_LONG_RUN, .proven = true};
    MU_CHECK(!gs_pbs_rates_check(&rates, &tasks, &pair)); /* exactly all of the time */
    rates.window = 6;
    MU_CHECK(!gs_pbs_rates_check(&rates, &tasks, &pair));
    tasks.period = tasks.deadline = five; /* 3/5 + 3/6; in a window of 6 one job each */
    MU_CHECK(!gs_pbs_rates_check(&rates, &tasks, &pair));
    rates.window = GS_PBS_RATES_LONG_RUN;
    MU_CHECK(gs_pbs_rates_check(&rates, &tasks, &pair));
    rates.window = 30;
    MU_CHECK(gs_pbs_rates_check(&rates, &tasks, &pair)); /* 6 and 5 jobs, 33 ticks */
    rates.price[1] = 4;
    MU_CHECK(!gs_pbs_rates_check(&rates, &tasks, &pair)); /* worth more than its time */
    rates.price[1] = 3;
    rates.scale = 0;
    MU_CHECK(!gs_pbs_rates_check(&rates, &tasks, &pair));
    rates.scale = -1;
    MU_CHECK(!gs_pbs_rates_check(&rates, &tasks, &pair));

    /* 2 - 1/3 - 2/3: what is taken off is rounded up, or this would be more than all the time. */
    static const int64_t one_three[] = {1, 3, 3}, two_each[] = {0, 2, 2, 2, 2, 2, 2, 2};
    const gs_batch_table_t three = {3, two_each, NULL};
    const gs_periodic_tasks_t mixed = {3, one_three, one_three, NULL, 0};
    gs_pbs_rates_t exact = {.scale = 1, .price = {2, -1, -2}, .window = GS_PBS_RATES_LONG_RUN};
    MU_CHECK(!gs_pbs_rates_check(&exact, &mixed, &three));
    exact.price[2] = -1;
    MU_CHECK(gs_pbs_rates_check(&exact, &mixed, &three));
}

/* Windows that are found hold, with and without deadlines beyond the period; none where the tasks
 * one at a time take all of the time, but no more. */
static void test_windows(void)
{
    static const int64_t period[] = {4, 6}, late[] = {9, 6}, offset[] = {0, 5};
    static const int64_t times[] = {0, 3, 2, 0}, exact[] = {0, 2, 3, 0};
    gs_context_t ctx;
    gs_context_init(&ctx);
    gs_periodic_tasks_t tasks = {2, period, period, NULL, 0};
    gs_batch_table_t table = {2, times, NULL};
    gs_pbs_rates_t rates;
    MU_CHECK(gs_pbs_rates_matter(&tasks, &table)); /* 3/4 + 2/6 */
    MU_CHECK(gs_pbs_rates_find(&rates, &ctx, &tasks, &table, false) == GS_OK);
    MU_CHECK(rates.proven && rates.window == 12 && near(rates.load, 13.0 / 12));
    MU_CHECK(gs_pbs_rates_check(&rates, &tasks, &table));
    MU_CHECK(gs_pbs_rates_find(&rates, &ctx, &tasks, &table, true) == GS_OK);
    MU_CHECK(rates.proven && rates.window == GS_PBS_RATES_LONG_RUN);
    MU_CHECK(gs_pbs_rates_check(&rates, &tasks, &table));
    tasks.deadline = late;
    /* The jobs of [0, 12) may run up to 17, in which they fit. */
    MU_CHECK(gs_pbs_rates_find(&rates, &ctx, &tasks, &table, false) == GS_OK && !rates.proven);
    MU_CHECK(gs_pbs_rates_find(&rates, &ctx, &tasks, &table, true) == GS_OK && rates.proven);
    tasks.deadline = period;
    tasks.offset = offset;
    MU_CHECK(gs_pbs_rates_find(&rates, &ctx, &tasks, &table, false) == GS_OK && !rates.proven);
    tasks.offset = NULL;
    table.completion = exact;
    MU_CHECK(!gs_pbs_rates_matter(&tasks, &table)); /* 2/4 + 3/6 */
    MU_CHECK(gs_pbs_rates_find(&rates, &ctx, &tasks, &table, true) == GS_OK);
    MU_CHECK(!rates.proven && rates.load == 0 && ctx.bytes_used == 0);

    /* Periods without a hyperperiod on the clock: a window long enough for the rates. */
    static const int64_t prime[] = {INT64_C(1000000007), INT64_C(998244353), INT64_C(999999937)};
    static const int64_t long_ones[] = {0, 400000000, 400000000, 0, 400000000, 0, 0, 0};
    const gs_periodic_tasks_t endless = {3, prime, prime, NULL, 0};
    const gs_batch_table_t alone = {3, long_ones, NULL};
    MU_CHECK(gs_periodic_tasks_hyperperiod_or_never(&endless) == GS_NEVER);
    MU_CHECK(gs_pbs_rates_find(&rates, &ctx, &endless, &alone, false) == GS_OK);
    MU_CHECK(rates.proven && rates.window > prime[0]);
    MU_CHECK(gs_pbs_rates_check(&rates, &endless, &alone) && ctx.bytes_used == 0);
}

/* Every allocation fails once; a poll that asks for a stop ends every part. */
static int stop(void *unused)
{
    (void)unused;
    return GS_ERR_INTERRUPTED;
}

static void test_failures(void)
{
    gs_rng_t rng;
    gs_rng_init(&rng, (const uint64_t[4]){5, 6, 7, 8}, 0, 0);
    int64_t *completion = random_table(&rng, 8);
    gs_batch_table_t table = {.n = 8, .completion = completion};
    const int64_t period[] = {20, 20, 20, 20, 20, 20, 20, 20};
    const gs_periodic_tasks_t tasks = {8, period, period, NULL, 0};
    gs_pbs_rates_t rates;
    int status = GS_ERR_MEMORY;
    for (int64_t fail_at = 1; status != GS_OK && fail_at < 100; fail_at++) {
        gs_context_t ctx;
        gs_context_init(&ctx);
        ctx.fail_at = fail_at;
        status = gs_pbs_rates_find(&rates, &ctx, &tasks, &table, true);
        MU_CHECK(status == GS_OK || (status == GS_ERR_MEMORY && !rates.proven));
        MU_CHECK(ctx.bytes_used == 0);
    }
    MU_CHECK(status == GS_OK);
    /* The poll comes when this much work is left until it is due. */
    int stopped = 0;
    for (int64_t left = 0; left < 2000; left += 50) {
        gs_context_t ctx;
        gs_context_init(&ctx);
        ctx.poll = stop;
        ctx.work = 1000000 - left;
        status = gs_pbs_rates_find(&rates, &ctx, &tasks, &table, true);
        MU_CHECK(status == GS_OK || (status == GS_ERR_INTERRUPTED && !rates.proven));
        MU_CHECK(ctx.bytes_used == 0);
        stopped += status == GS_ERR_INTERRUPTED;
    }
    MU_CHECK(stopped > 5);
    free(completion);
}

/* Rates that add up to 1 + 1 / (period[0] period[1]), in floating point to less than 1: no window
 * ends before 0. */
static void test_rounded_excess(void)
{
    const int64_t period[] = {350821283, 522257020}, offset[] = {0, 1};
    const gs_periodic_tasks_t tasks = {
        .n = 2, .period = period, .deadline = period, .offset = offset};
    gs_pbs_rates_t rates = {.scale = 1, .price = {39359122, 463664287}};
    MU_CHECK(gs_pbs_rates_prove(&rates, &tasks, true) && rates.window == GS_PBS_RATES_LONG_RUN);
    MU_CHECK(!gs_pbs_rates_prove(&rates, &tasks, false) && rates.window > 0);
}

int main(void)
{
    test_simplex();
    test_programs();
    test_one_look();
    test_latest_by_windows();
    test_scale();
    test_counts();
    test_certificates();
    test_windows();
    test_rounded_excess();
    test_failures();
    return MU_END();
}
