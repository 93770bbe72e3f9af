/* Comparisons whose two sides are equal: parts that other tests reach, but not at their limits. */
#include "minunit.h"
#include "model/block_placement_internal.h"
#include "pbs/reductions.h"

/* Blocks resumed on freed SMs begin with the SM after the last one, itself among them. */
static void test_round_robin_on_freed_sms(void)
{
    const gs_gpu_t gpu = {.sms = 4,
                          .warps_per_sm = 4,
                          .blocks_per_sm = 4,
                          .regs_per_sm = 65536,
                          .smem_per_sm = 65536,
                          .smem_per_block = 65536,
                          .smem_unit = 256,
                          .reg_unit = 256,
                          .partitions = 4};
    const gs_gpu_kernel_t kernel = {1, 32, 0, 0};
    const gs_occupancy_footprint_t take = {.warps = 1};
    static const int32_t all[] = {0, 1, 2, 3}, early[] = {0, 1}, late[] = {2, 3};
    const struct {
        const int32_t *at;
        int32_t count, expected;
    } cases[] = {{all, 4, 1}, {early, 2, 1}, {late, 2, 2}, {early, 1, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        gs_context_t ctx;
        gs_context_init(&ctx);
        gs_block_placement_t placer;
        int32_t sm = -1;
        int64_t placed = 0;
        MU_CHECK(gs_block_placement_init(&placer, &ctx, &gpu, GS_BLOCK_PLACEMENT_ROUND_ROBIN) ==
                 GS_OK);
        MU_CHECK(gs_block_placement_kernel(&placer, &ctx, &kernel, 0, &sm, &placed) == GS_OK);
        MU_CHECK(placed == 1 && sm == 0); /* so the next one is SM 1 */
        MU_CHECK(gs_block_placement_resume(&placer, &ctx, &take, 1, cases[i].at, cases[i].count,
                                           &sm, &placed) == GS_OK);
        MU_CHECK(placed == 1 && sm == cases[i].expected);
        gs_block_placement_free(&placer, &ctx);
        MU_CHECK(ctx.bytes_used == 0);
    }
}

/* A core stands for the whole where its jobs are due within their periods, or where both have the
 * same hyperperiod. */
static void test_cores(void)
{
    static const int64_t period[] = {4, 6}, in_time[] = {4, 5}, offset[] = {0, 1}, late[] = {1, 1};
    static const int64_t beyond[] = {5, 6};
    const gs_periodic_tasks_t whole = {2, period, period, NULL, 0};
    gs_periodic_tasks_t core = {1, period, period, NULL, 0};
    MU_CHECK(gs_pbs_reductions_core_applies(&core, &whole)); /* due exactly at the end */
    core.offset = late;
    MU_CHECK(!gs_pbs_reductions_core_applies(&core, &whole));
    core.offset = NULL;
    core.deadline = beyond;
    MU_CHECK(!gs_pbs_reductions_core_applies(&core, &whole));
    core = (gs_periodic_tasks_t){2, period, in_time, offset, 0};
    MU_CHECK(gs_pbs_reductions_core_applies(&core, &whole));
    core.offset = late; /* the first task is late, the hyperperiod is the same */
    MU_CHECK(gs_pbs_reductions_core_applies(&core, &whole));
    static const int64_t prime[] = {INT64_C(1000000007), INT64_C(998244353), INT64_C(999999937)};
    static const int64_t three[] = {1, 1, 1};
    const gs_periodic_tasks_t endless = {3, prime, prime, three, 0};
    MU_CHECK(!gs_pbs_reductions_core_applies(&endless, &endless)); /* no hyperperiod on the clock */
}

/* Eligible tasks that are ready and due together, split into as many parts as asked where that
 * divides their number: all of one size, the longest kernels first. */
static void test_parts_of_equal_size(void)
{
    enum { TASKS = 12 };
    static int64_t period[TASKS], completion[1 << TASKS], wcet[TASKS];
    const gs_periodic_tasks_t tasks = {TASKS, period, period, NULL, 0};
    const gs_batch_table_t table = {.n = TASKS, .completion = completion};
    for (uint32_t b = 1; b < UINT32_C(1) << TASKS; b++) {
        completion[b] = 32 - __builtin_clz(b); /* as its last task alone */
    }
    for (int32_t i = 0; i < TASKS; i++) {
        period[i] = 100;
    }
    gs_context_t ctx;
    gs_context_init(&ctx);
    gs_pbs_reductions_t reductions;
    gs_pbs_reductions_init(&reductions, NULL, &tasks, &table, wcet, NULL);
    for (int32_t split = 1; split <= TASKS; split++) {
        gs_pbs_reductions_groups_t groups;
        bool fits;
        MU_CHECK(gs_pbs_reductions_split(&reductions.problem, &ctx, split, &groups, &fits) ==
                 GS_OK);
        MU_CHECK(fits);
        uint64_t left = (UINT64_C(1) << TASKS) - 1;
        MU_CHECK(groups.count <= split && (TASKS % split != 0 || groups.count == split));
        for (int32_t g = 0; g < groups.count; g++) {
            int32_t size = __builtin_popcountll(groups.part[g]);
            MU_CHECK(TASKS % split != 0 || size == TASKS / split);
            MU_CHECK((groups.part[g] & ~left) == 0);
            left &= ~groups.part[g];
            MU_CHECK(left < (groups.part[g] & (0 - groups.part[g]))); /* only shorter ones */
        }
        MU_CHECK(left == 0);
    }
}

int main(void)
{
    test_parts_of_equal_size();
    test_round_robin_on_freed_sms();
    test_cores();
    return MU_END();
}
