/* Which theorems apply to a set of kernels, and what is the least bound they give? */
#include "rta/fifo_bound.h"

#include "rta/fifo_work.h"

#include <stdlib.h>
#include <string.h>

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
    return order && asked;
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
            self->overflow = true;
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
    if (task->parts == GS_FIFO_OPEN || bound.parts < task->parts) {
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

int gs_fifo_rounds(gs_fifo_work_t *self, gs_env_t *env, gs_fifo_improve_t improve)
{
    int64_t n = self->kernels->n, before = -1;
    for (int round = 0; round < GS_FIFO_ROUNDS && self->changes != before; round++) {
        before = self->changes;
        for (int64_t k = 0; k < n; k++) {
            gs_fifo_task_t *task = &self->tasks[k];
            bool stale = task->refined < 0;
            for (int64_t i = 0; i < n && !stale; i++) {
                stale = i != k && self->tasks[i].changed > task->refined;
            }
            int status = stale && !task->fits ? improve(self, env, k) : gs_poll(env, n);
            if (status != GS_OK) {
                return status;
            }
            task->refined = self->changes;
        }
    }
    return GS_OK;
}

/* Nothing ever waits for threads. A task then ends its job in c, which has to be within the
 * period; in the strict order one that does not holds up the others. */
static void fits(gs_fifo_work_t *self, bool waits)
{
    const gs_kernels_t *t = self->kernels;
    if (!gs_fifo_try(self, GS_FIFO_THEOREM_FITS, self->order != GS_FIFO_OVERLAP)) {
        return;
    }
    bool late = false;
    for (int64_t k = 0; k < t->n; k++) {
        late = late || (self->order == GS_FIFO_STRICT && t->block_time[k] > t->period[k]);
    }
    for (int64_t k = 0; k < t->n; k++) {
        if (waits) {
            gs_fifo_why(self, k, GS_FIFO_THEOREM_FITS, GS_FIFO_WHY_WAITS);
        } else if (late || t->block_time[k] > t->period[k]) {
            gs_fifo_why(self, k, GS_FIFO_THEOREM_FITS, GS_FIFO_WHY_BLOCK_TIME);
        } else {
            gs_fifo_take(self, k, GS_FIFO_THEOREM_FITS, 0, gs_fifo_tail(self, k), self->beta);
        }
    }
}

/* Theorem P: U <= beta. */
static void theorem_p(gs_fifo_work_t *self)
{
    const gs_kernels_t *t = self->kernels;
    if (!gs_fifo_try(self, GS_FIFO_THEOREM_P, self->order == GS_FIFO_OVERLAP)) {
        return;
    }
    gs_fifo_shares(self);
    if (self->share > self->beta * self->scale) {
        gs_fifo_why_all(self, GS_FIFO_THEOREM_P, GS_FIFO_WHY_UTILIZATION);
        return;
    }
    int64_t longest = 0;
    for (int64_t k = 0; k < t->n; k++) {
        longest = t->block_time[k] > longest ? t->block_time[k] : longest;
    }
    int64_t busy = self->beta - 1 < self->m ? self->beta - 1 : self->m;
    for (int64_t k = 0; k < t->n; k++) {
        gs_wide_t numerator = gs_fifo_tail(self, k) + (gs_wide_t)busy * longest + self->work -
                              t->threads[k] * t->block_time[k];
        gs_fifo_take(self, k, GS_FIFO_THEOREM_P, 0, numerator, self->beta);
    }
}

typedef struct {
    int64_t time;
    int64_t width; /* threads of all blocks of a job */
} running_t;

static int by_time(const void *a, const void *b)
{
    int64_t x = ((const running_t *)a)->time, y = ((const running_t *)b)->time;
    return (x < y) - (x > y);
}

/* The most work that blocks on m threads have left: the longest ones first. */
static int residue(const gs_fifo_work_t *self, gs_env_t *env, gs_wide_t *most)
{
    const gs_kernels_t *t = self->kernels;
    running_t *running = gs_alloc(env, (size_t)t->n, sizeof *running);
    if (running == NULL) {
        return env->status;
    }
    for (int64_t k = 0; k < t->n; k++) {
        running[k] = (running_t){t->block_time[k], t->blocks[k] * t->threads[k]};
    }
    qsort(running, (size_t)t->n, sizeof *running, by_time);
    int64_t free = self->m;
    *most = 0;
    for (int64_t k = 0; k < t->n && free > 0; k++) {
        int64_t width = running[k].width < free ? running[k].width : free;
        *most += (gs_wide_t)width * running[k].time;
        free -= width;
    }
    gs_free(env, running);
    return GS_OK;
}

/* Theorem V3: utilization with stalls <= beta. A job at the head of the queue whose predecessor
 * runs stalls all threads but the b of its predecessor's last block, for c at most. */
static int theorem_v3(gs_fifo_work_t *self, gs_env_t *env)
{
    const gs_kernels_t *t = self->kernels;
    if (!gs_fifo_try(self, GS_FIFO_THEOREM_V3, self->order == GS_FIFO_STRICT)) {
        return GS_OK;
    }
    gs_fifo_shares(self);
    gs_wide_t work = 0, share = 0;
    for (int64_t k = 0; k < t->n; k++) {
        int64_t stalled = self->beta > t->threads[k] ? self->beta - t->threads[k] : 0;
        gs_wide_t both = gs_kernels_work(t, k) + (gs_wide_t)stalled * t->block_time[k], scaled;
        work += both;
        if (!gs_wide_mul(both, self->scale, &scaled) ||
            !gs_wide_add(share, gs_wide_ceil_div(scaled, t->period[k]), &share)) {
            self->overflow = true;
            gs_fifo_why_all(self, GS_FIFO_THEOREM_V3, GS_FIFO_WHY_CLOCK);
            return GS_OK;
        }
    }
    if (share > self->beta * self->scale) {
        gs_fifo_why_all(self, GS_FIFO_THEOREM_V3, GS_FIFO_WHY_UTILIZATION);
        return GS_OK;
    }
    gs_wide_t left = 0;
    int status = residue(self, env, &left);
    for (int64_t k = 0; k < t->n && status == GS_OK; k++) {
        gs_wide_t numerator =
            gs_fifo_tail(self, k) + left + work - t->threads[k] * t->block_time[k];
        gs_fifo_take(self, k, GS_FIFO_THEOREM_V3, 0, numerator, self->beta);
    }
    return status;
}

/* All theorems, with a coarse scale from the start or not. waits: false when nothing ever does. */
static int apply(gs_fifo_work_t *self, gs_env_t *env, bool coarse, bool waits)
{
    int64_t n = self->kernels->n;
    self->scale = 0;
    self->share = 0;
    self->coarse = coarse;
    self->overflow = false;
    self->changes = 0;
    memset(self->out, 0, (size_t)n * sizeof *self->out);
    for (int64_t k = 0; k < n; k++) {
        self->tasks[k] = (gs_fifo_task_t){.parts = GS_FIFO_OPEN, .refined = -1};
    }
    fits(self, waits);
    theorem_p(self);
    gs_fifo_v1_first(self);
    gs_fifo_a(self);
    int status = gs_fifo_v1_chain(self, env);
    status = status == GS_OK ? gs_fifo_v2(self, env) : status;
    status = status == GS_OK ? gs_fifo_a_refined(self, env) : status;
    return status == GS_OK ? theorem_v3(self, env) : status;
}

/* Whether one job, alone on the GPU, takes longer than its period. */
static bool is_long(const gs_kernels_t *t, int64_t k, int64_t m, int64_t sms)
{
    int64_t at_once = sms * (m / sms / t->threads[k]);
    int64_t waves = (t->blocks[k] - 1) / at_once + 1;
    return waves * t->block_time[k] > t->period[k];
}

/* What is certain about the tasks without a bound. More work than m threads can do piles up
 * somewhere: in strict order and with overlapping jobs it delays every task, in the others at least
 * one, which is known when it is the only one without a bound. */
static void set_status(gs_fifo_work_t *self, int64_t sms)
{
    const gs_kernels_t *t = self->kernels;
    int64_t open = 0;
    for (int64_t k = 0; k < t->n; k++) {
        open += self->tasks[k].parts == GS_FIFO_OPEN;
    }
    if (open == 0) {
        return;
    }
    gs_fifo_shares(self);
    /* Rounding up added less than one unit per task. */
    gs_wide_t certain = self->share - (self->coarse ? t->n : 0);
    bool overload = certain > self->m * self->scale;
    bool all = self->order == GS_FIFO_STRICT || self->order == GS_FIFO_OVERLAP;
    for (int64_t k = 0; k < t->n; k++) {
        if (self->tasks[k].parts != GS_FIFO_OPEN) {
            continue;
        }
        if (self->order != GS_FIFO_OVERLAP && is_long(t, k, self->m, sms)) {
            self->out[k].status = GS_FIFO_UNBOUNDED_LONG;
        } else if (overload && (all || open == 1)) {
            self->out[k].status = GS_FIFO_UNBOUNDED_LOAD;
        } else {
            self->out[k].status = GS_FIFO_UNKNOWN;
        }
    }
}

/* The bounds in lowest terms, or rounded up to a whole number where those are too long. */
static void set_fractions(gs_fifo_work_t *self)
{
    for (int64_t k = 0; k < self->kernels->n; k++) {
        const gs_fifo_task_t *task = &self->tasks[k];
        if (task->parts == GS_FIFO_OPEN) {
            continue;
        }
        gs_wide_t common = gs_wide_gcd(task->denominator, task->numerator);
        gs_wide_t denominator = task->denominator / common, numerator;
        gs_fifo_bound_t *out = &self->out[k];
        if (gs_wide_mul(denominator, task->whole, &numerator) &&
            gs_wide_add(numerator, task->numerator / common, &numerator) &&
            denominator <= INT64_MAX && numerator <= INT64_MAX) {
            out->numerator = (int64_t)numerator;
            out->denominator = (int64_t)denominator;
        } else {
            out->numerator =
                task->whole + (int64_t)gs_wide_ceil_div(task->numerator, task->denominator);
            out->denominator = 1;
        }
    }
}

static int check(gs_env_t *env, const gs_kernels_t *kernels, int64_t m, int64_t sms, int64_t beta,
                 int order)
{
    if (order < GS_FIFO_HARDWARE || order > GS_FIFO_OVERLAP) {
        return gs_fail(env, GS_ERR_VALUE, "order", -1, order, "there is no such order");
    }
    if (sms < 1 || sms > m || m % sms != 0) {
        return gs_fail(env, GS_ERR_VALUE, "sms", -1, sms, "must divide the number of threads");
    }
    if (beta < 0 || beta > m) {
        return gs_fail(env, GS_ERR_VALUE, "beta", -1, beta,
                       "no more threads can be busy than there are");
    }
    if (beta == 0 && order == GS_FIFO_OVERLAP) {
        return gs_fail(env, GS_ERR_VALUE, "beta", -1, beta,
                       "blocks can always have to wait where jobs overlap");
    }
    for (int64_t k = 0; k < kernels->n; k++) {
        if (kernels->threads[k] > m / sms) {
            return gs_fail(env, GS_ERR_VALUE, "threads", k, kernels->threads[k],
                           "a block is wider than an SM");
        }
    }
    return GS_OK;
}

int gs_fifo_bound(gs_env_t *env, const gs_kernels_t *kernels, int64_t m, int64_t sms, int64_t beta,
                  int order, int64_t theorems, gs_fifo_bound_t *bound)
{
    int status = check(env, kernels, m, sms, beta, order);
    if (status != GS_OK) {
        return status;
    }
    gs_fifo_work_t work = {.kernels = kernels,
                           .m = m,
                           /* Where no block ever waits, any number is busy whenever one does. */
                           .beta = beta == 0 ? m : beta,
                           .order = order,
                           .theorems = theorems,
                           .work = gs_kernels_work_sum(kernels),
                           .out = bound};
    work.tasks = gs_alloc(env, (size_t)kernels->n, sizeof *work.tasks);
    if (work.tasks == NULL) {
        return env->status;
    }
    status = apply(&work, env, false, beta != 0);
    if (status == GS_OK && work.overflow && !work.coarse) {
        status = apply(&work, env, true, beta != 0);
    }
    if (status == GS_OK) {
        set_status(&work, sms);
        set_fractions(&work);
    }
    gs_free(env, work.tasks);
    return status;
}
