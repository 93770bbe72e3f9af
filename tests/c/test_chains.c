/* Chains of kernels, and tasks that need others, in the search, the replay and the check of proofs,
 * called from C. */
#include "gpusched.h"

#include "minunit.h"
#include "model/periodic_tasks_internal.h"

/* Two tasks of two kernels: 2 + 3 every 10 ticks, 6 + 4 every 20. */
static const int64_t period[] = {10, 10, 20, 20};
static const int64_t short_life[] = {10, 10, 14, 14};
static const gs_periodic_tasks_t chains = {4, period, period, NULL, 5};
static const gs_periodic_tasks_t tight = {4, period, short_life, NULL, 5};

enum { SIZE = 16 };

static gs_batch_table_t table_of(int64_t completion[SIZE], int64_t beside)
{
    static const int64_t alone[] = {2, 3, 6, 4};
    for (int mask = 0; mask < SIZE; mask++) {
        completion[mask] = 0;
    }
    for (int i = 0; i < 4; i++) {
        completion[1 << i] = alone[i];
    }
    completion[1 | 4] = beside;
    return (gs_batch_table_t){4, completion, NULL};
}

static void test_rows(void)
{
    gs_context_t ctx;
    gs_context_init(&ctx);
    MU_CHECK(gs_periodic_tasks_check(&ctx, &chains) == GS_OK);
    gs_periodic_tasks_t wrong = chains;
    wrong.chained = 8; /* there is no row after the last one */
    MU_CHECK(gs_periodic_tasks_check(&ctx, &wrong) == GS_ERR_VALUE);
    wrong.chained = 2; /* rows of different periods */
    MU_CHECK(gs_periodic_tasks_check(&ctx, &wrong) == GS_ERR_VALUE);
    MU_CHECK(gs_periodic_tasks_last_kernel(&chains, 0) == 1);
    MU_CHECK(gs_periodic_tasks_last_kernel(&chains, 3) == 3);
    static const int64_t fresh[] = {0, 0, 0, 0}, begun[] = {1, 0, 0, 0}, ahead[] = {1, 0, 0, 1};
    MU_CHECK(gs_periodic_tasks_held_back(&chains, fresh) == 10);
    MU_CHECK(gs_periodic_tasks_held_back(&chains, begun) == 9);
    MU_CHECK(gs_periodic_tasks_is_ordered(&chains, begun));
    MU_CHECK(!gs_periodic_tasks_is_ordered(&chains, ahead));
}

/* Four tasks of equal times: 1 and 2 need 0, and 3 needs both. */
static const int64_t ten[] = {10, 10, 10, 10}, eight[] = {8, 8, 8, 8};
static const int64_t needs[] = {0, 1, 1, 6};
static const gs_periodic_tasks_t fork = {4, ten, eight, NULL, 0, needs};

static void test_needs(void)
{
    gs_context_t ctx;
    gs_context_init(&ctx);
    MU_CHECK(gs_periodic_tasks_check(&ctx, &fork) == GS_OK);
    static const int64_t fresh[] = {0, 0, 0, 0}, begun[] = {2, 1, 0, 0}, ahead[] = {1, 1, 0, 1};
    MU_CHECK(gs_periodic_tasks_held_back(&fork, fresh) == 14);
    MU_CHECK(gs_periodic_tasks_held_back(&fork, begun) == 8);
    MU_CHECK(gs_periodic_tasks_is_ordered(&fork, begun));
    MU_CHECK(!gs_periodic_tasks_is_ordered(&fork, ahead));
    gs_periodic_tasks_t wrong = fork;
    wrong.chained = 1;
    MU_CHECK(gs_periodic_tasks_check(&ctx, &wrong) == GS_ERR_VALUE);
    static const int64_t cases[][4] = {{0, 1, 1, 16}, {0, -1, 1, 6}, {8, 1, 1, 6}, {1, 0, 0, 0}};
    static const int64_t row[] = {3, 1, 0, 0};
    wrong = fork;
    for (int i = 0; i < 4; i++) {
        wrong.needs = cases[i];
        MU_CHECK(gs_periodic_tasks_check(&ctx, &wrong) == GS_ERR_VALUE);
        MU_CHECK(ctx.fault.row == row[i]);
    }
}

/* The fork in all stages: both branches together decide. The graph has no such tasks. */
static void test_fork(int64_t deadline, int expected)
{
    int64_t completion[SIZE] = {0}, due[] = {deadline, deadline, deadline, deadline};
    completion[1] = completion[8] = 2;
    completion[2] = completion[4] = 3;
    completion[2 | 4] = 4;
    const gs_batch_table_t table = {4, completion, NULL, NULL};
    gs_periodic_tasks_t tasks = fork;
    tasks.deadline = due;
    gs_context_t ctx;
    gs_context_init(&ctx);
    const gs_pbs_search_options_t options = {.proof = true};
    gs_pbs_search_t search = {0};
    MU_CHECK(gs_pbs_search_run(&search, &ctx, &tasks, &table, &options) == GS_OK);
    MU_CHECK(search.answer == expected);
    gs_pbs_search_free(&search, &ctx);
    gs_schedule_t schedule = {0};
    gs_pbs_edf_miss_t miss;
    MU_CHECK(gs_pbs_edf_simulate(&ctx, &tasks, &table, true, &schedule, &miss) == GS_OK);
    MU_CHECK((miss.task < 0) == (expected == 1));
    MU_CHECK(schedule.count == 3 && schedule.frames[1].batch == 6);
    gs_schedule_free(&schedule, &ctx);
}

