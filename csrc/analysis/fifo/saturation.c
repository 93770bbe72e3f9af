/* Saturation level of m threads in one pool, by subset sums. */
#include "analysis/fifo/saturation.h"

#include "analysis/fifo/subset_sums.h"

static int64_t divisor(const gs_kernel_tasks_t *kernels)
{
    int64_t d = kernels->threads[0];
    for (int64_t i = 1; i < kernels->n && d > 1; i++) {
        int64_t rest = kernels->threads[i];
        while (rest != 0) {
            int64_t r = d % rest;
            d = rest;
            rest = r;
        }
    }
    return d;
}

/* The least sum at which a block of one of these sizes does not fit, all in units of the divisor; 0
 * when there is none. least: scratch, one entry per size.
 *
 * One block of the waiting size is not running. Without that restriction the least sum can only be
 * smaller, and it does not decrease for smaller blocks: so the sizes are tried from the largest on,
 * until the unrestricted sum is no improvement. Blocks of one size wait alike whichever task they
 * belong to, so the number of all blocks of that size is reduced by one. */
static int search(gs_context_t *ctx, gs_analysis_fifo_subset_sums_t *sums,
                  const gs_analysis_fifo_subset_sums_item_t *items, int64_t sizes, int64_t *least,
                  bool overlap, int64_t *best)
{
    *best = 0;
    int status = gs_analysis_fifo_subset_sums_fill(sums, ctx, items, sizes, -1);
    for (int64_t i = 0; i < sizes && status == GS_OK; i++) {
        least[i] = gs_analysis_fifo_subset_sums_least_from(sums, sums->limit - items[i].size + 1);
    }
    for (int64_t i = 0; i < sizes && status == GS_OK; i++) {
        if (least[i] < 0 || (*best != 0 && least[i] >= *best)) {
            break;
        }
        int64_t sum = least[i];
        if (!overlap && items[i].count <= sums->limit / items[i].size) {
            status = gs_analysis_fifo_subset_sums_fill(sums, ctx, items, sizes, i);
            sum = gs_analysis_fifo_subset_sums_least_from(sums, sums->limit - items[i].size + 1);
        }
        *best = sum > 0 && (*best == 0 || sum < *best) ? sum : *best;
    }
    return status;
}

int gs_analysis_fifo_saturation(gs_context_t *ctx, const gs_kernel_tasks_t *kernels, int64_t m,
                                bool overlap, int64_t *beta)
{
    int64_t d = divisor(kernels), limit = m / d, best = 0;
    if (limit > GS_ANALYSIS_FIFO_SATURATION_BITS) {
        return gs_fail(ctx, GS_ERR_VALUE, "m", -1, m,
                       "a number of threads with m / gcd(threads) at most 2**24");
    }
    gs_analysis_fifo_subset_sums_t sums = {0};
    gs_analysis_fifo_subset_sums_item_t *items = gs_alloc(ctx, (size_t)kernels->n, sizeof *items);
    int64_t *least = items == NULL ? NULL : gs_alloc(ctx, (size_t)kernels->n, sizeof *least);
    int status = least == NULL ? ctx->status : gs_analysis_fifo_subset_sums_init(&sums, ctx, limit);
    if (status != GS_OK) {
        goto out;
    }
    for (int64_t i = 0; i < kernels->n; i++) {
        items[i] = (gs_analysis_fifo_subset_sums_item_t){kernels->threads[i] / d,
                                                         overlap ? limit : kernels->blocks[i]};
    }
    /* One more than fit, so that one less is still unlimited. */
    int64_t sizes = gs_analysis_fifo_subset_sums_merge_items(items, kernels->n, limit + 1);
    status = search(ctx, &sums, items, sizes, least, overlap, &best);
    *beta = best * d;
out:
    gs_analysis_fifo_subset_sums_free(&sums, ctx);
    gs_free(ctx, least);
    gs_free(ctx, items);
    return status;
}

int64_t gs_analysis_fifo_saturation_paper(const gs_kernel_tasks_t *kernels, int64_t m)
{
    int64_t widest = 1;
    for (int64_t i = 0; i < kernels->n; i++) {
        widest = kernels->threads[i] > widest ? kernels->threads[i] : widest;
    }
    return m - widest + 1;
}
