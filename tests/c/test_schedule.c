/* Tests of the replay: the schedule of the paper, and one violation of every rule. */
#include "model/schedule.h"

#include "minunit.h"

/* [RTNS24], figure 1. */
static const int64_t period[3] = {4, 5, 10};
static const int64_t completion[8] = {0, 1, 3, 4, 3, 4, 4, 6};
static const gs_periodic_tasks_t tasks = {3, period, period, NULL, 0};
static const gs_batch_table_t table = {3, completion, NULL};

/* Figure 2d: J2 and J7 one after the other, everything in time, 20 ticks. */
static const gs_schedule_frame_t figure_2d[] = {
    {0, 1, 1},   {1, 5, 6},   {5, 6, 1},   {6, 9, 2},   {9, 10, 1},
    {10, 14, 6}, {14, 15, 1}, {15, 18, 2}, {18, 19, 1},
};
enum { FRAMES = sizeof figure_2d / sizeof *figure_2d };

static gs_schedule_replay_t replay_of(const gs_periodic_tasks_t *set, const gs_batch_table_t *times,
                                      const gs_schedule_frame_t *frames, int64_t count, bool idling)
{
    gs_context_t ctx;
    gs_context_init(&ctx);
    gs_schedule_replay_t result = {-1, -1, -1, -1};
    MU_CHECK(gs_schedule_replay(&ctx, set, times, frames, count, idling, &result) == GS_OK);
    return result;
}

/* Checks a schedule of the example against the expected verdict, with and without idling. */
static void expect(const gs_schedule_frame_t *frames, int64_t count, gs_schedule_replay_t expected)
{
    for (int idling = 0; idling <= 1; idling++) {
        gs_schedule_replay_t result = replay_of(&tasks, &table, frames, count, idling != 0);
        MU_CHECK(result.rule == expected.rule);
        MU_CHECK(result.frame == expected.frame);
        MU_CHECK(result.task == expected.task);
        MU_CHECK(result.instant == expected.instant);
    }
}

/* Figure 2d up to one frame, which is replaced. */
static void expect_change(int64_t frame, gs_schedule_frame_t changed, gs_schedule_replay_t expected)
{
    gs_schedule_frame_t frames[FRAMES];
    for (int i = 0; i < FRAMES; i++) {
        frames[i] = i == frame ? changed : figure_2d[i];
    }
    expected.frame = frame;
    expect(frames, FRAMES, expected);
}

static void test_paper(void)
{
    expect(figure_2d, FRAMES, (gs_schedule_replay_t){GS_SCHEDULE_REPLAY_OK, FRAMES, -1, 19});

    /* Figure 2c as the text tells it: J2 and J7 together end at 9, after the deadline 8 of J2. */
    static const gs_schedule_frame_t figure_2c[] = {{0, 1, 1}, {1, 5, 6}, {5, 9, 3}};
    expect(figure_2c, 3, (gs_schedule_replay_t){GS_SCHEDULE_REPLAY_MISS, 2, 0, 8});

    /* Figure 2a, earliest deadline first one by one: J7 (released at 5) misses 10. */
    static const gs_schedule_frame_t figure_2a[] = {
        {0, 1, 1}, {1, 4, 2}, {4, 5, 1}, {5, 8, 4}, {8, 9, 1}, {9, 12, 2},
    };
    expect(figure_2a, 5, (gs_schedule_replay_t){GS_SCHEDULE_REPLAY_UNFINISHED, 5, 0, 12});
    expect(figure_2a, 6, (gs_schedule_replay_t){GS_SCHEDULE_REPLAY_MISS, 5, 1, 10});

    /* Figure 2b, all at once: the frame of three ends at 6, past the deadline 4 of J1. */
    static const gs_schedule_frame_t figure_2b[] = {{0, 6, 7}};
    expect(figure_2b, 1, (gs_schedule_replay_t){GS_SCHEDULE_REPLAY_MISS, 0, 0, 4});
}

