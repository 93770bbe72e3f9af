/* Check and initial state of the hierarchy simulator. */
#include "simulate/hierarchy/hierarchy.h"

#include <string.h>

#include "core/rng.h"
#include "simulate/hierarchy/hierarchy_parts.h"

/* Checks that entries are within least .. most. */
static int check_range(gs_context_t *ctx, const char *field, const int64_t *entry, int64_t count,
                       int64_t least, int64_t most, const char *reason)
{
    for (int64_t i = 0; i < count; i++) {
        if (entry[i] < least || entry[i] > most) {
            return gs_fail(ctx, GS_ERR_VALUE, field, i, entry[i], reason);
        }
    }
    return GS_OK;
}

static int check_times(gs_context_t *ctx, const char *field, const int64_t *entry, int64_t count,
                       int64_t least)
{
    for (int64_t i = 0; i < count; i++) {
        if (entry[i] < least) {
            return gs_fail(ctx, GS_ERR_VALUE, field, i, entry[i],
                           least == 0 ? "a number of at least 0" : "a positive number");
        }
        if (entry[i] >= GS_SIMULATE_HIERARCHY_LATEST) {
            return gs_fail(ctx, GS_ERR_OVERFLOW, field, i, entry[i],
                           "a time below 2**59 - 1 ticks");
        }
    }
    return GS_OK;
}

