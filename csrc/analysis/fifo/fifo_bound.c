/* Least response-time bound over all theorems, with theorems P and V3 and the sets in which no
 * block waits. */
#include "analysis/fifo/fifo_bound.h"

#include "analysis/fifo/theorem_state.h"

#include <stdlib.h>
#include <string.h>

/* No block ever waits for threads. A job then ends in c, which has to be at most the period; in the
 * strict order a task with c > T delays all tasks. */
static void theorem_fits(gs_analysis_fifo_state_t *self, bool waits)
{
    const gs_kernel_tasks_t *t = self->kernels;
    if (!gs_analysis_fifo_is_selected(self, GS_ANALYSIS_FIFO_THEOREM_FITS,
                                      self->order != GS_FIFO_ORDER_OVERLAP)) {
        return;
    }
    bool late = false;
    for (int64_t k = 0; k < t->n; k++) {
        late = late || (self->order == GS_FIFO_ORDER_STRICT && t->block_time[k] > t->period[k]);
    }
    for (int64_t k = 0; k < t->n; k++) {
        if (waits) {
            gs_analysis_fifo_set_reason(self, k, GS_ANALYSIS_FIFO_THEOREM_FITS,
                                        GS_ANALYSIS_FIFO_REASON_WAITS);
        } else if (late || t->block_time[k] > t->period[k]) {
            gs_analysis_fifo_set_reason(self, k, GS_ANALYSIS_FIFO_THEOREM_FITS,
                                        GS_ANALYSIS_FIFO_REASON_BLOCK_TIME);
        } else {
            gs_analysis_fifo_record_bound(self, k, GS_ANALYSIS_FIFO_THEOREM_FITS, 0,
                                          gs_analysis_fifo_scaled_block_time(self, k), self->beta);
        }
    }
}

