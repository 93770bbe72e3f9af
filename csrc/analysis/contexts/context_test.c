/* Tests of tasks that share the GPU by contexts: memory, tasks by priority and core, fixed points.
 */
#include <string.h>

#include "analysis/common/recurrence.h"
#include "analysis/contexts/context_test.h"
#include "core/rational.h"

const char *const gs_analysis_contexts_mode_choices[] = {"suspend", "busy", NULL};
const char *const gs_analysis_contexts_fixed_point_choices[] = {"joint", "one_pass", NULL};
const char *const gs_analysis_contexts_variant_choices[] = {"sound", "paper", NULL};

int gs_analysis_contexts_test_init(gs_analysis_contexts_test_t *self, gs_context_t *ctx, int64_t n)
{
    memset(self, 0, sizeof *self);
    self->n = n;
    self->order = gs_alloc(ctx, (size_t)n, sizeof *self->order);
    self->task = gs_alloc(ctx, (size_t)n, sizeof *self->task);
    self->member = gs_alloc(ctx, (size_t)n, sizeof *self->member);
    self->first = gs_alloc(ctx, (size_t)n + 1, sizeof *self->first);
    self->scratch = gs_alloc(ctx, (size_t)n, 3 * sizeof *self->scratch);
    bool made = self->order != NULL && self->task != NULL && self->member != NULL;
    self->growing = gs_alloc(ctx, (size_t)n, 2 * sizeof *self->growing);
    made = made && self->first != NULL && self->scratch != NULL && self->growing != NULL;
    return made ? GS_OK : ctx->status;
}

void gs_analysis_contexts_test_free(gs_analysis_contexts_test_t *self, gs_context_t *ctx)
{
    gs_free(ctx, self->order);
    gs_free(ctx, self->task);
    gs_free(ctx, self->member);
    gs_free(ctx, self->first);
    gs_free(ctx, self->scratch);
    gs_free(ctx, self->growing);
    memset(self, 0, sizeof *self);
}

/* Start of a test ----------------------------------------------------------------------------- */

static int check_time(gs_context_t *ctx, const char *name, int64_t time)
{
    if (time < 0) {
        return gs_fail(ctx, GS_ERR_VALUE, name, -1, time, "a number of at least 0");
    }
    return time < GS_ANALYSIS_COMMON_LIMIT
               ? GS_OK
               : gs_fail(ctx, GS_ERR_OVERFLOW, name, -1, time, "a time below 2**60 - 1 ticks");
}

static int check_options(gs_context_t *ctx, const gs_analysis_contexts_options_t *options)
{
    if (options->mode < GS_ANALYSIS_CONTEXTS_SUSPEND || options->mode > GS_ANALYSIS_CONTEXTS_BUSY) {
        return gs_fail(ctx, GS_ERR_VALUE, "mode", -1, options->mode, "0 (suspend) or 1 (busy)");
    }
    if (options->fixed_point < GS_ANALYSIS_CONTEXTS_JOINT ||
        options->fixed_point > GS_ANALYSIS_CONTEXTS_DEADLINES) {
        return gs_fail(ctx, GS_ERR_VALUE, "fixed_point", -1, options->fixed_point,
                       "0 (joint), 1 (one pass), 2 (order-free) or 3 (deadlines)");
    }
    if (options->paper && options->fixed_point != GS_ANALYSIS_CONTEXTS_ONE_PASS) {
        return gs_fail(ctx, GS_ERR_VALUE, "fixed_point", -1, options->fixed_point,
                       "1 (one pass) for the printed equations");
    }
    int status = check_time(ctx, "context_switch", options->context_switch);
    return status == GS_OK ? check_time(ctx, "update_cost", options->update_cost) : status;
}

