/* Check and initial state of the host simulator. */
#include "simulate/host/host_parts.h"

#include "core/rational.h"
#include "core/int128.h"

#include <string.h>

/* Numerators and denominators of shares are below it. */
#define SHARE_LIMIT (INT64_C(1) << 62)

/* Checks ------------------------------------------------------------------------------------- */

static int check_range(gs_context_t *ctx, const char *field, int64_t i, int64_t value,
                       int64_t least, int64_t most, const char *reason)
{
    return value >= least && value <= most ? GS_OK
                                           : gs_fail(ctx, GS_ERR_VALUE, field, i, value, reason);
}

static int check_clock(gs_context_t *ctx, const char *field, int64_t i, int64_t value)
{
    if (value < 0) {
        return gs_fail(ctx, GS_ERR_VALUE, field, i, value, "a number of at least 0");
    }
    return value < GS_SIMULATE_HOST_LATEST
               ? GS_OK
               : gs_fail(ctx, GS_ERR_OVERFLOW, field, i, value, "a time below 2**59 - 1 ticks");
}

static int check_share(gs_context_t *ctx, const char *field, gs_simulate_host_share_t share)
{
    if (share.over < 0 || share.over >= SHARE_LIMIT) {
        return gs_fail(ctx, GS_ERR_VALUE, field, -1, share.over, "a numerator of 0 to 2**62 - 1");
    }
    if (share.under < 1 || share.under >= SHARE_LIMIT) {
        return gs_fail(ctx, GS_ERR_VALUE, field, -1, share.under,
                       "a denominator of 1 to 2**62 - 1");
    }
    return GS_OK;
}

static int check_shares(gs_context_t *ctx, const gs_simulate_host_model_t *model)
{
    gs_simulate_host_share_t low = model->low, high = model->high;
    int status;
    if ((status = check_share(ctx, "low", low)) != GS_OK ||
        (status = check_share(ctx, "high", high)) != GS_OK ||
        (status = check_share(ctx, "gap", model->gap)) != GS_OK) {
        return status;
    }
    if (high.over == 0 || high.over > high.under) {
        return gs_fail(ctx, GS_ERR_VALUE, "high", -1, high.over, "a share above 0, at most 1");
    }
    if ((gs_int128_t)low.over * high.under > (gs_int128_t)high.over * low.under) {
        return gs_fail(ctx, GS_ERR_VALUE, "low", -1, low.over, "at most high");
    }
    return GS_OK;
}

/* Options of time slices and GCAPS. */
static int check_contexts(gs_context_t *ctx, const gs_simulate_host_model_t *model)
{
    int status;
    if ((status = check_range(ctx, "mode", -1, model->mode, GS_SIMULATE_HOST_MODE_SUSPEND,
                              GS_SIMULATE_HOST_MODE_BUSY,
                              "suspend or busy with a context per task")) != GS_OK ||
        (status = check_clock(ctx, "overhead", -1, model->overhead)) != GS_OK ||
        model->gpu == GS_SIMULATE_HOST_GPU_GCAPS) {
        return status;
    }
    status = check_range(ctx, "slice", -1, model->slice, 1, GS_SIMULATE_HOST_LATEST - 1,
                         "a positive time below 2**59 - 1 ticks");
    return status == GS_OK ? check_range(ctx, "ring", -1, model->ring, GS_SIMULATE_HOST_RING_FIFO,
                                         GS_SIMULATE_HOST_RING_CYCLIC, "0 (fifo) or 1 (cyclic)")
                           : status;
}

