/* Check and initial state of the hierarchy simulator. */
#include "simulate/hierarchy/hierarchy.h"

#include <string.h>

#include "core/radix_sort.h"
#include "core/rng.h"
#include "simulate/hierarchy/hierarchy_parts.h"

/* A runlist has each context at least once. */
static int check_runlist(gs_context_t *ctx, const gs_simulate_hierarchy_model_t *model)
{
    int status = gs_check_range(ctx, "runlist", model->runlist, model->runlist_length, 0,
                                model->contexts - 1, "the index of a context");
    if (status != GS_OK || model->runlist == NULL) {
        return status;
    }
    bool *listed = gs_alloc(ctx, (size_t)model->contexts, sizeof *listed);
    if (listed == NULL) {
        return ctx->status;
    }
    for (int64_t k = 0; k < model->runlist_length; k++) {
        listed[model->runlist[k]] = true;
    }
    for (int64_t c = 0; c < model->contexts && status == GS_OK; c++) {
        if (!listed[c]) {
            status = gs_fail(ctx, GS_ERR_VALUE, "runlist", -1, c, "every context at least once");
        }
    }
    gs_free(ctx, listed);
    return status;
}

/* Counts, which are checked before the columns. */
static int check_counts(gs_context_t *ctx, const gs_simulate_hierarchy_model_t *model)
{
    const char *some = "a positive number below 2**31";
    const char *limit = "0 for no limit, or a positive number below 2**31";
    const struct {
        const char *field;
        int64_t value, least;
        const char *expected;
    } counts[] = {
        {"contexts", model->contexts, 1, some},
        {"channels", model->channels, 0, limit},
        {"resident_grids", model->resident_grids, 0, limit},
        {"streams", model->streams, 1, some},
        {"partitions", model->partitions, 1, some},
        {"launches", model->ops, 0, "a number of at least 0, below 2**31"},
    };
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
        if (counts[k].value < counts[k].least || counts[k].value > INT32_MAX) {
            return gs_fail(ctx, GS_ERR_VALUE, counts[k].field, -1, counts[k].value,
                           counts[k].expected);
        }
    }
    return GS_OK;
}

static int check_given(gs_context_t *ctx, const gs_simulate_hierarchy_model_t *model)
{
    int status = gs_check_offsets(ctx, "block_times", model->given_begin, model->ops, 0);
    for (int64_t i = 0; model->given_begin != NULL && i < model->ops && status == GS_OK; i++) {
        int64_t count = model->given_begin[i + 1] - model->given_begin[i];
        if (count != 0 &&
            (model->kind[i] != GS_SIMULATE_GPU_OP_KERNEL || count != model->blocks[i])) {
            status = gs_fail(ctx, GS_ERR_VALUE, "block_times", i, count,
                             "one time for each block of the kernel");
        }
    }
    if (status == GS_OK && model->given_begin != NULL) {
        status =
            gs_check_times(ctx, "block_times", model->given, model->given_begin[model->ops], 1);
    }
    if (status == GS_OK) {
        status = gs_check_offsets(ctx, "after", model->after_begin, model->ops, 0);
    }
    if (status == GS_OK && model->after_begin != NULL) {
        status = gs_check_range(ctx, "after", model->after, model->after_begin[model->ops], 0,
                                model->ops - 1, "the index of a launch");
    }
    return status;
}

/* Refuses engines that are not possible, and copies whose direction no engine has. */
static int check_engines(gs_context_t *ctx, const gs_simulate_hierarchy_model_t *model)
{
    if (model->engines < 1 || model->engines > GS_SIMULATE_GPU_ENGINES) {
        return gs_fail(ctx, GS_ERR_VALUE, "copy_engines", -1, model->engines, "1 to 64 engines");
    }
    const int64_t both = GS_SIMULATE_GPU_ENGINE_IN | GS_SIMULATE_GPU_ENGINE_OUT;
    int64_t served = 0;
    for (int64_t e = 0; e < model->engines; e++) {
        if (model->engine_directions[e] < 1 || model->engine_directions[e] > both) {
            return gs_fail(ctx, GS_ERR_VALUE, "copy_engines", e, model->engine_directions[e],
                           "1 for copies in, 2 for copies out, or 3 for both");
        }
        served |= model->engine_directions[e];
    }
    for (int64_t i = 0; i < model->ops; i++) {
        bool in = model->kind[i] == GS_SIMULATE_GPU_OP_COPY_IN;
        int64_t direction = in ? GS_SIMULATE_GPU_ENGINE_IN : GS_SIMULATE_GPU_ENGINE_OUT;
        if (model->kind[i] != GS_SIMULATE_GPU_OP_KERNEL && (direction & served) == 0) {
            return gs_fail(ctx, GS_ERR_VALUE, "kind", i, model->kind[i],
                           "a direction that a copy engine has");
        }
    }
    return GS_OK;
}