/* Collects the tasks of each core. `scratch` holds the core of each group, and its size. */
static void group_tasks(gs_analysis_contexts_test_t *self, const int64_t *core)
{
    int64_t *cores = self->scratch, *size = self->scratch + self->n;
    self->groups = 0;
    for (int64_t r = 0; r < self->n; r++) {
        int64_t group = 0, here = core[self->task[r].task];
        while (group < self->groups && cores[group] != here) {
            group++;
        }
        if (group == self->groups) {
            cores[group] = here;
            size[group] = 0;
            self->groups++;
        }
        self->task[r].group = group;
        self->task[r].place = size[group]++;
    }
    self->first[0] = 0;
    for (int64_t group = 0; group < self->groups; group++) {
        self->first[group + 1] = self->first[group] + size[group];
    }
    for (int64_t r = 0; r < self->n; r++) {
        self->member[self->first[self->task[r].group] + self->task[r].place] = r;
    }
}

int gs_analysis_contexts_test_start(gs_analysis_contexts_test_t *self, gs_context_t *ctx,
                                    const gs_host_tasks_t *hosts, const int64_t *core,
                                    const gs_analysis_contexts_options_t *options)
{
    int status;
    self->n = hosts->n;
    self->hosts = hosts;
    self->options = options;
    self->users = 0;
    if ((status = check_options(ctx, options)) != GS_OK ||
        (status = gs_analysis_common_check_and_sort(ctx, hosts, !options->paper, self->order)) !=
            GS_OK ||
        (status = gs_analysis_common_check_cores(ctx, hosts, core, options->cpus)) != GS_OK ||
        (status = gs_analysis_common_check_sms(ctx, options->sms)) != GS_OK) {
        return status;
    }
    for (int64_t r = 0; r < self->n; r++) {
        gs_analysis_contexts_task_t *t = &self->task[r];
        int64_t i = self->order[r];
        gs_analysis_common_sums_t sums = gs_analysis_common_sums(hosts, i, options->sms);
        t->task = i;
        t->period = hosts->period[i];
        t->deadline = hosts->deadline[i];
        t->jitter = gs_host_tasks_jitter(hosts, i);
        t->window = gs_host_tasks_window(hosts, i);
        t->response = options->fixed_point == GS_ANALYSIS_CONTEXTS_JOINT
                          ? t->jitter + sums.cpu + sums.gpu
                          : t->deadline;
        t->cpu = sums.cpu;
        t->copies = sums.copies;
        t->gpu = sums.gpu;
        t->kernels = sums.gpu - sums.copies;
        t->segments = sums.segments;
        t->rate = 1.0 / (double)t->period;
        t->crowded = false;
        self->users += t->segments > 0;
    }
    group_tasks(self, core);
    return GS_OK;
}

void gs_analysis_contexts_test_on_core(gs_analysis_contexts_task_t *task, int64_t work)
{
    task->on_core = work;
    task->share = (double)work * task->rate;
}

/* Finds the tasks of which more urgent ones take all of the core. Then no window suffices: N(w, R,
 * x, T) x >= w x / T, and these tasks alone need w. */
static int find_crowded(gs_analysis_contexts_test_t *self, gs_context_t *ctx)
{
    const double near = 1 - 1e-9;
    int64_t *work = self->scratch, *period = work + self->n, *rest = period + self->n;
    for (int64_t group = 0; group < self->groups; group++) {
        double load = 0;
        int64_t size = gs_analysis_contexts_test_size(self, group);
        for (int64_t place = 0; place < size; place++) {
            gs_analysis_contexts_task_t *t =
                &self->task[gs_analysis_contexts_test_at(self, group, place)];
            int sign = -1, status = GS_OK;
            if (load > near) {
                status = gs_rational_compare(ctx, work, period, place, 1, rest, &sign);
            }
            if (status != GS_OK) {
                return status;
            }
            t->crowded = sign >= 0;
            work[place] = t->on_core;
            period[place] = t->period;
            load += t->share;
        }
    }
    return GS_OK;
}

/* Fixed points -------------------------------------------------------------------------------- */

/* A lower bound of every solution of w = f(w) where f(w) >= own + load w; limit + 1 where it is
 * later than the limit, as with a load of 1. The margins cover the rounding of n terms. */
static int64_t least_by_load(const gs_analysis_contexts_test_t *self, double own, double load,
                             int64_t limit)
{
    load *= 1 - (double)(self->n + 16) * 0x1p-50;
    if (load <= 0) {
        return 1;
    }
    double least = load < 1 ? own / (1 - load) * (1 - 0x1p-40) : (double)GS_NEVER;
    return least > (double)limit ? limit + 1 : least > 1 ? (int64_t)least : 1;
}

