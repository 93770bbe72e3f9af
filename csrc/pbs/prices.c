/* Revised simplex method with column generation over the batches, and the rounding. */
#include "pbs/prices.h"

#include "core/int128.h"
#include "core/simplex.h"
#include "core/vector.h"

#include <math.h>

enum {
    LOW_BITS = 12, /* worths are sums of two parts: tasks 0..11, and the others */
    BUCKETS = 64,  /* most batches that one pass over the table adds to the pool */
    POOL_MOST = 4096
};

/* The program is min sum x_b C_b subject to sum over b with i in b of x_b >= w_i (= w_i for a free
 * task). A basis has one column per task: a batch, or the surplus of a task. It starts with the
 * singletons. */
static bool enter_batch(gs_simplex_t *self, const int64_t *completion, uint32_t batch)
{
    double column[GS_PERIODIC_TASKS_MAX];
    for (int32_t i = 0; i < self->n; i++) {
        column[i] = (double)(batch >> i & 1);
    }
    return gs_simplex_enter(self, column, (double)completion[batch]);
}

/* Solves over the batches of the pool. */
static int solve_pool(const gs_pbs_prices_t *self, gs_context_t *ctx, gs_simplex_t *simplex,
                      uint32_t free_tasks)
{
    /* More steps than are needed; stopping early gives weaker prices, not wrong ones. */
    for (int32_t step = 0; step < 50 * self->n; step++) {
        int32_t negative = -1;
        for (int32_t i = 0; i < self->n; i++) {
            if ((free_tasks >> i & 1) == 0 && simplex->price[i] < -1e-9 &&
                (negative < 0 || simplex->price[i] < simplex->price[negative])) {
                negative = i;
            }
        }
        if (negative >= 0) {
            double column[GS_PERIODIC_TASKS_MAX] = {0};
            column[negative] = -1;
            if (!gs_simplex_enter(simplex, column, 0)) {
                return GS_OK;
            }
            continue;
        }
        double most = gs_simplex_tolerance(simplex);
        uint32_t worst = 0;
        for (int64_t p = 0; p < self->pooled; p++) {
            double worth = 0;
            for (uint32_t rest = self->pool[p]; rest != 0; rest &= rest - 1) {
                worth += simplex->price[__builtin_ctz(rest)];
            }
            double excess = worth - (double)self->completion[self->pool[p]];
            if (excess > most) {
                most = excess;
                worst = self->pool[p];
            }
        }
        int status = gs_poll(ctx, 8 * self->pooled + self->n * self->n);
        if (status != GS_OK || worst == 0 || !enter_batch(simplex, self->completion, worst)) {
            return status;
        }
    }
    return GS_OK;
}

/* Adds to the pool batches that are worth more than their time, the worst of each bucket; *added:
 * how many. */
static int grow_pool(gs_pbs_prices_t *self, gs_context_t *ctx, const gs_simplex_t *simplex,
                     int64_t *added)
{
    int32_t low = self->n < LOW_BITS ? self->n : LOW_BITS;
    uint32_t size = UINT32_C(1) << low, found[BUCKETS] = {0};
    double excess[BUCKETS], least = gs_simplex_tolerance(simplex);
    for (int i = 0; i < BUCKETS; i++) {
        excess[i] = least;
    }
    self->worth[0] = 0;
    for (uint32_t b = 1; b < size; b++) {
        self->worth[b] = self->worth[b & (b - 1)] + simplex->price[__builtin_ctz(b)];
    }
    for (uint32_t high = 0; high < UINT32_C(1) << (self->n - low); high++) {
        const int64_t *completion = self->completion + ((size_t)high << low);
        double base = 0;
        for (uint32_t rest = high; rest != 0; rest &= rest - 1) {
            base += simplex->price[low + __builtin_ctz(rest)];
        }
        for (uint32_t b = 0; b < size; b++) {
            double over = base + self->worth[b] - (double)completion[b];
            if (over > least && completion[b] != 0) {
                uint32_t batch = high << low | b;
                uint32_t bucket = (batch * UINT32_C(0x9e3779b9)) >> 26;
                if (over > excess[bucket]) {
                    excess[bucket] = over;
                    found[bucket] = batch;
                }
            }
        }
        int status = gs_poll(ctx, size);
        if (status != GS_OK) {
            return status;
        }
    }
    self->pooled = self->pooled > POOL_MOST ? 0 : self->pooled;
    uint32_t *pool =
        gs_vector_reserve(ctx, self->pool, &self->capacity, self->pooled + BUCKETS, sizeof *pool);
    if (pool == NULL) {
        return ctx->status;
    }
    self->pool = pool;
    *added = 0;
    for (int i = 0; i < BUCKETS; i++) {
        if (found[i] != 0) {
            pool[self->pooled++] = found[i];
            ++*added;
        }
    }
    return GS_OK;
}