static void test_overlap(void)
{
    expect_change(0, (gs_schedule_frame_t){-1, 0, 1},
                  (gs_schedule_replay_t){GS_SCHEDULE_REPLAY_OVERLAP, 0, -1, -1});
    expect_change(1, (gs_schedule_frame_t){0, 4, 6},
                  (gs_schedule_replay_t){GS_SCHEDULE_REPLAY_OVERLAP, 0, -1, 0});
    expect_change(8, (gs_schedule_frame_t){17, 18, 1},
                  (gs_schedule_replay_t){GS_SCHEDULE_REPLAY_OVERLAP, 0, -1, 17});
    expect_change(3, (gs_schedule_frame_t){INT64_MIN, 9, 2},
                  (gs_schedule_replay_t){GS_SCHEDULE_REPLAY_OVERLAP, 0, -1, INT64_MIN});
}

static void test_ineligible(void)
{
    static const uint32_t batches[] = {0, 8, 9, UINT32_C(1) << 31, UINT32_MAX};
    for (size_t i = 0; i < sizeof batches / sizeof *batches; i++) {
        expect_change(1, (gs_schedule_frame_t){1, 5, batches[i]},
                      (gs_schedule_replay_t){GS_SCHEDULE_REPLAY_INELIGIBLE, 0, -1, 1});
    }
    static const int64_t without_6[8] = {0, 1, 3, 4, 3, 4, 0, 6};
    const gs_batch_table_t other = {3, without_6, NULL};
    gs_schedule_replay_t result = replay_of(&tasks, &other, figure_2d, FRAMES, false);
    MU_CHECK(result.rule == GS_SCHEDULE_REPLAY_INELIGIBLE && result.frame == 1 &&
             result.instant == 1);
}

static void test_length(void)
{
    static const int64_t ends[] = {4, 6, 1, 0, -5, INT64_MIN, INT64_MAX};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        expect_change(1, (gs_schedule_frame_t){1, ends[i], 6},
                      (gs_schedule_replay_t){GS_SCHEDULE_REPLAY_LENGTH, 0, -1, ends[i]});
    }
    /* Starts so late that start + completion has no place on the clock. */
    static const int64_t starts[] = {GS_NEVER / 2, GS_NEVER, INT64_MAX - 3, INT64_MAX};
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
        expect_change(1, (gs_schedule_frame_t){starts[i], 7, 6},
                      (gs_schedule_replay_t){GS_SCHEDULE_REPLAY_LENGTH, 0, -1, 7});
    }
}

static void test_not_ready(void)
{
    /* J2 is not there before 4. */
    expect_change(1, (gs_schedule_frame_t){1, 2, 1},
                  (gs_schedule_replay_t){GS_SCHEDULE_REPLAY_NOT_READY, 0, 0, 1});
    /* Task 2 was executed and comes back at 10. */
    expect_change(3, (gs_schedule_frame_t){6, 9, 4},
                  (gs_schedule_replay_t){GS_SCHEDULE_REPLAY_NOT_READY, 0, 2, 6});
    /* More than [0, H) holds. */
    gs_schedule_frame_t frames[FRAMES + 1];
    for (int i = 0; i < FRAMES; i++) {
        frames[i] = figure_2d[i];
    }
    frames[FRAMES] = (gs_schedule_frame_t){20, 21, 1};
    expect(frames, FRAMES + 1, (gs_schedule_replay_t){GS_SCHEDULE_REPLAY_NOT_READY, FRAMES, 0, 20});
}

