/* Response-time test for time slices. */
#include "analysis/contexts/time_slices.h"

/* Counts of jobs: of more urgent tasks on the core, and of contexts in the ring. */
enum { HIGHER = 0, RING = 1 };

static int64_t times(int64_t a, int64_t b)
{
    return gs_analysis_common_saturating_mul(a, b);
}

static int64_t plus(int64_t a, int64_t b)
{
    return gs_analysis_common_saturating_add(a, b);
}

static int64_t switch_cost(const gs_analysis_contexts_test_t *self)
{
    return self->users > 1 ? self->options->context_switch : 0;
}

/* Q, y, v and the like of a task. */
static void derive(const gs_analysis_contexts_test_t *self, gs_analysis_contexts_task_t *t)
{
    const gs_analysis_contexts_options_t *options = self->options;
    int64_t cost = switch_cost(self), longest = 0;
    t->slices = 0;
    for (int64_t j = 0; j < t->segments; j++) {
        int64_t kernel = gs_host_tasks_kernel(self->hosts, t->task, j, options->sms);
        longest = gs_analysis_common_max(longest, kernel);
        t->slices += gs_analysis_contexts_parts(kernel, options->timeslice);
    }
    t->ring = plus(t->kernels, times(t->slices, cost));
    t->turn = plus(cost, gs_analysis_contexts_least(options->timeslice, longest));
    t->one = plus(longest, times(gs_analysis_contexts_parts(longest, options->timeslice), cost));
    gs_analysis_contexts_test_on_core(t, options->mode == GS_ANALYSIS_CONTEXTS_BUSY
                                             ? plus(t->cpu + t->copies, t->ring)
                                             : t->cpu + t->copies);
}

/* Whether context k can delay the kernels that task i waits for, and has jobs in the window: in
 * busy mode those of more urgent tasks of the core are waited for, and those of less urgent ones
 * cannot begin. */
static bool is_in_ring(const gs_analysis_contexts_test_t *self, int64_t i, int64_t k)
{
    const gs_analysis_contexts_task_t *t = &self->task[k];
    bool busy = self->options->mode == GS_ANALYSIS_CONTEXTS_BUSY;
    return t->segments > 0 && (busy ? t->group != self->task[i].group : k != i);
}

/* Suspend ------------------------------------------------------------------------------------- */

/* The CPU pieces of a job, between its launches: the jobs that its ready intervals meet. */
static void find_caps(gs_analysis_contexts_test_t *self, int64_t i)
{
    const gs_analysis_contexts_task_t *t = &self->task[i];
    const int64_t *cpu = gs_host_tasks_cpu(self->hosts, t->task);
    int64_t from = self->first[t->group], out = 0;
    self->capped = t->place > 0 && t->segments > 0; /* without a launch there is one interval */
    if (!self->capped) {
        return;
    }
    for (int64_t place = 0; place < t->place; place++) {
        self->task[self->member[from + place]].cap = 0;
    }
    for (int64_t j = 0; j <= t->segments && self->capped; j++) {
        bool last = j == t->segments;
        int64_t work = out + cpu[j] + (last ? 0 : gs_host_tasks_copy_in(self->hosts, t->task, j));
        if (!last || work > 0) {
            self->capped = gs_analysis_contexts_test_piece(self, i, work, 0, true) >= 0;
        }
        out = last ? 0 : gs_host_tasks_copy_out(self->hosts, t->task, j);
    }
}

static void prepare_suspend(gs_analysis_contexts_test_t *self, int64_t i)
{
    const gs_analysis_contexts_task_t *t = &self->task[i];
    find_caps(self, i);
    for (int64_t place = 0; place < t->place; place++) {
        int64_t h = gs_analysis_contexts_test_at(self, t->group, place);
        gs_analysis_contexts_count_higher(t, &self->task[h], HIGHER);
        if (!self->capped) {
            gs_analysis_contexts_test_grows(self, &self->task[h], HIGHER, self->task[h].on_core);
        }
    }
    for (int64_t k = 0; k < self->n && t->slices > 0; k++) {
        if (is_in_ring(self, i, k)) {
            gs_analysis_contexts_count_start(&self->task[k], RING, self->task[k].ring);
        }
    }
    self->terms[GS_ANALYSIS_COMMON_OWN] = plus(t->cpu + t->copies, t->ring);
}

