/* Record, comparison and joint refinement of the bounds of one set, and the incremental count of
 * interfering jobs: in 64 bits where they suffice, which is faster, and 128 bits elsewhere. */
#include "analysis/fifo/theorem_state.h"

#include <stdlib.h>

/* Scale of the utilizations where the least common multiple of the periods exceeds 62 bits. */
#define COARSE ((gs_int128_t)1 << 40)

void gs_analysis_fifo_set_reason(gs_analysis_fifo_state_t *self, int64_t k, int theorem, int why)
{
    int64_t *reasons = &self->out[k].reasons;
    *reasons = (*reasons & ~((int64_t)15 << (4 * theorem))) | ((int64_t)why << (4 * theorem));
}

void gs_analysis_fifo_set_reason_all(gs_analysis_fifo_state_t *self, int theorem, int why)
{
    for (int64_t k = 0; k < self->kernels->n; k++) {
        gs_analysis_fifo_set_reason(self, k, theorem, why);
    }
}

bool gs_analysis_fifo_is_selected(gs_analysis_fifo_state_t *self, int theorem, bool order)
{
    bool asked = ((self->theorems >> theorem) & 1) != 0;
    if (!order || !asked) {
        gs_analysis_fifo_set_reason_all(
            self, theorem, order ? GS_ANALYSIS_FIFO_REASON_SKIPPED : GS_ANALYSIS_FIFO_REASON_ORDER);
    }
    return order && asked && ((self->pass >> theorem) & 1) != 0;
}

/* Whether one exact bound is less than another; false where that overflows, which only happens to
 * bounds that differ by less than 1/beta. */
static bool is_less(const gs_analysis_fifo_task_t *a, const gs_analysis_fifo_task_t *b)
{
    gs_int128_t left, right;
    return gs_int128_mul(a->whole, a->denominator, &left) &&
           gs_int128_add(left, a->numerator, &left) && gs_int128_mul(left, b->denominator, &left) &&
           gs_int128_mul(b->whole, b->denominator, &right) &&
           gs_int128_add(right, b->numerator, &right) &&
           gs_int128_mul(right, a->denominator, &right) && left < right;
}

bool gs_analysis_fifo_record_bound(gs_analysis_fifo_state_t *self, int64_t k, int theorem,
                                   int64_t whole, gs_int128_t numerator, gs_int128_t denominator)
{
    gs_analysis_fifo_task_t *task = &self->tasks[k], bound = *task;
    bound.whole = whole;
    bound.numerator = numerator;
    bound.denominator = denominator;
    if (denominator == self->beta) {
        bound.parts = (gs_int128_t)self->beta * whole + numerator;
    } else {
        gs_int128_t quotient = numerator / denominator, rest = numerator - quotient * denominator;
        if (quotient >= GS_NEVER) {
            gs_analysis_fifo_set_reason(self, k, theorem, GS_ANALYSIS_FIFO_REASON_OVERFLOW);
            return false;
        }
        bound.parts = (gs_int128_t)self->beta * (whole + quotient);
        if (!gs_int128_mul(rest, self->beta, &rest)) {
            self->overflow |= 1 << theorem;
            gs_analysis_fifo_set_reason(self, k, theorem, GS_ANALYSIS_FIFO_REASON_OVERFLOW);
            return false;
        }
        bound.parts += gs_int128_ceil_div(rest, denominator);
    }
    if (bound.parts > (gs_int128_t)self->beta * (GS_NEVER - 1)) {
        gs_analysis_fifo_set_reason(self, k, theorem, GS_ANALYSIS_FIFO_REASON_OVERFLOW);
        return false;
    }
    gs_analysis_fifo_set_reason(self, k, theorem, GS_ANALYSIS_FIFO_REASON_BOUND);
    if (task->parts == GS_ANALYSIS_FIFO_NO_BOUND || bound.parts < task->parts) {
        bound.changed = ++self->changes;
    } else if (bound.parts > task->parts || !is_less(&bound, task)) {
        return true;
    }
    *task = bound;
    self->out[k].theorem = theorem;
    return true;
}