static void test_miss(void)
{
    /* J4 (12) runs from 14 to 15: in time for a deadline of 3 ticks, while with 2 it still waits
     * at its deadline, in the frame from 10 to 14. J2 (4) ends at 6, which 2 ticks allow. */
    static const int64_t three[3] = {3, 5, 10}, two[3] = {2, 5, 10};
    gs_periodic_tasks_t tight = {3, period, three, NULL, 0};
    MU_CHECK(replay_of(&tight, &table, figure_2d, FRAMES, false).rule == GS_SCHEDULE_REPLAY_OK);
    tight.deadline = two;
    gs_schedule_replay_t result = replay_of(&tight, &table, figure_2d, 3, false);
    MU_CHECK(result.rule == GS_SCHEDULE_REPLAY_UNFINISHED);
    result = replay_of(&tight, &table, figure_2d, FRAMES, false);
    MU_CHECK(result.rule == GS_SCHEDULE_REPLAY_MISS && result.frame == 5);
    MU_CHECK(result.task == 0 && result.instant == 14);

    /* Outside the batch: who still waits at its deadline has missed it, who waits until the tick
     * before has not. */
    static const int64_t one_each[4] = {0, 3, 3, 3};
    static const int64_t periods[2] = {12, 12}, at_end[2] = {12, 3}, later[2] = {12, 6};
    const gs_batch_table_t pair = {2, one_each, NULL};
    const gs_schedule_frame_t frames[] = {{0, 3, 1}, {3, 6, 2}};
    gs_periodic_tasks_t waits = {2, periods, at_end, NULL, 0};
    result = replay_of(&waits, &pair, frames, 2, false);
    MU_CHECK(result.rule == GS_SCHEDULE_REPLAY_MISS && result.frame == 0);
    MU_CHECK(result.task == 1 && result.instant == 3);
    waits.deadline = later;
    MU_CHECK(replay_of(&waits, &pair, frames, 2, false).rule == GS_SCHEDULE_REPLAY_OK);

    /* A job that arrives during a frame and dies in it. */
    static const int64_t offsets[2] = {0, 1}, short_life[2] = {12, 2};
    waits = (gs_periodic_tasks_t){2, periods, short_life, offsets, 0};
    result = replay_of(&waits, &pair, frames, 1, false);
    MU_CHECK(result.rule == GS_SCHEDULE_REPLAY_MISS && result.task == 1 && result.instant == 3);

    /* A job that dies while the GPU idles, which idling does not excuse. */
    const gs_schedule_frame_t late[] = {{0, 3, 2}, {9, 12, 1}};
    static const int64_t nine[2] = {9, 12};
    waits = (gs_periodic_tasks_t){2, periods, nine, NULL, 0};
    result = replay_of(&waits, &pair, late, 2, true);
    MU_CHECK(result.rule == GS_SCHEDULE_REPLAY_MISS && result.frame == 1);
    MU_CHECK(result.task == 0 && result.instant == 9);
}

static void test_idle(void)
{
    static const int64_t times[4] = {0, 3, 3, 3}, periods[2] = {12, 12}, offsets[2] = {0, 6};
    const gs_batch_table_t pair = {2, times, NULL};
    const gs_periodic_tasks_t set = {2, periods, periods, offsets, 0};
    const gs_schedule_frame_t waits[] = {{6, 9, 3}};
    gs_schedule_replay_t result = replay_of(&set, &pair, waits, 1, false);
    MU_CHECK(result.rule == GS_SCHEDULE_REPLAY_IDLE && result.frame == 0);
    MU_CHECK(result.task == 0 && result.instant == 0);
    result = replay_of(&set, &pair, waits, 1, true);
    MU_CHECK(result.rule == GS_SCHEDULE_REPLAY_OK && result.frame == 1 && result.instant == 9);

    /* Nothing is ready from 3 to 6: idling up to 6 is right, one tick more is not. */
    const gs_schedule_frame_t rests[] = {{0, 3, 1}, {6, 9, 2}}, dawdles[] = {{0, 3, 1}, {7, 10, 2}};
    MU_CHECK(replay_of(&set, &pair, rests, 2, false).rule == GS_SCHEDULE_REPLAY_OK);
    result = replay_of(&set, &pair, dawdles, 2, false);
    MU_CHECK(result.rule == GS_SCHEDULE_REPLAY_IDLE && result.frame == 1);
    MU_CHECK(result.task == 1 && result.instant == 6);
    MU_CHECK(replay_of(&set, &pair, dawdles, 2, true).rule == GS_SCHEDULE_REPLAY_OK);
}

