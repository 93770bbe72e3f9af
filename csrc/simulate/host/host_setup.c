/* Initial state of the host simulator: threads, CPUs, first releases. */
#include "simulate/host/host.h"

#include <string.h>

#include "core/int128.h"
#include "simulate/host/host_parts.h"

/* Threads ------------------------------------------------------------------------------------ */

/* A share of a time below 2^60, rounded down or up. */
static int64_t scale(int64_t time, gs_simulate_host_share_t share, bool up)
{
    if (share.over == share.under) {
        return time;
    }
    gs_int128_t product = (gs_int128_t)time * share.over + (up ? share.under - 1 : 0);
    product /= share.under;
    return product < GS_NEVER ? (int64_t)product : GS_NEVER;
}

/* Upper bound on the number of parts of all tasks. */
static int64_t count_parts(const gs_host_tasks_t *hosts)
{
    int64_t parts = 0; /* below 2^27 * 2^31 */
    for (int64_t i = 0; i < hosts->n; i++) {
        parts += 4 * hosts->segments[i] + 1;
    }
    return parts;
}

/* Numbers the threads by priority, then index. */
static int rank_tasks(gs_simulate_host_state_t *self, gs_context_t *ctx,
                      const gs_simulate_host_model_t *model)
{
    gs_heap_t order = {0};
    int64_t before = 0;
    int status = GS_OK;
    for (int64_t i = 0; i < self->n && status == GS_OK; i++) {
        status = gs_heap_push(&order, ctx, model->hosts.priority[i], i);
    }
    for (int32_t r = 0; r < self->n && status == GS_OK; r++) {
        gs_heap_entry_t first = order.entry[0];
        if (model->policy == GS_SIMULATE_HOST_PARTITIONED && r > 0 && first.time == before) {
            status = gs_fail(ctx, GS_ERR_VALUE, "priority", first.item, first.time,
                             "a priority that no other task has");
        }
        before = first.time;
        self->thread[r].task = (int32_t)first.item;
        if (model->victim == first.item) {
            self->victim = r;
        }
        gs_heap_pop(&order);
    }
    self->thread[self->n].task = -1;
    gs_heap_free(&order, ctx);
    return status;
}

/* Sets the maximum and minimum lengths of the parts of a task. A GPU segment without any is
 * skipped. */
static void set_parts(gs_simulate_host_state_t *self, const gs_simulate_host_model_t *model,
                      int32_t r, int64_t from)
{
    const gs_host_tasks_t *hosts = &model->hosts;
    gs_simulate_host_thread_t *t = &self->thread[r];
    int64_t i = t->task, segments = hosts->segments[i];
    int64_t *most = self->most + from;
    int64_t sms = gs_simulate_host_sms(model, i);
    int32_t last = 0;
    most[0] = gs_host_tasks_cpu(hosts, i)[0];
    for (int64_t j = 0; j < segments; j++) {
        int64_t in = gs_host_tasks_copy_in(hosts, i, j), out = gs_host_tasks_copy_out(hosts, i, j);
        int64_t kernel = gs_host_tasks_kernel(hosts, i, j, sms),
                cpu = gs_host_tasks_cpu(hosts, i)[j + 1];
        if (model->way->one_piece) {
            kernel += in + out;
            in = out = 0;
        }
        if (in == 0 && kernel == 0 && out == 0) {
            most[last] += cpu;
        } else {
            most[last + GS_SIMULATE_HOST_PART_IN] = in;
            most[last + GS_SIMULATE_HOST_PART_KERNEL] = kernel;
            most[last + GS_SIMULATE_HOST_PART_OUT] = out;
            last += GS_SIMULATE_HOST_PARTS;
            most[last] = cpu;
        }
    }
    t->most = most;
    t->last_part = last;
    for (int32_t part = 0; !self->fixed && part <= t->last_part; part++) {
        int64_t least = scale(most[part], model->low, true), one = most[part] > 0;
        self->least[from + part] = least = least < one ? one : least;
        most[part] = scale(most[part], model->high, false);
        most[part] = most[part] < least ? least : most[part];
    }
    t->least = self->fixed ? NULL : self->least + from;
}

/* One seed per task, so that its numbers do not depend on the other tasks; in the order of tasks,
 * not of priorities. */
static int seed_tasks(gs_simulate_host_state_t *self, gs_context_t *ctx,
                      const gs_simulate_host_model_t *model)
{
    uint64_t *seed = gs_alloc(ctx, 2 * (size_t)self->n, sizeof *seed);
    if (seed == NULL) {
        return ctx->status;
    }
    gs_rng_t gaps, times;
    gs_rng_init(&gaps, model->key, model->index, GS_RNG_STREAM_RELEASE);
    gs_rng_init(&times, model->key, model->index, GS_RNG_STREAM_EXECUTION);
    for (int32_t i = 0; i < self->n; i++) {
        seed[2 * i] = gs_rng_next(&gaps);
        seed[2 * i + 1] = gs_rng_next(&times);
    }
    for (int32_t r = 0; r < self->n; r++) {
        self->thread[r].gap_seed = seed[2 * self->thread[r].task];
        self->thread[r].time_seed = seed[2 * self->thread[r].task + 1];
    }
    gs_free(ctx, seed);
    return GS_OK;
}