static void evaluate_suspend(gs_analysis_contexts_test_t *self, int64_t i, int64_t window)
{
    const gs_analysis_contexts_task_t *t = &self->task[i];
    int64_t higher = 0, ring = 0;
    for (int64_t place = 0; place < t->place; place++) {
        gs_analysis_contexts_task_t *h =
            &self->task[gs_analysis_contexts_test_at(self, t->group, place)];
        int64_t jobs = gs_analysis_contexts_count_jobs(&h->count[HIGHER], window);
        if (self->capped) {
            jobs = gs_analysis_contexts_least(jobs, h->cap);
        }
        higher = plus(higher, times(jobs, h->on_core));
    }
    for (int64_t k = 0; k < self->n && t->slices > 0; k++) {
        gs_analysis_contexts_task_t *other = &self->task[k];
        if (is_in_ring(self, i, k)) {
            int64_t work = gs_analysis_contexts_count_work(other, RING, window, other->ring);
            ring = plus(ring, gs_analysis_contexts_least(times(t->slices, other->turn), work));
        }
    }
    self->terms[GS_ANALYSIS_COMMON_HIGHER] = higher;
    self->terms[GS_ANALYSIS_COMMON_REQUEST] = ring;
}

/* Busy ---------------------------------------------------------------------------------------- */

static void prepare_busy(gs_analysis_contexts_test_t *self, int64_t i)
{
    const gs_analysis_contexts_task_t *t = &self->task[i];
    double slices = 0;
    for (int64_t place = 0; place < t->place; place++) {
        gs_analysis_contexts_task_t *h =
            &self->task[gs_analysis_contexts_test_at(self, t->group, place)];
        gs_analysis_contexts_count_releases(h, HIGHER);
        gs_analysis_contexts_test_grows(self, h, HIGHER, h->on_core);
        slices += (double)h->slices * h->rate;
    }
    for (int64_t k = 0; k < self->n; k++) {
        gs_analysis_contexts_task_t *other = &self->task[k];
        if (is_in_ring(self, i, k)) {
            double turns = slices * (double)other->turn, all = (double)other->ring * other->rate;
            gs_analysis_contexts_count_start(other, RING, other->ring);
            self->load += turns < all ? turns : all;
        }
    }
    self->terms[GS_ANALYSIS_COMMON_OWN] = t->on_core;
}

static void evaluate_busy(gs_analysis_contexts_test_t *self, int64_t i, int64_t window)
{
    const gs_analysis_contexts_task_t *t = &self->task[i];
    int64_t higher = 0, ring = 0, lower = 0, slices = t->slices;
    for (int64_t place = 0; place < t->place; place++) {
        gs_analysis_contexts_task_t *h =
            &self->task[gs_analysis_contexts_test_at(self, t->group, place)];
        int64_t jobs = gs_analysis_contexts_count_jobs(&h->count[HIGHER], window);
        higher = plus(higher, times(jobs, h->on_core));
        slices = plus(slices, times(jobs, h->slices));
    }
    for (int64_t k = 0; k < self->n && slices > 0; k++) {
        gs_analysis_contexts_task_t *other = &self->task[k];
        if (is_in_ring(self, i, k)) {
            int64_t work = gs_analysis_contexts_count_work(other, RING, window, other->ring);
            ring = plus(ring, gs_analysis_contexts_least(times(slices, other->turn), work));
        } else if (other->segments > 0 && k > i) {
            lower = plus(lower, gs_analysis_contexts_least(times(slices, other->turn), other->one));
        }
    }
    self->terms[GS_ANALYSIS_COMMON_HIGHER] = higher;
    self->terms[GS_ANALYSIS_COMMON_REQUEST] = ring;
    self->terms[GS_ANALYSIS_COMMON_LOWER] = lower;
}

/* As printed ---------------------------------------------------------------------------------- */

/* Eq. (3) for all kernels of a task, with `others` contexts beside it. */
static int64_t printed_turns(const gs_analysis_contexts_test_t *self,
                             const gs_analysis_contexts_task_t *t, int64_t others)
{
    int64_t turn = plus(self->options->timeslice, self->options->context_switch);
    return times(times(turn, others), t->slices);
}

/* Contexts beside a more urgent task of the core of i, with that task: those of all tasks that are
 * not more urgent tasks of the core. */
static int64_t printed_others(const gs_analysis_contexts_test_t *self, int64_t i)
{
    const gs_analysis_contexts_task_t *t = &self->task[i];
    int64_t others = self->users + 1;
    for (int64_t place = 0; place < t->place; place++) {
        others -= self->task[gs_analysis_contexts_test_at(self, t->group, place)].segments > 0;
    }
    return others;
}

