/* Lists of eligible batches, and the parts of the search that read them. */
#include "internal.h"

#include "minunit.h"
#include "model/batch_table_internal.h"

#include <stdlib.h>

enum { N = 15, CHAINED = 0x2db6 }; /* rows 0; 1, 2, 3; 4, 5, 6; ... 13, 14 */

/* Times of the sets without two rows of a chain; of those with more than `most` rows none. */
static void fill(int64_t *completion, uint32_t chained, int32_t most)
{
    for (uint32_t b = 0; b < UINT32_C(1) << N; b++) {
        int32_t rows = 0, chain = 0;
        bool twice = false, held = false;
        for (int32_t i = 0; i < N; i++) {
            held = i > 0 && (chained >> (i - 1) & 1) != 0 ? held : false;
            twice = twice || (held && (b >> i & 1) != 0);
            held = held || (b >> i & 1) != 0;
            rows += (int32_t)(b >> i & 1);
            chain = (b >> i & 1) != 0 ? i : chain;
        }
        completion[b] = rows == 0 || twice || rows > most ? 0 : 40 + 7 * rows + chain;
    }
}

static void test_list(uint32_t chained, int32_t most, bool expected)
{
    gs_context_t ctx;
    gs_context_init(&ctx);
    int64_t *completion = malloc(sizeof *completion << N), count = 0;
    if (completion == NULL) {
        abort();
    }
    fill(completion, chained, most);
    gs_batch_table_t table = {.n = N, .completion = completion};
    gs_batch_table_list_t list;
    bool listed;
    MU_CHECK(gs_batch_table_list_init(&list, &ctx, &table, chained, &listed) == GS_OK);
    MU_CHECK(listed == expected);
    for (uint32_t b = 0; b < UINT32_C(1) << N && listed; b++) {
        if (completion[b] != 0) {
            MU_CHECK(count < list.count && list.batch[count] == b &&
                     list.time[count] == completion[b]);
            count++;
        }
    }
    MU_CHECK(count == list.count);
    /* The same program by the list and by the table. */
    int64_t period[N];
    for (int32_t i = 0; i < N; i++) {
        period[i] = 100 + 10 * i;
    }
    gs_periodic_tasks_t tasks = {N, period, period, NULL, 0};
    gs_pbs_rates_t rates, twin;
    gs_batch_table_t with = {.n = N, .completion = completion, .list = listed ? &list : NULL};
    MU_CHECK(gs_pbs_rates_find(&twin, &ctx, &tasks, &table, true) == GS_OK);
    MU_CHECK(gs_pbs_rates_find(&rates, &ctx, &tasks, &with, true) == GS_OK);
    MU_CHECK(rates.proven == twin.proven && rates.scale == twin.scale);
    for (int32_t i = 0; i < N; i++) {
        MU_CHECK(rates.price[i] == twin.price[i]);
    }
    MU_CHECK(!rates.proven || gs_pbs_rates_check(&rates, &tasks, &table));
    gs_batch_table_list_free(&list, &ctx);
    MU_CHECK(ctx.bytes_used == 0);
    free(completion);
}

/* Latest starts of the classes that schedules meet are those of all classes. */
static void test_latest_starts(void)
{
    static const int64_t period[] = {12, 8, 24, 6}, deadline[] = {11, 8, 20, 6};
    static const int64_t times[] = {0, 2, 1, 2, 5, 6, 0, 7, 2, 3, 2, 4, 6, 0, 6, 7};
    gs_periodic_tasks_t tasks = {4, period, deadline, NULL, 0};
    gs_batch_table_t table = {.n = 4, .completion = times};
    gs_context_t ctx;
    gs_context_init(&ctx);
    gs_pbs_problem_t problem;
    gs_pbs_transitions_t transitions;
    gs_pbs_latest_start_t all, met;
    int64_t fewer = 0;
    MU_CHECK(gs_pbs_problem_init(&problem, &ctx, &tasks, &table, false) == GS_OK);
    MU_CHECK(gs_pbs_transitions_init(&transitions, &ctx, &problem) == GS_OK);
    MU_CHECK(gs_pbs_latest_start_init(&all, &ctx, &problem, &transitions, true) == GS_OK);
    MU_CHECK(gs_pbs_latest_start_init(&met, &ctx, &problem, &transitions, false) == GS_OK);
    MU_CHECK(met.latest[problem.arrived[0]] == all.latest[problem.arrived[0]]);
    for (int64_t j = 0; j < problem.intervals * problem.classes; j++) {
        MU_CHECK(met.latest[j] == all.latest[j] || met.latest[j] == GS_PBS_LATEST_DEAD);
        fewer += met.latest[j] != all.latest[j];
    }
    MU_CHECK(fewer > 0);
    gs_pbs_latest_start_free(&all, &ctx);
    gs_pbs_latest_start_free(&met, &ctx);
    gs_pbs_transitions_free(&transitions, &ctx);
    gs_pbs_problem_free(&problem, &ctx);
    MU_CHECK(ctx.bytes_used == 0);
}

/* Latest starts take a word for each class of each interval, and less than four more for each class
 * while they are computed. */
static void test_memory_of_latest_starts(void)
{
    enum { TASKS = 10 };
    static int64_t period[TASKS], times[1 << TASKS];
    for (uint32_t b = 1; b < 1 << TASKS; b++) {
        times[b] = __builtin_popcount(b);
    }
    for (int i = 0; i < TASKS; i++) {
        period[i] = 20;
    }
    gs_periodic_tasks_t tasks = {TASKS, period, period, NULL, 0};
    gs_batch_table_t table = {.n = TASKS, .completion = times};
    gs_context_t ctx;
    gs_context_init(&ctx);
    gs_pbs_problem_t problem;
    gs_pbs_transitions_t transitions;
    gs_pbs_latest_start_t starts;
    MU_CHECK(gs_pbs_problem_init(&problem, &ctx, &tasks, &table, false) == GS_OK);
    MU_CHECK(gs_pbs_transitions_init(&transitions, &ctx, &problem) == GS_OK);
    int64_t before = ctx.bytes_peak = ctx.bytes_used;
    MU_CHECK(gs_pbs_latest_start_init(&starts, &ctx, &problem, &transitions, true) == GS_OK);
    MU_CHECK(starts.latest[problem.all] == 20 - TASKS);
    int64_t words = (ctx.bytes_peak - before) / (int64_t)sizeof *starts.latest;
    MU_CHECK(words < (problem.intervals + 4) * problem.classes);
    gs_pbs_latest_start_free(&starts, &ctx);
    gs_pbs_transitions_free(&transitions, &ctx);
    gs_pbs_problem_free(&problem, &ctx);
    MU_CHECK(ctx.bytes_used == 0);
}

int main(void)
{
    test_memory_of_latest_starts();
    test_list(CHAINED, N, true);
    test_list(CHAINED, 2, true);
    test_list(0, 2, true);
    test_list(0, N, false);
    test_latest_starts();
    return MU_END();
}