static int prepare_threads(gs_simulate_host_state_t *self, gs_context_t *ctx,
                           const gs_simulate_host_model_t *model)
{
    int status = rank_tasks(self, ctx, model);
    int64_t from = 0;
    for (int32_t r = 0; r <= self->n && status == GS_OK; r++) {
        gs_simulate_host_thread_t *t = &self->thread[r];
        t->job = t->last = t->logged = -1;
        t->cpu = t->was = t->next = -1;
        if (r == self->n) {
            break;
        }
        set_parts(self, model, r, from);
        from += t->last_part + 1;
        self->slack[r] = scale(model->hosts.period[t->task], model->gap, false);
        status = gs_simulate_host_check_clock(ctx, "releases", t->task, self->slack[r]);
    }
    if (status != GS_OK || (self->fixed && model->gap.over == 0)) {
        return status;
    }
    return seed_tasks(self, ctx, model);
}

/* CPUs --------------------------------------------------------------------------------------- */

/* Adds a cluster of one CPU, with its list of ready threads. */
static gs_simulate_host_cluster_t *add_core(gs_simulate_host_state_t *self, int32_t core,
                                            int32_t *ready)
{
    self->cpu[self->cpus].core = core;
    self->cpu[self->cpus].thread = -1;
    self->cluster[self->clusters] = (gs_simulate_host_cluster_t){ready, 0, self->cpus, 1};
    self->cpus++;
    return &self->cluster[self->clusters++];
}

/* Makes one cluster of all CPUs; more CPUs than threads are unused. */
static void make_global(gs_simulate_host_state_t *self, const gs_simulate_host_model_t *model)
{
    self->cpus = model->cpus < self->n ? (int32_t)model->cpus : self->n;
    self->clusters = 1;
    self->cluster[0] = (gs_simulate_host_cluster_t){self->ready, 0, 0, self->cpus};
    for (int32_t c = 0; c < self->cpus; c++) {
        self->cpu[c] = (gs_simulate_host_cpu_t){0, -1, c};
    }
}

/* Makes a cluster for each core with threads. */
static int make_cores(gs_simulate_host_state_t *self, gs_context_t *ctx,
                      const gs_simulate_host_model_t *model)
{
    gs_heap_t order = {0};
    int status = GS_OK;
    for (int32_t r = 0; r < self->n && status == GS_OK; r++) {
        status = gs_heap_push(&order, ctx, model->core[self->thread[r].task], r);
    }
    if (status == GS_OK && model->way->server) {
        self->thread[self->n].by_way = true;
        status = gs_heap_push(&order, ctx, model->server, self->n);
    }
    int64_t core = -1;
    for (int32_t k = 0; status == GS_OK && order.count > 0; k++) {
        if (order.entry[0].time != core) {
            core = order.entry[0].time;
            add_core(self, (int32_t)core, self->ready + k);
        }
        self->thread[order.entry[0].item].cluster = self->clusters - 1;
        gs_heap_pop(&order);
    }
    gs_heap_free(&order, ctx);
    return status;
}

/* Allocates the tree of ends and the bits of the clusters. */
static int make_tree(gs_simulate_host_state_t *self, gs_context_t *ctx)
{
    self->leaves = 1;
    while (self->leaves < (size_t)self->cpus) {
        self->leaves *= 2;
    }
    if ((self->end = gs_alloc(ctx, 2 * self->leaves, sizeof *self->end)) == NULL) {
        return ctx->status;
    }
    for (size_t k = 0; k < 2 * self->leaves; k++) {
        self->end[k] = GS_NEVER;
    }
    self->dirty_words = self->clusters / 64 + 1;
    self->dirty = gs_alloc(ctx, 2 * (size_t)self->dirty_words, sizeof *self->dirty);
    if (self->dirty == NULL) {
        return ctx->status;
    }
    self->began = self->dirty + self->dirty_words;
    return GS_OK;
}

/* All ---------------------------------------------------------------------------------------- */

/* The first releases; with a task under analysis only its own. */
static int first_releases(gs_simulate_host_state_t *self, gs_context_t *ctx,
                          const gs_simulate_host_model_t *model)
{
    int status = GS_OK;
    for (int32_t r = 0; r < self->n && status == GS_OK; r++) {
        int32_t i = self->thread[r].task;
        if (model->release != NULL) {
            int64_t k = model->release_begin[i];
            status = k == model->release_begin[i + 1]
                         ? GS_OK
                         : gs_heap_push(&self->releases, ctx, model->release[k], r);
            continue;
        }
        self->earliest[r] = model->offset == NULL ? 0 : model->offset[i];
        bool known = self->victim < 0 || self->victim == r;
        if (known && self->earliest[r] < model->until) {
            status = gs_heap_push(&self->releases, ctx, self->earliest[r], r);
        }
    }
    return status;
}

