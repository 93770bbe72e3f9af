/* Response-time test for GCAPS. */
#include <stdlib.h>

#include "analysis/contexts/gcaps.h"
#include "analysis/contexts/gcaps_paper.h"

/* Counts of jobs: of on_core; of `local` or `remote`; of `hold`; of jobs with updates. */
enum { CORE = 0, GPU = 1, HOLD = 2, UPDATE = 3 };

static int64_t times(int64_t a, int64_t b)
{
    return gs_analysis_common_saturating_mul(a, b);
}

static int64_t plus(int64_t a, int64_t b)
{
    return gs_analysis_common_saturating_add(a, b);
}

static int64_t work(gs_analysis_contexts_task_t *t, int kind, int64_t window, int64_t each)
{
    return gs_analysis_contexts_count_work(t, kind, window, each);
}

/* A switch to another context; 0 with one user of the GPU. */
static int64_t switching(const gs_analysis_contexts_test_t *self)
{
    return self->users > 1 ? self->options->context_switch : 0;
}

/* Updates and switches of a job. */
static int64_t costs(const gs_analysis_contexts_test_t *self, const gs_analysis_contexts_task_t *t,
                     int64_t updates, int64_t switches)
{
    return plus(times(times(updates, t->segments), self->options->update_cost),
                times(times(switches, t->segments), switching(self)));
}

/* The last instant at which a job of an owner can delay others, after its arrival. */
static int64_t until(const gs_analysis_contexts_task_t *t)
{
    return plus(t->response, t->back);
}

/* The same after its release. */
static int64_t at_most(const gs_analysis_contexts_task_t *t)
{
    return until(t) - t->jitter;
}

/* Starts a count of jobs that hold the GPU: N(w, R + back, work, T). */
static void count_holds(gs_analysis_contexts_task_t *t, int kind, int64_t work)
{
    gs_analysis_contexts_count_start(t, kind, work);
    t->count[kind].shift = work < until(t) ? until(t) - work : 0;
}

/* Updates of all jobs in a window. */
static int64_t updates(gs_analysis_contexts_task_t *t, int64_t window)
{
    return work(t, UPDATE, window, 2 * t->segments);
}

static gs_analysis_contexts_task_t *at(const gs_analysis_contexts_test_t *self, int64_t group,
                                       int64_t place)
{
    return &self->task[gs_analysis_contexts_test_at(self, group, place)];
}

/* Users of the GPU below a task on its core. */
static int64_t lower_users(const gs_analysis_contexts_test_t *self,
                           const gs_analysis_contexts_task_t *t)
{
    int64_t count = 0, size = gs_analysis_contexts_test_size(self, t->group);
    for (int64_t place = t->place + 1; place < size; place++) {
        count += at(self, t->group, place)->segments > 0;
    }
    return count;
}

static int64_t add_wait(gs_analysis_contexts_test_t *self, int64_t h, int64_t copy, int64_t blocks,
                        int64_t hold)
{
    int64_t piece = gs_analysis_contexts_test_piece(self, h, copy, blocks, false);
    return piece < 0 ? GS_ANALYSIS_COMMON_LIMIT : plus(hold, piece - copy);
}

/* H of a task: all that its own ready intervals make of it, or the time from its release to the end
 * of the last switch. */
static int64_t hold_of(gs_analysis_contexts_test_t *self, int64_t h)
{
    gs_analysis_contexts_task_t *t = &self->task[h];
    if (t->hold_is_known) {
        return t->hold;
    }
    int64_t eps = self->options->update_cost, blocks = times(lower_users(self, t), eps);
    int64_t hold = plus(t->gpu, costs(self, t, 3, 2));
    for (int64_t j = 0; j < t->segments && hold < at_most(t); j++) {
        int64_t in = gs_host_tasks_copy_in(self->hosts, t->task, j);
        int64_t out = gs_host_tasks_copy_out(self->hosts, t->task, j);
        if (in > 0) {
            hold = add_wait(self, h, in, blocks, hold);
        }
        hold = add_wait(self, h, out, blocks, hold);
    }
    t->hold = gs_analysis_contexts_least(hold, at_most(t));
    t->hold_is_known = true;
    return t->hold;
}

