/* Tests of the histogram: bins, their edges, sums of histograms, faults. */
#include "core/histogram.h"
#include "core/rng.h"

#include "faults.h"
#include "minunit.h"

/* The edge of the only bin that has a number. */
static int64_t edge_of(int64_t number)
{
    gs_context_t ctx;
    gs_context_init(&ctx);
    gs_histogram_t one = {0};
    MU_CHECK(gs_histogram_add(&one, &ctx, number) == GS_OK);
    MU_CHECK(one.total == 1 && one.most == number);
    int64_t edge = -1, bins = 0;
    for (int64_t k = 0; k < one.bins; k++) {
        if (one.count[k] > 0) {
            edge = gs_histogram_edge(one.first + k);
            bins++;
        }
    }
    MU_CHECK(bins == 1);
    gs_histogram_free(&one, &ctx);
    MU_CHECK(ctx.bytes_used == 0);
    return edge;
}

static void test_edges(void)
{
    int64_t before = -1;
    for (int64_t number = 0; number < 5000; number++) {
        int64_t edge = edge_of(number);
        MU_CHECK(edge == number || number >= 256);
        MU_CHECK(edge >= number && edge >= before);
        MU_CHECK(128 * (edge - number) < number || edge == number);
        before = edge;
    }
    for (uint64_t k = 0; k < 2000; k++) {
        int64_t number = (int64_t)(gs_rng_at(1, k) >> (2 + k % 62));
        int64_t edge = edge_of(number);
        MU_CHECK(edge >= number && edge - number <= number / 128);
    }
}

static int add_all(gs_context_t *ctx, gs_histogram_t *of, uint64_t seed, uint64_t count)
{
    int status = GS_OK;
    for (uint64_t k = 0; k < count && status == GS_OK; k++) {
        status = gs_histogram_add(of, ctx, (int64_t)(gs_rng_at(seed, k) >> (2 + k % 62)));
    }
    return status;
}

static int take(gs_context_t *ctx)
{
    gs_histogram_t sum = {0}, part = {0}, whole = {0};
    int status = gs_histogram_take(&sum, ctx, &part);
    for (uint64_t seed = 0; seed < 3 && status == GS_OK; seed++) {
        status = add_all(ctx, &part, seed, 100);
        status = status == GS_OK ? gs_histogram_take(&sum, ctx, &part) : status;
        MU_CHECK(status != GS_OK || (part.total == 0 && part.most == 0));
        status = status == GS_OK ? add_all(ctx, &whole, seed, 100) : status;
    }
    if (status == GS_OK) {
        MU_CHECK(sum.total == 300 && sum.total == whole.total && sum.most == whole.most);
        for (int64_t k = 0; k < whole.bins; k++) {
            MU_CHECK(sum.count[whole.first + k - sum.first] == whole.count[k]);
        }
    }
    gs_histogram_free(&sum, ctx);
    gs_histogram_free(&part, ctx);
    gs_histogram_free(&whole, ctx);
    return status;
}

static void test_sums(void)
{
    gs_context_t ctx;
    gs_context_init(&ctx);
    MU_CHECK(take(&ctx) == GS_OK);
    MU_CHECK(ctx.bytes_used == 0);
    for (int kind = 0; kind < FAULT_KINDS; kind++) {
        for (fault_t fault = fault_first(kind); fault_next(&fault);) {
            fault_check(&fault, take(&fault.ctx));
        }
    }
}

int main(void)
{
    test_edges();
    test_sums();
    return MU_END();
}
