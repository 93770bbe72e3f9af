/* The search and what it is made of, at the lowest level. */
#include "gpusched.h"

#include "minunit.h"

/* Section 3.1 of [RTNS24]. */
static const int64_t period[] = {4, 5, 10};
static const int64_t completion[] = {0, 1, 3, 4, 3, 4, 4, 6};
static const gs_periodic_tasks_t tasks = {3, period, period, NULL};
static const gs_batch_table_t table = {3, completion, NULL};

static void test_example(bool thorough)
{
    gs_context_t ctx;
    gs_context_init(&ctx);
    gs_pbs_search_options_t options = {.thorough = thorough, .policy = true};
    gs_pbs_search_t search;
    gs_schedule_replay_t replay;
    gs_pbs_search_init(&search);
    MU_CHECK(gs_pbs_search_run(&search, &ctx, &tasks, &table, &options) == GS_OK);
    MU_CHECK(search.answer == 1 && search.has_policy);
    MU_CHECK(search.stage == (thorough ? GS_PBS_STAGE_INTERVAL : GS_PBS_STAGE_DEPTH_FIRST));
    MU_CHECK(gs_schedule_replay(&ctx, &tasks, &table, search.schedule.frames, search.schedule.count,
                                false, &replay) == GS_OK);
    MU_CHECK(replay.rule == GS_SCHEDULE_REPLAY_OK);
    gs_pbs_search_free(&search, &ctx);
    MU_CHECK(ctx.bytes_used == 0);
    gs_pbs_search_free(&search, &ctx); /* twice is harmless */
}

static void test_edf_of_the_example(void)
{
    gs_context_t ctx;
    gs_context_init(&ctx);
    gs_schedule_t schedule;
    gs_pbs_edf_miss_t miss;
    gs_schedule_init(&schedule);
    /* Figure 2a. J7 and J10 are both due at 10; the smaller index goes first, so J10 misses. */
    MU_CHECK(gs_pbs_edf_simulate(&ctx, &tasks, &table, false, &schedule, &miss) == GS_OK);
    MU_CHECK(miss.task == 2 && miss.job == 0 && miss.deadline == 10);
    /* With tasks 2 and 3 exchanged J10 goes first and J7 misses, as printed. */
    static const int64_t other_period[] = {4, 10, 5};
    static const int64_t other_completion[] = {0, 1, 3, 4, 3, 4, 4, 6};
    const gs_periodic_tasks_t other = {3, other_period, other_period, NULL};
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

/* Twelve tasks that the quick answers do not decide when they are skipped. */
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
    gs_periodic_tasks_t many = {N, periods, periods, NULL};
    gs_batch_table_t their = {N, times, NULL};
    gs_pbs_search_options_t options = {.thorough = true};
    int polls = 2;
    ctx.poll = count_down;
    ctx.poll_arg = &polls;
    gs_pbs_search_t search;
    gs_pbs_search_init(&search);
    MU_CHECK(gs_pbs_search_run(&search, &ctx, &many, &their, &options) == GS_ERR_INTERRUPTED);
    gs_pbs_search_free(&search, &ctx);
    ctx.poll = NULL;
    /* Budgets are answers. */
    ctx.bytes_limit = ctx.bytes_used + 100000;
    gs_pbs_search_init(&search);
    MU_CHECK(gs_pbs_search_run(&search, &ctx, &many, &their, &options) == GS_OK);
    MU_CHECK(search.answer == -1 && search.spent == GS_SPENT_BYTES);
    gs_pbs_search_free(&search, &ctx);
    gs_free(&ctx, times);
    MU_CHECK(ctx.bytes_used == 0);
}

/* Lets every allocation fail once: an error, never a leak or a wrong answer. */
static void test_failed_allocations(const gs_periodic_tasks_t *t, const gs_batch_table_t *c,
                                    bool thorough, bool idling)
{
    gs_pbs_search_options_t options = {.thorough = thorough, .policy = true, .idling = idling};
    int status = GS_ERR_MEMORY;
    for (int64_t fail_at = 1; status != GS_OK && fail_at < 1000; fail_at++) {
        gs_context_t ctx;
        gs_context_init(&ctx);
        ctx.fail_at = fail_at;
        gs_pbs_search_t search;
        gs_pbs_search_init(&search);
        status = gs_pbs_search_run(&search, &ctx, t, c, &options);
        MU_CHECK(status == GS_OK || status == GS_ERR_MEMORY);
        gs_pbs_search_free(&search, &ctx);
        MU_CHECK(ctx.bytes_used == 0);
    }
    MU_CHECK(status == GS_OK);
}

/* A price vector that is no proof must not pass for one. */
static void test_overload_proof(void)
{
    static const int64_t two[] = {4, 4};
    static const int64_t heavy[] = {0, 3, 2, 5};
    const gs_periodic_tasks_t t = {2, two, two, NULL};
    const gs_batch_table_t c = {2, heavy, NULL};
    gs_context_t ctx;
    gs_context_init(&ctx);
    gs_pbs_problem_t problem;
    gs_pbs_overload_t overload;
    MU_CHECK(gs_pbs_problem_init(&problem, &ctx, &t, &c, false) == GS_OK);
    MU_CHECK(gs_pbs_overload_find(&overload, &ctx, &problem) == GS_OK);
    MU_CHECK(overload.proven && gs_pbs_overload_check(&overload, &problem));
    MU_CHECK(overload.load > 1.2499 && overload.load < 1.2501);
    overload.price[0] += overload.scale; /* worth more than its batch takes */
    MU_CHECK(!gs_pbs_overload_check(&overload, &problem));
    overload.price[0] = 0; /* worth too little */
    MU_CHECK(!gs_pbs_overload_check(&overload, &problem));
    overload.price[0] = -1;
    MU_CHECK(!gs_pbs_overload_check(&overload, &problem));
    gs_pbs_problem_free(&problem, &ctx);
}

int main(void)
{
    static const int64_t long_deadlines[] = {9, 5, 14}, offsets[] = {1, 0, 3};
    static const int64_t open[] = {0, 0, 0, 0, 0, 4, 0, 0};
    static const int64_t closed[] = {0, 1, 3, 4, 3, 0, 4, 6};
    const gs_periodic_tasks_t late = {3, period, long_deadlines, offsets};
    const gs_batch_table_t undecided = {3, closed, open};
    test_example(false);
    test_example(true);
    test_edf_of_the_example();
    test_interrupt();
    test_overload_proof();
    for (int i = 0; i < 4; i++) {
        test_failed_allocations(&tasks, &table, i % 2 != 0, i / 2 != 0);
        test_failed_allocations(&late, &table, i % 2 != 0, i / 2 != 0);
        test_failed_allocations(&tasks, &undecided, i % 2 != 0, i / 2 != 0);
    }
    return MU_END();
}
