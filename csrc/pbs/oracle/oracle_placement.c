/* Eligibility by placement: a search for an order of submission with all blocks resident at once.
 *
 * Total demand grows with a set, so the sets that it does not exclude are found from their subsets,
 * and only they are kept.
 */
#include "pbs/oracle/oracle.h"

#include "core/radix_sort.h"
#include "core/vector.h"
#include "model/block_placement.h"
#include "pbs/oracle/resource_demand.h"

#include <string.h>

/* Most orders of a set that are tried exhaustively: 6! */
#define MOST_ORDERS 720
enum { SORTS = GS_PBS_ORACLE_KERNELS_ORDERS };

static int fail_block(gs_context_t *ctx, const gs_gpu_kernel_t *kernel, int32_t i, int limit)
{
    switch (limit) {
    case GS_OCCUPANCY_LIMIT_THREADS:
        return gs_fail(ctx, GS_ERR_VALUE, "threads", i, kernel->threads,
                       "at most 1024 threads per block");
    case GS_OCCUPANCY_LIMIT_WARPS:
        return gs_fail(ctx, GS_ERR_VALUE, "threads", i, kernel->threads,
                       "at most as many warps per block as an SM holds");
    case GS_OCCUPANCY_LIMIT_REGS:
        return gs_fail(ctx, GS_ERR_VALUE, "regs", i, kernel->regs,
                       "registers per thread with which a block fits an SM");
    default:
        return gs_fail(ctx, GS_ERR_VALUE, "smem", i, kernel->smem,
                       "shared memory per block that fits an SM");
    }
}

int gs_pbs_oracle_kernels_read(gs_context_t *ctx, const gs_gpu_t *gpu, int32_t n,
                               const gs_gpu_kernel_t *kernels, gs_occupancy_footprint_t *take,
                               int64_t *per_sm)
{
    for (int32_t i = 0; i < n; i++) {
        int limit;
        int status = gs_occupancy_footprint(ctx, gpu, &kernels[i], i, &take[i], &per_sm[i], &limit);
        if (status != GS_OK) {
            return status;
        }
        if (per_sm[i] == 0) {
            return fail_block(ctx, &kernels[i], i, limit);
        }
    }
    return GS_OK;
}

/* The largest fraction of an SM resource that a block takes, in units of 2^-20. */
static int64_t largest_share(const gs_gpu_t *gpu, const gs_occupancy_footprint_t *take)
{
    const int64_t need[] = {take->warps, 1, take->regs, take->smem};
    const int64_t room[] = {gpu->warps_per_sm, gpu->blocks_per_sm, take->regs_usable,
                            gpu->smem_per_sm};
    int64_t largest = 0;
    for (int r = 0; r < 4; r++) {
        int64_t share = need[r] == 0 ? 0 : (need[r] << 20) / room[r];
        largest = share > largest ? share : largest;
    }
    return largest;
}

/* Sort keys of a kernel, descending; ties go by index. */
static void sort_keys(const gs_gpu_t *gpu, const gs_gpu_kernel_t *kernel,
                      const gs_occupancy_footprint_t *take, int sort, int64_t key[3])
{
    int64_t share = largest_share(gpu, take);
    int64_t blocks = kernel->blocks; /* larger grids are never eligible with others */
    blocks = blocks > INT32_MAX ? INT32_MAX : blocks;
    const int64_t keys[GS_PBS_ORACLE_KERNELS_ORDERS][3] = {
        {take->warps, take->smem, take->regs},
        {0, 0, 0}, /* increasing index */
        {take->smem, take->warps, take->regs},
        {take->regs, take->warps, take->smem},
        {share, take->warps, 0},
        {share * blocks, 0, 0},
        {-take->warps, -take->smem, -take->regs},
    };
    memcpy(key, keys[sort], sizeof keys[sort]);
}

static bool before(const int64_t a[3], const int64_t b[3])
{
    for (int k = 0; k < 3; k++) {
        if (a[k] != b[k]) {
            return a[k] > b[k];
        }
    }
    return false;
}