static void test_unfinished(void)
{
    expect(NULL, 0, (gs_schedule_replay_t){GS_SCHEDULE_REPLAY_UNFINISHED, 0, 0, 0});
    expect(figure_2d, FRAMES - 1,
           (gs_schedule_replay_t){GS_SCHEDULE_REPLAY_UNFINISHED, FRAMES - 1, 0, 16});
    expect(figure_2d, 1, (gs_schedule_replay_t){GS_SCHEDULE_REPLAY_UNFINISHED, 1, 0, 4});
}

/* Deadlines beyond the period: several jobs of a task wait, the oldest goes first. */
static void test_long_deadlines(void)
{
    static const int64_t periods[2] = {4, 8}, deadlines[2] = {9, 8}, times[4] = {0, 2, 4, 0};
    const gs_periodic_tasks_t set = {2, periods, deadlines, NULL, 0};
    const gs_batch_table_t pair = {2, times, NULL};
    const gs_schedule_frame_t frames[] = {{0, 4, 2}, {4, 6, 1}, {6, 8, 1}};
    gs_schedule_replay_t result = replay_of(&set, &pair, frames, 3, false);
    MU_CHECK(result.rule == GS_SCHEDULE_REPLAY_OK && result.frame == 3 && result.instant == 8);
}

/* A task whose first release lies beyond the hyperperiod has no job in [0, H). */
static void test_offset_beyond(void)
{
    static const int64_t periods[1] = {5}, offsets[1] = {5}, times[2] = {0, 1};
    const gs_periodic_tasks_t set = {1, periods, periods, offsets, 0};
    const gs_batch_table_t alone = {1, times, NULL};
    const gs_schedule_frame_t frames[] = {{5, 6, 1}};
    MU_CHECK(replay_of(&set, &alone, NULL, 0, false).rule == GS_SCHEDULE_REPLAY_OK);
    gs_schedule_replay_t result = replay_of(&set, &alone, frames, 1, true);
    MU_CHECK(result.rule == GS_SCHEDULE_REPLAY_NOT_READY && result.task == 0);
}

static int refused(const gs_periodic_tasks_t *set, const char **field)
{
    gs_context_t ctx;
    gs_context_init(&ctx);
    gs_schedule_replay_t result;
    int status = gs_schedule_replay(&ctx, set, &table, figure_2d, FRAMES, false, &result);
    MU_CHECK(ctx.fault.code == status);
    *field = ctx.fault.field;
    return status;
}

static void test_hostile_tasks(void)
{
    static const int64_t zero[3] = {4, 0, 10}, huge[3] = {4, INT64_MAX, 10};
    static const int64_t primes[3] = {INT64_C(3037000493), INT64_C(3037000453), 7};
    const char *field;
    gs_periodic_tasks_t set = tasks;
    set.period = zero;
    MU_CHECK(refused(&set, &field) == GS_ERR_VALUE && field[0] == 'p');
    set = tasks;
    set.deadline = zero;
    MU_CHECK(refused(&set, &field) == GS_ERR_VALUE && field[0] == 'd');
    set.deadline = huge;
    MU_CHECK(refused(&set, &field) == GS_ERR_OVERFLOW && field[0] == 'd');
    set = tasks;
    set.offset = huge;
    MU_CHECK(refused(&set, &field) == GS_ERR_OVERFLOW && field[0] == 'd');
    set = tasks;
    set.period = primes;
    MU_CHECK(refused(&set, &field) == GS_ERR_OVERFLOW && field[0] == 'p');
    set.period = huge;
    MU_CHECK(refused(&set, &field) == GS_ERR_OVERFLOW && field[0] == 'p');
    set = tasks;
    set.n = 0;
    MU_CHECK(refused(&set, &field) == GS_ERR_VALUE && field[0] == 't');
    set.n = GS_PERIODIC_TASKS_MAX + 1;
    MU_CHECK(refused(&set, &field) == GS_ERR_VALUE && field[0] == 't');
    set.n = INT32_MIN;
    MU_CHECK(refused(&set, &field) == GS_ERR_VALUE && field[0] == 't');
}

static int stop(void *arg)
{
    ++*(int *)arg;
    return GS_ERR_INTERRUPTED;
}

