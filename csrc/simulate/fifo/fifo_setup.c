/* Check and initial state of the FIFO simulator. */
#include "simulate/fifo/fifo.h"

#include <string.h>

#include "core/checks.h"
#include "core/rng.h"
#include "simulate/fifo/fifo_cycle.h"
#include "simulate/fifo/fifo_sms.h"

static bool has_slack(const gs_simulate_fifo_model_t *model)
{
    for (int64_t i = 0; model->slack != NULL && i < model->kernels.n; i++) {
        if (model->slack[i] != 0) {
            return true;
        }
    }
    return false;
}

static bool is_random(const gs_simulate_fifo_model_t *model)
{
    for (int64_t i = 0; model->least != NULL && i < model->kernels.n; i++) {
        if (model->least[i] != model->kernels.block_time[i]) {
            return true;
        }
    }
    return has_slack(model);
}

static int check_streams(gs_context_t *ctx, const gs_simulate_fifo_model_t *model)
{
    if (model->stream == NULL) {
        return GS_OK;
    }
    int64_t n = model->kernels.n;
    if (model->order == GS_FIFO_ORDER_OVERLAP) {
        return gs_fail(ctx, GS_ERR_VALUE, "stream", -1, n, "no streams where jobs overlap");
    }
    for (int64_t i = 0; i < n; i++) {
        if (model->stream[i] < 0 || model->stream[i] >= n) {
            return gs_fail(ctx, GS_ERR_VALUE, "stream", i, model->stream[i],
                           "a stream of 0 to n - 1 for n tasks");
        }
    }
    if (model->victim >= 0) {
        return gs_fail(ctx, GS_ERR_VALUE, "victim", -1, model->victim,
                       "-1 where streams are given");
    }
    return GS_OK;
}

/* Checks the given releases, and the block times given with them. */
static int check_releases(gs_context_t *ctx, const gs_simulate_fifo_model_t *model)
{
    const int64_t *begin = model->release_begin, *release = model->release;
    const gs_kernel_tasks_t *kernels = &model->kernels;
    if (begin == NULL) {
        return model->given == NULL ? GS_OK
                                    : gs_fail(ctx, GS_ERR_VALUE, "given", -1, kernels->n,
                                              "none unless releases are given");
    }
    if (has_slack(model)) {
        return gs_fail(ctx, GS_ERR_VALUE, "slack", -1, 1, "none where releases are given");
    }
    if (model->victim >= 0) {
        return gs_fail(ctx, GS_ERR_VALUE, "victim", -1, model->victim,
                       "-1 where releases are given");
    }
    for (int64_t i = 0; i < kernels->n; i++) { /* all of them, before any is used */
        if (begin[i + 1] < begin[i] || begin[0] != 0) {
            return gs_fail(ctx, GS_ERR_VALUE, "release_begin", i, begin[i],
                           "offsets from 0 in ascending order");
        }
    }
    for (int64_t i = 0; i < kernels->n; i++) {
        int64_t least = 0, apart = model->closer ? 0 : kernels->period[i];
        for (int64_t k = begin[i]; k < begin[i + 1]; k++) {
            if (release[k] < least) {
                return gs_fail(ctx, GS_ERR_VALUE, "release", k, release[k],
                               k == begin[i]   ? "a number of at least 0"
                               : model->closer ? "no less than the previous one of its task"
                                               : "at least a period after the previous one of "
                                                 "its task");
            }
            if (release[k] >= GS_CHECK_LATEST) {
                return gs_fail(ctx, GS_ERR_OVERFLOW, "release", k, release[k],
                               "a time below 2**59 - 1 ticks");
            }
            if (model->given != NULL &&
                (model->given[k] < 1 || model->given[k] > kernels->block_time[i])) {
                return gs_fail(ctx, GS_ERR_VALUE, "given", k, model->given[k],
                               "1 to the block_time of the task");
            }
            least = release[k] + apart;
        }
        int status = gs_poll(ctx, begin[i + 1] - begin[i]);
        if (status != GS_OK) {
            return status;
        }
    }
    return GS_OK;
}

