/* Revised simplex method whose columns the caller generates.
 *
 * min sum x_b c_b subject to sum x_b a_b >= w, x >= 0, with one row per item and columns (a_b, c_b)
 * that come one at a time (Dantzig and Wolfe 1960). The basis starts with one column per row.
 * Floating point: what it gives proves nothing by itself.
 */
#ifndef GS_CORE_SIMPLEX_H
#define GS_CORE_SIMPLEX_H

#include "core/context.h"

typedef struct {
    int32_t n;
    double *inverse; /* n rows of n, of the basis */
    double *level;   /* of each basic column */
    double *cost;
    double *price; /* the dual solution: cost times inverse */
} gs_simplex_t;

/* Starts with the unit columns at the given costs. weight, cost: n entries. Free self in every
 * case. Errors: GS_ERR_MEMORY. */
int gs_simplex_init(gs_simplex_t *self, gs_context_t *ctx, int32_t n, const double *weight,
                    const double *cost);
void gs_simplex_free(gs_simplex_t *self, gs_context_t *ctx);

/* Excess of worth over cost below which it is rounding error. */
double gs_simplex_tolerance(const gs_simplex_t *self);

/* Brings a column (n entries) into the basis; false when no pivot is large enough. */
bool gs_simplex_enter(gs_simplex_t *self, const double *column, double cost);

/* The cost of the basic solution. */
double gs_simplex_value(const gs_simplex_t *self);

#endif