/* A replay of a million frames asks whether it should go on. */
static void test_stops(void)
{
    static const int64_t periods[1] = {1}, times[2] = {0, 1}, two[2] = {1, 1000000};
    const gs_batch_table_t alone = {1, times, NULL};
    gs_schedule_t schedule = {0};
    gs_context_t ctx;
    gs_context_init(&ctx);
    for (int64_t f = 0; f < 1000000; f++) {
        MU_CHECK(gs_schedule_append(&schedule, &ctx, f, f + 1, 1) == GS_OK);
    }
    const gs_periodic_tasks_t busy = {1, periods, periods, NULL, 0};
    gs_schedule_replay_t result;
    MU_CHECK(gs_schedule_replay(&ctx, &busy, &alone, schedule.frames, schedule.count, false,
                                &result) == GS_OK);
    MU_CHECK(result.rule == GS_SCHEDULE_REPLAY_NOT_READY && result.frame == 1); /* H is 1 */

    static const int64_t pair_times[4] = {0, 1, 0, 1};
    const gs_batch_table_t pair = {2, pair_times, NULL};
    static const int64_t far[2] = {1, 2000000};
    const gs_periodic_tasks_t set = {2, two, far, NULL, 0};
    int calls = 0;
    ctx.poll = stop;
    ctx.poll_arg = &calls;
    MU_CHECK(gs_schedule_replay(&ctx, &set, &pair, schedule.frames, schedule.count, false,
                                &result) == GS_ERR_INTERRUPTED);
    MU_CHECK(calls == 1 && ctx.status == GS_ERR_INTERRUPTED);
    gs_schedule_free(&schedule, &ctx);
    MU_CHECK(ctx.bytes_used == 0);
}

static int fill(gs_context_t *ctx, gs_schedule_t *schedule, int64_t frames)
{
    int status = GS_OK;
    for (int64_t f = 0; f < frames && status == GS_OK; f++) {
        status = gs_schedule_append(schedule, ctx, 2 * f, 2 * f + 1, (uint32_t)f);
    }
    return status;
}

static void test_append(void)
{
    gs_context_t ctx;
    gs_schedule_t schedule = {0};
    gs_context_init(&ctx);
    MU_CHECK(fill(&ctx, &schedule, 1000) == GS_OK && schedule.count == 1000);
    for (int64_t f = 0; f < 1000; f++) {
        MU_CHECK(schedule.frames[f].start == 2 * f && schedule.frames[f].end == 2 * f + 1);
        MU_CHECK(schedule.frames[f].batch == (uint32_t)f);
    }
    int64_t needed = ctx.allocations;
    gs_schedule_free(&schedule, &ctx);
    MU_CHECK(schedule.frames == NULL && schedule.count == 0 && ctx.bytes_used == 0);
    gs_schedule_free(&schedule, &ctx); /* twice is allowed */

    MU_CHECK(needed > 1);
    for (int64_t fail_at = 1; fail_at <= needed; fail_at++) {
        gs_context_init(&ctx);
        ctx.fail_at = fail_at;
        MU_CHECK(fill(&ctx, &schedule, 1000) == GS_ERR_MEMORY);
        int64_t kept = schedule.count;
        MU_CHECK(kept == schedule.capacity); /* what was there is still there */
        for (int64_t f = 0; f < kept; f++) {
            MU_CHECK(schedule.frames[f].start == 2 * f);
        }
        gs_schedule_free(&schedule, &ctx);
        MU_CHECK(ctx.bytes_used == 0);
    }

    gs_context_init(&ctx);
    ctx.bytes_limit = 4096;
    MU_CHECK(fill(&ctx, &schedule, 1000) == GS_SPENT_BYTES);
    gs_schedule_free(&schedule, &ctx);
    MU_CHECK(ctx.bytes_used == 0 && ctx.bytes_peak <= 4096);
}

int main(void)
{
    test_paper();
    test_overlap();
    test_ineligible();
    test_length();
    test_not_ready();
    test_miss();
    test_idle();
    test_unfinished();
    test_long_deadlines();
    test_offset_beyond();
    test_hostile_tasks();
    test_stops();
    test_append();
    return MU_END();
}
