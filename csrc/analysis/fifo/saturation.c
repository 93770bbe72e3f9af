/* Saturation levels, by subset sums: of m threads in one pool, and of a GPU whose blocks need room
 * on one SM. */
#include "analysis/fifo/saturation.h"

#include <stdlib.h>

#include "analysis/fifo/subset_sums.h"
#include "core/int128.h"

/* One pool of threads ------------------------------------------------------------------------- */

static int64_t divisor(const gs_kernel_tasks_t *kernels)
{
    int64_t d = 0;
    for (int64_t i = 0; i < kernels->n && d != 1; i++) {
        d = (int64_t)gs_int128_gcd(d, kernels->threads[i]);
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
static int search_pool(gs_context_t *ctx, gs_analysis_fifo_subset_sums_t *sums,
                       const gs_analysis_fifo_subset_sums_item_t *items, int64_t sizes,
                       int64_t *least, bool overlap, int64_t *best)
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
    status = search_pool(ctx, &sums, items, sizes, least, overlap, &best);
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

/* GPUs ---------------------------------------------------------------------------------------- */

/* Resources of an SM besides its warps. */
enum { SLOTS, REGS, SMEM, RESOURCES };

/* Demand of a task on one SM. */
typedef struct {
    int64_t warps;
    int64_t carveout;
    int64_t count;               /* blocks that can run at once */
    int64_t need[RESOURCES];     /* of one block */
    int64_t shortage[RESOURCES]; /* use at which a block of this task no longer fits */
    int64_t from;                /* the fewest busy warps at which one may not fit */
    int64_t least;               /* the least sum of running blocks that is at least from, or -1 */
} demand_t;

/* Sort key of a task: warps per unit of one resource. */
typedef struct {
    int64_t warps;
    int64_t need;
    int64_t task;
} ratio_t;

static int by_ratio(const void *a, const void *b)
{
    const ratio_t *x = a, *y = b;
    int64_t left = x->warps * y->need, right = y->warps * x->need;
    return left != right ? (left > right) - (left < right) : (x->task > y->task) - 1;
}

static int by_from(const void *a, const void *b)
{
    const demand_t *x = *(demand_t *const *)a, *y = *(demand_t *const *)b;
    return (x->from > y->from) - (x->from < y->from);
}

static int read_demands(gs_context_t *ctx, const gs_kernel_tasks_t *kernels, const gs_gpu_t *gpu,
                        const int64_t *regs, const int64_t *smem, bool overlap, demand_t *demands)
{
    for (int64_t i = 0; i < kernels->n; i++) {
        gs_gpu_kernel_t kernel = {kernels->blocks[i], kernels->threads[i], regs[i], smem[i]};
        gs_occupancy_footprint_t take;
        int64_t resident;
        int limit;
        int status = gs_occupancy_footprint(ctx, gpu, &kernel, i, &take, &resident, &limit);
        if (status != GS_OK) {
            return status;
        }
        if (resident == 0) {
            return gs_fail(ctx, GS_ERR_VALUE, "threads", i, kernels->threads[i],
                           "a block that, with its registers and shared memory, fits an idle SM");
        }
        demand_t *d = &demands[i];
        d->warps = take.warps;
        d->carveout = take.carveout;
        d->count = overlap ? GS_NEVER : kernels->blocks[i];
        d->need[SLOTS] = 1;
        d->need[REGS] = take.regs;
        d->need[SMEM] = take.smem;
        d->shortage[SLOTS] = gpu->blocks_per_sm;
        d->shortage[REGS] = take.regs_usable - take.regs + 1;
        d->shortage[SMEM] = gpu->smem_per_sm - take.smem + 1;
        d->from = gpu->warps_per_sm - take.warps + 1;
    }
    return GS_OK;
}

/* The fewest warps, in fractions of blocks, of running blocks that use `shortage` of a resource:
 * those with the fewest warps per unit first. One block of task `waits` is not running. Returns
 * more than `most` when more warps are needed or there are not enough blocks. */
static int64_t fewest_warps(const demand_t *demands, const ratio_t *order, int64_t count,
                            int64_t waits, int64_t shortage, int64_t most)
{
    int64_t warps = 0;
    for (int64_t i = 0; i < count && warps <= most; i++) {
        int64_t blocks = demands[order[i].task].count - (order[i].task == waits);
        int64_t enough = (shortage + order[i].need - 1) / order[i].need;
        if (blocks >= enough) {
            return warps + (shortage * order[i].warps + order[i].need - 1) / order[i].need;
        }
        warps += blocks * order[i].warps;
        shortage -= blocks * order[i].need;
    }
    return most + 1;
}

/* Lowers from, the busy warps at a shortage of warps, where another resource may run short
 * earlier. */
static int other_resources(gs_context_t *ctx, const gs_gpu_t *gpu, demand_t *demands, int64_t n,
                           ratio_t *order)
{
    for (int r = 0; r < RESOURCES; r++) {
        int64_t count = 0;
        for (int64_t i = 0; i < n; i++) {
            if (demands[i].need[r] > 0) {
                order[count++] = (ratio_t){demands[i].warps, demands[i].need[r], i};
            }
        }
        qsort(order, (size_t)count, sizeof *order, by_ratio);
        for (int64_t i = 0; i < n; i++) {
            if (demands[i].need[r] > 0) { /* a task without need never waits for it */
                int64_t warps = fewest_warps(demands, order, count, i, demands[i].shortage[r],
                                             gpu->warps_per_sm);
                demands[i].from = warps < demands[i].from ? warps : demands[i].from;
            }
            int status = gs_poll(ctx, count + 10);
            if (status != GS_OK) {
                return status;
            }
        }
    }
    return GS_OK;
}

/* Lowers from to the warps of one block of a task whose carve-out does not suit: under both rules
 * an SM that refuses a block for its carve-out runs a block with a carve-out that refuses it, too.
 */
static int other_carveouts(gs_context_t *ctx, const gs_gpu_t *gpu, demand_t *demands, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < n; j++) {
            if (demands[j].warps < demands[i].from &&
                !gs_occupancy_carveout_suits(gpu, demands[j].carveout, demands[i].carveout)) {
                demands[i].from = demands[j].warps;
            }
        }
        int status = gs_poll(ctx, n + 1);
        if (status != GS_OK) {
            return status;
        }
    }
    return GS_OK;
}

