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

/* The batches whose worths exceed their times most, the worst of each bucket. */
typedef struct {
    uint32_t batch[BUCKETS]; /* 0: none */
    double excess[BUCKETS];
} worst_t;

static inline void consider(worst_t *self, uint32_t batch, double over)
{
    uint32_t bucket = (batch * UINT32_C(0x9e3779b9)) >> 26;
    if (over > self->excess[bucket]) {
        self->excess[bucket] = over;
        self->batch[bucket] = batch;
    }
}

static int32_t low_tasks(const gs_pbs_prices_t *self)
{
    return self->n < LOW_BITS ? self->n : LOW_BITS;
}

/* Sets self->worth by the prices of a program. */
static void fill_worths(gs_pbs_prices_t *self, const gs_simplex_t *simplex)
{
    int32_t low = low_tasks(self);
    double *high = self->worth + ((size_t)1 << low);
    self->worth[0] = high[0] = 0;
    for (uint32_t b = 1; b < UINT32_C(1) << low; b++) {
        self->worth[b] = self->worth[b & (b - 1)] + simplex->price[__builtin_ctz(b)];
    }
    for (uint32_t b = 1; b < UINT32_C(1) << (self->n - low); b++) {
        high[b] = high[b & (b - 1)] + simplex->price[low + __builtin_ctz(b)];
    }
}

/* Looks through the table, or its list, for batches that are worth more than their time. */
static int find_worst(gs_pbs_prices_t *self, gs_context_t *ctx, double least, worst_t *worst)
{
    int32_t low = low_tasks(self);
    uint32_t size = UINT32_C(1) << low;
    const double *worth = self->worth, *high_worth = worth + size;
    if (self->list != NULL) {
        for (int64_t j = 0; j < self->list->count; j++) {
            uint32_t b = self->list->batch[j];
            double over =
                high_worth[b >> low] + worth[b & (size - 1)] - (double)self->list->time[j];
            if (over > least) {
                consider(worst, b, over);
            }
        }
        return gs_poll(ctx, self->list->count);
    }
    int status = GS_OK;
    for (uint32_t high = 0; high < UINT32_C(1) << (self->n - low) && status == GS_OK; high++) {
        const int64_t *completion = self->completion + ((size_t)high << low);
        double base = high_worth[high];
        for (uint32_t b = 0; b < size; b++) {
            double over = base + worth[b] - (double)completion[b];
            if (over > least && completion[b] != 0) {
                consider(worst, high << low | b, over);
            }
        }
        status = gs_poll(ctx, size);
    }
    return status;
}

/* Adds to the pool batches that are worth more than their time; *added: how many. */
static int grow_pool(gs_pbs_prices_t *self, gs_context_t *ctx, const gs_simplex_t *simplex,
                     int64_t *added)
{
    worst_t worst = {.batch = {0}};
    double least = gs_simplex_tolerance(simplex);
    for (int i = 0; i < BUCKETS; i++) {
        worst.excess[i] = least;
    }
    fill_worths(self, simplex);
    int status = find_worst(self, ctx, least, &worst);
    if (status != GS_OK) {
        return status;
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
        if (worst.batch[i] != 0) {
            pool[self->pooled++] = worst.batch[i];
            ++*added;
        }
    }
    return GS_OK;
}

int gs_pbs_prices_init(gs_pbs_prices_t *self, gs_context_t *ctx, const gs_batch_table_t *table)
{
    *self = (gs_pbs_prices_t){.n = table->n, .completion = table->completion, .list = table->list};
    int32_t low = low_tasks(self);
    size_t size = ((size_t)1 << low) + ((size_t)1 << (self->n - low));
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

/* The most by which the worth of a batch at the rounded prices exceeds its time, at least 0. worth:
 * of the sets of the first tasks, then of the others. */
static int find_most(const gs_pbs_prices_t *self, gs_context_t *ctx, int64_t scale,
                     const int64_t *worth, int64_t *most)
{
    int32_t low = low_tasks(self);
    uint32_t size = UINT32_C(1) << low;
    *most = 0;
    if (self->list != NULL) {
        for (int64_t j = 0; j < self->list->count; j++) {
            uint32_t b = self->list->batch[j];
            int64_t over = worth[size + (b >> low)] + worth[b & (size - 1)];
            if (over > 0) {
                gs_int128_t rest = over - (gs_int128_t)scale * self->list->time[j];
                *most = rest > *most ? (int64_t)rest : *most;
            }
        }
        return gs_poll(ctx, 2 * self->list->count);
    }
    int status = GS_OK;
    for (uint32_t high = 0; high < UINT32_C(1) << (self->n - low) && status == GS_OK; high++) {
        const int64_t *completion = self->completion + ((size_t)high << low);
        int64_t base = worth[size + high];
        for (uint32_t b = 0; b < size; b++) {
            int64_t over = base + worth[b];
            if (completion[b] != 0 && over > 0) {
                gs_int128_t rest = over - (gs_int128_t)scale * completion[b];
                *most = rest > *most ? (int64_t)rest : *most;
            }
        }
        status = gs_poll(ctx, 2 * (int64_t)size);
    }
    return status;
}

int gs_pbs_prices_round(const gs_pbs_prices_t *self, gs_context_t *ctx, const double *price,
                        int64_t scale, int64_t *rounded)
{
    int32_t low = low_tasks(self);
    uint32_t size = UINT32_C(1) << low, high = UINT32_C(1) << (self->n - low);
    int64_t *worth = gs_alloc(ctx, (size_t)size + high, sizeof *worth);
    if (worth == NULL) {
        return ctx->status;
    }
    for (int32_t i = 0; i < self->n; i++) {
        rounded[i] = (int64_t)floor((double)scale * price[i]);
    }
    for (uint32_t b = 1; b < size; b++) {
        worth[b] = worth[b & (b - 1)] + rounded[__builtin_ctz(b)];
    }
    for (uint32_t b = 1; b < high; b++) {
        worth[size + b] = worth[size + (b & (b - 1))] + rounded[low + __builtin_ctz(b)];
    }
    int64_t most;
    int status = find_most(self, ctx, scale, worth, &most);
    /* A batch holds at least one task, so this takes at least `most` from each. */
    for (int32_t i = 0; i < self->n; i++) {
        rounded[i] -= most;
    }
    gs_free(ctx, worth);
    return status;
}
