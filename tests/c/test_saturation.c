/* Saturation level: the library against exhaustive search. */
#include "analysis/fifo/saturation.h"
#include "analysis/fifo/subset_sums.h"

#include "faults.h"
#include "minunit.h"

enum { TASKS = 3 };

static int64_t below(uint64_t *state, int64_t n)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((*state >> 33) % (uint64_t)n);
}

/* All numbers of running blocks, of task j and later ones, at which a block of task i waits. */
static void try_all(const gs_kernel_tasks_t *k, int64_t m, bool overlap, int64_t i, int64_t j,
                    int64_t busy, int64_t *least)
{
    if (j == k->n) {
        bool waits = busy + k->threads[i] > m && busy <= m;
        *least = waits && (*least == 0 || busy < *least) ? busy : *least;
        return;
    }
    int64_t most = overlap ? m : k->blocks[j] - (i == j);
    for (int64_t running = 0; running <= most && busy <= m; running++) {
        try_all(k, m, overlap, i, j + 1, busy, least);
        busy += k->threads[j];
    }
}

static void test_random_sets(void)
{
    gs_context_t ctx;
    gs_context_init(&ctx);
    uint64_t state = 1;
    int64_t ones[TASKS] = {1, 1, 1}, found = 0;
    for (int round = 0; round < 3000; round++) {
        int64_t m = 1 + below(&state, 40), blocks[TASKS], threads[TASKS];
        int64_t widest = 1 + below(&state, m), d = 1 + below(&state, 3);
        for (int i = 0; i < TASKS; i++) {
            blocks[i] = 1 + below(&state, 6);
            threads[i] = 1 + below(&state, widest);
            threads[i] = threads[i] * d <= m ? threads[i] * d : threads[i];
        }
        gs_kernel_tasks_t k = {1 + below(&state, TASKS), ones, ones, blocks, threads};
        for (int overlap = 0; overlap < 2; overlap++) {
            int64_t beta = -1, least = 0;
            MU_CHECK(gs_analysis_fifo_saturation(&ctx, &k, m, overlap != 0, &beta) == GS_OK);
            for (int64_t i = 0; i < k.n; i++) {
                try_all(&k, m, overlap != 0, i, 0, 0, &least);
            }
            MU_CHECK(beta == least);
            MU_CHECK(beta == 0 || beta >= gs_analysis_fifo_saturation_paper(&k, m));
            MU_CHECK(!overlap || beta > 0);
            found += beta != 0;
        }
    }
    MU_CHECK(found > 3000);
    MU_CHECK(ctx.bytes_used == 0);
}

/* Sums across many words, with shifts by whole words and by bits. */
static void test_wide_sums(void)
{
    gs_context_t ctx;
    gs_context_init(&ctx);
    static const int64_t sizes[] = {1, 63, 64, 65, 127, 128, 500, 1999, 2000};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        gs_analysis_fifo_subset_sums_t sums;
        MU_CHECK(gs_analysis_fifo_subset_sums_init(&sums, &ctx, 2000) == GS_OK);
        for (int again = 0; again < 2; again++) { /* clearing removes everything */
            gs_analysis_fifo_subset_sums_clear(&sums);
            MU_CHECK(gs_analysis_fifo_subset_sums_least_from(&sums, 1) == -1);
            MU_CHECK(gs_analysis_fifo_subset_sums_add(&sums, &ctx, sizes[s], 5) == GS_OK);
            MU_CHECK(gs_analysis_fifo_subset_sums_add(&sums, &ctx, 700, 1) == GS_OK);
            for (int64_t v = 0; v <= 2000; v++) {
                int64_t least = -1;
                for (int64_t k = 5; k >= 0; k--) {
                    for (int64_t j = 0; j < 2; j++) {
                        int64_t sum = k * sizes[s] + 700 * j;
                        least = sum >= v && sum <= 2000 && (least < 0 || sum < least) ? sum : least;
                    }
                }
                MU_CHECK(gs_analysis_fifo_subset_sums_least_from(&sums, v) == least);
            }
        }
        gs_analysis_fifo_subset_sums_free(&sums, &ctx);
        gs_analysis_fifo_subset_sums_free(&sums, &ctx); /* freeing twice is allowed */
    }
    MU_CHECK(ctx.bytes_used == 0);
}

/* Example 2 of [ECRTS17]: its m - b_max + 1 is 3073, but no sum of block sizes is below 3584. */
static void test_paper(void)
{
    gs_context_t ctx;
    gs_context_init(&ctx);
    static const int64_t period[] = {80, 160, 170, 180}, time[] = {38, 60, 60, 112};
    static const int64_t blocks[] = {1, 7, 1, 5}, threads[] = {1024, 512, 1024, 512};
    const gs_kernel_tasks_t k = {4, period, time, blocks, threads};
    int64_t beta = 0;
    MU_CHECK(gs_analysis_fifo_saturation(&ctx, &k, 4096, false, &beta) == GS_OK && beta == 3584);
    MU_CHECK(gs_analysis_fifo_saturation_paper(&k, 4096) == 3073);
    /* Equal sizes that divide m leave no thread idle; one block more than fits, and one that always
     * fits. */
    const gs_kernel_tasks_t equal = {1, period, time, blocks + 1, threads + 1};
    MU_CHECK(gs_analysis_fifo_saturation(&ctx, &equal, 3072, false, &beta) == GS_OK &&
             beta == 3072);
    MU_CHECK(gs_analysis_fifo_saturation(&ctx, &equal, 3584, false, &beta) == GS_OK && beta == 0);
    MU_CHECK(gs_analysis_fifo_saturation(&ctx, &equal, 3584, true, &beta) == GS_OK && beta == 3584);
}