static int check_options(gs_context_t *ctx, const gs_simulate_host_model_t *model)
{
    int status;
    int64_t all = GS_SIMULATE_HOST_AT_RELEASE | GS_SIMULATE_HOST_AT_REQUEST |
                  GS_SIMULATE_HOST_AT_RESUME | GS_SIMULATE_HOST_AT_FINISH;
    if ((status = check_range(ctx, "cpus", -1, model->cpus, 1, INT32_MAX,
                              "a positive number below 2**31")) != GS_OK ||
        (status = check_range(ctx, "sms", -1, model->sms, 1, INT32_MAX,
                              "a positive number below 2**31")) != GS_OK ||
        (status = check_range(ctx, "policy", -1, model->policy, GS_SIMULATE_HOST_PARTITIONED,
                              GS_SIMULATE_HOST_GEDF, "a known policy")) != GS_OK ||
        (status = check_range(ctx, "gpu", -1, model->gpu, GS_SIMULATE_HOST_GPU_STGM,
                              GS_SIMULATE_HOST_GPU_GCAPS, "a known protocol")) != GS_OK ||
        (status = check_range(ctx, "mode", -1, model->mode, GS_SIMULATE_HOST_MODE_SUSPEND,
                              GS_SIMULATE_HOST_MODE_SPIN, "a known mode")) != GS_OK ||
        (status = check_clock(ctx, "until", -1, model->until)) != GS_OK ||
        (status = check_range(ctx, "victim", -1, model->victim, -1, model->hosts.n - 1,
                              "the index of a task, or -1")) != GS_OK) {
        return status;
    }
    if (model->victim >= 0 && model->release == NULL &&
        (model->triggers < 1 || model->triggers > all)) {
        return gs_fail(ctx, GS_ERR_VALUE, "triggers", -1, model->triggers,
                       "some of release, request, resume and finish for an adversary");
    }
    bool global = model->policy == GS_SIMULATE_HOST_GEDF;
    bool contexts = model->gpu >= GS_SIMULATE_HOST_GPU_SLICES;
    bool fits = model->gpu == GS_SIMULATE_HOST_GPU_FMLP ||
                (model->gpu > GS_SIMULATE_HOST_GPU_SERVER && !contexts) == global;
    if (!fits) {
        return gs_fail(ctx, GS_ERR_VALUE, "gpu", -1, model->gpu,
                       "a protocol of the scheduling policy");
    }
    bool driver = model->gpu == GS_SIMULATE_HOST_GPU_DRIVER,
         container = model->gpu == GS_SIMULATE_HOST_GPU_CONTAINER;
    if (global && model->mode != GS_SIMULATE_HOST_MODE_SUSPEND &&
        !(driver && model->mode == GS_SIMULATE_HOST_MODE_SPIN) &&
        !(container && model->mode == GS_SIMULATE_HOST_MODE_BUSY)) {
        return gs_fail(ctx, GS_ERR_VALUE, "mode", -1, model->mode,
                       "with global EDF suspend (also driver: spin; container: busy)");
    }
    if (container) {
        status = check_range(ctx, "server_period", -1, model->server_period, 1, INT64_MAX,
                             "a positive number");
        return status == GS_OK ? check_clock(ctx, "server_period", -1, model->server_period)
                               : status;
    }
    if (model->gpu == GS_SIMULATE_HOST_GPU_STGM && model->mode == GS_SIMULATE_HOST_MODE_SPIN) {
        return gs_fail(ctx, GS_ERR_VALUE, "mode", -1, model->mode, "suspend or busy with STGM");
    }
    if (model->gpu == GS_SIMULATE_HOST_GPU_SERVER && model->mode != GS_SIMULATE_HOST_MODE_SUSPEND) {
        return gs_fail(ctx, GS_ERR_VALUE, "mode", -1, model->mode, "suspend with a GPU server");
    }
    if (contexts) {
        return check_contexts(ctx, model);
    }
    if (model->gpu != GS_SIMULATE_HOST_GPU_SERVER) {
        return GS_OK;
    }
    status = check_range(ctx, "server", -1, model->server, 0, model->cpus,
                         "a core, or the number of cores for a core of its own");
    return status == GS_OK ? check_clock(ctx, "overhead", -1, model->overhead) : status;
}

int64_t gs_simulate_host_sms(const gs_simulate_host_model_t *model, int64_t i)
{
    if (model->gpu != GS_SIMULATE_HOST_GPU_STGM || model->hosts.segments[i] == 0) {
        return model->sms;
    }
    int64_t count = 0;
    for (int64_t k = 0; k < model->sms; k++) {
        count += model->sm[i * model->sms + k] != 0;
    }
    return count;
}

static int check_task(gs_context_t *ctx, const gs_simulate_host_model_t *model, int64_t i)
{
    const gs_host_tasks_t *hosts = &model->hosts;
    int status;
    if ((status = check_clock(ctx, "period", i, hosts->period[i])) != GS_OK ||
        (status = check_clock(ctx, "offset", i, model->offset == NULL ? 0 : model->offset[i])) !=
            GS_OK ||
        (model->policy == GS_SIMULATE_HOST_PARTITIONED &&
         (status = check_range(ctx, "core", i, model->core[i], 0, model->cpus - 1,
                               "a core, 0 to cpus - 1")) != GS_OK) ||
        (status = check_range(ctx, "segments", i, hosts->segments[i], 0, INT32_MAX / 8,
                              "a number of segments below 2**28")) != GS_OK) {
        return status;
    }
    if (model->gpu == GS_SIMULATE_HOST_GPU_STGM && hosts->segments[i] > 0 &&
        gs_simulate_host_sms(model, i) == 0) {
        return gs_fail(ctx, GS_ERR_VALUE, "sm", i, 0,
                       "at least one SM for a task with GPU segments");
    }
    return GS_OK;
}