/* The holds of a task and of those below it on its core depend on its bound. */
static void change(gs_analysis_contexts_test_t *self, int64_t i)
{
    const gs_analysis_contexts_task_t *t = &self->task[i];
    int64_t size = gs_analysis_contexts_test_size(self, t->group);
    for (int64_t place = t->place; place < size; place++) {
        at(self, t->group, place)->hold_is_known = false;
    }
}

/* Other cores --------------------------------------------------------------------------------- */

/* Whether task h is in the set S for a task that needs `level`. */
static bool is_above(const gs_analysis_contexts_task_t *h, int64_t level)
{
    return h->segments > 0 && h->level < level;
}

/* Number of the most urgent tasks of a core that the bound by the core includes: up to low. */
static int64_t lowest_above(const gs_analysis_contexts_test_t *self, int64_t group, int64_t i,
                            int64_t level)
{
    bool by_rank = self->options->fixed_point == GS_ANALYSIS_CONTEXTS_ORDER_FREE;
    int64_t size = gs_analysis_contexts_test_size(self, group), low = 0;
    bool any = false;
    for (int64_t place = 0; place < size; place++) {
        int64_t h = gs_analysis_contexts_test_at(self, group, place);
        bool above = is_above(&self->task[h], level);
        any = any || above;
        low = above || (by_rank && h < i) ? place + 1 : low;
    }
    return any ? low : 0;
}

/* Counts for the tasks of another core; the first one keeps `low`. */
static void prepare_core(gs_analysis_contexts_test_t *self, int64_t group, int64_t i, int64_t level)
{
    bool busy = self->options->mode == GS_ANALYSIS_CONTEXTS_BUSY,
         all = self->options->fixed_point == GS_ANALYSIS_CONTEXTS_ORDER_FREE;
    int64_t size = gs_analysis_contexts_test_size(self, group);
    int64_t low = at(self, group, 0)->low = lowest_above(self, group, i, level);
    double holds = 0, busy_core = 0;
    for (int64_t place = 0; place < size && low > 0; place++) {
        gs_analysis_contexts_task_t *h = at(self, group, place);
        h->above = place < low && is_above(h, level);
        if (h->above) {
            int64_t hold = busy ? at_most(h) : hold_of(self, (int64_t)(h - self->task));
            h->hold = hold;
            h->remote =
                busy ? h->on_core
                     : plus(h->gpu + (place + 1 < low || all ? h->cpu : 0), costs(self, h, 3, 2));
            count_holds(h, HOLD, hold);
            count_holds(h, GPU, h->remote);
            gs_analysis_contexts_count_start(h, UPDATE, 0);
            holds += (double)hold * h->rate;
            busy_core += (double)h->remote * h->rate;
        } else if (place < low) {
            gs_analysis_contexts_count_start(h, CORE, h->on_core);
            busy_core += h->share;
        } else if (h->segments > 0) {
            gs_analysis_contexts_count_start(h, UPDATE, 0);
        }
    }
    self->load += holds < busy_core ? holds : busy_core;
}

static int64_t evaluate_core(gs_analysis_contexts_test_t *self, int64_t group, int64_t window)
{
    int64_t low = at(self, group, 0)->low, size = gs_analysis_contexts_test_size(self, group);
    int64_t holds = 0, core = 0, begun = 0;
    for (int64_t place = 0; place < size && low > 0; place++) {
        gs_analysis_contexts_task_t *h = at(self, group, place);
        if (place >= low) {
            if (h->segments > 0) {
                int64_t most = gs_analysis_contexts_least(begun, updates(h, window));
                core = plus(core, times(self->options->update_cost, most));
            }
        } else if (h->above) {
            holds = plus(holds, work(h, HOLD, window, h->hold));
            core = plus(core, work(h, GPU, window, h->remote));
            begun = plus(begun, updates(h, window));
        } else {
            core = plus(core, work(h, CORE, window, h->on_core));
        }
    }
    return gs_analysis_contexts_least(holds, core);
}