static int check_options(gs_context_t *ctx, const gs_simulate_fifo_model_t *model)
{
    if (model->order < GS_FIFO_ORDER_HARDWARE || model->order > GS_FIFO_ORDER_OVERLAP) {
        return gs_fail(ctx, GS_ERR_VALUE, "order", -1, model->order, "a known order");
    }
    if (model->draw < GS_SIMULATE_FIFO_PER_JOB || model->draw > GS_SIMULATE_FIFO_PER_BLOCK) {
        return gs_fail(ctx, GS_ERR_VALUE, "draw", -1, model->draw,
                       "per job, per wave or per block");
    }
    if (model->settle < GS_SIMULATE_FIFO_SETTLE_NO ||
        model->settle > GS_SIMULATE_FIFO_SETTLE_STOP) {
        return gs_fail(ctx, GS_ERR_VALUE, "settle", -1, model->settle, "no, note or stop");
    }
    if (model->until < 0) {
        return gs_fail(ctx, GS_ERR_VALUE, "until", -1, model->until, "a number of at least 0");
    }
    if (model->until > GS_CHECK_LATEST) {
        return gs_fail(ctx, GS_ERR_OVERFLOW, "until", -1, model->until, "at most 2**59 - 1 ticks");
    }
    if (model->victim < -1 || model->victim >= model->kernels.n) {
        return gs_fail(ctx, GS_ERR_VALUE, "victim", -1, model->victim,
                       "the index of a task, or -1");
    }
    int64_t all = GS_SIMULATE_FIFO_AT_HEAD | GS_SIMULATE_FIFO_AT_TAIL | GS_SIMULATE_FIFO_AT_END;
    if (model->victim >= 0 && (model->triggers < 1 || model->triggers > all)) {
        return gs_fail(ctx, GS_ERR_VALUE, "triggers", -1, model->triggers,
                       "some of head, tail and end for an adversary");
    }
    if (model->settle != GS_SIMULATE_FIFO_SETTLE_NO &&
        (model->victim >= 0 || model->release_begin != NULL || is_random(model))) {
        return gs_fail(ctx, GS_ERR_VALUE, "settle", -1, model->settle,
                       "0 unless releases are periodic and execution times constant");
    }
    return GS_OK;
}

/* The options that chains do not have, and their latencies. */
static int check_chains(gs_context_t *ctx, const gs_simulate_fifo_model_t *model)
{
    if (model->order != GS_FIFO_ORDER_HARDWARE) {
        return gs_fail(ctx, GS_ERR_VALUE, "order", -1, model->order, "hardware with chains");
    }
    if (model->stream != NULL || model->given != NULL) {
        return gs_fail(ctx, GS_ERR_VALUE, model->stream != NULL ? "stream" : "given", -1,
                       model->kernels.n, "none with chains");
    }
    if (model->settle != GS_SIMULATE_FIFO_SETTLE_NO) {
        return gs_fail(ctx, GS_ERR_VALUE, "settle", -1, model->settle, "0 with chains");
    }
    int64_t count = gs_simulate_fifo_kernel_count(model);
    if (count > INT32_MAX) {
        return gs_fail(ctx, GS_ERR_VALUE, "kernels", -1, count, "at most 2**31 - 1");
    }
    for (int64_t j = 0; model->soonest != NULL && j < count; j++) {
        if (model->soonest[j] < 0 || model->soonest[j] > model->chains->latency[j]) {
            return gs_fail(ctx, GS_ERR_VALUE, "soonest", j, model->soonest[j], "0 to the latency");
        }
    }
    return GS_OK;
}