int gs_pbs_prices_init(gs_pbs_prices_t *self, gs_context_t *ctx, const gs_batch_table_t *table)
{
    *self = (gs_pbs_prices_t){.n = table->n, .completion = table->completion};
    size_t size = (size_t)1 << (self->n < LOW_BITS ? self->n : LOW_BITS);
    self->worth = gs_alloc(ctx, size, sizeof *self->worth);
    return self->worth == NULL ? ctx->status : GS_OK;
}

void gs_pbs_prices_free(gs_pbs_prices_t *self, gs_context_t *ctx)
{
    gs_free(ctx, self->worth);
    gs_free(ctx, self->pool);
    self->worth = NULL;
    self->pool = NULL;
}

int gs_pbs_prices_solve(gs_pbs_prices_t *self, gs_context_t *ctx, const double *weight,
                        uint32_t free_tasks, double *price, double *value)
{
    gs_simplex_t simplex;
    double cost[GS_PERIODIC_TASKS_MAX];
    for (int32_t i = 0; i < self->n; i++) {
        cost[i] = (double)self->completion[UINT32_C(1) << i];
    }
    int64_t added = 1;
    int status = gs_simplex_init(&simplex, ctx, self->n, weight, cost);
    for (int32_t pass = 0; pass < 50 + self->n && added > 0 && status == GS_OK; pass++) {
        status = solve_pool(self, ctx, &simplex, free_tasks);
        if (status == GS_OK) {
            status = grow_pool(self, ctx, &simplex, &added);
        }
    }
    *value = 0;
    if (simplex.inverse != NULL) {
        for (int32_t i = 0; i < self->n; i++) {
            price[i] = simplex.price[i];
        }
        *value = gs_simplex_value(&simplex);
    }
    gs_simplex_free(&simplex, ctx);
    return status;
}

int64_t gs_pbs_prices_scale(double largest, int bits)
{
    double most = ldexp(1, bits);
    int64_t scale = INT64_C(1) << 40;
    while (scale > 0 && !(largest * (double)scale < most)) {
        scale /= 2;
    }
    return scale;
}

int gs_pbs_prices_round(const gs_pbs_prices_t *self, gs_context_t *ctx, const double *price,
                        int64_t scale, int64_t *rounded)
{
    int32_t low = self->n < LOW_BITS ? self->n : LOW_BITS;
    uint32_t size = UINT32_C(1) << low;
    int64_t *worth = gs_alloc(ctx, size, sizeof *worth);
    if (worth == NULL) {
        return ctx->status;
    }
    for (int32_t i = 0; i < self->n; i++) {
        rounded[i] = (int64_t)floor((double)scale * price[i]);
    }
    for (uint32_t b = 1; b < size; b++) {
        worth[b] = worth[b & (b - 1)] + rounded[__builtin_ctz(b)];
    }
    int status = GS_OK;
    int64_t most = 0;
    for (uint32_t high = 0; high < UINT32_C(1) << (self->n - low) && status == GS_OK; high++) {
        const int64_t *completion = self->completion + ((size_t)high << low);
        int64_t base = 0;
        for (uint32_t rest = high; rest != 0; rest &= rest - 1) {
            base += rounded[low + __builtin_ctz(rest)];
        }
        for (uint32_t b = 0; b < size; b++) {
            int64_t over = base + worth[b];
            if (completion[b] != 0 && over > 0) {
                gs_int128_t rest = over - (gs_int128_t)scale * completion[b];
                most = rest > most ? (int64_t)rest : most;
            }
        }
        status = gs_poll(ctx, 2 * (int64_t)size);
    }
    /* A batch holds at least one task, so this takes at least `most` from each. */
    for (int32_t i = 0; i < self->n; i++) {
        rounded[i] -= most;
    }
    gs_free(ctx, worth);
    return status;
}
