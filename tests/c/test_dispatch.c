/* Search by dispatch rules, partitions and cores of the search with batch times as a function:
 * numbers of states, parts and tasks that are worked out by hand. */
#include "gpusched.h"

#include "minunit.h"
#include "pbs/large/large_parts.h"

/* A batch takes as long as its longest task. */
static const gs_pbs_oracle_slowdown_t NONE = {1000000000, 1000000000};

typedef struct {
    gs_context_t ctx;
    gs_periodic_tasks_t tasks;
    gs_pbs_large_function_t function;
    gs_pbs_large_schedule_t schedule;
} case_t;

static void begin(case_t *self, int32_t n, const int64_t *period, const int64_t *wcet)
{
    gs_context_init(&self->ctx);
    self->tasks = (gs_periodic_tasks_t){n, period, period, NULL, 0};
    self->schedule = (gs_pbs_large_schedule_t){NULL, 0, 0};
    MU_CHECK(gs_pbs_large_function_init(&self->function, &self->ctx, &self->tasks, wcet, NONE, 0,
                                        NULL, NULL) == GS_OK);
}

static void end(case_t *self)
{
    gs_pbs_large_schedule_free(&self->schedule, &self->ctx);
    gs_pbs_large_function_free(&self->function, &self->ctx);
    MU_CHECK(self->ctx.bytes_used == 0);
}

static bool dispatch(case_t *self, int64_t hyperperiod, int rule, int32_t width, int64_t states)
{
    gs_pbs_large_dispatch_options_t options = {
        .rule = rule, .rank = GS_PBS_LARGE_DISPATCH_BEYOND, .width = width, .states = states};
    bool found;
    self->ctx.states = 0;
    MU_CHECK(gs_pbs_large_dispatch(&self->ctx, &self->tasks, hyperperiod, &self->function, &options,
                                   &self->schedule, &found) == GS_OK);
    return found;
}

/* One job at a time, and as many steps as jobs: with one step less none is found. */
static void test_steps(void)
{
    static const int64_t period[] = {4, 6, 12}, wcet[] = {1, 1, 2};
    case_t one;
    begin(&one, 3, period, wcet);
    MU_CHECK(dispatch(&one, 12, GS_PBS_LARGE_DISPATCH_SERIAL, 1, 6));
    MU_CHECK(one.schedule.count == 6 && one.ctx.states == 6);
    MU_CHECK(!dispatch(&one, 12, GS_PBS_LARGE_DISPATCH_SERIAL, 1, 5));
    /* EDFserial: by deadline, at 0, 4, 6 and 8 as the jobs come. */
    static const gs_pbs_large_frame_t serial[] = {{0, 1, 1}, {1, 2, 2}, {2, 4, 4},
                                                  {4, 5, 1}, {6, 7, 2}, {8, 9, 1}};
    for (int f = 0; f < 6; f++) {
        MU_CHECK(one.schedule.frames[f].start == serial[f].start);
        MU_CHECK(one.schedule.frames[f].end == serial[f].end);
        MU_CHECK(one.schedule.frames[f].batch == serial[f].batch);
    }
    end(&one);
}

/* Two short tasks and one that takes the whole period alone: no schedule. At 0 the moves are both
 * short ones (rank 4), the first and the second (rank 0). After both, the long one is late: one
 * state. After one, the other can go, then the long one is late: two states. */
static void test_width(void)
{
    static const int64_t period[] = {10, 10, 10}, wcet[] = {4, 4, 10};
    static const struct {
        int32_t width;
        int64_t states;
    } rows[] = {{1, 2}, {2, 4}, {3, 6}, {GS_PBS_LARGE_DISPATCH_WIDTH, 6}};
    case_t one;
    begin(&one, 3, period, wcet);
    for (int row = 0; row < 4; row++) {
        MU_CHECK(!dispatch(&one, 10, GS_PBS_LARGE_DISPATCH_SEARCHED, rows[row].width, INT64_MAX));
        MU_CHECK(one.ctx.states == rows[row].states);
    }
    end(&one);
}