/* Expects a checked GPU in model->gpu, or NULL. */
static int check(gs_context_t *ctx, const gs_simulate_fifo_model_t *model)
{
    const gs_kernel_tasks_t *kernels = &model->kernels;
    int64_t n = kernels->n;
    int status = model->chains == NULL ? gs_kernel_tasks_check(ctx, kernels, model->m)
                                       : gs_kernel_chains_check(ctx, model->chains, model->m);
    int64_t count = status == GS_OK ? gs_simulate_fifo_kernel_count(model) : 0;
    if (status != GS_OK ||
        (status = gs_check_times(ctx, "period", kernels->period, n, 1)) != GS_OK ||
        (status = gs_check_times(ctx, "offset", model->offset, n, 0)) != GS_OK ||
        (status = gs_check_times(ctx, "slack", model->slack, n, 0)) != GS_OK ||
        (status = gs_check_times(ctx, "least", model->least, count, 1)) != GS_OK) {
        return status;
    }
    for (int64_t i = 0; model->least != NULL && i < count; i++) {
        if (model->least[i] > kernels->block_time[i]) {
            return gs_fail(ctx, GS_ERR_VALUE, "least", i, model->least[i],
                           "at most the block_time");
        }
    }
    if ((status = check_options(ctx, model)) != GS_OK ||
        (model->chains != NULL && (status = check_chains(ctx, model)) != GS_OK) ||
        (status = check_streams(ctx, model)) != GS_OK) {
        return status;
    }
    return check_releases(ctx, model);
}

/* Ranks the tasks among jobs of one instant: by priority, then index; the task under analysis
 * last. */
static int rank_tasks(gs_simulate_fifo_t *self, gs_context_t *ctx)
{
    const gs_simulate_fifo_model_t *model = &self->model;
    int64_t n = model->kernels.n, rank = 0;
    gs_heap_t order = {0};
    int status = GS_OK;
    for (int64_t i = 0; i < n && status == GS_OK; i++) {
        if (i != model->victim) {
            status = gs_heap_push(&order, ctx, model->priority == NULL ? 0 : model->priority[i], i);
        }
    }
    for (; status == GS_OK && order.count > 0; rank++) {
        self->by_rank[rank] = order.entry[0].item;
        gs_heap_pop(&order);
    }
    if (model->victim >= 0) {
        self->by_rank[n - 1] = model->victim;
    }
    for (int64_t r = 0; r < n && status == GS_OK; r++) {
        self->rank[self->by_rank[r]] = r;
    }
    gs_heap_free(&order, ctx);
    return status;
}

/* The first releases; with a task under analysis only its own. */
static int first_releases(gs_simulate_fifo_t *self, gs_context_t *ctx)
{
    const gs_simulate_fifo_model_t *model = &self->model;
    int status = GS_OK;
    for (int64_t i = 0; i < model->kernels.n && status == GS_OK; i++) {
        self->earliest[i] = model->offset == NULL ? 0 : model->offset[i];
        bool known = model->victim < 0 || model->victim == i;
        if (model->release_begin != NULL) {
            int64_t first = model->release_begin[i];
            known = first < model->release_begin[i + 1];
            self->earliest[i] = known ? model->release[first] : GS_NEVER;
        }
        if (known && self->earliest[i] < model->until) {
            status = gs_heap_push(&self->releases, ctx, self->earliest[i], self->rank[i]);
        }
    }
    return status;
}

/* One seed per task, so that its numbers do not depend on the other tasks. */
static void seed_tasks(gs_simulate_fifo_t *self)
{
    const gs_simulate_fifo_model_t *model = &self->model;
    gs_rng_t gaps, times;
    gs_rng_init(&gaps, model->key, model->index, GS_RNG_STREAM_RELEASE);
    gs_rng_init(&times, model->key, model->index, GS_RNG_STREAM_EXECUTION);
    for (int64_t i = 0; i < model->kernels.n; i++) {
        self->gap_seed[i] = gs_rng_next(&gaps);
        self->time_seed[i] = gs_rng_next(&times);
    }
}