void gs_pbs_oracle_kernels_sort(const gs_gpu_t *gpu, int32_t n, const gs_gpu_kernel_t *kernels,
                                const gs_occupancy_footprint_t *take, int8_t *sorted)
{
    for (int sort = 0; sort < GS_PBS_ORACLE_KERNELS_ORDERS; sort++) {
        int8_t *order = sorted + sort * n;
        for (int32_t i = 0; i < n; i++) {
            int64_t key[3], other[3];
            sort_keys(gpu, &kernels[i], &take[i], sort, key);
            int32_t p = i;
            for (; p > 0; p--) {
                int8_t j = order[p - 1];
                sort_keys(gpu, &kernels[j], &take[j], sort, other);
                if (!before(key, other)) {
                    break;
                }
                order[p] = j;
            }
            order[p] = (int8_t)i;
        }
    }
}

typedef struct {
    gs_context_t *ctx;
    const gs_gpu_kernel_t *kernels;
    int32_t n;
    size_t sms;
    gs_block_placement_t placer;
    gs_occupancy_footprint_t take[GS_PERIODIC_TASKS_MAX];
    int32_t twin[GS_PERIODIC_TASKS_MAX]; /* the first kernel with the same grid and footprint */
    int8_t sorted[SORTS * GS_PERIODIC_TASKS_MAX]; /* rows of n */
    /* The order tried last: its first `placed` kernels fit, loads[k] is the state of the SMs after
     * k of them, and `stuck`, unless -1, is a kernel that does not fit after them. */
    int8_t tried[GS_PERIODIC_TASKS_MAX];
    int32_t placed;
    int32_t stuck;
    gs_block_placement_sm_load_t *loads;
    gs_pbs_oracle_batches_t *found;
} search_t;

/* Whether this order fits; continues from the prefix shared with the order tried before. */
static int try_order(search_t *self, const int8_t *order, int32_t count, bool *fits)
{
    int32_t same = 0;
    while (same < count && same < self->placed && order[same] == self->tried[same]) {
        same++;
    }
    *fits = false;
    if (same < count && same == self->placed && order[same] == self->stuck) {
        return gs_poll(self->ctx, 1);
    }
    size_t bytes = self->sms * sizeof *self->loads;
    memcpy(self->placer.load, self->loads + (size_t)same * self->sms, bytes);
    self->stuck = -1;
    self->placed = same;
    while (self->placed < count) {
        int8_t i = order[self->placed];
        int64_t blocks;
        int status = gs_block_placement_kernel(&self->placer, self->ctx, &self->kernels[i], i, NULL,
                                               &blocks);
        if (status != GS_OK) {
            return status;
        }
        if (blocks < self->kernels[i].blocks) {
            self->stuck = i;
            return GS_OK;
        }
        self->tried[self->placed++] = i;
        memcpy(self->loads + (size_t)self->placed * self->sms, self->placer.load, bytes);
    }
    *fits = true;
    return gs_poll(self->ctx, 1);
}

/* The submission of set number k, from now on. */
static int keep(search_t *self, int64_t k, const int8_t *order, int32_t count)
{
    gs_pbs_oracle_batches_t *found = self->found;
    bool ascending = true;
    for (int32_t p = 1; p < count; p++) {
        ascending = ascending && order[p - 1] < order[p];
    }
    found->open--;
    if (ascending) {
        found->submission[k] = GS_PBS_ORACLE_BATCHES_ASCENDING;
        return GS_OK;
    }
    size_t width = (size_t)self->n;
    int8_t *orders = gs_vector_reserve(self->ctx, found->orders, &found->order_capacity,
                                       found->order_count + 1, width);
    if (orders == NULL) {
        return self->ctx->status;
    }
    found->orders = orders;
    int8_t *row = orders + (size_t)found->order_count * width;
    memset(row, -1, width);
    memcpy(row, order, (size_t)count);
    found->submission[k] = (int32_t)found->order_count++;
    return GS_OK;
}

/* The members of a set in one of the sorted orders. */
static int32_t members(const search_t *self, uint32_t mask, int sort, int8_t *order)
{
    int32_t count = 0;
    for (int32_t p = 0; p < self->n; p++) {
        int8_t i = self->sorted[sort * self->n + p];
        if ((mask >> i & 1) != 0) {
            order[count++] = i;
        }
    }
    return count;
}

static int try_sort(search_t *self, int64_t k, int sort)
{
    int8_t order[GS_PERIODIC_TASKS_MAX];
    bool fits;
    int32_t count = members(self, self->found->mask[k], sort, order);
    int status = try_order(self, order, count, &fits);
    return status == GS_OK && fits ? keep(self, k, order, count) : status;
}

