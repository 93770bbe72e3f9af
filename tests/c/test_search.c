/* The exact search and its parts, called from C. */
#include "internal.h"

#include "minunit.h"

/* [RTNS24], section 3.1. */
static const int64_t period[] = {4, 5, 10};
static const int64_t completion[] = {0, 1, 3, 4, 3, 4, 4, 6};
static const gs_periodic_tasks_t tasks = {3, period, period, NULL, 0};
static const gs_batch_table_t table = {3, completion, NULL};

static void test_example(bool thorough)
{
    gs_context_t ctx;
    gs_context_init(&ctx);
    gs_pbs_search_options_t options = {.thorough = thorough, .policy = true};
    gs_pbs_search_t search = {0};
    gs_schedule_replay_t replay;
    MU_CHECK(gs_pbs_search_run(&search, &ctx, &tasks, &table, &options) == GS_OK);
    MU_CHECK(search.answer == 1 && search.has_policy);
    MU_CHECK(search.stage == (thorough ? GS_PBS_STAGE_INTERVAL : GS_PBS_STAGE_DEPTH_FIRST));
    MU_CHECK(gs_schedule_replay(&ctx, &tasks, &table, search.schedule.frames, search.schedule.count,
                                false, &replay) == GS_OK);
    MU_CHECK(replay.rule == GS_SCHEDULE_REPLAY_OK);
    gs_pbs_search_free(&search, &ctx);
    MU_CHECK(ctx.bytes_used == 0);
    gs_pbs_search_free(&search, &ctx); /* freeing twice is allowed */
}

static void test_edf_of_the_example(void)
{
    gs_context_t ctx;
    gs_context_init(&ctx);
    gs_schedule_t schedule = {0};
    gs_pbs_edf_miss_t miss;
    /* Figure 2a. J7 and J10 are both due at 10; the smaller index goes first, so J10 misses. */
    MU_CHECK(gs_pbs_edf_simulate(&ctx, &tasks, &table, false, &schedule, &miss) == GS_OK);
    MU_CHECK(miss.task == 2 && miss.job == 0 && miss.deadline == 10);
    /* With tasks 2 and 3 exchanged J10 goes first and J7 misses, as printed. */
    static const int64_t other_period[] = {4, 10, 5};
    static const int64_t other_completion[] = {0, 1, 3, 4, 3, 4, 4, 6};
    const gs_periodic_tasks_t other = {3, other_period, other_period, NULL, 0};
    const gs_batch_table_t their = {3, other_completion, NULL};
    schedule.count = 0;
    MU_CHECK(gs_pbs_edf_simulate(&ctx, &other, &their, false, &schedule, &miss) == GS_OK);
    MU_CHECK(miss.task == 2 && miss.job == 1 && miss.deadline == 10);
    schedule.count = 0;
    /* Figure 2b: all three run until 6, past the first deadlines. */
    MU_CHECK(gs_pbs_edf_simulate(&ctx, &tasks, &table, true, &schedule, &miss) == GS_OK);
    MU_CHECK(miss.task == 0 && miss.job == 0 && miss.deadline == 4);
    MU_CHECK(schedule.count == 1 && schedule.frames[0].end == 6);
    gs_schedule_free(&schedule, &ctx);
    MU_CHECK(ctx.bytes_used == 0);
}

static int count_down(void *arg)
{
    int *left = arg;
    return --*left < 0 ? GS_ERR_INTERRUPTED : GS_OK;
}

/* Twelve tasks, decided without the fast tests. */
static void test_interrupt(void)
{
    enum { N = 12 };
    int64_t periods[N], *times;
    gs_context_t ctx;
    gs_context_init(&ctx);
    times = gs_alloc(&ctx, 1 << N, sizeof *times);
    if (times == NULL) {
        MU_CHECK(false);
        return;
    }
    for (int i = 0; i < N; i++) {
        periods[i] = (i % 2 == 0 ? 400 : 480) * (1 + i % 3);
    }
    for (int mask = 1; mask < 1 << N; mask++) {
        times[mask] = 30 * __builtin_popcount((unsigned)mask) + mask % 7;
    }
    gs_periodic_tasks_t many = {N, periods, periods, NULL, 0};
    gs_batch_table_t their = {N, times, NULL};
    gs_pbs_search_options_t options = {.thorough = true};
    int polls = 2;
    ctx.poll = count_down;
    ctx.poll_arg = &polls;
    gs_pbs_search_t search = {0};
    MU_CHECK(gs_pbs_search_run(&search, &ctx, &many, &their, &options) == GS_ERR_INTERRUPTED);
    gs_pbs_search_free(&search, &ctx);
    ctx.poll = NULL;
    /* A spent budget is an answer. */
    ctx.bytes_limit = ctx.bytes_used + 100000;
    search = (gs_pbs_search_t){0};
    MU_CHECK(gs_pbs_search_run(&search, &ctx, &many, &their, &options) == GS_OK);
    MU_CHECK(search.answer == -1 && search.spent == GS_SPENT_BYTES);
    gs_pbs_search_free(&search, &ctx);
    gs_free(&ctx, times);
    MU_CHECK(ctx.bytes_used == 0);
}

/* Failure of every allocation in turn: an error, never a leak or a wrong answer. */
static void test_failed_allocations(const gs_periodic_tasks_t *t, const gs_batch_table_t *c,
                                    const gs_pbs_search_options_t *options)
{
    int status = GS_ERR_MEMORY;
    for (int64_t fail_at = 1; status != GS_OK && fail_at < 5000; fail_at++) {
        gs_context_t ctx;
        gs_context_init(&ctx);
        ctx.fail_at = fail_at;
        gs_pbs_search_t search = {0};
        status = gs_pbs_search_run(&search, &ctx, t, c, options);
        MU_CHECK(status == GS_OK || status == GS_ERR_MEMORY);
        gs_pbs_search_free(&search, &ctx);
        MU_CHECK(ctx.bytes_used == 0);
    }
    MU_CHECK(status == GS_OK);
}

