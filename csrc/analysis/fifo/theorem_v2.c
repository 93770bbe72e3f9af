/* Theorem V2: response times of kernels of one block where the earliest release goes first.
 *
 * If U <= beta and c <= T for all tasks, R_k <= c_k + y_k for any y with
 *     y_k >= (SC - C_k + Y) / beta,  Y >= sum over F of u_i y_i
 * for every set of tasks F that can run at once on fewer than beta threads. The least such Y is the
 * greatest, over all F, of
 *     sum over F of u_i (SC - C_i) / (beta - sum over F of u_i):
 * Dinkelbach's method (1967) with a knapsack for each ratio. sum u_i <= sum b_i < beta, so the
 * denominator is positive.
 *
 * The proof needs that the successors of jobs that end together find room where those were. On
 * several SMs they need not: a narrow block may take room that only a wide one left.
 */
#include "analysis/fifo/theorem_state.h"

#include <stdlib.h>

/* Most nodes of all knapsack searches; beyond it the fractional knapsack, an upper bound, is
 * used. */
#define MOST_NODES 65536

typedef struct {
    gs_int128_t value; /* u_i (SC - C_i + Y), scaled */
    int64_t weight;    /* b_i */
    int64_t task;
} item_t;

/* sum over F of u_i (SC - C_i), and beta - sum over F of u_i. */
typedef struct {
    gs_int128_t numerator;
    gs_int128_t denominator;
} ratio_t;

typedef struct {
    gs_analysis_fifo_state_t *state;
    gs_context_t *ctx;
    item_t *items;
    bool *taken; /* on the path to the node */
    bool *best;
    int64_t n;
    int64_t nodes;
    ratio_t y;
} knapsack_t;

static int by_density(const void *a, const void *b)
{
    const item_t *x = a, *y = b;
    gs_int128_t left = x->value * y->weight, right = y->value * x->weight;
    return left != right ? (left < right) - (left > right) : (x->task > y->task) - 1;
}

/* Sets the values for the current Y and sorts by density, descending; false on overflow. */
static bool set_items(knapsack_t *self)
{
    const gs_analysis_fifo_state_t *w = self->state;
    gs_int128_t most = 1;
    for (int64_t i = 0; i < self->n; i++) {
        gs_int128_t value = w->work - gs_kernel_tasks_work(w->kernels, i);
        if (!gs_int128_mul(value, self->y.denominator, &value) ||
            !gs_int128_add(value, self->y.numerator, &value) ||
            !gs_int128_mul(value, w->tasks[i].utilization, &value)) {
            return false;
        }
        self->items[i] = (item_t){value, w->kernels->threads[i], i};
        most = value > most ? value : most;
    }
    /* Sums of values are multiplied by weights below. */
    if (gs_int128_bits(most) + gs_int128_bits(self->n) + gs_int128_bits(w->m) > 126) {
        return false;
    }
    qsort(self->items, (size_t)self->n, sizeof *self->items, by_density);
    return true;
}

/* Whether the items from j on could add more than `gain` to what is taken, even fractionally. */
static bool is_promising(const knapsack_t *self, int64_t j, int64_t room, gs_int128_t gain)
{
    for (; j < self->n && gain >= 0; j++) {
        const item_t *item = &self->items[j];
        if (item->weight > room) {
            return item->value * room >= (gain + 1) * item->weight;
        }
        room -= item->weight;
        gain -= item->value;
    }
    return gain < 0;
}

/* The most valuable tasks that run on at most room threads: depth-first branch and bound, the
 * densest first. *found: false when there are too many nodes. */