static void prepare_paper(gs_analysis_contexts_test_t *self, int64_t i)
{
    gs_analysis_contexts_task_t *t = &self->task[i];
    bool busy = self->options->mode == GS_ANALYSIS_CONTEXTS_BUSY;
    int64_t others = busy ? printed_others(self, i) : 0;
    for (int64_t place = 0; place < t->place; place++) {
        gs_analysis_contexts_task_t *h =
            &self->task[gs_analysis_contexts_test_at(self, t->group, place)];
        int64_t work = h->cpu + h->copies;
        if (busy) {
            gs_analysis_contexts_count_releases(h, HIGHER);
            h->on_core = plus(work, printed_turns(self, h, others));
        } else {
            gs_analysis_contexts_count_start(h, HIGHER, work);
            h->on_core = work;
        }
        gs_analysis_contexts_test_grows(self, h, HIGHER, h->on_core);
    }
    self->terms[GS_ANALYSIS_COMMON_OWN] = t->cpu + t->gpu;
    self->terms[GS_ANALYSIS_COMMON_REQUEST] =
        printed_turns(self, t, self->users - (t->segments > 0));
}

static void evaluate_paper(gs_analysis_contexts_test_t *self, int64_t i, int64_t window)
{
    const gs_analysis_contexts_task_t *t = &self->task[i];
    int64_t higher = 0;
    for (int64_t place = 0; place < t->place; place++) {
        gs_analysis_contexts_task_t *h =
            &self->task[gs_analysis_contexts_test_at(self, t->group, place)];
        higher = plus(higher, gs_analysis_contexts_count_work(h, HIGHER, window, h->on_core));
    }
    self->terms[GS_ANALYSIS_COMMON_HIGHER] = higher;
}

/* The test ------------------------------------------------------------------------------------ */

int gs_analysis_contexts_time_slices(gs_analysis_contexts_test_t *self, gs_context_t *ctx,
                                     const gs_host_tasks_t *hosts, const int64_t *core,
                                     const gs_analysis_contexts_options_t *options,
                                     gs_analysis_common_answer_t *answer)
{
    static const gs_analysis_contexts_side_t SUSPEND = {prepare_suspend, evaluate_suspend, NULL},
                                             BUSY = {prepare_busy, evaluate_busy, NULL},
                                             PAPER = {prepare_paper, evaluate_paper, NULL};
    int status = gs_analysis_contexts_test_start(self, ctx, hosts, core, options);
    if (status != GS_OK) {
        return status;
    }
    if (options->timeslice < 1 || options->timeslice >= GS_ANALYSIS_COMMON_LIMIT) {
        return gs_fail(ctx, GS_ERR_VALUE, "timeslice", -1, options->timeslice,
                       "a positive time below 2**60 - 1 ticks");
    }
    for (int64_t r = 0; r < self->n; r++) {
        derive(self, &self->task[r]);
    }
    bool busy = options->mode == GS_ANALYSIS_CONTEXTS_BUSY;
    return gs_analysis_contexts_test_run(self, ctx,
                                         options->paper ? &PAPER
                                         : busy         ? &BUSY
                                                        : &SUSPEND,
                                         answer);
}

static const gs_method_option_t TIME_SLICES_OPTIONS[] = {
    {"timeslice", "positive time", NULL, NULL, "most time of a context while others wait"},
    {"context_switch", "time", NULL, "0", "time to switch to another context"},
    {"mode", "choice", gs_analysis_contexts_mode_choices, "suspend",
     "use of the core during a GPU segment"},
    {"fixed_point", "choice", gs_analysis_contexts_fixed_point_choices, "joint",
     "compute all bounds together, or one after the other by priority"},
    {"variant", "choice", gs_analysis_contexts_variant_choices, "sound",
     "corrected equations, or the printed ones, which are unsound"},
    {"order_free", "boolean", NULL, "False", "use deadlines in place of all response times"},
};

const gs_method_t gs_analysis_contexts_time_slices_method = {
    .name = "time_slices",
    .model = "HostTasks",
    .function = "analysis.time_slices",
    .claim = "sufficient",
    .source = "[ECRTS24], Eqs. (3), (5)-(8), corrected",
    .summary = "Every task has a context; the GPU serves those with kernels in turn, a slice each.",
    .options = TIME_SLICES_OPTIONS,
    .option_count = sizeof TIME_SLICES_OPTIONS / sizeof *TIME_SLICES_OPTIONS,
};
