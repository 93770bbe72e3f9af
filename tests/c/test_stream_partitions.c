/* Bounds of kernel chains in partitions: worked examples, refusals, failing allocations. */
#include "minunit.h"

#include "analysis/priority_streams/priority_streams.h"

/* V7 of the notebook on priority streams: two partitions of one SM of four threads. */
static const int64_t PERIOD[] = {40, 60, 50, 70}, LEVEL[] = {0, 1, 0, 1}, BEGIN[] = {0, 1, 2, 3, 4},
                     BLOCKS[] = {3, 2, 4, 2}, THREADS[] = {2, 2, 1, 3}, TIME[] = {4, 5, 6, 4},
                     LATENCY[] = {0, 0, 0, 0}, PART[] = {0, 0, 1, 1}, SMS[] = {1, 1};

static const gs_kernel_chains_t CHAINS = {4, PERIOD, LEVEL, BEGIN, BLOCKS, THREADS, TIME, LATENCY};

enum { TASKS = 4 };

static int run(gs_context_t *ctx, int64_t kind, const int64_t *part, const int64_t *sms,
               bool overlap, gs_analysis_priority_streams_bound_t *bound)
{
    const gs_analysis_priority_streams_partitions_t partitions = {kind, 2, part, sms};
    int64_t beta[TASKS];
    return gs_analysis_priority_streams_partitioned(ctx, &CHAINS, &partitions, 2, 4, NULL, overlap,
                                                    bound, beta);
}

static void check_bounds(int64_t kind, const int64_t *sms, const int64_t expected[TASKS][2])
{
    gs_context_t ctx;
    gs_analysis_priority_streams_bound_t bound[TASKS];
    gs_context_init(&ctx);
    MU_CHECK(run(&ctx, kind, PART, sms, false, bound) == GS_OK);
    for (int i = 0; i < TASKS; i++) {
        MU_CHECK(bound[i].numerator == expected[i][0] && bound[i].denominator == expected[i][1]);
    }
    MU_CHECK(ctx.bytes_used == 0);
    int64_t needed = ctx.allocations;
    for (int64_t fail_at = 1; fail_at <= needed; fail_at++) {
        gs_context_init(&ctx);
        ctx.fail_at = fail_at;
        MU_CHECK(run(&ctx, kind, PART, sms, false, bound) == GS_ERR_MEMORY);
        MU_CHECK(ctx.bytes_used == 0);
    }
}

static void check_refusal(int64_t kind, const int64_t *part, const int64_t *sms, bool overlap)
{
    gs_context_t ctx;
    gs_analysis_priority_streams_bound_t bound[TASKS];
    gs_context_init(&ctx);
    MU_CHECK(run(&ctx, kind, part, sms, overlap, bound) == GS_ERR_VALUE);
    MU_CHECK(ctx.bytes_used == 0);
}

int main(void)
{
    const int64_t own[TASKS][2] = {{13, 1}, {27, 2}, {10, 1}, {22, 1}};
    const int64_t shared[TASKS][2] = {{22, 1}, {111, 2}, {49, 2}, {51, 1}};
    const int64_t limits[TASKS][2] = {{59, 3}, {179, 4}, {24, 1}, {89, 2}};
    const int64_t limit[] = {1, 2}, none[] = {0, 1}, many[] = {2, 1}, more[] = {1, 3};
    const int64_t outside[] = {0, 0, 1, 2}, below[] = {0, -1, 1, 1};
    check_bounds(GS_ANALYSIS_PRIORITY_STREAMS_OWN, SMS, own);
    check_bounds(GS_ANALYSIS_PRIORITY_STREAMS_SHARED, SMS, shared);
    check_bounds(GS_ANALYSIS_PRIORITY_STREAMS_LIMITS, limit, limits);
    for (int64_t kind = 0; kind < 3; kind++) {
        check_refusal(kind, PART, none, false);
        check_refusal(kind, PART, more, false);
        check_refusal(kind, outside, SMS, false);
        check_refusal(kind, below, SMS, false);
    }
    check_refusal(GS_ANALYSIS_PRIORITY_STREAMS_OWN, PART, many, false);
    check_refusal(GS_ANALYSIS_PRIORITY_STREAMS_SHARED, PART, SMS, true);
    check_refusal(3, PART, SMS, false);
    check_refusal(INT64_C(1) << 40, PART, SMS, false);
    return MU_END();
}
