/* How are the bounds of one set kept, compared and refined together? */
#include "rta/fifo_work.h"

#include <stdlib.h>

/* The scale of the utilizations where the least common multiple of the periods is no help. */
#define COARSE ((gs_wide_t)1 << 40)

void gs_fifo_why(gs_fifo_work_t *self, int64_t k, int theorem, int why)
{
    int64_t *reasons = &self->out[k].reasons;
    *reasons = (*reasons & ~((int64_t)15 << (4 * theorem))) | ((int64_t)why << (4 * theorem));
}

void gs_fifo_why_all(gs_fifo_work_t *self, int theorem, int why)
{
    for (int64_t k = 0; k < self->kernels->n; k++) {
        gs_fifo_why(self, k, theorem, why);
    }
}

bool gs_fifo_try(gs_fifo_work_t *self, int theorem, bool order)
{
    bool asked = ((self->theorems >> theorem) & 1) != 0;
    if (!order || !asked) {
        gs_fifo_why_all(self, theorem, order ? GS_FIFO_WHY_SKIPPED : GS_FIFO_WHY_ORDER);
    }
    return order && asked && ((self->pass >> theorem) & 1) != 0;
}

/* Whether one exact bound is less than another; false where that cannot be computed, which only
 * happens to bounds that differ by less than 1/beta. */
static bool is_less(const gs_fifo_task_t *a, const gs_fifo_task_t *b)
{
    gs_wide_t left, right;
    return gs_wide_mul(a->whole, a->denominator, &left) && gs_wide_add(left, a->numerator, &left) &&
           gs_wide_mul(left, b->denominator, &left) &&
           gs_wide_mul(b->whole, b->denominator, &right) &&
           gs_wide_add(right, b->numerator, &right) && gs_wide_mul(right, a->denominator, &right) &&
           left < right;
}

bool gs_fifo_take(gs_fifo_work_t *self, int64_t k, int theorem, int64_t whole, gs_wide_t numerator,
                  gs_wide_t denominator)
{
    gs_fifo_task_t *task = &self->tasks[k], bound = *task;
    bound.whole = whole;
    bound.numerator = numerator;
    bound.denominator = denominator;
    if (denominator == self->beta) {
        bound.parts = (gs_wide_t)self->beta * whole + numerator;
    } else {
        gs_wide_t quotient = numerator / denominator, rest = numerator - quotient * denominator;
        if (quotient >= GS_NEVER) {
            gs_fifo_why(self, k, theorem, GS_FIFO_WHY_CLOCK);
            return false;
        }
        bound.parts = (gs_wide_t)self->beta * (whole + quotient);
        if (!gs_wide_mul(rest, self->beta, &rest)) {
            self->overflow |= 1 << theorem;
            gs_fifo_why(self, k, theorem, GS_FIFO_WHY_CLOCK);
            return false;
        }
        bound.parts += gs_wide_ceil_div(rest, denominator);
    }
    if (bound.parts > (gs_wide_t)self->beta * (GS_NEVER - 1)) {
        gs_fifo_why(self, k, theorem, GS_FIFO_WHY_CLOCK);
        return false;
    }
    gs_fifo_why(self, k, theorem, GS_FIFO_WHY_BOUND);
    if (task->parts == GS_FIFO_NO_BOUND || bound.parts < task->parts) {
        bound.changed = ++self->changes;
    } else if (bound.parts > task->parts || !is_less(&bound, task)) {
        return true;
    }
    *task = bound;
    self->out[k].theorem = theorem;
    return true;
}

static void set_scale(gs_fifo_work_t *self)
{
    gs_wide_t lcm = 1;
    for (int64_t k = 0; k < self->kernels->n && !self->coarse; k++) {
        int64_t period = self->kernels->period[k];
        gs_wide_t step = period / gs_wide_gcd(lcm, period);
        self->coarse = gs_wide_bits(lcm) + gs_wide_bits(step) > 62;
        lcm *= self->coarse ? 1 : step;
    }
    self->scale = self->coarse ? COARSE : lcm;
}