static int solve_knapsack(knapsack_t *self, int64_t room, gs_int128_t *most, bool *found)
{
    gs_int128_t value = 0;
    int64_t j = 0;
    *most = 0;
    *found = false;
    for (int64_t i = 0; i < self->n; i++) {
        self->taken[i] = self->best[i] = false;
    }
    for (;;) {
        if (++self->nodes > MOST_NODES) {
            return GS_OK;
        }
        int status = gs_poll(self->ctx, self->n);
        if (status != GS_OK) {
            return status;
        }
        if (is_promising(self, j, room, *most - value)) {
            for (; j < self->n && self->items[j].weight <= room; j++) {
                self->taken[j] = true;
                value += self->items[j].value;
                room -= self->items[j].weight;
            }
            if (j < self->n) {
                self->taken[j++] = false;
            }
            if (value > *most) {
                *most = value;
                for (int64_t i = 0; i < self->n; i++) {
                    self->best[i] = i < j && self->taken[i];
                }
            }
            continue;
        }
        do {
            if (--j < 0) {
                *found = true;
                return GS_OK;
            }
        } while (!self->taken[j]);
        self->taken[j] = false;
        value -= self->items[j].value;
        room += self->items[j].weight;
        j++;
    }
}

/* The ratio of the set found last. */
static ratio_t ratio_of(const knapsack_t *self)
{
    const gs_analysis_fifo_state_t *w = self->state;
    ratio_t ratio = {0, w->beta * w->scale};
    for (int64_t i = 0; i < self->n; i++) {
        if (self->best[i]) {
            int64_t task = self->items[i].task;
            gs_int128_t utilization = w->tasks[task].utilization;
            ratio.numerator += utilization * (w->work - gs_kernel_tasks_work(w->kernels, task));
            ratio.denominator -= utilization;
        }
    }
    return ratio;
}

/* The fractional knapsack: the densest items, and a fraction of the first that does not fit.
 * Whether its value is at most Y, a whole number; *ratio: its ratio. *fits is false on overflow. */
static bool solve_fractional(const knapsack_t *self, int64_t room, ratio_t *ratio, bool *fits)
{
    const gs_analysis_fifo_state_t *w = self->state;
    gs_int128_t value = 0, most, part = 0;
    int64_t weight = 1;
    *ratio = (ratio_t){0, w->beta * w->scale};
    for (int64_t i = 0; i < self->n && room > 0; i++) {
        const item_t *item = &self->items[i];
        gs_int128_t utilization = w->tasks[item->task].utilization;
        gs_int128_t gain = utilization * (w->work - gs_kernel_tasks_work(w->kernels, item->task));
        if (item->weight <= room) {
            value += item->value;
            room -= item->weight;
            ratio->numerator += gain;
            ratio->denominator -= utilization;
            continue;
        }
        weight = item->weight;
        part = item->value * room;
        *fits = gs_int128_mul(ratio->numerator, weight, &ratio->numerator) &&
                gs_int128_mul(ratio->denominator, weight, &ratio->denominator) &&
                gs_int128_mul(gain, room, &gain);
        ratio->numerator += *fits ? gain : 0;
        ratio->denominator -= utilization * room;
        break;
    }
    *fits = *fits && gs_int128_mul(w->beta * w->scale, self->y.numerator, &most);
    return *fits && value + gs_int128_ceil_div(part, weight) <= most;
}

/* Computes Y: an exact fraction while that fits, else rounded up to a whole number, and with the
 * fractional knapsack when there are too many sets. *fits is false when that overflows too. */
static int solve(knapsack_t *self, bool *fits)
{
    const gs_analysis_fifo_state_t *w = self->state;
    gs_int128_t full = w->beta * w->scale;
    bool whole = false;
    for (;;) {
        ratio_t next = self->y;
        gs_int128_t most, value, bound = 0;
        bool found = false;
        *fits = set_items(self) && gs_int128_mul(full, self->y.numerator, &bound);
        if (!*fits && whole) {
            return GS_OK;
        }
        if (*fits && self->nodes <= MOST_NODES) {
            int status = solve_knapsack(self, w->beta - 1, &most, &found);
            if (status != GS_OK) {
                return status;
            }
        }
        if (found) {
            if (most <= bound) {
                return GS_OK;
            }
            next = ratio_of(self);
        } else if (!whole) {
            whole = true;
        } else if (solve_fractional(self, w->beta - 1, &next, fits) || !*fits) {
            return GS_OK;
        }
        if (!whole) {
            value = gs_int128_gcd(next.numerator, next.denominator);
            self->y = (ratio_t){next.numerator / value, next.denominator / value};
        } else {
            self->y = (ratio_t){gs_int128_ceil_div(next.numerator, next.denominator), 1};
        }
    }
}