static int allocate(gs_simulate_host_t *self, gs_context_t *ctx)
{
    const gs_simulate_host_model_t *model = &self->model;
    size_t n = (size_t)model->hosts.n, parts = (size_t)count_parts(&model->hosts);
    gs_simulate_host_state_t *state = self->state = gs_alloc(ctx, 1, sizeof *state);
    if (state == NULL) {
        return ctx->status;
    }
    state->n = (int32_t)n;
    state->victim = state->holder = -1;
    state->alarm = GS_NEVER;
    state->turn.runs = state->turn.last = state->turn.over = -1;
    state->job_free = -1;
    state->way = model->way;
    state->mode = model->mode;
    state->fixed = model->low.over == model->low.under; /* low = 1, hence high = 1 */
    state->worst = state->fixed && model->time == NULL;
    state->asking.head = state->launching.head = state->waiting.head = state->overflow.head = -1;
    state->places = model->cpus;
    state->global = model->policy == GS_SIMULATE_HOST_GEDF;
    state->log_jobs = model->log_jobs;
    state->log_intervals = model->log_intervals;
    if ((self->worst = gs_alloc(ctx, n, sizeof(int64_t))) == NULL ||
        (self->finished = gs_alloc(ctx, n, sizeof(int64_t))) == NULL ||
        (self->released = gs_alloc(ctx, n, sizeof(int64_t))) == NULL ||
        (self->late = gs_alloc(ctx, n, sizeof(int64_t))) == NULL ||
        (state->thread = gs_alloc(ctx, n + 1, sizeof *state->thread)) == NULL ||
        (state->most = gs_alloc(ctx, parts, sizeof(int64_t))) == NULL ||
        (state->least = gs_alloc(ctx, state->fixed ? 0 : parts, sizeof(int64_t))) == NULL ||
        (state->earliest = gs_alloc(ctx, n, sizeof(int64_t))) == NULL ||
        (state->slack = gs_alloc(ctx, n, sizeof(int64_t))) == NULL ||
        (state->ready = gs_alloc(ctx, n + 1, sizeof *state->ready)) == NULL ||
        (state->cluster = gs_alloc(ctx, n + 1, sizeof *state->cluster)) == NULL ||
        (state->cpu = gs_alloc(ctx, n + 1, sizeof *state->cpu)) == NULL) {
        return ctx->status;
    }
    return GS_OK;
}

int gs_simulate_host_init(gs_simulate_host_t *self, gs_context_t *ctx,
                          const gs_simulate_host_model_t *model)
{
    memset(self, 0, sizeof *self);
    self->model = *model;
    int status = gs_simulate_host_check(ctx, model);
    if (status == GS_OK) {
        status = allocate(self, ctx);
    }
    gs_simulate_host_state_t *state = self->state;
    if (status == GS_OK) {
        status = prepare_threads(state, ctx, model);
    }
    if (status == GS_OK && model->time != NULL) {
        status = gs_simulate_host_given_times(state, ctx, model);
    }
    if (status == GS_OK && model->policy == GS_SIMULATE_HOST_GEDF) {
        make_global(state, model);
    } else if (status == GS_OK) {
        status = make_cores(state, ctx, model);
    }
    if (status == GS_OK) {
        status = make_tree(state, ctx);
    }
    if (status == GS_OK && model->way->init != NULL) {
        status = model->way->init(state, ctx, model);
    }
    if (status == GS_OK) {
        status = first_releases(state, ctx, model);
    }
    if (status != GS_OK) {
        gs_simulate_host_free(self, ctx);
    }
    return status;
}

void gs_simulate_host_free(gs_simulate_host_t *self, gs_context_t *ctx)
{
    gs_simulate_host_state_t *state = self->state;
    if (state != NULL) {
        gs_heap_free(&state->kernels, ctx);
        gs_heap_free(&state->releases, ctx);
        void *const own[] = {state->job,      state->thread,  state->most,  state->least,
                             state->earliest, state->slack,   state->ready, state->cluster,
                             state->cpu,      state->end,     state->dirty, state->conflicts,
                             state->blockers, state->pending, state->given, state};
        for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
            gs_free(ctx, own[i]);
        }
    }
    void *const results[] = {self->worst, self->finished, self->released, self->late};
    for (size_t i = 0; i < sizeof results / sizeof *results; i++) {
        gs_free(ctx, results[i]);
    }
    for (size_t i = 0; i < GS_SIMULATE_HOST_JOB_COLUMNS; i++) {
        gs_free(ctx, self->job[i]);
    }
    for (size_t i = 0; i < GS_SIMULATE_HOST_INTERVAL_COLUMNS; i++) {
        gs_free(ctx, self->interval[i]);
    }
    memset(self, 0, sizeof *self);
}