/* No overflow: the sum of all C stays below 2^61, the scale below 2^62. */
void gs_fifo_shares(gs_fifo_work_t *self)
{
    if (self->scale != 0) {
        return;
    }
    set_scale(self);
    for (int64_t k = 0; k < self->kernels->n; k++) {
        gs_wide_t share = gs_kernels_work(self->kernels, k) * self->scale;
        share = gs_wide_ceil_div(share, self->kernels->period[k]);
        self->tasks[k].share = share;
        self->share += share;
    }
}

/* Task i has at most (F + R_i) / T_i + 1 jobs in the way up to F, so after N jobs
 *     beta F (1 - sum u_i / beta) <= sum u_i R_i + sum C_i + N step,
 * a line in N, and with the next release every period it falls or it does not. */
bool gs_fifo_is_past(gs_fifo_work_t *self, int64_t k, gs_wide_t step, int64_t jobs, gs_wide_t worst,
                     bool (*counted)(const gs_fifo_work_t *, int64_t k, int64_t i))
{
    gs_fifo_shares(self);
    gs_wide_t full = self->beta * self->scale, room = full, sum = 0, part, work, rise = 0, fall = 0;
    gs_wide_t period = gs_fifo_period(self, k);
    if (!gs_wide_mul(step, jobs + 1, &work)) {
        return false;
    }
    for (int64_t i = 0; i < self->kernels->n; i++) {
        const gs_fifo_task_t *task = &self->tasks[i];
        if (i != k && counted(self, k, i)) {
            if (!gs_wide_mul(task->share, task->parts, &part) || !gs_wide_add(sum, part, &sum)) {
                return false;
            }
            work += gs_kernels_work(self->kernels, i);
            room -= task->share;
        }
    }
    return room > 0 && gs_wide_mul(work, full, &work) && gs_wide_add(sum, work, &sum) &&
           gs_wide_mul(room, worst + jobs * period, &part) && sum <= part &&
           gs_wide_mul(full, step, &rise) && gs_wide_mul(room, period, &fall) && rise <= fall;
}

/* Whether the bound of another task has changed since task k was looked at. */
static bool is_stale(const gs_fifo_work_t *self, int64_t k)
{
    int64_t refined = self->tasks[k].refined;
    bool stale = refined < 0;
    for (int64_t i = 0; i < self->kernels->n && !stale; i++) {
        stale = i != k && self->tasks[i].changed > refined;
    }
    return stale && !self->tasks[k].fits;
}

typedef struct {
    int64_t period;
    int64_t task;
} turn_t;

static int by_period(const void *a, const void *b)
{
    const turn_t *x = a, *y = b;
    return x->period != y->period ? (x->period < y->period) - (x->period > y->period)
                                  : (x->task > y->task) - (x->task < y->task);
}

/* The order changes no result, but the time: runs of tasks with long periods are short, and the
 * shorter the bounds they give, the shorter are those of the rest. */
int gs_fifo_rounds(gs_fifo_work_t *self, gs_env_t *env, gs_fifo_improve_t improve)
{
    int64_t n = self->kernels->n, before = -1;
    gs_fifo_others_t others = {0};
    turn_t *turns = gs_alloc(env, (size_t)n, sizeof *turns);
    int status = turns == NULL ? env->status : gs_fifo_others_init(&others, env, n);
    if (status != GS_OK) {
        goto out;
    }
    for (int64_t k = 0; k < n; k++) {
        turns[k] = (turn_t){self->kernels->period[k], k};
    }
    qsort(turns, (size_t)n, sizeof *turns, by_period);
    for (int round = 0; round < GS_FIFO_ROUNDS && self->changes != before; round++) {
        before = self->changes;
        for (int64_t i = 0; i < n; i++) {
            int64_t k = turns[i].task;
            if (is_stale(self, k)) {
                gs_fifo_others_clear(&others);
                if ((status = improve(self, env, k, &others)) != GS_OK) {
                    goto out;
                }
                self->tasks[k].refined = self->changes;
            }
            if ((status = gs_poll(env, n)) != GS_OK) {
                goto out;
            }
        }
    }
out:
    gs_fifo_others_free(&others, env);
    gs_free(env, turns);
    return status;
}