/* R_k = c_k + (SC - C_k + Y) / beta. */
static void set_bounds(gs_analysis_fifo_state_t *self, ratio_t y)
{
    const gs_kernel_tasks_t *t = self->kernels;
    if (gs_int128_bits(y.denominator) + gs_int128_bits(self->work) > 120) {
        y = (ratio_t){gs_int128_ceil_div(y.numerator, y.denominator), 1};
    }
    for (int64_t k = 0; k < t->n; k++) {
        gs_int128_t wait = (self->work - gs_kernel_tasks_work(t, k)) * y.denominator, divisor;
        if (!gs_int128_add(wait, y.numerator, &wait) ||
            !gs_int128_mul(y.denominator, self->beta, &divisor)) {
            self->overflow |= 1 << GS_ANALYSIS_FIFO_THEOREM_V2;
            gs_analysis_fifo_set_reason(self, k, GS_ANALYSIS_FIFO_THEOREM_V2,
                                        GS_ANALYSIS_FIFO_REASON_OVERFLOW);
        } else {
            gs_analysis_fifo_record_bound(self, k, GS_ANALYSIS_FIFO_THEOREM_V2, t->block_time[k],
                                          wait, divisor);
        }
    }
}

/* The condition of the theorem that this set fails, or GS_ANALYSIS_FIFO_REASON_BOUND. */
static int failed_condition(gs_analysis_fifo_state_t *self)
{
    const gs_kernel_tasks_t *t = self->kernels;
    if (self->sms > 1) {
        return GS_ANALYSIS_FIFO_REASON_SMS;
    }
    for (int64_t k = 0; k < t->n; k++) {
        if (t->blocks[k] > 1) {
            return GS_ANALYSIS_FIFO_REASON_BLOCKS;
        }
    }
    for (int64_t k = 0; k < t->n; k++) {
        if (t->block_time[k] > t->period[k]) {
            return GS_ANALYSIS_FIFO_REASON_BLOCK_TIME;
        }
    }
    gs_analysis_fifo_set_utilizations(self);
    return self->utilization > self->beta * self->scale ? GS_ANALYSIS_FIFO_REASON_UTILIZATION
                                                        : GS_ANALYSIS_FIFO_REASON_BOUND;
}

int gs_analysis_fifo_theorem_v2(gs_analysis_fifo_state_t *self, gs_context_t *ctx)
{
    const int v2 = GS_ANALYSIS_FIFO_THEOREM_V2;
    if (!gs_analysis_fifo_is_selected(self, v2, self->order == GS_FIFO_ORDER_RELEASE)) {
        return GS_OK;
    }
    int why = failed_condition(self);
    if (why != GS_ANALYSIS_FIFO_REASON_BOUND) {
        gs_analysis_fifo_set_reason_all(self, v2, why);
        return GS_OK;
    }
    size_t n = (size_t)self->kernels->n;
    knapsack_t sack = {.state = self, .ctx = ctx, .n = self->kernels->n, .y = {0, 1}};
    bool fits = true;
    int status = GS_OK;
    if ((sack.items = gs_alloc(ctx, n, sizeof *sack.items)) == NULL ||
        (sack.taken = gs_alloc(ctx, n, sizeof *sack.taken)) == NULL ||
        (sack.best = gs_alloc(ctx, n, sizeof *sack.best)) == NULL) {
        status = ctx->status;
        goto out;
    }
    status = solve(&sack, &fits);
    if (status == GS_OK && fits) {
        set_bounds(self, sack.y);
    } else if (status == GS_OK) {
        self->overflow |= 1 << v2;
        gs_analysis_fifo_set_reason_all(self, v2, GS_ANALYSIS_FIFO_REASON_OVERFLOW);
    }
out:
    gs_free(ctx, sack.best);
    gs_free(ctx, sack.taken);
    gs_free(ctx, sack.items);
    return status;
}
