/* Assignments of tasks to GPUs, called from C. */
#include "gpusched.h"
#include "pbs/partitioned/subsets.h"

#include "minunit.h"

/* Three tasks of which no two fit one GPU; with the second table the first two do. */
static const int64_t period[] = {4, 4, 4};
static const int64_t alone[] = {0, 3, 3, 5, 3, 5, 5, 0};
static const int64_t pair[] = {0, 3, 3, 4, 3, 5, 5, 0};
static const gs_periodic_tasks_t tasks = {3, period, period, NULL, 0};
static const gs_batch_table_t tables[] = {{3, alone, NULL}, {3, pair, NULL}};

static void test_one_table(void)
{
    for (int32_t gpus = 1; gpus <= 3; gpus++) {
        gs_context_t ctx;
        gs_context_init(&ctx);
        gs_pbs_partitioned_assignment_t found = {0};
        MU_CHECK(gs_pbs_partitioned_assignment_run(&found, &ctx, &tasks, tables, 1, gpus, false) ==
                 GS_OK);
        MU_CHECK(found.answer == (gpus == 3) && found.gpus == gpus);
        for (int64_t i = 0; i < found.reason_count; i++) {
            MU_CHECK(__builtin_popcount(found.reasons[i].tasks) == 2 && found.reasons[i].gpu == 0);
            MU_CHECK(found.reasons[i].extends);
            MU_CHECK(found.reasons[i].proof.kind != GS_PBS_REFUTATION_NONE);
        }
        for (int32_t g = 0; g < gpus && gpus == 3; g++) {
            MU_CHECK(found.gpu[g] == g && found.schedule[g].count == 1);
        }
        gs_pbs_partitioned_assignment_free(&found, &ctx);
        gs_pbs_partitioned_assignment_free(&found, &ctx); /* freeing twice is allowed */
        MU_CHECK(ctx.bytes_used == 0);
    }
}

static void test_a_table_for_each(void)
{
    gs_context_t ctx;
    gs_context_init(&ctx);
    gs_pbs_partitioned_assignment_t found = {0};
    MU_CHECK(gs_pbs_partitioned_assignment_run(&found, &ctx, &tasks, tables, 2, 2, false) == GS_OK);
    MU_CHECK(found.answer == 1);
    MU_CHECK(found.gpu[0] == 1 && found.gpu[1] == 1 && found.gpu[2] == 0);
    gs_pbs_partitioned_assignment_free(&found, &ctx);
    MU_CHECK(gs_pbs_partitioned_assignment_run(&found, &ctx, &tasks, tables, 1, 65, false) ==
             GS_ERR_VALUE);
    MU_CHECK(gs_pbs_partitioned_assignment_run(&found, &ctx, &tasks, tables, 1, 0, false) ==
             GS_ERR_VALUE);
    gs_pbs_partitioned_assignment_free(&found, &ctx);
    MU_CHECK(ctx.bytes_used == 0);
}

/* Failure of every allocation in turn: an error, never a leak or a wrong answer. */
static void test_failed_allocations(int32_t table_count, int32_t gpus, int answer)
{
    int status = GS_ERR_MEMORY;
    for (int64_t fail_at = 1; status != GS_OK && fail_at < 5000; fail_at++) {
        gs_context_t ctx;
        gs_context_init(&ctx);
        ctx.fail_at = fail_at;
        gs_pbs_partitioned_assignment_t found = {0};
        status = gs_pbs_partitioned_assignment_run(&found, &ctx, &tasks, tables, table_count, gpus,
                                                   false);
        MU_CHECK(status == GS_OK || status == GS_ERR_MEMORY);
        MU_CHECK(status != GS_OK || found.answer == answer);
        gs_pbs_partitioned_assignment_free(&found, &ctx);
        MU_CHECK(ctx.bytes_used == 0);
    }
    MU_CHECK(status == GS_OK);
}

static void test_budgets(void)
{
    gs_context_t ctx;
    gs_context_init(&ctx);
    gs_pbs_partitioned_assignment_t found = {0};
    ctx.states_limit = 1;
    MU_CHECK(gs_pbs_partitioned_assignment_run(&found, &ctx, &tasks, tables, 1, 2, false) == GS_OK);
    MU_CHECK(found.answer == -1 && found.spent == GS_SPENT_STATES);
    gs_pbs_partitioned_assignment_free(&found, &ctx);
    ctx.states_limit = 0;
    ctx.bytes_limit = 64;
    MU_CHECK(gs_pbs_partitioned_assignment_run(&found, &ctx, &tasks, tables, 1, 2, false) == GS_OK);
    MU_CHECK(found.answer == -1 && found.spent == GS_SPENT_BYTES);
    gs_pbs_partitioned_assignment_free(&found, &ctx);
    MU_CHECK(ctx.bytes_used == 0);
}

static int stop(void *arg)
{
    (void)arg;
    return GS_ERR_INTERRUPTED;
}

/* A new limit of work takes over the subsets that are schedulable, or says why it could not. */
static void test_limits(void)
{
    gs_context_t ctx;
    gs_context_init(&ctx);
    gs_pbs_partitioned_subsets_t subsets;
    int64_t tested = 0;
    int answer;
    MU_CHECK(gs_pbs_partitioned_subsets_init(&subsets, &ctx, &tasks, &tables[1], false, &tested) ==
             GS_OK);
    for (uint32_t mask = 1; mask < 8; mask++) {
        MU_CHECK(gs_pbs_partitioned_subsets_schedulable(&subsets, &ctx, mask, &answer) == GS_OK);
        MU_CHECK(answer == (mask <= 4 ? 1 : 0)); /* single tasks, and the first two */
    }
    MU_CHECK(tested == 7 && subsets.alive.count == 4);
    MU_CHECK(gs_pbs_partitioned_subsets_limit(&subsets, &ctx, 100) == GS_OK);
    MU_CHECK(subsets.alive.count == 4);
    ctx.poll = stop;
    ctx.work = 1000000; /* the next poll comes at once */
    MU_CHECK(gs_pbs_partitioned_subsets_limit(&subsets, &ctx, 100) == GS_ERR_INTERRUPTED);
    ctx.poll = NULL;
    gs_free(&ctx, subsets.alive.masks);
    subsets.alive = (gs_pbs_partitioned_subsets_list_t){.masks = NULL};
    ctx.fail_at = ctx.allocations + 1;
    MU_CHECK(gs_pbs_partitioned_subsets_limit(&subsets, &ctx, 100) == GS_ERR_MEMORY);
    gs_pbs_partitioned_subsets_free(&subsets, &ctx);
    MU_CHECK(ctx.bytes_used == 0);
}

int main(void)
{
    test_limits();
    test_one_table();
    test_a_table_for_each();
    test_failed_allocations(1, 2, 0);
    test_failed_allocations(2, 2, 1);
    test_budgets();
    return MU_END();
}