/* The second task is worth more, and the first is more urgent. */
static void test_ranks(void)
{
    static const int64_t period[] = {10, 20}, wcet[] = {3, 5};
    static const double worth[] = {-10, 10};
    case_t one;
    begin(&one, 2, period, wcet);
    for (int rank = 0; rank < GS_PBS_LARGE_DISPATCH_RANKS; rank++) {
        gs_pbs_large_dispatch_options_t options = {.rule = GS_PBS_LARGE_DISPATCH_SEARCHED,
                                                   .rank = rank,
                                                   .worth = worth,
                                                   .width = 1,
                                                   .states = INT64_MAX};
        bool urgent = rank <= GS_PBS_LARGE_DISPATCH_URGENT_RATIO, found;
        MU_CHECK(gs_pbs_large_dispatch(&one.ctx, &one.tasks, 20, &one.function, &options,
                                       &one.schedule, &found) == GS_OK);
        MU_CHECK(found && one.schedule.frames[0].batch == (urgent ? 1 : 2));
        MU_CHECK(one.schedule.frames[0].end == (urgent ? 3 : 5));
    }
    end(&one);
}

/* More jobs than states beside those of the jobs; all of them belong to one task. */
static void test_many_jobs(int64_t *period)
{
    static const int64_t wcet[] = {1, 1};
    gs_pbs_large_options_t options = {.skip = GS_PBS_LARGE_SKIP_EDF | GS_PBS_LARGE_SKIP_PRICES |
                                              GS_PBS_LARGE_SKIP_GROUPS | GS_PBS_LARGE_SKIP_CORES};
    gs_pbs_large_t search = {0};
    int64_t jobs = 0;
    case_t one;
    begin(&one, 2, period, wcet);
    MU_CHECK(gs_pbs_large_round(&search, &one.ctx, &one.tasks, &one.function, &options) == GS_OK);
    MU_CHECK(search.answer == 1 && search.searches == 1);
    for (int64_t f = 0; f < search.schedule.count; f++) {
        jobs += __builtin_popcountll(search.schedule.frames[f].batch);
    }
    MU_CHECK(jobs == 3001 + 1);
    gs_pbs_large_free(&search, &one.ctx);
    end(&one);
}

static bool are(const gs_pbs_reductions_groups_t *groups, int32_t count, const uint64_t *part)
{
    bool same = groups->count == count;
    for (int32_t g = 0; same && g < count; g++) {
        same = groups->part[g] == part[g];
    }
    return same;
}

/* Tasks 0, 2 and 4 are ready and due together, and so are 1 and 3. */
static void test_partitions(void)
{
    static const int64_t period[] = {30, 60, 30, 60, 30}, wcet[] = {2, 5, 9, 4, 7};
    static const uint64_t whole[] = {1 | 4 | 16, 2 | 8}, halves[] = {4 | 16, 1, 2, 8};
    static const uint64_t three[] = {1 | 4 | 16, 2, 8};
    gs_pbs_reductions_groups_t groups;
    bool fits;
    case_t one;
    begin(&one, 5, period, wcet);
    const gs_pbs_reductions_problem_t problem =
        gs_pbs_large_problem(&one.tasks, &one.function, NULL);
    MU_CHECK(gs_pbs_reductions_split(&problem, &one.ctx, 1, &groups, &fits) == GS_OK);
    MU_CHECK(fits && are(&groups, 2, whole));
    MU_CHECK(gs_pbs_reductions_split(&problem, &one.ctx, 2, &groups, &fits) == GS_OK);
    MU_CHECK(fits && are(&groups, 4, halves));
    for (int32_t count = 1; count <= 5; count++) {
        MU_CHECK(gs_pbs_reductions_merge(&problem, &one.ctx, count, NULL, &groups, &fits) == GS_OK);
        MU_CHECK(fits == (count >= 2) && (!fits || groups.count == count));
        /* No union takes longer than its longest task, so the first ones are merged. */
        MU_CHECK(count != 3 || are(&groups, 3, three));
        MU_CHECK(count != 2 || are(&groups, 2, whole));
    }
    end(&one);
}