static void prepare_cores(gs_analysis_contexts_test_t *self, int64_t i, int64_t level)
{
    for (int64_t group = 0; group < self->groups; group++) {
        if (group != self->task[i].group) {
            prepare_core(self, group, i, level);
        }
    }
}

static int64_t evaluate_cores(gs_analysis_contexts_test_t *self, int64_t i, int64_t window)
{
    int64_t sum = 0;
    for (int64_t group = 0; group < self->groups; group++) {
        if (group != self->task[i].group) {
            sum = plus(sum, evaluate_core(self, group, window));
        }
    }
    return sum;
}

/* Whether the updates of task k stop the GPU when i waits for it, and are not charged otherwise.
 * Their counts may be in use for the cores: they are the same. */
static bool stalls(const gs_analysis_contexts_test_t *self, int64_t i, int64_t k)
{
    const gs_analysis_contexts_task_t *t = &self->task[i], *other = &self->task[k];
    bool charged = other->group == t->group && k <= i;
    bool below = self->options->mode == GS_ANALYSIS_CONTEXTS_BUSY || other->level > t->level;
    return self->options->stall && other->segments > 0 && !charged && below;
}

static void prepare_stall(gs_analysis_contexts_test_t *self, int64_t i)
{
    for (int64_t k = 0; k < self->n; k++) {
        if (stalls(self, i, k)) {
            gs_analysis_contexts_count_start(&self->task[k], UPDATE, 0);
        }
    }
}

static int64_t evaluate_stall(gs_analysis_contexts_test_t *self, int64_t i, int64_t window)
{
    int64_t sum = 0;
    for (int64_t k = 0; k < self->n && self->options->stall; k++) {
        if (stalls(self, i, k)) {
            sum = plus(sum, updates(&self->task[k], window));
        }
    }
    return times(self->options->update_cost, sum);
}

/* Suspend ------------------------------------------------------------------------------------- */

/* The ready intervals of a job of i: caps of the jobs of more urgent tasks, for B. A task without
 * GPU segments has one, and A says the same of it. */
static void find_caps(gs_analysis_contexts_test_t *self, int64_t i)
{
    const gs_analysis_contexts_task_t *t = &self->task[i];
    const int64_t *cpu = gs_host_tasks_cpu(self->hosts, t->task);
    int64_t blocks = times(lower_users(self, t), self->options->update_cost);
    self->capped = t->place > 0 && t->segments > 0;
    for (int64_t place = 0; place < t->place; place++) {
        at(self, t->group, place)->cap = 0;
    }
    for (int64_t j = 0; j <= t->segments && self->capped; j++) {
        int64_t in = 0, out = 0;
        bool last = j == t->segments;
        if (!last) {
            in = gs_host_tasks_copy_in(self->hosts, t->task, j);
            out = gs_host_tasks_copy_out(self->hosts, t->task, j);
        }
        self->capped =
            ((last && cpu[j] == 0) ||
             gs_analysis_contexts_test_piece(self, i, cpu[j], blocks, true) >= 0) &&
            (in == 0 || gs_analysis_contexts_test_piece(self, i, in, blocks, true) >= 0) &&
            (last || gs_analysis_contexts_test_piece(self, i, out, blocks, true) >= 0);
    }
}

static void prepare_suspend(gs_analysis_contexts_test_t *self, int64_t i)
{
    const gs_analysis_contexts_task_t *t = &self->task[i];
    int64_t size = gs_analysis_contexts_test_size(self, t->group);
    double open = 0, capped = 0; /* A and B, where both count */
    find_caps(self, i);
    for (int64_t place = 0; place < t->place; place++) {
        gs_analysis_contexts_task_t *h = at(self, t->group, place);
        gs_analysis_contexts_count_higher(t, h, CORE);
        bool both_use = t->segments > 0 && h->segments > 0;
        int64_t local = both_use ? h->local : 0;
        int64_t hold = both_use && self->capped ? hold_of(self, (int64_t)(h - self->task)) : 0;
        count_holds(h, GPU, local);
        count_holds(h, HOLD, hold);
        if (self->capped) {
            open += h->share + (double)local * h->rate;
            capped += (double)hold * h->rate;
        } else {
            gs_analysis_contexts_test_grows(self, h, CORE, h->on_core);
            if (both_use) {
                gs_analysis_contexts_test_grows(self, h, GPU, local);
            }
        }
    }
    self->load += capped < open ? capped : open;
    for (int64_t place = 0; place < size; place++) {
        gs_analysis_contexts_task_t *k = at(self, t->group, place);
        gs_analysis_contexts_count_start(k, UPDATE, 0);
        if (place > t->place) {
            gs_analysis_contexts_count_start(k, CORE, k->on_core);
        }
    }
    if (t->segments > 0) {
        prepare_cores(self, i, t->level);
        prepare_stall(self, i);
    }
    self->terms[GS_ANALYSIS_COMMON_OWN] = plus(t->cpu + t->gpu, costs(self, t, 4, 1));
}