static bool same_block(const search_t *self, int32_t a, int32_t b)
{
    const gs_occupancy_footprint_t *x = &self->take[a], *y = &self->take[b];
    return x->warps == y->warps && x->regs == y->regs && x->smem == y->smem &&
           x->regs_usable == y->regs_usable && x->carveout == y->carveout;
}

/* Tries the first sort for the sets that total demand leaves open, in an order in which consecutive
 * sets share the beginning of their order. */
static int try_first_sort(search_t *self)
{
    gs_pbs_oracle_batches_t *found = self->found;
    int64_t open = found->open, *key = gs_alloc(self->ctx, (size_t)found->count, sizeof *key);
    int32_t *set = gs_alloc(self->ctx, (size_t)open, sizeof *set);
    int status = key == NULL || set == NULL ? self->ctx->status : GS_OK;
    for (int64_t k = 0, at = 0; status == GS_OK && at < open; k++) {
        if (found->submission[k] != GS_PBS_ORACLE_BATCHES_OPEN) {
            continue;
        }
        /* The kernel first in the sort is the highest bit, which changes least often. */
        for (int32_t p = 0; p < self->n; p++) {
            key[k] = key[k] << 1 | (found->mask[k] >> self->sorted[p] & 1);
        }
        set[at++] = (int32_t)k;
    }
    if (status == GS_OK) {
        status = gs_radix_sort(self->ctx, key, open, set);
    }
    for (int64_t at = 0; status == GS_OK && at < open; at++) {
        status = try_sort(self, set[at], 0);
    }
    gs_free(self->ctx, key);
    gs_free(self->ctx, set);
    return status;
}

/* The number of distinct orders of a set, identical kernels being interchangeable; at most
 * MOST_ORDERS + 1. */
static int32_t count_orders(const search_t *self, uint32_t mask)
{
    int32_t alike[GS_PERIODIC_TASKS_MAX] = {0};
    int64_t orders = 1, size = 0;
    for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
        int32_t group = self->twin[__builtin_ctz(rest)];
        /* Binomial coefficients: exact at every step. */
        orders = orders * ++size / ++alike[group];
    }
    return orders > MOST_ORDERS ? MOST_ORDERS + 1 : (int32_t)orders;
}

/* Whether placing this kernel next repeats an order that is tried anyway. */
static bool is_redundant(const search_t *self, int8_t i, uint32_t left, const int8_t *order,
                         int32_t depth)
{
    /* Identical kernels are taken by ascending index. */
    for (uint32_t rest = left & ((UINT32_C(1) << i) - 1); rest != 0; rest &= rest - 1) {
        if (self->twin[__builtin_ctz(rest)] == self->twin[i]) {
            return true;
        }
    }
    /* Adjacent kernels with equal blocks are one kernel to the GPU. */
    return depth > 0 && i < order[depth - 1] && same_block(self, i, order[depth - 1]);
}

/* Tries every order of the kernels left, after the first depth ones of order. */
static int try_all(search_t *self, int64_t k, uint32_t left, int8_t *order, int32_t depth)
{
    if (left == 0) {
        return keep(self, k, order, depth);
    }
    for (int32_t p = 0; p < self->n; p++) {
        int8_t i = self->sorted[p];
        if ((left >> i & 1) == 0 || is_redundant(self, i, left, order, depth)) {
            continue;
        }
        bool fits;
        order[depth] = i;
        int status = try_order(self, order, depth + 1, &fits);
        if (status == GS_OK && fits) {
            status = try_all(self, k, left & ~(UINT32_C(1) << i), order, depth + 1);
        }
        if (status != GS_OK || self->found->submission[k] != GS_PBS_ORACLE_BATCHES_OPEN) {
            return status;
        }
    }
    return GS_OK;
}

/* The number of a set among those before the first k; -1 where it is not kept. */
static int64_t number_of(const gs_pbs_oracle_batches_t *found, uint32_t mask, int64_t k)
{
    int64_t low = 0;
    while (low < k) {
        int64_t middle = low + (k - low) / 2;
        if (found->mask[middle] == mask) {
            return middle;
        }
        if (found->mask[middle] < mask) {
            low = middle + 1;
        } else {
            k = middle;
        }
    }
    return -1;
}