/* As many parts as there may be, and one more. */
static void test_most_parts(void)
{
    int64_t period[GS_PBS_REDUCTIONS_PARTS + 1], wcet[GS_PBS_REDUCTIONS_PARTS + 1];
    for (int32_t i = 0; i <= GS_PBS_REDUCTIONS_PARTS; i++) {
        period[i] = INT64_C(100) << i;
        wcet[i] = 1;
    }
    for (int32_t more = 0; more < 2; more++) {
        gs_pbs_reductions_groups_t groups;
        bool fits;
        case_t one;
        begin(&one, GS_PBS_REDUCTIONS_PARTS + more, period, wcet);
        const gs_pbs_reductions_problem_t problem =
            gs_pbs_large_problem(&one.tasks, &one.function, NULL);
        MU_CHECK(gs_pbs_reductions_split(&problem, &one.ctx, 1, &groups, &fits) == GS_OK);
        MU_CHECK(fits == (more == 0) && groups.count == GS_PBS_REDUCTIONS_PARTS);
        end(&one);
    }
}

/* By kernels and periods in turn; by kernels; by shares, which are 2/20, 9/90, 8/40, 3/10, 9/60. */
static void test_cores(void)
{
    static const int64_t period[] = {20, 90, 40, 10, 60}, wcet[] = {2, 9, 8, 3, 9};
    static const uint64_t core[GS_PBS_REDUCTIONS_CHOICES][5] = {
        {2, 2 | 8, 2 | 8 | 16, 1 | 2 | 8 | 16, 31},
        {2, 2 | 16, 2 | 4 | 16, 2 | 4 | 8 | 16, 31},
        {8, 4 | 8, 4 | 8 | 16, 2 | 4 | 8 | 16, 31}};
    static const uint64_t key[4] = {0};
    gs_rng_t rng;
    case_t one;
    begin(&one, 5, period, wcet);
    gs_rng_init(&rng, key, 0, 0);
    for (int32_t size = 1; size <= 5; size++) {
        for (int choice = 0; choice < GS_PBS_REDUCTIONS_CHOICES; choice++) {
            MU_CHECK(gs_pbs_reductions_core(&one.tasks, wcet, size, choice) ==
                     core[choice][size - 1]);
        }
        static const int different[] = {2, 3, 3, 2, 1};
        uint64_t once[GS_PBS_REDUCTIONS_CHOICES];
        int count = gs_pbs_reductions_cores(&one.tasks, wcet, size, once);
        MU_CHECK(count == different[size - 1] && once[0] == core[0][size - 1]);
        MU_CHECK(once[count - 1] == core[size == 5 ? 0 : 2][size - 1]);
        uint64_t seen = 0;
        for (int k = 0; k < 100; k++) {
            uint64_t drawn = gs_pbs_reductions_drawn_core(&one.tasks, wcet, size, &rng);
            bool half = size == 1;
            for (int choice = 0; choice < GS_PBS_REDUCTIONS_CHOICES && !half; choice++) {
                half = (core[choice][size / 2 - 1] & ~drawn) == 0;
            }
            MU_CHECK(half && __builtin_popcountll(drawn) == size && drawn < 32);
            seen |= drawn;
        }
        MU_CHECK(seen == 31);
    }
    end(&one);
}

int main(void)
{
    int64_t first[] = {2, 6002}, last[] = {6002, 2};
    test_steps();
    test_width();
    test_ranks();
    test_many_jobs(first);
    test_many_jobs(last);
    test_partitions();
    test_most_parts();
    test_cores();
    return MU_END();
}