static int allocate(gs_simulate_fifo_t *self, gs_context_t *ctx)
{
    size_t n = (size_t)self->model.kernels.n;
    size_t kernels = (size_t)gs_simulate_fifo_kernel_count(&self->model);
    if ((self->worst = gs_alloc(ctx, n, sizeof(int64_t))) == NULL ||
        (self->finished = gs_alloc(ctx, n, sizeof(int64_t))) == NULL ||
        (self->released = gs_alloc(ctx, n, sizeof(int64_t))) == NULL ||
        (self->rank = gs_alloc(ctx, n, sizeof(int64_t))) == NULL ||
        (self->by_rank = gs_alloc(ctx, n, sizeof(int64_t))) == NULL ||
        (self->task_stream = gs_alloc(ctx, n, sizeof(int64_t))) == NULL ||
        (self->least = gs_alloc(ctx, kernels, sizeof(int64_t))) == NULL ||
        (self->earliest = gs_alloc(ctx, n, sizeof(int64_t))) == NULL ||
        (self->gap_seed = gs_alloc(ctx, n, sizeof(uint64_t))) == NULL ||
        (self->time_seed = gs_alloc(ctx, n, sizeof(uint64_t))) == NULL ||
        (self->stream = gs_alloc(ctx, n, sizeof *self->stream)) == NULL) {
        return ctx->status;
    }
    return GS_OK;
}

int gs_simulate_fifo_init(gs_simulate_fifo_t *self, gs_context_t *ctx,
                          const gs_simulate_fifo_model_t *model)
{
    memset(self, 0, sizeof *self);
    self->model = *model;
    if (model->chains != NULL) {
        const gs_kernel_chains_t *c = model->chains;
        self->model.kernels =
            (gs_kernel_tasks_t){c->n, c->period, c->block_time, c->blocks, c->threads};
    }
    model = &self->model;
    self->job_free = -1;
    int status = model->gpu == NULL ? GS_OK : gs_gpu_check(ctx, model->gpu);
    if (status == GS_OK && model->gpu != NULL) { /* no overflow: both fit 32 bits */
        self->model.m = (int64_t)model->gpu->sms * model->gpu->warps_per_sm * GS_GPU_WARP_THREADS;
    }
    self->threads_free = self->model.m;
    if (status == GS_OK) {
        status = check(ctx, &self->model);
    }
    if (status == GS_OK) {
        status = allocate(self, ctx);
    }
    if (status == GS_OK && model->gpu != NULL) {
        status = gs_simulate_fifo_sms_init(self, ctx);
    }
    if (status == GS_OK) {
        for (int64_t i = 0; i < model->kernels.n; i++) {
            self->task_stream[i] = model->stream == NULL ? i : model->stream[i];
            self->stream[i].head = self->stream[i].tail = -1;
        }
        for (int64_t j = 0; j < gs_simulate_fifo_kernel_count(model); j++) {
            self->least[j] = model->least == NULL ? model->kernels.block_time[j] : model->least[j];
            self->least[j] = model->given == NULL ? self->least[j] : 0;
        }
        seed_tasks(self);
        status = rank_tasks(self, ctx);
    }
    if (status == GS_OK) {
        status = first_releases(self, ctx);
    }
    if (status == GS_OK) {
        status = gs_simulate_fifo_cycle_init(self, ctx);
    }
    if (status != GS_OK) {
        gs_simulate_fifo_free(self, ctx);
    }
    return status;
}

void gs_simulate_fifo_free(gs_simulate_fifo_t *self, gs_context_t *ctx)
{
    gs_simulate_fifo_cycle_free(self, ctx);
    gs_simulate_fifo_sms_free(self, ctx);
    gs_heap_free(&self->releases, ctx);
    gs_heap_free(&self->ends, ctx);
    gs_heap_free(&self->joins, ctx);
    void *const blocks[] = {self->worst,       self->finished,   self->released, self->rank,
                            self->by_rank,     self->earliest,   self->gap_seed, self->time_seed,
                            self->task_stream, self->stream,     self->job,      self->wave,
                            self->flight,      self->queue,      self->least,    self->wave_sm,
                            self->flight_free, self->wave_kernel};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
        gs_free(ctx, blocks[i]);
    }
    memset(self, 0, sizeof *self);
}