/* A lower bound of the longest ready interval of a task, from the value of its right-hand side, in
 * which the jobs of windows longer by `more` count. */
static int64_t skip_piece(const gs_analysis_contexts_test_t *self,
                          const gs_analysis_contexts_task_t *task, int64_t value, int64_t more)
{
    gs_analysis_common_growth_t growth;
    gs_analysis_common_growth_start(&growth, value);
    for (int64_t place = 0; place < task->place; place++) {
        const gs_analysis_contexts_task_t *k =
            &self->task[gs_analysis_contexts_test_at(self, task->group, place)];
        const gs_analysis_contexts_count_t *count = &k->count[GS_ANALYSIS_CONTEXTS_COUNT_PIECE];
        gs_analysis_common_growth_add(&growth, 1, k->on_core, count->period, count->until - more);
    }
    return gs_analysis_common_growth_least(&growth, task->window);
}

int64_t gs_analysis_contexts_test_piece(gs_analysis_contexts_test_t *self, int64_t h, int64_t work,
                                        int64_t blocks, bool caps)
{
    enum { KIND = GS_ANALYSIS_CONTEXTS_COUNT_PIECE };
    const gs_analysis_contexts_task_t *task = &self->task[h];
    if (task->crowded) {
        return -1;
    }
    int64_t own = gs_analysis_common_saturating_add(work, blocks), least = own;
    const int64_t *higher = self->member + self->first[task->group];
    int64_t limit = task->window, more = work == 0; /* floor(v / T) + 1 = ceil((v + 1) / T) */
    double load = 0;
    for (int64_t place = 0; place < task->place; place++) {
        gs_analysis_contexts_task_t *k = &self->task[higher[place]];
        gs_analysis_contexts_count_start(k, KIND, k->on_core);
        load += k->share;
        least = gs_analysis_common_saturating_add(least, k->on_core); /* every count is positive */
    }
    double base = (double)own + (work == 0 ? load : 0); /* floor(v / T) + 1 >= (v + 1) / T */
    least = gs_analysis_common_max(least, least_by_load(self, base, load, limit));
    int64_t before = -1;
    for (int64_t step = 1; least != before && least <= limit; step++) {
        bool skips = step % GS_ANALYSIS_COMMON_GROWTH_STEPS == 0;
        before = skips ? skip_piece(self, task, least, more) : least;
        least = own;
        for (int64_t place = 0; place < task->place; place++) {
            gs_analysis_contexts_task_t *k = &self->task[higher[place]];
            least = gs_analysis_common_saturating_add(
                least, gs_analysis_contexts_count_work(k, KIND, before + more, k->on_core));
        }
    }
    for (int64_t place = 0; caps && least <= limit && place < task->place; place++) {
        gs_analysis_contexts_task_t *k = &self->task[higher[place]];
        k->cap = gs_analysis_common_saturating_add(k->cap, k->count[KIND].jobs);
    }
    return least <= limit ? least : -1;
}

/* The window from which on the fixed point is searched. */
static int64_t first_window(const gs_analysis_contexts_test_t *self,
                            const gs_analysis_contexts_task_t *t)
{
    bool joint = self->options->fixed_point == GS_ANALYSIS_CONTEXTS_JOINT;
    int64_t own = t->cpu + t->gpu, start = own;
    if (joint) { /* bounds only grow */
        start = t->response - t->jitter;
    }
    return gs_analysis_common_max(start, least_by_load(self, (double)own, self->load, t->window));
}

static int64_t evaluate(gs_analysis_contexts_test_t *self, const gs_analysis_contexts_side_t *side,
                        int64_t i, int64_t window)
{
    int64_t sum = 0;
    side->evaluate(self, i, window);
    for (int term = 0; term < GS_ANALYSIS_COMMON_TERMS; term++) {
        sum = gs_analysis_common_saturating_add(sum, self->terms[term]);
    }
    return sum;
}