/* Delay by the tasks of the core: more urgent ones, their kernels, updates of less urgent ones. */
typedef struct {
    int64_t higher, request, lower;
} local_t;

static int64_t total(const local_t *self)
{
    return plus(self->higher, plus(self->request, self->lower));
}

/* A, or B with `capped`. */
static local_t local_work(gs_analysis_contexts_test_t *self, int64_t i, int64_t window, bool capped)
{
    const gs_analysis_contexts_task_t *t = &self->task[i];
    int64_t size = gs_analysis_contexts_test_size(self, t->group), often = t->ready;
    local_t sum = {0, 0, 0};
    for (int64_t place = 0; place < t->place; place++) {
        gs_analysis_contexts_task_t *h = at(self, t->group, place);
        int64_t jobs = gs_analysis_contexts_count_jobs(&h->count[CORE], window);
        jobs = capped ? gs_analysis_contexts_least(jobs, h->cap) : jobs;
        sum.higher = plus(sum.higher, times(jobs, h->on_core));
        if (t->segments > 0 && h->segments > 0) {
            sum.request = plus(sum.request, capped ? work(h, HOLD, window, h->hold)
                                                   : work(h, GPU, window, h->local));
            often = capped ? often : plus(often, updates(h, window));
        }
    }
    for (int64_t place = t->place + 1; place < size; place++) {
        gs_analysis_contexts_task_t *l = at(self, t->group, place);
        if (l->segments > 0) {
            int64_t most = gs_analysis_contexts_least(often, updates(l, window));
            most = gs_analysis_contexts_least(times(self->options->update_cost, most),
                                              work(l, CORE, window, l->on_core));
            sum.lower = plus(sum.lower, most);
        }
    }
    return sum;
}

static void evaluate_suspend(gs_analysis_contexts_test_t *self, int64_t i, int64_t window)
{
    const gs_analysis_contexts_task_t *t = &self->task[i];
    local_t best = local_work(self, i, window, false);
    if (self->capped) {
        local_t capped = local_work(self, i, window, true);
        best = total(&capped) < total(&best) ? capped : best;
    }
    if (t->segments > 0) {
        best.request = plus(best.request, evaluate_cores(self, i, window));
        best.request = plus(best.request, evaluate_stall(self, i, window));
    }
    self->terms[GS_ANALYSIS_COMMON_HIGHER] = best.higher;
    self->terms[GS_ANALYSIS_COMMON_REQUEST] = best.request;
    self->terms[GS_ANALYSIS_COMMON_LOWER] = best.lower;
}

/* Busy ---------------------------------------------------------------------------------------- */

/* Whether i or a more urgent task of its core uses the GPU; *level: the lowest GPU priority among
 * them, for ORDER_FREE that of i. */
static bool find_level(const gs_analysis_contexts_test_t *self, int64_t i, int64_t *level)
{
    const gs_analysis_contexts_task_t *t = &self->task[i];
    bool any = false;
    for (int64_t place = 0; place <= t->place; place++) {
        const gs_analysis_contexts_task_t *h = at(self, t->group, place);
        if (h->segments > 0) { /* GPU priorities agree with the order of the core */
            *level = h->level;
            any = true;
        }
    }
    if (self->options->fixed_point == GS_ANALYSIS_CONTEXTS_ORDER_FREE) {
        *level = t->level;
    }
    return any;
}