/* Tries the order found for a subset with one kernel less, followed by that kernel. */
static int try_extensions(search_t *self, int64_t k)
{
    const gs_pbs_oracle_batches_t *found = self->found;
    for (uint32_t rest = found->mask[k]; rest != 0; rest &= rest - 1) {
        int last = __builtin_ctz(rest);
        uint32_t others = found->mask[k] & ~(UINT32_C(1) << last);
        int64_t part = number_of(found, others, k);
        int8_t order[GS_PERIODIC_TASKS_MAX];
        if (part < 0 || !gs_pbs_oracle_batches_order(found, part, order)) {
            continue;
        }
        int32_t count = __builtin_popcount(others);
        order[count] = (int8_t)last;
        bool fits;
        int status = try_order(self, order, count + 1, &fits);
        if (status == GS_OK && fits) {
            status = keep(self, k, order, count + 1);
        }
        if (status != GS_OK || fits) {
            return status;
        }
    }
    return GS_OK;
}

/* Decides a set that the first sort does not place, if every order of it is covered. */
static int try_other_orders(search_t *self, int64_t k)
{
    gs_pbs_oracle_batches_t *found = self->found;
    uint32_t mask = found->mask[k];
    if (__builtin_popcount(mask) <= GS_PBS_ORACLE_EXHAUSTIVE ||
        count_orders(self, mask) <= MOST_ORDERS) {
        int8_t order[GS_PERIODIC_TASKS_MAX];
        int status = try_all(self, k, mask, order, 0);
        if (status == GS_OK && found->submission[k] == GS_PBS_ORACLE_BATCHES_OPEN) {
            found->submission[k] = GS_PBS_ORACLE_BATCHES_NONE;
            found->open--;
        }
        return status;
    }
    int status = try_extensions(self, k);
    for (int sort = 1; sort < SORTS; sort++) {
        if (status == GS_OK && found->submission[k] == GS_PBS_ORACLE_BATCHES_OPEN) {
            status = try_sort(self, k, sort);
        }
    }
    return status;
}

static int read_kernels(search_t *self, const gs_gpu_t *gpu, int64_t *per_sm)
{
    int status =
        gs_pbs_oracle_kernels_read(self->ctx, gpu, self->n, self->kernels, self->take, per_sm);
    if (status != GS_OK) {
        return status;
    }
    for (int32_t i = 0; i < self->n; i++) {
        self->twin[i] = 0;
        while (self->kernels[self->twin[i]].blocks != self->kernels[i].blocks ||
               !same_block(self, self->twin[i], i)) {
            self->twin[i]++;
        }
    }
    gs_pbs_oracle_kernels_sort(gpu, self->n, self->kernels, self->take, self->sorted);
    return GS_OK;
}

/* Whether all kernels of a set have the same carve-out, so that no SM refuses one for that. */
static bool has_one_carveout(const search_t *self, uint32_t mask)
{
    const int64_t first = self->take[__builtin_ctz(mask)].carveout;
    for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
        if (self->take[__builtin_ctz(rest)].carveout != first) {
            return false;
        }
    }
    return true;
}

static int add(search_t *self, uint32_t mask, int32_t submission)
{
    gs_pbs_oracle_batches_t *found = self->found;
    if (found->count == found->capacity) {
        int64_t capacity = found->capacity;
        uint32_t *masks =
            gs_vector_reserve(self->ctx, found->mask, &capacity, found->count + 1, sizeof *masks);
        if (masks == NULL) {
            return self->ctx->status;
        }
        found->mask = masks;
        int32_t *submissions = gs_vector_reserve(self->ctx, found->submission, &found->capacity,
                                                 found->count + 1, sizeof *submissions);
        if (submissions == NULL) {
            return self->ctx->status;
        }
        found->submission = submissions;
    }
    found->mask[found->count] = mask;
    found->submission[found->count++] = submission;
    found->open += submission == GS_PBS_ORACLE_BATCHES_OPEN;
    return GS_OK;
}

/* The sets that total demand does not exclude, by rising mask: those with kernel i as their last
 * one come from all those before it, or before its chain. */