/* A lower bound of the fixed point, from the value of the right-hand side at the last window. */
static int64_t skip_ahead(const gs_analysis_contexts_test_t *self, int64_t value, int64_t limit)
{
    gs_analysis_common_growth_t growth;
    gs_analysis_common_growth_start(&growth, value);
    for (int64_t k = 0; k < self->growing_count; k++) {
        const gs_analysis_contexts_growing_t *part = &self->growing[k];
        gs_analysis_common_growth_add(&growth, 1, part->work, part->count->period,
                                      part->count->until);
    }
    return gs_analysis_common_growth_least(&growth, limit);
}

/* The bound of task i, J more than the least window that is a fixed point; -1 if it would exceed
 * the deadline. The terms are those of that window or of the deadline. */
static int solve(gs_analysis_contexts_test_t *self, gs_context_t *ctx,
                 const gs_analysis_contexts_side_t *side, int64_t i, int64_t *bound)
{
    const gs_analysis_contexts_task_t *t = &self->task[i];
    memset(self->terms, 0, sizeof self->terms);
    self->load = 0;
    self->growing_count = 0;
    side->prepare(self, i);
    int64_t window = t->crowded ? t->window + 1 : first_window(self, t), value = 0;
    for (int64_t step = 1; window <= t->window; step++) {
        value = evaluate(self, side, i, window);
        if (value <= window) {
            *bound = t->jitter + value; /* value 0: there is nothing to do */
            return GS_OK;
        }
        bool skips = step % GS_ANALYSIS_COMMON_GROWTH_STEPS == 0;
        window = skips ? skip_ahead(self, value, t->window) : value;
        int status = gs_poll(ctx, 2 * self->n + 1);
        if (status != GS_OK) {
            return status;
        }
    }
    evaluate(self, side, i, t->window);
    *bound = -1;
    return GS_OK;
}

/* Records the failure of a task. */
static void fail(const gs_analysis_contexts_test_t *self, int64_t i,
                 gs_analysis_common_answer_t *answer)
{
    if (self->options->fixed_point == GS_ANALYSIS_CONTEXTS_JOINT) {
        gs_analysis_common_answer_start(answer, self->n);
    }
    answer->failed = self->task[i].task;
    answer->schedulable = false;
}

int gs_analysis_contexts_test_run(gs_analysis_contexts_test_t *self, gs_context_t *ctx,
                                  const gs_analysis_contexts_side_t *side,
                                  gs_analysis_common_answer_t *answer)
{
    bool joint = self->options->fixed_point == GS_ANALYSIS_CONTEXTS_JOINT,
         keeps = self->options->fixed_point >= GS_ANALYSIS_CONTEXTS_ORDER_FREE;
    int status = self->options->paper ? GS_OK : find_crowded(self, ctx);
    int64_t unchanged = 0; /* tasks that have been solved since a bound last changed */
    int64_t count = self->options->take > 0 ? self->options->take : self->n;
    int64_t first = self->options->take > 0 ? self->options->skip : 0, end = first + count;
    gs_analysis_common_answer_start(answer, self->n);
    for (int64_t i = first; status == GS_OK && unchanged < count; i = i + 1 < end ? i + 1 : first) {
        gs_analysis_contexts_task_t *t = &self->task[i];
        int64_t bound;
        status = solve(self, ctx, side, i, &bound);
        if (status == GS_OK) { /* a piece may take as long */
            status = gs_poll(ctx, self->n * (1 + t->segments));
        }
        if (status != GS_OK) {
            return status;
        }
        if (bound < 0) {
            fail(self, i, answer);
        }
        answer->response[t->task] = bound;
        self->terms[GS_ANALYSIS_COMMON_RELEASE] = t->jitter;
        memcpy(answer->terms + t->task * GS_ANALYSIS_COMMON_TERMS, self->terms, sizeof self->terms);
        if (bound < 0) {
            return GS_OK;
        }
        unchanged = joint && bound != t->response ? 1 : unchanged + 1;
        if (!keeps && bound != t->response) {
            t->response = bound;
            if (side->change != NULL) {
                side->change(self, i);
            }
        }
    }
    return status;
}