static int check(gs_context_t *ctx, const gs_simulate_host_model_t *model)
{
    int status = gs_host_tasks_check(ctx, &model->hosts);
    if (status != GS_OK || (status = check_options(ctx, model)) != GS_OK ||
        (status = check_shares(ctx, model)) != GS_OK ||
        (status = check_range(ctx, "tasks", -1, model->hosts.n, 1, INT32_MAX / 16,
                              "a number of tasks below 2**27")) != GS_OK) {
        return status;
    }
    for (int64_t i = 0; i < model->hosts.n; i++) {
        if ((status = check_task(ctx, model, i)) != GS_OK) {
            return status;
        }
    }
    return gs_simulate_host_given_check(ctx, model);
}

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
        if (model->gpu == GS_SIMULATE_HOST_GPU_DRIVER) { /* one piece of GPU work */
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
        status = check_clock(ctx, "gap", t->task, self->slack[r]);
    }
    if (status != GS_OK || (self->fixed && model->gap.over == 0)) {
        return status;
    }
    return seed_tasks(self, ctx, model);
}

/* The container --------------------------------------------------------------------------------
 */

/* Length of a job, copies and kernels included; below GS_NEVER. */
static int64_t work_of(const gs_simulate_host_model_t *model, int64_t i)
{
    const gs_host_tasks_t *hosts = &model->hosts;
    int64_t work = gs_host_tasks_cpu(hosts, i)[0];
    for (int64_t j = 0; j < hosts->segments[i]; j++) {
        work += gs_host_tasks_copy_in(hosts, i, j) + gs_host_tasks_copy_out(hosts, i, j) +
                gs_host_tasks_kernel(hosts, i, j, model->sms) + gs_host_tasks_cpu(hosts, i)[j + 1];
    }
    return work;
}

/* Determines the tasks of the container and its budget. */
static int fill_container(gs_simulate_host_state_t *self, gs_context_t *ctx,
                          const gs_simulate_host_model_t *model)
{
    size_t n = (size_t)self->n;
    int64_t inside = 0;
    int64_t *work = gs_alloc(ctx, 4 * n, sizeof *work);
    if (work == NULL) {
        return ctx->status;
    }
    int64_t *period = work + n, *scratch = work + 2 * n;
    for (int32_t r = 0; r < self->n; r++) {
        int64_t i = self->thread[r].task;
        if (model->hosts.segments[i] > 0) {
            self->thread[r].inside = GS_SIMULATE_HOST_INSIDE_IDLE;
            work[inside] = work_of(model, i);
            period[inside++] = model->hosts.period[i];
        }
    }
    int status = gs_rational_share(ctx, work, period, inside, model->server_period, scratch,
                                   &self->container.full);
    gs_free(ctx, work);
    self->container.suspended = -1;
    self->container.runs = self->container.was = -1;
    return status;
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
    if (status == GS_OK && model->gpu == GS_SIMULATE_HOST_GPU_SERVER) {
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

/* SMs ---------------------------------------------------------------------------------------- */

static bool share_sm(const gs_simulate_host_model_t *model, int64_t i, int64_t k)
{
    const uint8_t *one = model->sm + i * model->sms, *two = model->sm + k * model->sms;
    for (int64_t m = 0; m < model->sms; m++) {
        if (one[m] != 0 && two[m] != 0) {
            return true;
        }
    }
    return false;
}

static int find_conflicts(gs_simulate_host_state_t *self, gs_context_t *ctx,
                          const gs_simulate_host_model_t *model)
{
    size_t n = (size_t)self->n, words = self->words = (n + 63) / 64;
    if ((self->conflicts = gs_alloc(ctx, n * words, sizeof(uint64_t))) == NULL ||
        (self->blockers = gs_alloc(ctx, n * words, sizeof(uint64_t))) == NULL ||
        (self->pending = gs_alloc(ctx, words, sizeof(uint64_t))) == NULL) {
        return ctx->status;
    }
    for (size_t r = 0; r < n; r++) {
        int status = gs_poll(ctx, (int64_t)r * model->sms);
        if (status != GS_OK) {
            return status;
        }
        int64_t i = self->thread[r].task;
        for (size_t q = 0; q < r; q++) {
            int64_t k = self->thread[q].task;
            if (model->hosts.segments[i] > 0 && model->hosts.segments[k] > 0 &&
                share_sm(model, i, k)) {
                self->conflicts[r * words + q / 64] |= UINT64_C(1) << (q % 64);
                self->conflicts[q * words + r / 64] |= UINT64_C(1) << (r % 64);
            }
        }
    }
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
    state->container.alarm = state->turn.alarm = GS_NEVER;
    state->turn.runs = state->turn.last = -1;
    state->job_free = -1;
    state->gpu = model->gpu;
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
    int status = check(ctx, model);
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
    if (status == GS_OK && model->gpu == GS_SIMULATE_HOST_GPU_CONTAINER) {
        status = fill_container(state, ctx, model);
    }
    if (status == GS_OK && model->gpu == GS_SIMULATE_HOST_GPU_GCAPS) {
        status = gs_simulate_host_gcaps_init(state, ctx, model);
    }
    if (status == GS_OK && model->gpu == GS_SIMULATE_HOST_GPU_STGM) {
        status = find_conflicts(state, ctx, model);
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