static int check_ops(gs_context_t *ctx, const gs_simulate_hierarchy_model_t *model)
{
    const int64_t ops = model->ops;
    int status;
    if ((status = gs_check_times(ctx, "time", model->time, ops, 0)) != GS_OK ||
        (status = gs_check_range(ctx, "kind", model->kind, ops, GS_SIMULATE_GPU_OP_KERNEL,
                                 GS_SIMULATE_GPU_OP_COPY_OUT, "a known kind of operation")) !=
            GS_OK ||
        (status = gs_check_range(ctx, "stream", model->stream, ops, 0, model->streams - 1,
                                 "the index of a stream")) != GS_OK ||
        (status = gs_check_times(ctx, "duration", model->least, ops, 1)) != GS_OK ||
        (status = gs_check_times(ctx, "longest", model->most, ops, 1)) != GS_OK) {
        return status;
    }
    for (int64_t i = 0; i < ops; i++) {
        if (model->most[i] < model->least[i]) {
            return gs_fail(ctx, GS_ERR_VALUE, "longest", i, model->most[i],
                           "at least the duration");
        }
    }
    const gs_simulate_gpu_kernels_t kernels = {
        ops,
        model->kind,
        model->blocks,
        GS_SIMULATE_GPU_OP_KERNEL,
        model->cluster,
        model->cooperative,
        model->interference,
    };
    if ((status = gs_simulate_gpu_check_kernels(ctx, &kernels)) != GS_OK ||
        (status = check_engines(ctx, model)) != GS_OK) {
        return status;
    }
    return check_given(ctx, model);
}

static int check(gs_context_t *ctx, const gs_simulate_hierarchy_model_t *model)
{
    int status = gs_gpu_check(ctx, &model->gpu);
    if (status != GS_OK ||
        (status = gs_simulate_gpu_check_gpcs(ctx, &model->gpu, model->gpc_sms, model->gpcs)) !=
            GS_OK ||
        (status = check_counts(ctx, model)) != GS_OK ||
        (status = gs_check_times(ctx, "context_switch", &model->context_switch, 1, 0)) != GS_OK ||
        (status = gs_check_times(ctx, "timeslice", model->timeslice, model->contexts, 1)) !=
            GS_OK ||
        (status = check_runlist(ctx, model)) != GS_OK ||
        (status = gs_check_range(ctx, "context", model->context, model->streams, 0,
                                 model->contexts - 1, "the index of a context")) != GS_OK ||
        (status = gs_check_range(ctx, "stream_kind", model->stream_kind, model->streams,
                                 GS_SIMULATE_GPU_STREAM_BLOCKING, GS_SIMULATE_GPU_STREAM_NULL,
                                 "a known kind of stream")) != GS_OK ||
        (status = gs_simulate_hierarchy_check_partitions(ctx, model)) != GS_OK) {
        return status;
    }
    return check_ops(ctx, model);
}

/* Columns of so many rows have their own pages, which move when they grow and are not copied. Pages
 * that are not written take no memory. */
#define MOST_FIRST (INT64_C(1) << 22)

/* Rows that the log of blocks has room for at first: all, so that it need not grow, unless they are
 * very many or take more than half of the memory budget. */
static int64_t first_log(const gs_simulate_hierarchy_t *self, const gs_context_t *ctx)
{
    int64_t rows = self->all_blocks < MOST_FIRST ? self->all_blocks : MOST_FIRST;
    if (ctx->bytes_limit != 0) {
        int64_t row = GS_SIMULATE_GPU_BLOCK_COLUMNS * (int64_t)sizeof(int64_t);
        int64_t affordable = (ctx->bytes_limit - ctx->bytes_used) / (2 * row);
        rows = rows < affordable ? rows : affordable;
    }
    return rows;
}

static int allocate(gs_simulate_hierarchy_t *self, gs_context_t *ctx)
{
    const gs_simulate_hierarchy_model_t *model = &self->model;
    const size_t ops = (size_t)model->ops;
    for (int c = 0; c < GS_SIMULATE_GPU_TIME_COLUMNS; c++) {
        if ((self->time[c] = gs_alloc(ctx, ops, sizeof *self->time[c])) == NULL) {
            return ctx->status;
        }
        memset(self->time[c], -1, ops * sizeof *self->time[c]);
    }
    if ((self->order = gs_alloc(ctx, ops, sizeof *self->order)) == NULL ||
        (self->op = gs_alloc(ctx, ops, sizeof *self->op)) == NULL ||
        (self->engine = gs_alloc(ctx, ops, sizeof *self->engine)) == NULL) {
        return ctx->status;
    }
    memset(self->op, -1, ops * sizeof *self->op);
    memset(self->engine, -1, ops * sizeof *self->engine);
    if (model->after_begin == NULL) {
        return GS_OK;
    }
    if ((self->waiter = gs_alloc(ctx, ops, sizeof *self->waiter)) == NULL ||
        (self->next_waiter = gs_alloc(ctx, ops, sizeof *self->next_waiter)) == NULL) {
        return ctx->status;
    }
    memset(self->waiter, -1, ops * sizeof *self->waiter);
    return GS_OK;
}