/* The least number of busy warps of an SM, times the SMs, at which a task waits: a sum of running
 * blocks on each SM, at least the shortage. A task never waits if all blocks that compete with it,
 * running at once, do not occupy all SMs to that extent. */
static int search_sms(gs_context_t *ctx, gs_analysis_fifo_subset_sums_t *sums, const gs_gpu_t *gpu,
                      demand_t **order, int64_t n, gs_analysis_fifo_subset_sums_item_t *items,
                      bool overlap, int64_t *best)
{
    int64_t warps = 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t all;
        items[i] = (gs_analysis_fifo_subset_sums_item_t){order[i]->warps, order[i]->count};
        if (!gs_mul(order[i]->count, order[i]->warps, &all) || !gs_add(warps, all, &warps)) {
            warps = INT64_MAX;
        }
    }
    int64_t sizes = gs_analysis_fifo_subset_sums_merge_items(items, n, sums->limit + 1);
    int status = gs_analysis_fifo_subset_sums_fill(sums, ctx, items, sizes, -1);
    for (int64_t i = 0; i < n && status == GS_OK; i++) {
        order[i]->least = gs_analysis_fifo_subset_sums_least_from(sums, order[i]->from);
    }
    *best = 0;
    for (int64_t i = 0; i < n && status == GS_OK; i++) {
        const demand_t *d = order[i];
        int64_t least = d->least, size = 0;
        if (least < 0 || (*best != 0 && least * gpu->sms >= *best)) {
            break;
        }
        while (items[size].size != d->warps) {
            size++;
        }
        /* One block of the waiting size is not running. */
        if (!overlap && items[size].count <= sums->limit / d->warps) {
            status = gs_analysis_fifo_subset_sums_fill(sums, ctx, items, sizes, size);
            least = gs_analysis_fifo_subset_sums_least_from(sums, d->from);
        }
        int64_t busy = least * gpu->sms;
        if (least >= 0 && (overlap || warps - d->warps >= busy) && (*best == 0 || busy < *best)) {
            *best = busy;
        }
    }
    return status;
}