/* Whether the GPU can be switching back to a task of another core, after a segment of a more urgent
 * task of this core, when the window begins. */
static bool carries(const gs_analysis_contexts_test_t *self, int64_t i)
{
    const gs_analysis_contexts_task_t *t = &self->task[i];
    bool local = false, remote = false;
    for (int64_t place = 0; place < t->place; place++) {
        local = local || at(self, t->group, place)->segments > 0;
    }
    for (int64_t group = 0; group < self->groups; group++) {
        remote = remote || (group != t->group && at(self, group, 0)->low > 0);
    }
    return local && remote;
}

static void prepare_busy(gs_analysis_contexts_test_t *self, int64_t i)
{
    const gs_analysis_contexts_task_t *t = &self->task[i];
    int64_t level = 0;
    for (int64_t place = 0; place < t->place; place++) {
        gs_analysis_contexts_task_t *h = at(self, t->group, place);
        gs_analysis_contexts_count_releases(h, CORE);
        gs_analysis_contexts_test_grows(self, h, CORE, h->on_core);
    }
    self->crosses = find_level(self, i, &level);
    if (self->crosses) {
        prepare_cores(self, i, level);
        prepare_stall(self, i);
    }
    self->carried = self->crosses && carries(self, i) ? switching(self) : 0;
    self->terms[GS_ANALYSIS_COMMON_OWN] = plus(t->cpu + t->gpu, costs(self, t, 4, 1));
    self->terms[GS_ANALYSIS_COMMON_LOWER] = times(lower_users(self, t), self->options->update_cost);
}

static void evaluate_busy(gs_analysis_contexts_test_t *self, int64_t i, int64_t window)
{
    const gs_analysis_contexts_task_t *t = &self->task[i];
    int64_t higher = 0, request = 0;
    for (int64_t place = 0; place < t->place; place++) {
        gs_analysis_contexts_task_t *h = at(self, t->group, place);
        higher = plus(higher, work(h, CORE, window, h->on_core));
    }
    if (self->crosses) {
        request = plus(evaluate_cores(self, i, window), evaluate_stall(self, i, window));
        request = plus(request, self->carried);
    }
    self->terms[GS_ANALYSIS_COMMON_HIGHER] = higher;
    self->terms[GS_ANALYSIS_COMMON_REQUEST] = request;
}

/* The test ------------------------------------------------------------------------------------ */

/* Sorts pairs of a GPU priority and a rank. */
static int by_level(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;
    int key = x[0] != y[0] ? 0 : 1;
    return x[key] < y[key] ? -1 : x[key] > y[key];
}

/* Refuses GPU priorities that tie, and, on a core, those that disagree with the CPU priorities. */
static int check_levels(const gs_analysis_contexts_test_t *self, gs_context_t *ctx)
{
    int64_t users = 0, *pair = self->scratch;
    for (int64_t k = 0; k < self->n; k++) { /* core by core */
        const gs_analysis_contexts_task_t *t = &self->task[self->member[k]];
        if (t->segments == 0) {
            continue;
        }
        if (users > 0 && self->task[pair[2 * users - 1]].group == t->group &&
            pair[2 * users - 2] > t->level) {
            return gs_fail(ctx, GS_ERR_VALUE, "gpu_priority", t->task, t->level,
                           "the order of the CPU priorities among the tasks of a core");
        }
        pair[2 * users] = t->level;
        pair[2 * users + 1] = self->member[k];
        users++;
    }
    qsort(pair, (size_t)users, 2 * sizeof *pair, by_level);
    for (int64_t k = 1; k < users; k++) {
        if (pair[2 * k] == pair[2 * k - 2]) {
            return gs_fail(ctx, GS_ERR_VALUE, "gpu_priority", self->task[pair[2 * k + 1]].task,
                           pair[2 * k], "a GPU priority that no other task has");
        }
    }
    return GS_OK;
}