static void test_two_kernels_of_a_task(void)
{
    int64_t completion[SIZE];
    gs_batch_table_t table = table_of(completion, 0);
    completion[3] = 4;
    gs_context_t ctx;
    gs_context_init(&ctx);
    MU_CHECK(gs_pbs_problem_check(&ctx, &chains, &table) == GS_ERR_VALUE);
    MU_CHECK(ctx.fault.row == 3);
}

/* The answer in all stages, with its schedule or its proof. */
static void test_answer(const gs_periodic_tasks_t *tasks, int64_t beside, int expected, int skip)
{
    int64_t completion[SIZE];
    gs_batch_table_t table = table_of(completion, beside);
    gs_context_t ctx;
    gs_context_init(&ctx);
    gs_pbs_search_options_t options = {.proof = true, .skip = skip};
    gs_pbs_search_t search = {0};
    MU_CHECK(gs_pbs_search_run(&search, &ctx, tasks, &table, &options) == GS_OK);
    MU_CHECK(search.answer == expected);
    gs_schedule_replay_t replay;
    if (search.answer == 1) {
        MU_CHECK(gs_schedule_replay(&ctx, tasks, &table, search.schedule.frames,
                                    search.schedule.count, false, &replay) == GS_OK);
        MU_CHECK(replay.rule == GS_SCHEDULE_REPLAY_OK);
    } else {
        MU_CHECK(search.proof.kind != GS_PBS_REFUTATION_NONE);
    }
    gs_pbs_search_free(&search, &ctx);
    MU_CHECK(ctx.bytes_used == 0);
}

static void test_order_of_kernels(void)
{
    int64_t completion[SIZE];
    gs_batch_table_t table = table_of(completion, 6);
    gs_context_t ctx;
    gs_context_init(&ctx);
    gs_schedule_replay_t replay;
    const gs_schedule_frame_t early[] = {{0, 3, 2}}, twice[] = {{0, 2, 1}, {2, 4, 1}};
    MU_CHECK(gs_schedule_replay(&ctx, &chains, &table, early, 1, false, &replay) == GS_OK);
    MU_CHECK(replay.rule == GS_SCHEDULE_REPLAY_NOT_READY && replay.task == 1);
    MU_CHECK(gs_schedule_replay(&ctx, &chains, &table, twice, 2, true, &replay) == GS_OK);
    MU_CHECK(replay.rule == GS_SCHEDULE_REPLAY_NOT_READY && replay.task == 0);
    /* A job that has begun has to end by its deadline, too. */
    const gs_schedule_frame_t late[] = {{0, 2, 1}, {2, 8, 4}, {8, 12, 8}};
    MU_CHECK(gs_schedule_replay(&ctx, &chains, &table, late, 3, false, &replay) == GS_OK);
    MU_CHECK(replay.rule == GS_SCHEDULE_REPLAY_MISS && replay.task == 1 && replay.frame == 2);
}

/* Failure of every allocation in turn: an error, never a leak. */
static void test_failed_allocations(int skip)
{
    int64_t completion[SIZE];
    gs_batch_table_t table = table_of(completion, 0);
    gs_pbs_search_options_t options = {.proof = true, .skip = skip};
    int status = GS_ERR_MEMORY;
    for (int64_t fail_at = 1; status != GS_OK && fail_at < 5000; fail_at++) {
        gs_context_t ctx;
        gs_context_init(&ctx);
        ctx.fail_at = fail_at;
        gs_pbs_search_t search = {0};
        status = gs_pbs_search_run(&search, &ctx, &tight, &table, &options);
        MU_CHECK(status == GS_OK || status == GS_ERR_MEMORY);
        gs_pbs_search_free(&search, &ctx);
        MU_CHECK(ctx.bytes_used == 0);
    }
    MU_CHECK(status == GS_OK);
}

int main(void)
{
    const int quick = GS_PBS_SEARCH_SKIP_EDF | GS_PBS_SEARCH_SKIP_DEPTH_FIRST |
                      GS_PBS_SEARCH_SKIP_RATES | GS_PBS_SEARCH_SKIP_DEAD_INTERVAL;
    const int stages[] = {0, quick, quick | GS_PBS_SEARCH_SKIP_CLASSES,
                          quick | GS_PBS_SEARCH_REDUCE};
    test_rows();
    test_needs();
    test_fork(8, 1);
    test_fork(7, 0);
    test_two_kernels_of_a_task();
    test_order_of_kernels();
    for (int i = 0; i < 4; i++) {
        test_answer(&chains, 0, 1, stages[i]);
        test_answer(&tight, 0, 0, stages[i]);
        test_answer(&tight, 6, 1, stages[i]);
        test_failed_allocations(stages[i]);
    }
    return MU_END();
}