/* Refuses kernels that could never start, and counts their blocks. */
static int check_kernels(gs_simulate_hierarchy_t *self, gs_context_t *ctx)
{
    const gs_simulate_hierarchy_model_t *model = &self->model;
    int status = GS_OK;
    for (int64_t i = 0; i < model->ops && status == GS_OK; i++) {
        if (model->kind[i] != GS_SIMULATE_GPU_OP_KERNEL) {
            continue;
        }
        if (!gs_add(self->all_blocks, model->blocks[i], &self->all_blocks)) {
            self->all_blocks = INT64_MAX;
        }
        gs_simulate_gpu_shape_t shape;
        status = gs_simulate_hierarchy_shape(self, ctx, i, &shape);
    }
    for (int64_t i = 0; i < model->ops && status == GS_OK; i++) {
        bool together = (model->cooperative != NULL && model->cooperative[i] != 0) ||
                        (model->cluster != NULL && model->cluster[i] > 1);
        if (!together || model->kind[i] != GS_SIMULATE_GPU_OP_KERNEL) {
            continue;
        }
        int64_t op = gs_simulate_hierarchy_new_op(self, ctx, i);
        status = op < 0 ? ctx->status : gs_simulate_gpu_check(&self->gpu, ctx, op);
        self->gpu.op_used = 0; /* it is not launched */
    }
    return status;
}

/* The GPU, as far as it does not depend on streams. */
static void describe_gpu(gs_simulate_hierarchy_t *self)
{
    const gs_simulate_hierarchy_model_t *model = &self->model;
    gs_simulate_gpu_t *gpu = &self->gpu;
    *gpu = (gs_simulate_gpu_t){
        .gpu = &model->gpu,
        .policy = model->policy,
        .gpc_sms = model->gpc_sms,
        .resident_grids = model->resident_grids,
        .context_switch = model->context_switch,
        .until_end = model->channels_until_end,
        .interferes = model->interference != NULL,
        .has_triggers = model->trigger != NULL,
        .is_programmatic = model->programmatic != NULL,
        .has_clusters = model->cluster != NULL,
        .contexts = model->contexts,
        .calls = &gs_simulate_hierarchy_feed,
        .owner = self,
        .times = self->time,
        .block_log = model->log_blocks ? &self->block_log : NULL,
        .wait_log = &self->wait_log,
    };
    gpu->engines.count = model->engines;
    for (int64_t e = 0; e < model->engines; e++) {
        gpu->engines.directions[e] = model->engine_directions[e];
    }
}

static int prepare(gs_simulate_hierarchy_t *self, gs_context_t *ctx)
{
    const gs_simulate_hierarchy_model_t *model = &self->model;
    int status = allocate(self, ctx);
    if (status != GS_OK) {
        return status;
    }
    describe_gpu(self);
    gs_radix_sort_identity(model->ops, self->order);
    if ((status = gs_simulate_hierarchy_make_rooms(self, ctx)) != GS_OK ||
        (status = gs_simulate_gpu_init(&self->gpu, ctx)) != GS_OK ||
        (status = gs_simulate_hierarchy_make_limits(self, ctx)) != GS_OK ||
        (status = gs_radix_sort(ctx, model->time, model->ops, self->order)) != GS_OK ||
        (status = check_kernels(self, ctx)) != GS_OK ||
        (model->graph != NULL &&
         (status = gs_simulate_hierarchy_make_graphs(self, ctx)) != GS_OK)) {
        return status;
    }
    self->block_log.first = first_log(self, ctx);
    self->block_log.most = self->all_blocks;
    gs_rng_t rng;
    gs_rng_init(&rng, model->key, model->index, GS_RNG_STREAM_EXECUTION);
    self->time_seed = gs_rng_next(&rng);
    return GS_OK;
}

int gs_simulate_hierarchy_init(gs_simulate_hierarchy_t *self, gs_context_t *ctx,
                               const gs_simulate_hierarchy_model_t *model)
{
    memset(self, 0, sizeof *self);
    self->model = *model;
    if (model->runlist == NULL) {
        self->model.runlist_length = model->contexts;
    }
    if (model->partition == NULL) {
        self->model.partition = model->context;
        self->model.partitions = model->contexts;
    }
    self->turn = -1;
    int status = check(ctx, &self->model);
    status = status == GS_OK ? prepare(self, ctx) : status;
    if (status != GS_OK) {
        gs_simulate_hierarchy_free(self, ctx);
    }
    return status;
}

void gs_simulate_hierarchy_free(gs_simulate_hierarchy_t *self, gs_context_t *ctx)
{
    gs_free(ctx, self->gpu.shape);
    gs_simulate_gpu_free(&self->gpu, ctx);
    void *const arrays[] = {
        self->order,  self->op,          self->engine,        self->graph,
        self->waiter, self->next_waiter, self->wait_log.wait, self->slice,
    };
    for (size_t k = 0; k < sizeof arrays / sizeof *arrays; k++) {
        gs_free(ctx, arrays[k]);
    }
    for (int c = 0; c < GS_SIMULATE_GPU_TIME_COLUMNS; c++) {
        gs_free(ctx, self->time[c]);
    }
    for (int c = 0; c < GS_SIMULATE_GPU_BLOCK_COLUMNS; c++) {
        gs_free(ctx, self->block_log.column[c]);
    }
    memset(self, 0, sizeof *self);
}