static void set_scale(gs_analysis_fifo_state_t *self)
{
    gs_int128_t lcm = 1;
    for (int64_t k = 0; k < self->kernels->n && !self->coarse; k++) {
        int64_t period = self->kernels->period[k];
        gs_int128_t step = period / gs_int128_gcd(lcm, period);
        self->coarse = gs_int128_bits(lcm) + gs_int128_bits(step) > 62;
        lcm *= self->coarse ? 1 : step;
    }
    self->scale = self->coarse ? COARSE : lcm;
}

/* No overflow: the sum of all C stays below 2^61, the scale below 2^62. */
void gs_analysis_fifo_set_utilizations(gs_analysis_fifo_state_t *self)
{
    if (self->scale != 0) {
        return;
    }
    set_scale(self);
    for (int64_t k = 0; k < self->kernels->n; k++) {
        gs_int128_t utilization = gs_kernel_tasks_work(self->kernels, k) * self->scale;
        utilization = gs_int128_ceil_div(utilization, self->kernels->period[k]);
        self->tasks[k].utilization = utilization;
        self->utilization += utilization;
    }
}

/* Task i has at most (F + R_i) / T_i + 1 interfering jobs up to F, so after N jobs
 *     beta F (1 - sum u_i / beta) <= sum u_i R_i + sum C_i + N step,
 * linear in N. F - N T does not rise with N if beta step <= (beta - sum u_i) T. */
bool gs_analysis_fifo_is_worst_final(gs_analysis_fifo_state_t *self, int64_t k, gs_int128_t step,
                                     int64_t jobs, gs_int128_t worst,
                                     bool (*counted)(const gs_analysis_fifo_state_t *, int64_t k,
                                                     int64_t i))
{
    gs_analysis_fifo_set_utilizations(self);
    gs_int128_t full = self->beta * self->scale, room = full, sum = 0, part, work, rise = 0,
                fall = 0;
    gs_int128_t period = gs_analysis_fifo_scaled_period(self, k);
    if (!gs_int128_mul(step, jobs + 1, &work)) {
        return false;
    }
    for (int64_t i = 0; i < self->kernels->n; i++) {
        const gs_analysis_fifo_task_t *task = &self->tasks[i];
        if (i != k && counted(self, k, i)) {
            if (!gs_int128_mul(task->utilization, task->parts, &part) ||
                !gs_int128_add(sum, part, &sum)) {
                return false;
            }
            work += gs_kernel_tasks_work(self->kernels, i);
            room -= task->utilization;
        }
    }
    return room > 0 && gs_int128_mul(work, full, &work) && gs_int128_add(sum, work, &sum) &&
           gs_int128_mul(room, worst + jobs * period, &part) && sum <= part &&
           gs_int128_mul(full, step, &rise) && gs_int128_mul(room, period, &fall) && rise <= fall;
}

/* Sums of a few numbers below this fit 64 bits. */
#define NARROW ((gs_int128_t)1 << 60)

/* Allocates memory for room tasks. Safe to free after a failure. */
static int interfering_init(gs_analysis_fifo_interfering_t *self, gs_context_t *ctx, int64_t room)
{
    *self = (gs_analysis_fifo_interfering_t){0};
    self->narrow = gs_alloc(ctx, (size_t)room, sizeof *self->narrow);
    self->wide = self->narrow == NULL ? NULL : gs_alloc(ctx, (size_t)room, sizeof *self->wide);
    return self->wide == NULL ? ctx->status : GS_OK;
}

static void interfering_free(gs_analysis_fifo_interfering_t *self, gs_context_t *ctx)
{
    gs_free(ctx, self->narrow);
    gs_free(ctx, self->wide);
    self->narrow = NULL;
    self->wide = NULL;
}

static void interfering_clear(gs_analysis_fifo_interfering_t *self)
{
    self->count = 0;
    self->is_wide = false;
    self->next = -GS_INT128_MAX;
}

static void widen(gs_analysis_fifo_interfering_t *self)
{
    for (int64_t i = 0; i < self->count && !self->is_wide; i++) {
        const gs_analysis_fifo_interfering_task_t *o = &self->narrow[i];
        self->wide[i] =
            (gs_analysis_fifo_interfering_wide_task_t){o->reach, o->period, o->work, o->jobs};
    }
    self->is_wide = true;
}