/* A price vector that is no certificate must be rejected. */
static void test_rates(void)
{
    static const int64_t two[] = {4, 4};
    static const int64_t heavy[] = {0, 3, 2, 5};
    const gs_periodic_tasks_t t = {2, two, two, NULL, 0};
    const gs_batch_table_t c = {2, heavy, NULL};
    gs_context_t ctx;
    gs_context_init(&ctx);
    gs_pbs_rates_t rates;
    MU_CHECK(gs_pbs_rates_find(&rates, &ctx, &t, &c, false) == GS_OK);
    MU_CHECK(rates.proven && rates.window == 4 && gs_pbs_rates_check(&rates, &t, &c));
    MU_CHECK(rates.load > 1.2499 && rates.load < 1.2501);
    /* One hyperperiod has the jobs of the rates, also where the last deadline is before its end. */
    static const int64_t three[] = {3, 3};
    const gs_periodic_tasks_t early = {2, two, three, NULL, 0};
    gs_pbs_rates_t same = rates;
    MU_CHECK(gs_pbs_rates_prove(&same, &early, false) && same.window == 4);
    MU_CHECK(gs_pbs_rates_prove(&same, &early, true) && same.window == GS_PBS_RATES_LONG_RUN);
    rates.price[0] += rates.scale; /* worth more than its batch takes */
    MU_CHECK(!gs_pbs_rates_check(&rates, &t, &c));
    rates.price[0] = 0; /* worth too little */
    MU_CHECK(!gs_pbs_rates_check(&rates, &t, &c));
    MU_CHECK(ctx.bytes_used == 0);
}

/* Rounded prices hold for every batch, whatever the scale; the program takes prices below 0 where a
 * task is free. */
static void test_prices(void)
{
    static const int64_t odd[] = {0, 31, 10, 16};
    const gs_batch_table_t c = {2, odd, NULL};
    const double weight[] = {3, 2};
    gs_context_t ctx;
    gs_context_init(&ctx);
    gs_pbs_prices_t program;
    double price[2], value;
    MU_CHECK(gs_pbs_prices_init(&program, &ctx, &c) == GS_OK);
    MU_CHECK(gs_pbs_prices_solve(&program, &ctx, weight, 0, price, &value) == GS_OK);
    MU_CHECK(value > 47.999 && value < 48.001);
    MU_CHECK(gs_pbs_prices_solve(&program, &ctx, weight, 3, price, &value) == GS_OK);
    MU_CHECK(value > 62.999 && value < 63.001 && price[1] < 0);
    for (int64_t scale = 1; scale <= 1 << 20; scale *= 4) {
        int64_t rounded[2];
        MU_CHECK(gs_pbs_prices_round(&program, &ctx, price, scale, rounded) == GS_OK);
        for (int b = 1; b < 4; b++) {
            int64_t worth = (b & 1) * rounded[0] + (b >> 1) * rounded[1];
            MU_CHECK(worth <= scale * odd[b]);
        }
    }
    gs_pbs_prices_free(&program, &ctx);
    MU_CHECK(ctx.bytes_used == 0);
}

int main(void)
{
    static const int64_t long_deadlines[] = {9, 5, 14}, offsets[] = {1, 0, 3};
    static const int64_t open[] = {0, 0, 0, 0, 0, 4, 0, 0};
    static const int64_t closed[] = {0, 1, 3, 4, 3, 0, 4, 6};
    const gs_periodic_tasks_t late = {3, period, long_deadlines, offsets, 0};
    const gs_batch_table_t undecided = {3, closed, open};
    test_example(false);
    test_example(true);
    test_edf_of_the_example();
    test_interrupt();
    test_rates();
    test_prices();
    for (int i = 0; i < 4; i++) {
        const gs_pbs_search_options_t options = {
            .thorough = i % 2 != 0, .policy = true, .idling = i / 2 != 0, .proof = true};
        test_failed_allocations(&tasks, &table, &options);
        test_failed_allocations(&late, &table, &options);
        test_failed_allocations(&tasks, &undecided, &options);
    }
    /* The lazy search alone, groups and cores, and their proofs. */
    static const int64_t slow[] = {0, 1, 3, 5, 3, 5, 7, 8};
    const gs_batch_table_t heavy = {3, slow, NULL};
    for (int i = 0; i < 8; i++) {
        int skip = GS_PBS_SEARCH_SKIP_EDF | GS_PBS_SEARCH_SKIP_DEPTH_FIRST |
                   GS_PBS_SEARCH_SKIP_RATES | GS_PBS_SEARCH_SKIP_DEAD_INTERVAL |
                   GS_PBS_SEARCH_SHORT_ROUNDS;
        skip |= i % 2 != 0 ? GS_PBS_SEARCH_SKIP_CLASSES : GS_PBS_SEARCH_SKIP_OUTER;
        skip |= i / 2 % 2 != 0 ? GS_PBS_SEARCH_REDUCE : 0;
        const gs_pbs_search_options_t options = {.idling = i / 4 != 0, .proof = true, .skip = skip};
        test_failed_allocations(&tasks, &table, &options);
        test_failed_allocations(&late, &heavy, &options);
        test_failed_allocations(&tasks, &heavy, &options);
    }
    return MU_END();
}
