/* Basis, prices and pivots of the revised simplex method. */
#include "core/simplex.h"

#include <math.h>

static void set_prices(gs_simplex_t *self)
{
    for (int32_t i = 0; i < self->n; i++) {
        self->price[i] = 0;
        for (int32_t r = 0; r < self->n; r++) {
            self->price[i] += self->cost[r] * self->inverse[r * self->n + i];
        }
    }
}

int gs_simplex_init(gs_simplex_t *self, gs_context_t *ctx, int32_t n, const double *weight,
                    const double *cost)
{
    size_t rows = (size_t)n;
    *self = (gs_simplex_t){.n = n};
    self->inverse = gs_alloc(ctx, rows * (rows + 3), sizeof *self->inverse);
    if (self->inverse == NULL) {
        return ctx->status;
    }
    self->level = self->inverse + rows * rows;
    self->cost = self->level + rows;
    self->price = self->cost + rows;
    for (size_t i = 0; i < rows; i++) {
        self->inverse[i * rows + i] = 1;
        self->level[i] = weight[i];
        self->cost[i] = cost[i];
    }
    set_prices(self);
    return GS_OK;
}

void gs_simplex_free(gs_simplex_t *self, gs_context_t *ctx)
{
    gs_free(ctx, self->inverse);
    *self = (gs_simplex_t){.n = self->n};
}

double gs_simplex_tolerance(const gs_simplex_t *self)
{
    double sum = 0;
    for (int32_t i = 0; i < self->n; i++) {
        sum += fabs(self->price[i]);
    }
    return sum * 1e-12;
}

bool gs_simplex_enter(gs_simplex_t *self, const double *column, double cost)
{
    int32_t n = self->n, leaves = -1;
    double *direction = self->price; /* set anew after the pivot */
    double least = INFINITY;
    for (int32_t r = 0; r < n; r++) {
        direction[r] = 0;
        for (int32_t i = 0; i < n; i++) {
            direction[r] += self->inverse[r * n + i] * column[i];
        }
        if (direction[r] > 1e-9 && self->level[r] / direction[r] < least) {
            least = self->level[r] / direction[r];
            leaves = r;
        }
    }
    if (leaves < 0) {
        set_prices(self);
        return false;
    }
    double pivot = direction[leaves];
    for (int32_t i = 0; i < n; i++) {
        self->inverse[leaves * n + i] /= pivot;
    }
    for (int32_t r = 0; r < n; r++) {
        if (r != leaves) {
            for (int32_t i = 0; i < n; i++) {
                self->inverse[r * n + i] -= direction[r] * self->inverse[leaves * n + i];
            }
            self->level[r] -= direction[r] * least;
            self->level[r] = self->level[r] > 0 ? self->level[r] : 0;
        }
    }
    self->level[leaves] = least;
    self->cost[leaves] = cost;
    set_prices(self);
    return true;
}

double gs_simplex_value(const gs_simplex_t *self)
{
    double value = 0;
    for (int32_t i = 0; i < self->n; i++) {
        value += self->cost[i] * self->level[i];
    }
    return value;
}