void gs_analysis_fifo_interfering_add(gs_analysis_fifo_interfering_t *self, gs_int128_t response,
                                      gs_int128_t period, int64_t work)
{
    if (response >= NARROW || period >= NARROW) {
        widen(self);
    }
    int64_t i = self->count++;
    if (self->is_wide) {
        self->wide[i] = (gs_analysis_fifo_interfering_wide_task_t){-response, period, work, 0};
    } else {
        self->narrow[i] =
            (gs_analysis_fifo_interfering_task_t){-(int64_t)response, (int64_t)period, work, 0};
    }
}

/* One job per call where that is enough: divisions dominate the time. */
static gs_int128_t count_narrow(gs_analysis_fifo_interfering_t *self, int64_t most, int64_t instant)
{
    gs_int128_t work = 0;
    int64_t next = INT64_MAX;
    for (int64_t i = 0; i < self->count; i++) {
        gs_analysis_fifo_interfering_task_t *o = &self->narrow[i];
        if (o->reach < instant && o->jobs < most) {
            int64_t gap = instant - o->reach, jobs = 1;
            if (gap > o->period) {
                jobs = (gap - 1) / o->period + 1;
                jobs = jobs < most - o->jobs ? jobs : most - o->jobs;
            }
            o->jobs += jobs;
            o->reach += jobs * o->period;
            work += (gs_int128_t)jobs * o->work;
        }
        next = o->reach < next ? o->reach : next;
    }
    self->next = self->count == 0 ? GS_INT128_MAX : next;
    return work;
}

static gs_int128_t count_wide(gs_analysis_fifo_interfering_t *self, int64_t most,
                              gs_int128_t instant)
{
    gs_int128_t work = 0;
    self->next = GS_INT128_MAX;
    for (int64_t i = 0; i < self->count; i++) {
        gs_analysis_fifo_interfering_wide_task_t *o = &self->wide[i];
        if (o->reach < instant && o->jobs < most) {
            gs_int128_t jobs = gs_int128_ceil_div(instant - o->reach, o->period);
            jobs = jobs < most - o->jobs ? jobs : most - o->jobs;
            o->jobs += (int64_t)jobs;
            o->reach += jobs * o->period;
            work += jobs * o->work;
        }
        self->next = o->reach < self->next ? o->reach : self->next;
    }
    return work;
}

gs_int128_t gs_analysis_fifo_interfering_count(gs_analysis_fifo_interfering_t *self, int64_t most,
                                               gs_int128_t instant)
{
    if (!self->is_wide && instant >= NARROW) {
        widen(self);
    }
    return self->is_wide ? count_wide(self, most, instant)
                         : count_narrow(self, most, (int64_t)instant);
}

/* Whether the bound of another task has changed since task k was last refined. */
static bool is_stale(const gs_analysis_fifo_state_t *self, int64_t k)
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

/* The order of the tasks changes the running time only: backlogged intervals of tasks with long
 * periods are short, and smaller bounds shorten those of the other tasks. */
int gs_analysis_fifo_refine_bounds(gs_analysis_fifo_state_t *self, gs_context_t *ctx,
                                   gs_analysis_fifo_refine_t refine)
{
    int64_t n = self->kernels->n, before = -1;
    gs_analysis_fifo_interfering_t interfering = {0};
    turn_t *turns = gs_alloc(ctx, (size_t)n, sizeof *turns);
    int status = turns == NULL ? ctx->status : interfering_init(&interfering, ctx, n);
    if (status != GS_OK) {
        goto out;
    }
    for (int64_t k = 0; k < n; k++) {
        turns[k] = (turn_t){self->kernels->period[k], k};
    }
    qsort(turns, (size_t)n, sizeof *turns, by_period);
    for (int round = 0; round < GS_ANALYSIS_FIFO_ROUNDS && self->changes != before; round++) {
        before = self->changes;
        for (int64_t i = 0; i < n; i++) {
            int64_t k = turns[i].task;
            if (is_stale(self, k)) {
                interfering_clear(&interfering);
                if ((status = refine(self, ctx, k, &interfering)) != GS_OK) {
                    goto out;
                }
                self->tasks[k].refined = self->changes;
            }
            if ((status = gs_poll(ctx, n)) != GS_OK) {
                goto out;
            }
        }
    }
out:
    interfering_free(&interfering, ctx);
    gs_free(ctx, turns);
    return status;
}