static int check_contexts(gs_context_t *ctx, const gs_simulate_hierarchy_model_t *model)
{
    if (model->contexts < 1 || model->contexts > INT32_MAX) {
        return gs_fail(ctx, GS_ERR_VALUE, "contexts", -1, model->contexts,
                       "a positive number below 2**31");
    }
    if (model->channels < 0 || model->channels > INT32_MAX) {
        return gs_fail(ctx, GS_ERR_VALUE, "channels", -1, model->channels,
                       "0 for no limit, or a positive number below 2**31");
    }
    if (model->resident_grids < 0 || model->resident_grids > INT32_MAX) {
        return gs_fail(ctx, GS_ERR_VALUE, "resident_grids", -1, model->resident_grids,
                       "0 for no limit, or a positive number below 2**31");
    }
    int status = check_times(ctx, "context_switch", &model->context_switch, 1, 0);
    if (status == GS_OK) {
        status = check_times(ctx, "timeslice", model->timeslice, model->contexts, 1);
    }
    if (status == GS_OK && model->runlist != NULL) {
        status = check_range(ctx, "runlist", model->runlist, model->runlist_length, 0,
                             model->contexts - 1, "the index of a context");
    }
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

/* Checks the sizes of GPCs. */
static int check_gpcs(gs_context_t *ctx, const gs_simulate_hierarchy_model_t *model)
{
    int64_t left = model->gpu.sms;
    for (int64_t g = 0; model->gpc_sms != NULL && g < model->gpcs; g++) {
        if (model->gpc_sms[g] < 1) {
            return gs_fail(ctx, GS_ERR_VALUE, "sms_per_gpc", g, model->gpc_sms[g],
                           "a positive number");
        }
        if (model->gpc_sms[g] > left) {
            return gs_fail_above(ctx, GS_ERR_VALUE, "sms_per_gpc", g, model->gpc_sms[g], left,
                                 "the SMs of the GPU that are left");
        }
        left -= model->gpc_sms[g];
    }
    if (model->gpc_sms != NULL && left > 0) {
        return gs_fail(ctx, GS_ERR_VALUE, "sms_per_gpc", -1, model->gpu.sms - left,
                       "sizes that add up to the SMs of the GPU");
    }
    return GS_OK;
}

static int check_streams(gs_context_t *ctx, const gs_simulate_hierarchy_model_t *model)
{
    if (model->streams < 1 || model->streams > INT32_MAX) {
        return gs_fail(ctx, GS_ERR_VALUE, "streams", -1, model->streams,
                       "a positive number below 2**31");
    }
    int status = check_range(ctx, "context", model->context, model->streams, 0, model->contexts - 1,
                             "the index of a context");
    if (status == GS_OK) {
        status = check_range(ctx, "stream_kind", model->stream_kind, model->streams,
                             GS_SIMULATE_HIERARCHY_STREAM_BLOCKING,
                             GS_SIMULATE_HIERARCHY_STREAM_NULL, "a known kind of stream");
    }
    return status;
}

/* Checks ops + 1 offsets, ascending from 0. */
static int check_offsets(gs_context_t *ctx, const char *field, const int64_t *begin, int64_t ops)
{
    for (int64_t i = 0; i <= ops; i++) {
        if (begin[i] < (i == 0 ? 0 : begin[i - 1]) || (i == 0 && begin[0] != 0)) {
            return gs_fail(ctx, GS_ERR_VALUE, field, i, begin[i], "offsets that rise from 0");
        }
    }
    return GS_OK;
}

static int check_given(gs_context_t *ctx, const gs_simulate_hierarchy_model_t *model)
{
    int status = GS_OK;
    if (model->given_begin != NULL) {
        status = check_offsets(ctx, "block_times", model->given_begin, model->ops);
        for (int64_t i = 0; i < model->ops && status == GS_OK; i++) {
            int64_t count = model->given_begin[i + 1] - model->given_begin[i];
            if (count != 0 &&
                (model->kind[i] != GS_SIMULATE_HIERARCHY_OP_KERNEL || count != model->blocks[i])) {
                status = gs_fail(ctx, GS_ERR_VALUE, "block_times", i, count,
                                 "one time for each block of the kernel");
            }
        }
        if (status == GS_OK) {
            status =
                check_times(ctx, "block_times", model->given, model->given_begin[model->ops], 1);
        }
    }
    if (status == GS_OK && model->after_begin != NULL) {
        status = check_offsets(ctx, "after", model->after_begin, model->ops);
        if (status == GS_OK) {
            status = check_range(ctx, "after", model->after, model->after_begin[model->ops], 0,
                                 model->ops - 1, "the index of a launch");
        }
    }
    return status;
}

/* Checks the launches of kernels whose blocks start together. */
static int check_starts(gs_context_t *ctx, const gs_simulate_hierarchy_model_t *model)
{
    int status = GS_OK;
    if (model->cooperative != NULL) {
        status = check_range(ctx, "cooperative", model->cooperative, model->ops, 0, 1, "0 or 1");
    }
    for (int64_t i = 0; i < model->ops && model->cluster != NULL && status == GS_OK; i++) {
        if (model->kind[i] != GS_SIMULATE_HIERARCHY_OP_KERNEL) {
            continue;
        }
        if (model->cluster[i] < 1 || model->cluster[i] > GS_SIMULATE_HIERARCHY_CLUSTER_BLOCKS) {
            status = gs_fail(ctx, GS_ERR_VALUE, "cluster", i, model->cluster[i], "1 to 16 blocks");
        } else if (model->blocks[i] % model->cluster[i] != 0) {
            status = gs_fail(ctx, GS_ERR_VALUE, "cluster", i, model->cluster[i],
                             "a divisor of the number of blocks");
        }
    }
    return status;
}

static int check_ops(gs_context_t *ctx, const gs_simulate_hierarchy_model_t *model)
{
    int64_t ops = model->ops;
    if (ops < 0 || ops > INT32_MAX) {
        return gs_fail(ctx, GS_ERR_VALUE, "launches", -1, ops,
                       "a number of at least 0, below 2**31");
    }
    int status = check_times(ctx, "time", model->time, ops, 0);
    if (status == GS_OK) {
        status = check_range(ctx, "kind", model->kind, ops, GS_SIMULATE_HIERARCHY_OP_KERNEL,
                             GS_SIMULATE_HIERARCHY_OP_COPY_OUT, "a known kind of operation");
    }
    if (status == GS_OK) {
        status = check_range(ctx, "stream", model->stream, ops, 0, model->streams - 1,
                             "the index of a stream");
    }
    if (status == GS_OK) {
        status = check_times(ctx, "duration", model->least, ops, 1);
    }
    if (status == GS_OK) {
        status = check_times(ctx, "longest", model->most, ops, 1);
    }
    for (int64_t i = 0; i < ops && status == GS_OK; i++) {
        if (model->most[i] < model->least[i]) {
            status =
                gs_fail(ctx, GS_ERR_VALUE, "longest", i, model->most[i], "at least the duration");
        }
    }
    if (status == GS_OK && model->interference != NULL) {
        status = check_range(ctx, "interference", model->interference, 4 * ops, 1000, 1000000,
                             "1000 to 1000000 thousandths");
    }
    if (status == GS_OK) {
        status = gs_simulate_hierarchy_check_engines(ctx, model);
    }
    if (status == GS_OK) {
        status = check_starts(ctx, model);
    }
    return status == GS_OK ? check_given(ctx, model) : status;
}

static int check(gs_context_t *ctx, const gs_simulate_hierarchy_model_t *model)
{
    int status = check_gpcs(ctx, model);
    if (status == GS_OK) {
        status = check_contexts(ctx, model);
    }
    if (status == GS_OK) {
        status = check_streams(ctx, model);
    }
    if (status == GS_OK) {
        status = gs_simulate_hierarchy_check_partitions(ctx, model);
    }
    return status == GS_OK ? check_ops(ctx, model) : status;
}

static int allocate(gs_simulate_hierarchy_t *self, gs_context_t *ctx)
{
    const gs_simulate_hierarchy_model_t *model = &self->model;
    size_t ops = (size_t)model->ops, streams = (size_t)model->streams;
    size_t sms = (size_t)model->gpu.sms;
    size_t heads = streams + (model->graph == NULL ? 0 : ops);
    if ((self->op = gs_alloc(ctx, ops, sizeof *self->op)) == NULL ||
        (self->order = gs_alloc(ctx, ops, sizeof(int64_t))) == NULL ||
        (self->context = gs_alloc(ctx, (size_t)model->contexts, sizeof *self->context)) == NULL ||
        (self->stream_head = gs_alloc(ctx, streams, sizeof(int64_t))) == NULL ||
        (self->stream_tail = gs_alloc(ctx, streams, sizeof(int64_t))) == NULL ||
        (self->stream_level = gs_alloc(ctx, streams, sizeof(int64_t))) == NULL ||
        (self->stream_channel = gs_alloc(ctx, streams, sizeof(int64_t))) == NULL ||
        (self->heads = gs_alloc(ctx, heads, sizeof(int64_t))) == NULL ||
        (self->position = gs_alloc(ctx, sms, sizeof *self->position)) == NULL ||
        (self->gpc = gs_alloc(ctx, sms, sizeof *self->gpc)) == NULL ||
        (self->on_sm = gs_alloc(ctx, sms, sizeof *self->on_sm)) == NULL ||
        (self->used_sm = gs_alloc(ctx, sms, sizeof *self->used_sm)) == NULL ||
        (self->sm_op = gs_alloc(ctx, sms, sizeof *self->sm_op)) == NULL ||
        (self->gpc_op = gs_alloc(ctx, sms, sizeof *self->gpc_op)) == NULL) {
        return ctx->status;
    }
    return GS_OK;
}

/* Finds the GPC of each SM. */
static void find_gpcs(gs_simulate_hierarchy_t *self)
{
    const gs_simulate_hierarchy_model_t *model = &self->model;
    int32_t g = 0;
    int64_t left = model->gpc_sms == NULL ? model->gpu.sms : model->gpc_sms[0];
    for (int32_t s = 0; s < model->gpu.sms; s++, left--) {
        if (left == 0) {
            left = model->gpc_sms[++g];
        }
        self->gpc[s] = g;
    }
}

/* Sorts the operations by launch. */
static int sort_launches(gs_simulate_hierarchy_t *self, gs_context_t *ctx)
{
    gs_heap_t heap = {0};
    int status = GS_OK;
    for (int64_t i = 0; i < self->model.ops && status == GS_OK; i++) {
        status = gs_heap_push(&heap, ctx, self->model.time[i], i);
    }
    for (int64_t rank = 0; status == GS_OK && heap.count > 0; rank++) {
        self->order[rank] = heap.entry[0].item;
        self->op[heap.entry[0].item].rank = rank;
        gs_heap_pop(&heap);
        status = gs_poll(ctx, 32);
    }
    gs_heap_free(&heap, ctx);
    return status;
}

/* Resources of a block of each kernel. A block that fits no SM is refused: it would never start. */
static int measure_kernels(gs_simulate_hierarchy_t *self, gs_context_t *ctx)
{
    const gs_simulate_hierarchy_model_t *model = &self->model;
    for (int64_t i = 0; i < model->ops; i++) {
        gs_simulate_hierarchy_op_t *op = &self->op[i];
        int64_t rank = op->rank, blocks;
        int limit;
        *op = (gs_simulate_hierarchy_op_t){.head = -1,
                                           .joined = -1,
                                           .first = -1,
                                           .dispatched = -1,
                                           .end = -1,
                                           .next = -1,
                                           .previous = -1,
                                           .graph = -1,
                                           .rank = rank,
                                           .before_in_channel = -1,
                                           .before_in_null = -1,
                                           .waiter = -1,
                                           .next_waiter = -1,
                                           .why = -1,
                                           .engine = -1,
                                           .blocker = -1};
        if (model->kind[i] != GS_SIMULATE_HIERARCHY_OP_KERNEL) {
            continue;
        }
        if (!gs_add(self->all_blocks, model->blocks[i], &self->all_blocks)) {
            self->all_blocks = INT64_MAX;
        }
        gs_gpu_kernel_t kernel = {model->blocks[i], model->threads[i], model->regs[i],
                                  model->smem[i]};
        int status =
            gs_occupancy_footprint(ctx, &model->gpu, &kernel, i, &op->take, &blocks, &limit);
        if (status != GS_OK) {
            return status;
        }
        if (blocks == 0) {
            static const char *const reasons[] = {
                "a block of at most an SM's warps", "SMs that hold a block",
                "a block of at most an SM's registers", "at most a block's limit of shared memory",
                "at most 1024 threads in a block"};
            static const char *const fields[] = {"threads", "blocks", "regs", "smem", "threads"};
            const int64_t values[] = {kernel.threads, kernel.blocks, kernel.regs, kernel.smem,
                                      kernel.threads};
            return gs_fail(ctx, GS_ERR_VALUE, fields[limit], i, values[limit], reasons[limit]);
        }
        if (model->carveout != NULL && model->carveout[i] >= 0) {
            int64_t least = kernel.smem == 0 ? 0 : op->take.smem;
            op->take.carveout = gs_occupancy_carveout(
                &model->gpu, model->carveout[i] > least ? model->carveout[i] : least);
        }
        op->waiting = kernel.blocks;
    }
    return GS_OK;
}

static int make_context(gs_simulate_hierarchy_t *self, gs_context_t *ctx, int64_t c)
{
    gs_simulate_hierarchy_context_t *context = &self->context[c];
    context->placed_op = -1;
    context->places = self->model.resident_grids > 0 ? self->model.resident_grids : INT64_MAX;
    return gs_block_placement_init(&context->placer, ctx, &self->model.gpu, self->model.policy);
}

static int prepare(gs_simulate_hierarchy_t *self, gs_context_t *ctx)
{
    const gs_simulate_hierarchy_model_t *model = &self->model;
    int status = allocate(self, ctx);
    for (int32_t p = 0; status == GS_OK && p < model->gpu.sms; p++) {
        self->position[gs_gpu_sm_at(&model->gpu, p)] = p;
    }
    if (status == GS_OK) {
        find_gpcs(self);
    }
    for (int64_t c = 0; c < model->contexts && status == GS_OK; c++) {
        status = make_context(self, ctx, c);
    }
    if (status == GS_OK) {
        status = gs_simulate_hierarchy_make_partitions(self, ctx);
    }
    if (status == GS_OK) {
        status = sort_launches(self, ctx);
    }
    if (status == GS_OK) {
        status = measure_kernels(self, ctx);
    }
    if (status == GS_OK && model->graph != NULL) {
        status = gs_simulate_hierarchy_make_graphs(self, ctx);
    }
    if (status != GS_OK) {
        return status;
    }
    for (int64_t s = 0; s < model->streams; s++) {
        self->stream_head[s] = self->stream_tail[s] = -1;
    }
    gs_rng_t rng;
    gs_rng_init(&rng, model->key, model->index, GS_RNG_STREAM_EXECUTION);
    self->time_seed = gs_rng_next(&rng);
    return gs_simulate_hierarchy_make_starts(self, ctx);
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
    self->active = self->last = self->turn = -1;
    int status = gs_gpu_check(ctx, &model->gpu);
    if (status == GS_OK) {
        status = check(ctx, &self->model);
    }
    if (status == GS_OK) {
        gs_simulate_hierarchy_make_engines(self);
        status = prepare(self, ctx);
    }
    if (status != GS_OK) {
        gs_simulate_hierarchy_free(self, ctx);
    }
    return status;
}

static void free_context(gs_context_t *ctx, gs_simulate_hierarchy_context_t *context)
{
    gs_block_placement_free(&context->placer, ctx);
    gs_heap_free(&context->ends, ctx);
    for (int64_t level = 0; context->queue != NULL && level < context->levels; level++) {
        gs_free(ctx, context->queue[level].op);
    }
    gs_free(ctx, context->queue);
    gs_free(ctx, context->is_first);
    gs_free(ctx, context->stuck);
    for (int64_t g = 0; context->group != NULL && g < context->groups; g++) {
        gs_free(ctx, context->group[g].freed);
        gs_free(ctx, context->group[g].is_freed);
    }
    gs_free(ctx, context->group);
    gs_free(ctx, context->channel_tail);
}

void gs_simulate_hierarchy_free(gs_simulate_hierarchy_t *self, gs_context_t *ctx)
{
    for (int64_t c = 0; self->context != NULL && c < self->model.contexts; c++) {
        free_context(ctx, &self->context[c]);
    }
    gs_simulate_hierarchy_free_partitions(self, ctx);
    gs_simulate_hierarchy_free_starts(self, ctx);
    gs_simulate_hierarchy_free_engines(self, ctx);
    void *const blocks[] = {
        self->op,
        self->order,
        self->context,
        self->stream_head,
        self->stream_tail,
        self->stream_level,
        self->stream_channel,
        self->heads,
        self->position,
        self->on_sm,
        self->used_sm,
        self->wait,
        self->slice,
        self->flight,
        self->flight_free,
        self->sm,
        self->sm_op,
        self->gpc_op,
        self->gpc,
        self->graph,
    };
    for (size_t k = 0; k < sizeof blocks / sizeof *blocks; k++) {
        gs_free(ctx, blocks[k]);
    }
    for (int i = 0; i < GS_SIMULATE_HIERARCHY_BLOCK_COLUMNS; i++) {
        gs_free(ctx, self->block[i]);
    }
    memset(self, 0, sizeof *self);
}