/* Fills in the demands: all but their least sums. */
static int find_shortages(gs_context_t *ctx, const gs_kernel_tasks_t *kernels, const gs_gpu_t *gpu,
                          const int64_t *regs, const int64_t *smem, bool overlap, demand_t *demands)
{
    int status = gs_gpu_check(ctx, gpu);
    if (status != GS_OK) {
        return status;
    }
    if (gpu->warps_per_sm > GS_ANALYSIS_FIFO_SATURATION_BITS) {
        return gs_fail(ctx, GS_ERR_VALUE, "warps_per_sm", -1, gpu->warps_per_sm,
                       "at most 2**24 warps per SM");
    }
    ratio_t *ratios = gs_alloc(ctx, (size_t)kernels->n, sizeof *ratios);
    if (ratios == NULL) {
        return ctx->status;
    }
    status = read_demands(ctx, kernels, gpu, regs, smem, overlap, demands);
    if (status == GS_OK) {
        status = other_resources(ctx, gpu, demands, kernels->n, ratios);
    }
    if (status == GS_OK) {
        status = other_carveouts(ctx, gpu, demands, kernels->n);
    }
    gs_free(ctx, ratios);
    return status;
}

int gs_analysis_fifo_saturation_shortages(gs_context_t *ctx, const gs_kernel_tasks_t *kernels,
                                          const gs_gpu_t *gpu, const int64_t *regs,
                                          const int64_t *smem, bool overlap, int64_t *from)
{
    demand_t *demands = gs_alloc(ctx, (size_t)kernels->n, sizeof *demands);
    if (demands == NULL) {
        return ctx->status;
    }
    int status = find_shortages(ctx, kernels, gpu, regs, smem, overlap, demands);
    for (int64_t i = 0; i < kernels->n && status == GS_OK; i++) {
        from[i] = demands[i].from;
    }
    gs_free(ctx, demands);
    return status;
}

int gs_analysis_fifo_saturation_gpu(gs_context_t *ctx, const gs_kernel_tasks_t *kernels,
                                    const gs_gpu_t *gpu, const int64_t *regs, const int64_t *smem,
                                    bool overlap, int64_t *beta)
{
    size_t n = (size_t)kernels->n;
    gs_analysis_fifo_subset_sums_t sums = {0};
    demand_t *demands = NULL, **order = NULL;
    gs_analysis_fifo_subset_sums_item_t *items = NULL;
    int status = GS_OK;
    if ((demands = gs_alloc(ctx, n, sizeof *demands)) == NULL ||
        (order = gs_alloc(ctx, n, sizeof *order)) == NULL ||
        (items = gs_alloc(ctx, n, sizeof *items)) == NULL) {
        status = ctx->status;
        goto out;
    }
    int64_t best;
    if ((status = find_shortages(ctx, kernels, gpu, regs, smem, overlap, demands)) != GS_OK ||
        (status = gs_analysis_fifo_subset_sums_init(&sums, ctx, gpu->warps_per_sm)) != GS_OK) {
        goto out;
    }
    for (int64_t i = 0; i < kernels->n; i++) {
        order[i] = &demands[i];
    }
    qsort(order, n, sizeof *order, by_from);
    status = search_sms(ctx, &sums, gpu, order, kernels->n, items, overlap, &best);
    *beta = best * GS_GPU_WARP_THREADS;
out:
    gs_analysis_fifo_subset_sums_free(&sums, ctx);
    gs_free(ctx, items);
    gs_free(ctx, order);
    gs_free(ctx, demands);
    return status;
}