static int classify_all(search_t *self, const gs_pbs_oracle_resource_demand_t *demand,
                        const gs_pbs_oracle_limits_t *limits)
{
    gs_pbs_oracle_batches_t *found = self->found;
    int64_t before = 0;
    for (int32_t i = 0; i < self->n; i++) {
        bool next = i > 0 && (limits->chained >> (i - 1) & 1) != 0; /* kernel of the same chain */
        before = next ? before : found->count;
        int status = add(self, UINT32_C(1) << i, GS_PBS_ORACLE_BATCHES_ASCENDING);
        for (int64_t k = 0; status == GS_OK && k < before; k++) {
            uint32_t mask = found->mask[k] | UINT32_C(1) << i;
            int verdict = __builtin_popcount(mask) > limits->crowd
                              ? GS_PBS_ORACLE_RESOURCE_DEMAND_TOO_LARGE
                              : gs_pbs_oracle_resource_demand_classify(demand, mask);
            if (verdict != GS_PBS_ORACLE_RESOURCE_DEMAND_TOO_LARGE) {
                bool fits =
                    verdict == GS_PBS_ORACLE_RESOURCE_DEMAND_FITS && has_one_carveout(self, mask);
                status = add(self, mask,
                             fits ? GS_PBS_ORACLE_BATCHES_ASCENDING : GS_PBS_ORACLE_BATCHES_OPEN);
            }
            if (status == GS_OK) {
                status = gs_poll(self->ctx, self->n);
            }
        }
        if (status != GS_OK) {
            return status;
        }
    }
    return GS_OK;
}

bool gs_pbs_oracle_batches_order(const gs_pbs_oracle_batches_t *self, int64_t k, int8_t *order)
{
    int32_t submission = self->submission[k];
    if (submission >= 0) {
        memcpy(order, self->orders + (size_t)submission * (size_t)self->n, (size_t)self->n);
    } else if (submission == GS_PBS_ORACLE_BATCHES_ASCENDING) {
        int32_t count = 0;
        for (uint32_t rest = self->mask[k]; rest != 0; rest &= rest - 1) {
            order[count++] = (int8_t)__builtin_ctz(rest);
        }
        memset(order + count, -1, (size_t)(self->n - count));
    }
    return submission >= 0 || submission == GS_PBS_ORACLE_BATCHES_ASCENDING;
}

void gs_pbs_oracle_batches_free(gs_pbs_oracle_batches_t *self, gs_context_t *ctx)
{
    gs_free(ctx, self->mask);
    gs_free(ctx, self->submission);
    gs_free(ctx, self->orders);
    *self = (gs_pbs_oracle_batches_t){0};
}

int gs_pbs_oracle_batches_init(gs_pbs_oracle_batches_t *self, gs_context_t *ctx,
                               const gs_gpu_t *gpu, int32_t n, const gs_gpu_kernel_t *kernels,
                               const gs_pbs_oracle_limits_t *limits)
{
    *self = (gs_pbs_oracle_batches_t){.n = n};
    search_t search = {.ctx = ctx, .kernels = kernels, .n = n, .stuck = -1, .found = self};
    gs_pbs_oracle_resource_demand_t demand = {0};
    int64_t per_sm[GS_PERIODIC_TASKS_MAX];
    if (n < 1 || n > GS_PERIODIC_TASKS_MAX) {
        return gs_fail(ctx, GS_ERR_VALUE, "tasks", -1, n, "1 to 24 tasks");
    }
    int status = gs_block_placement_init(&search.placer, ctx, gpu, GS_BLOCK_PLACEMENT_MOST_ROOM);
    if (status != GS_OK || (status = read_kernels(&search, gpu, per_sm)) != GS_OK ||
        (status = gs_pbs_oracle_resource_demand_init(&demand, ctx, gpu, n, kernels, search.take,
                                                     per_sm)) != GS_OK) {
        goto out;
    }
    search.sms = (size_t)gpu->sms;
    search.loads = gs_alloc(ctx, ((size_t)n + 1) * search.sms, sizeof *search.loads);
    if (search.loads == NULL) {
        status = ctx->status;
        goto out;
    }
    memcpy(search.loads, search.placer.load, search.sms * sizeof *search.loads); /* of idle SMs */
    status = classify_all(&search, &demand, limits);
    if (status == GS_OK && self->open > 0) {
        status = try_first_sort(&search);
    }
    for (int64_t k = 0; status == GS_OK && k < self->count; k++) {
        if (self->submission[k] == GS_PBS_ORACLE_BATCHES_OPEN) {
            status = try_other_orders(&search, k);
        }
    }
out:
    gs_free(ctx, search.loads);
    gs_pbs_oracle_resource_demand_free(&demand, ctx);
    gs_block_placement_free(&search.placer, ctx);
    return status;
}