static void test_refusal(void)
{
    gs_context_t ctx;
    gs_context_init(&ctx);
    static const int64_t ones[] = {1, 1}, threads[] = {3, 4}, even[] = {1024, 2048};
    const gs_kernel_tasks_t k = {2, ones, ones, ones, threads}, wide = {2, ones, ones, ones, even};
    int64_t beta;
    MU_CHECK(gs_analysis_fifo_saturation(&ctx, &k, GS_ANALYSIS_FIFO_SATURATION_BITS + 1, false,
                                         &beta) == GS_ERR_VALUE);
    MU_CHECK(ctx.fault.value == GS_ANALYSIS_FIFO_SATURATION_BITS + 1);
    MU_CHECK(gs_analysis_fifo_saturation(&ctx, &k, GS_ANALYSIS_FIFO_SATURATION_BITS, true, &beta) ==
             GS_OK);
    MU_CHECK(beta == GS_ANALYSIS_FIFO_SATURATION_BITS - 3);
    MU_CHECK(gs_analysis_fifo_saturation(&ctx, &wide, INT32_MAX, true, &beta) == GS_OK);
    MU_CHECK(beta == INT32_MAX / 1024 * 1024 - 1024);
    MU_CHECK(ctx.bytes_used == 0);
}

static const gs_gpu_t gpu = {.sms = 2,
                             .warps_per_sm = 8,
                             .blocks_per_sm = 4,
                             .regs_per_sm = 65536,
                             .smem_per_sm = 1024,
                             .smem_per_block = 1024,
                             .smem_unit = 256,
                             .reg_unit = 256,
                             .partitions = 4};

/* One SM at a time: 3 warps that do not fit leave 6 busy, 6 + 6 on both. */
static void test_gpu(void)
{
    gs_context_t ctx;
    gs_context_init(&ctx);
    static const int64_t ones[] = {1}, many[] = {50}, threads[] = {96}, none[] = {0};
    static const int64_t shared[] = {512}, single[] = {32};
    gs_kernel_tasks_t k = {1, ones, ones, many, threads};
    int64_t beta = -1;
    MU_CHECK(gs_analysis_fifo_saturation_gpu(&ctx, &k, &gpu, none, none, false, &beta) == GS_OK);
    MU_CHECK(beta == 2 * 6 * 32);
    k.threads = single; /* four slots of one warp */
    MU_CHECK(gs_analysis_fifo_saturation_gpu(&ctx, &k, &gpu, none, none, false, &beta) == GS_OK);
    MU_CHECK(beta == 2 * 4 * 32);
    MU_CHECK(gs_analysis_fifo_saturation_gpu(&ctx, &k, &gpu, none, shared, false, &beta) == GS_OK);
    MU_CHECK(beta == 2 * 2 * 32); /* the shared memory of two blocks */
    static const int64_t few[] = {8};
    k.blocks = few; /* all blocks fit at once, */
    MU_CHECK(gs_analysis_fifo_saturation_gpu(&ctx, &k, &gpu, none, none, false, &beta) == GS_OK);
    MU_CHECK(beta == 0);
    MU_CHECK(gs_analysis_fifo_saturation_gpu(&ctx, &k, &gpu, none, none, true, &beta) == GS_OK);
    MU_CHECK(beta == 2 * 4 * 32); /* unless jobs overlap */
    static const int64_t large[] = {2048};
    MU_CHECK(gs_analysis_fifo_saturation_gpu(&ctx, &k, &gpu, none, large, false, &beta) ==
             GS_ERR_VALUE);
    MU_CHECK(ctx.fault.row == 0);
}

static int interrupt(void *arg)
{
    (void)arg;
    return GS_ERR_INTERRUPTED;
}

static void test_failures(void)
{
    static const int64_t ones[] = {1, 1, 1}, blocks[] = {2, 3, 1}, threads[] = {96, 64, 33};
    static const int64_t regs[] = {32, 0, 16}, smem[] = {0, 256, 512};
    const gs_kernel_tasks_t k = {3, ones, ones, blocks, threads};
    for (int of_gpu = 0; of_gpu < 4; of_gpu++) {
        for (int kind = 0; kind < FAULT_KINDS; kind++) {
            for (fault_t fault = fault_first(kind); fault_next(&fault);) {
                int64_t value, from[3];
                bool overlap = of_gpu == 2;
                int status =
                    of_gpu == 0  ? gs_analysis_fifo_saturation(&fault.ctx, &k, 160, false, &value)
                    : of_gpu < 3 ? gs_analysis_fifo_saturation_gpu(&fault.ctx, &k, &gpu, regs, smem,
                                                                   overlap, &value)
                                 : gs_analysis_fifo_saturation_shortages(&fault.ctx, &k, &gpu, regs,
                                                                         smem, false, from);
                fault_check(&fault, status);
            }
        }
    }
    gs_context_t ctx;
    gs_context_init(&ctx);
    ctx.poll = interrupt;
    int64_t beta;
    MU_CHECK(gs_analysis_fifo_saturation(&ctx, &k, GS_ANALYSIS_FIFO_SATURATION_BITS, true, &beta) ==
             GS_ERR_INTERRUPTED);
    MU_CHECK(ctx.bytes_used == 0);
}

int main(void)
{
    test_random_sets();
    test_wide_sums();
    test_paper();
    test_refusal();
    test_gpu();
    test_failures();
    return MU_END();
}