/* x, g and the like of a task. */
static void derive(const gs_analysis_contexts_test_t *self, int64_t r)
{
    const gs_analysis_contexts_options_t *options = self->options;
    gs_analysis_contexts_task_t *t = &self->task[r];
    t->back = t->segments > 0 ? switching(self) : 0;
    t->level = options->gpu_priority == NULL ? r : options->gpu_priority[t->task];
    t->local = t->segments > 0 ? plus(t->kernels, costs(self, t, 1, 2)) : 0;
    t->ready = 1 + 2 * t->segments;
    for (int64_t j = 0; j < t->segments; j++) {
        t->ready += gs_host_tasks_copy_in(self->hosts, t->task, j) > 0;
    }
    bool busy = options->mode == GS_ANALYSIS_CONTEXTS_BUSY;
    gs_analysis_contexts_test_on_core(
        t, plus(t->cpu + (busy ? t->gpu : t->copies), costs(self, t, busy ? 4 : 2, busy ? 2 : 0)));
    t->hold = plus(t->window, t->back);
    t->hold_is_known = options->fixed_point == GS_ANALYSIS_CONTEXTS_ORDER_FREE;
}

int gs_analysis_contexts_gcaps(gs_analysis_contexts_test_t *self, gs_context_t *ctx,
                               const gs_host_tasks_t *hosts, const int64_t *core,
                               const gs_analysis_contexts_options_t *options,
                               gs_analysis_common_answer_t *answer)
{
    static const gs_analysis_contexts_side_t SUSPEND = {prepare_suspend, evaluate_suspend, change},
                                             BUSY = {prepare_busy, evaluate_busy, NULL};
    int status = gs_analysis_contexts_test_start(self, ctx, hosts, core, options);
    if (status != GS_OK) {
        return status;
    }
    if (options->paper && options->context_switch != 0) {
        return gs_fail(ctx, GS_ERR_VALUE, "context_switch", -1, options->context_switch,
                       "0 for the printed equations, which have no switches");
    }
    for (int64_t r = 0; r < self->n; r++) {
        derive(self, r);
    }
    if (options->gpu_priority != NULL) {
        if (options->fixed_point == GS_ANALYSIS_CONTEXTS_ORDER_FREE) {
            return gs_fail(ctx, GS_ERR_VALUE, "order_free", -1, 1,
                           "no GPU priorities beside the CPU priorities");
        }
        if ((status = check_levels(self, ctx)) != GS_OK) {
            return status;
        }
    }
    bool busy = options->mode == GS_ANALYSIS_CONTEXTS_BUSY;
    return gs_analysis_contexts_test_run(self, ctx,
                                         options->paper ? &gs_analysis_contexts_gcaps_paper
                                         : busy         ? &BUSY
                                                        : &SUSPEND,
                                         answer);
}

static const gs_method_option_t GCAPS_OPTIONS[] = {
    {"update_cost", "time", NULL, "0", "length of an update of the list of open segments"},
    {"context_switch", "time", NULL, "0", "time to switch to another context"},
    {"gpu_priority", "integers", NULL, NULL,
     "priority of each task on the GPU; default: that on the CPU"},
    {"stall", "boolean", NULL, "False", "whether every update stops the GPU"},
    {"mode", "choice", gs_analysis_contexts_mode_choices, "suspend",
     "use of the core during a GPU segment"},
    {"fixed_point", "choice", gs_analysis_contexts_fixed_point_choices, "joint",
     "compute all bounds together, or one after the other by priority"},
    {"variant", "choice", gs_analysis_contexts_variant_choices, "sound",
     "corrected equations, or the printed ones, which are unsound"},
    {"order_free", "boolean", NULL, "False", "use deadlines in place of all response times"},
};

const gs_method_t gs_analysis_contexts_gcaps_method = {
    .name = "gcaps",
    .model = "HostTasks",
    .function = "analysis.gcaps",
    .claim = "sufficient",
    .source = "[ECRTS24], Eqs. (9)-(14), corrected",
    .summary = "The GPU belongs to the most urgent task with an open GPU segment; opening and "
               "closing a segment takes an update.",
    .options = GCAPS_OPTIONS,
    .option_count = sizeof GCAPS_OPTIONS / sizeof *GCAPS_OPTIONS,
};