/* Theorem P: U <= beta. */
static void theorem_p(gs_analysis_fifo_state_t *self)
{
    const gs_kernel_tasks_t *t = self->kernels;
    if (!gs_analysis_fifo_is_selected(self, GS_ANALYSIS_FIFO_THEOREM_P,
                                      self->order == GS_FIFO_ORDER_OVERLAP)) {
        return;
    }
    gs_analysis_fifo_set_utilizations(self);
    if (self->utilization > self->beta * self->scale) {
        gs_analysis_fifo_set_reason_all(self, GS_ANALYSIS_FIFO_THEOREM_P,
                                        GS_ANALYSIS_FIFO_REASON_UTILIZATION);
        return;
    }
    int64_t longest = 0;
    for (int64_t k = 0; k < t->n; k++) {
        longest = t->block_time[k] > longest ? t->block_time[k] : longest;
    }
    int64_t busy = self->beta - 1 < self->m ? self->beta - 1 : self->m;
    for (int64_t k = 0; k < t->n; k++) {
        gs_int128_t numerator = gs_analysis_fifo_scaled_block_time(self, k) +
                                (gs_int128_t)busy * longest + self->work -
                                t->threads[k] * t->block_time[k];
        gs_analysis_fifo_record_bound(self, k, GS_ANALYSIS_FIFO_THEOREM_P, 0, numerator,
                                      self->beta);
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

/* The most work left of blocks that occupy at most m threads: the longest blocks first. */
static int remaining_work(const gs_analysis_fifo_state_t *self, gs_context_t *ctx,
                          gs_int128_t *most)
{
    const gs_kernel_tasks_t *t = self->kernels;
    running_t *running = gs_alloc(ctx, (size_t)t->n, sizeof *running);
    if (running == NULL) {
        return ctx->status;
    }
    for (int64_t k = 0; k < t->n; k++) {
        running[k] = (running_t){t->block_time[k], t->blocks[k] * t->threads[k]};
    }
    qsort(running, (size_t)t->n, sizeof *running, by_time);
    int64_t free = self->m;
    *most = 0;
    for (int64_t k = 0; k < t->n && free > 0; k++) {
        int64_t width = running[k].width < free ? running[k].width : free;
        *most += (gs_int128_t)width * running[k].time;
        free -= width;
    }
    gs_free(ctx, running);
    return GS_OK;
}

/* Theorem V3: utilization with stalls <= beta. A job at the head of the queue whose predecessor
 * runs stalls all threads but the b of the last block of its predecessor, for at most c. */
static int theorem_v3(gs_analysis_fifo_state_t *self, gs_context_t *ctx)
{
    const gs_kernel_tasks_t *t = self->kernels;
    if (!gs_analysis_fifo_is_selected(self, GS_ANALYSIS_FIFO_THEOREM_V3,
                                      self->order == GS_FIFO_ORDER_STRICT)) {
        return GS_OK;
    }
    gs_analysis_fifo_set_utilizations(self);
    gs_int128_t work = 0, utilization = 0;
    for (int64_t k = 0; k < t->n; k++) {
        int64_t stalled = self->beta > t->threads[k] ? self->beta - t->threads[k] : 0;
        gs_int128_t both = gs_kernel_tasks_work(t, k) + (gs_int128_t)stalled * t->block_time[k],
                    scaled;
        work += both;
        if (!gs_int128_mul(both, self->scale, &scaled) ||
            !gs_int128_add(utilization, gs_int128_ceil_div(scaled, t->period[k]), &utilization)) {
            self->overflow |= 1 << GS_ANALYSIS_FIFO_THEOREM_V3;
            gs_analysis_fifo_set_reason_all(self, GS_ANALYSIS_FIFO_THEOREM_V3,
                                            GS_ANALYSIS_FIFO_REASON_OVERFLOW);
            return GS_OK;
        }
    }
    if (utilization > self->beta * self->scale) {
        gs_analysis_fifo_set_reason_all(self, GS_ANALYSIS_FIFO_THEOREM_V3,
                                        GS_ANALYSIS_FIFO_REASON_UTILIZATION);
        return GS_OK;
    }
    gs_int128_t left = 0;
    int status = remaining_work(self, ctx, &left);
    for (int64_t k = 0; k < t->n && status == GS_OK; k++) {
        gs_int128_t numerator = gs_analysis_fifo_scaled_block_time(self, k) + left + work -
                                t->threads[k] * t->block_time[k];
        gs_analysis_fifo_record_bound(self, k, GS_ANALYSIS_FIFO_THEOREM_V3, 0, numerator,
                                      self->beta);
    }
    return status;
}

/* One pass over the theorems. waits: whether a block may ever wait. */
static int apply(gs_analysis_fifo_state_t *self, gs_context_t *ctx, bool waits)
{
    theorem_fits(self, waits);
    theorem_p(self);
    gs_analysis_fifo_theorem_v1_first(self);
    gs_analysis_fifo_theorem_a(self);
    int status = gs_analysis_fifo_theorem_v1_chain(self, ctx);
    status = status == GS_OK ? gs_analysis_fifo_theorem_a_single(self, ctx) : status;
    status = status == GS_OK ? gs_analysis_fifo_theorem_v2(self, ctx) : status;
    status = status == GS_OK ? gs_analysis_fifo_theorem_a_refined(self, ctx) : status;
    return status == GS_OK ? theorem_v3(self, ctx) : status;
}

/* A second pass with a coarse scale, for the theorems whose numbers overflowed with the exact one
 * and those that start from them. Bounds already found stay. */
static int apply_coarse(gs_analysis_fifo_state_t *self, gs_context_t *ctx, bool waits)
{
    int64_t again = self->overflow;
    if ((again & 1 << GS_ANALYSIS_FIFO_THEOREM_A) != 0) {
        again |= 1 << GS_ANALYSIS_FIFO_THEOREM_V1_CHAIN | 1 << GS_ANALYSIS_FIFO_THEOREM_A_REFINED;
    }
    if ((again & (1 << GS_ANALYSIS_FIFO_THEOREM_V2 | 1 << GS_ANALYSIS_FIFO_THEOREM_A_SINGLE)) !=
        0) {
        again |= 1 << GS_ANALYSIS_FIFO_THEOREM_A_REFINED;
    }
    self->pass = again;
    self->coarse = true;
    self->scale = 0;
    self->utilization = 0;
    for (int64_t k = 0; k < self->kernels->n; k++) {
        self->tasks[k].refined = -1;
    }
    return apply(self, ctx, waits);
}

/* Whether one job alone on the GPU takes longer than its period. */
static bool is_long(const gs_kernel_tasks_t *t, int64_t k, int64_t m, int64_t sms)
{
    int64_t at_once = sms * (m / sms / t->threads[k]);
    int64_t waves = (t->blocks[k] - 1) / at_once + 1;
    return waves * t->block_time[k] > t->period[k];
}

/* Sets the status of the tasks without a bound. Work in excess of m threads accumulates: in strict
 * order and with overlapping jobs it delays every task, in the other orders at least one, which is
 * known when only one has no bound. */
static void set_status(gs_analysis_fifo_state_t *self)
{
    const gs_kernel_tasks_t *t = self->kernels;
    int64_t open = 0;
    for (int64_t k = 0; k < t->n; k++) {
        open += self->tasks[k].parts == GS_ANALYSIS_FIFO_NO_BOUND;
    }
    if (open == 0) {
        return;
    }
    gs_analysis_fifo_set_utilizations(self);
    /* Rounding up added less than one unit per task. */
    gs_int128_t certain = self->utilization - (self->coarse ? t->n : 0);
    bool overload = certain > self->m * self->scale;
    bool all = self->order == GS_FIFO_ORDER_STRICT || self->order == GS_FIFO_ORDER_OVERLAP;
    for (int64_t k = 0; k < t->n; k++) {
        if (self->tasks[k].parts != GS_ANALYSIS_FIFO_NO_BOUND) {
            continue;
        }
        if (self->order != GS_FIFO_ORDER_OVERLAP && is_long(t, k, self->m, self->sms)) {
            self->out[k].status = GS_ANALYSIS_FIFO_UNBOUNDED_LONG;
        } else if (overload && (all || open == 1)) {
            self->out[k].status = GS_ANALYSIS_FIFO_UNBOUNDED_LOAD;
        } else {
            self->out[k].status = GS_ANALYSIS_FIFO_UNKNOWN;
        }
    }
}

/* Writes the bounds in lowest terms, rounded up to whole ticks where the terms exceed 63 bits. */
static void set_fractions(gs_analysis_fifo_state_t *self)
{
    for (int64_t k = 0; k < self->kernels->n; k++) {
        const gs_analysis_fifo_task_t *task = &self->tasks[k];
        if (task->parts == GS_ANALYSIS_FIFO_NO_BOUND) {
            continue;
        }
        gs_int128_t common = gs_int128_gcd(task->denominator, task->numerator);
        gs_int128_t denominator = task->denominator / common, numerator;
        gs_analysis_fifo_bound_t *out = &self->out[k];
        if (gs_int128_mul(denominator, task->whole, &numerator) &&
            gs_int128_add(numerator, task->numerator / common, &numerator) &&
            denominator <= INT64_MAX && numerator <= INT64_MAX) {
            out->numerator = (int64_t)numerator;
            out->denominator = (int64_t)denominator;
        } else {
            out->numerator =
                task->whole + (int64_t)gs_int128_ceil_div(task->numerator, task->denominator);
            out->denominator = 1;
        }
    }
}

static int check(gs_context_t *ctx, const gs_kernel_tasks_t *kernels, int64_t m, int64_t sms,
                 int64_t beta, int order)
{
    if (order < GS_FIFO_ORDER_HARDWARE || order > GS_FIFO_ORDER_OVERLAP) {
        return gs_fail(ctx, GS_ERR_VALUE, "order", -1, order,
                       "0 (hardware), 1 (release), 2 (strict) or 3 (overlap)");
    }
    if (sms < 1 || sms > m || m % sms != 0) {
        return gs_fail(ctx, GS_ERR_VALUE, "sms", -1, sms, "a divisor of the number of threads");
    }
    if (beta < 0 || beta > m) {
        return gs_fail(ctx, GS_ERR_VALUE, "beta", -1, beta, "0 to the number of threads");
    }
    if (beta == 0 && order == GS_FIFO_ORDER_OVERLAP) {
        return gs_fail(
            ctx, GS_ERR_VALUE, "beta", -1, beta,
            "a positive number of threads: with overlapping jobs blocks may have to wait");
    }
    for (int64_t k = 0; k < kernels->n; k++) {
        if (kernels->threads[k] > m / sms) {
            return gs_fail(ctx, GS_ERR_VALUE, "threads", k, kernels->threads[k],
                           "at most as many threads per block as an SM has");
        }
    }
    return GS_OK;
}

int gs_analysis_fifo_bound(gs_context_t *ctx, const gs_kernel_tasks_t *kernels, int64_t m,
                           int64_t sms, int64_t beta, int order, int64_t theorems,
                           gs_analysis_fifo_bound_t *bound)
{
    int status = check(ctx, kernels, m, sms, beta, order);
    if (status != GS_OK) {
        return status;
    }
    gs_analysis_fifo_state_t state = {
        .kernels = kernels,
        .m = m,
        .sms = sms,
        /* If no block ever waits, any number of threads is a valid beta. */
        .beta = beta == 0 ? m : beta,
        .order = order,
        .theorems = theorems,
        .pass = -1,
        .work = gs_kernel_tasks_work_sum(kernels),
        .out = bound};
    state.tasks = gs_alloc(ctx, (size_t)kernels->n, sizeof *state.tasks);
    if (state.tasks == NULL) {
        return ctx->status;
    }
    memset(bound, 0, (size_t)kernels->n * sizeof *bound);
    for (int64_t k = 0; k < kernels->n; k++) {
        state.tasks[k] =
            (gs_analysis_fifo_task_t){.parts = GS_ANALYSIS_FIFO_NO_BOUND, .refined = -1};
    }
    status = apply(&state, ctx, beta != 0);
    if (status == GS_OK && state.overflow != 0 && !state.coarse) {
        status = apply_coarse(&state, ctx, beta != 0);
    }
    if (status == GS_OK) {
        set_status(&state);
        set_fractions(&state);
    }
    gs_free(ctx, state.tasks);
    return status;
}

static const char *const FIFO_BOUND_ORDER[] = {"hardware", "release", "strict", "overlap", NULL};
static const char *const FIFO_BOUND_SATURATION[] = {"exact", "paper", NULL};
static const gs_method_option_t FIFO_BOUND_OPTIONS[] = {
    {"order", "choice", FIFO_BOUND_ORDER, "hardware", "interpretation of FIFO order"},
    {"saturation", "choice", FIFO_BOUND_SATURATION, "exact",
     "minimum of busy threads while a block waits: exact, or the paper's bound"},
    {"theorems", "data", NULL, NULL, "the theorems that are used; default: all that apply"},
};

const gs_method_t gs_analysis_fifo_bound_method = {
    .name = "fifo_bound",
    .model = "KernelTasks",
    .function = "analysis.fifo_bound",
    .claim = "sufficient",
    .source = "[ECRTS17]; theorems proved in notebook 02",
    .summary = "Response-time bounds of kernels in one stream per task, with blocks started in "
               "FIFO order.",
    .options = FIFO_BOUND_OPTIONS,
    .option_count = sizeof FIFO_BOUND_OPTIONS / sizeof *FIFO_BOUND_OPTIONS,
};

const gs_method_t gs_analysis_fifo_limit_method = {
    .name = "fifo_limit",
    .model = "KernelTasks",
    .function = "analysis.fifo_limit",
    .claim = "necessary",
    .source = "[ECRTS17], Theorem 1",
    .summary = "Utilization limit of the paper; rejects utilizations above the number of threads.",
};
