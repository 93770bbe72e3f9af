/* Partitions of contexts, and the groups, queues and channels that follow from them, for the
 * hierarchy simulator. */
#include "simulate/hierarchy/hierarchy_parts.h"

/* The context of each partition in use, -1 of others. */
static int check_members(gs_context_t *ctx, const gs_simulate_hierarchy_model_t *model,
                         int64_t *context)
{
    for (int64_t p = 0; p < model->partitions; p++) {
        context[p] = -1;
    }
    for (int64_t s = 0; s < model->streams; s++) {
        int64_t p = model->partition[s];
        if (p < 0 || p >= model->partitions) {
            return gs_fail(ctx, GS_ERR_VALUE, "partition", s, p, "the index of a partition");
        }
        if (context[p] >= 0 && context[p] != model->context[s]) {
            return gs_fail(ctx, GS_ERR_VALUE, "partition", s, p,
                           "a partition whose streams are all of one context");
        }
        context[p] = model->context[s];
    }
    return GS_OK;
}

/* mark: per SM, all false; left so. */
static int check_set(gs_context_t *ctx, const gs_simulate_hierarchy_model_t *model, int64_t p,
                     bool *mark)
{
    int status = GS_OK;
    int64_t begin = model->set_begin[p], end = model->set_begin[p + 1], k = begin;
    for (; k < end && status == GS_OK; k++) {
        int64_t sm = model->set[k];
        if (sm < 0 || sm >= model->gpu.sms) {
            status = gs_fail(ctx, GS_ERR_VALUE, "partition_sms", p, sm, "SMs of the GPU");
        } else if (mark[sm]) {
            status = gs_fail(ctx, GS_ERR_VALUE, "partition_sms", p, sm, "each SM once");
        } else {
            mark[sm] = true;
        }
    }
    for (int64_t j = begin; status == GS_OK && j < k; j++) {
        mark[model->set[j]] = false;
    }
    return status;
}

static int check_sets(gs_context_t *ctx, const gs_simulate_hierarchy_model_t *model, bool *mark)
{
    int status = GS_OK;
    for (int64_t p = 0; p <= model->partitions && status == GS_OK; p++) {
        if (model->set_begin[p] < (p == 0 ? 0 : model->set_begin[p - 1]) ||
            model->set_begin[0] != 0) {
            status = gs_fail(ctx, GS_ERR_VALUE, "partition_sms", p, model->set_begin[p],
                             "offsets that rise from 0");
        }
    }
    for (int64_t p = 0; p < model->partitions && status == GS_OK; p++) {
        status = check_set(ctx, model, p, mark);
        if (status == GS_OK) {
            status = gs_poll(ctx, 1 + model->set_begin[p + 1] - model->set_begin[p]);
        }
    }
    return status;
}

int gs_simulate_hierarchy_check_partitions(gs_context_t *ctx,
                                           const gs_simulate_hierarchy_model_t *model)
{
    if (model->partitions < 1 || model->partitions > INT32_MAX) {
        return gs_fail(ctx, GS_ERR_VALUE, "partitions", -1, model->partitions,
                       "a positive number below 2**31");
    }
    int status = GS_OK;
    int64_t *context = gs_alloc(ctx, (size_t)model->partitions, sizeof *context);
    bool *mark = gs_alloc(ctx, (size_t)model->gpu.sms, sizeof *mark);
    status = context == NULL || mark == NULL ? ctx->status : check_members(ctx, model, context);
    if (status == GS_OK && model->set_begin != NULL) {
        status = check_sets(ctx, model, mark);
    }
    for (int64_t p = 0; p < model->partitions && status == GS_OK; p++) {
        if (model->limit != NULL && model->limit[p] < 0) {
            status = gs_fail(ctx, GS_ERR_VALUE, "partition_limit", p, model->limit[p],
                             "0 for no limit, or a positive number of SMs");
        } else if (model->own_queues != NULL &&
                   (model->own_queues[p] < 0 || model->own_queues[p] > 1)) {
            status = gs_fail(ctx, GS_ERR_VALUE, "own_queues", p, model->own_queues[p], "0 or 1");
        }
    }
    gs_free(ctx, mark);
    gs_free(ctx, context);
    return status;
}

/* The SMs of a partition. */
static int make_limits(gs_simulate_hierarchy_t *self, gs_context_t *ctx, int64_t p)
{
    const gs_simulate_hierarchy_model_t *model = &self->model;
    gs_simulate_hierarchy_partition_t *partition = &self->partition[p];
    size_t sms = (size_t)model->gpu.sms;
    int64_t count = model->gpu.sms;
    if (model->set_begin != NULL && model->set_begin[p] < model->set_begin[p + 1]) {
        partition->is_in_set = gs_alloc(ctx, sms, sizeof *partition->is_in_set);
        if (partition->is_in_set == NULL) {
            return ctx->status;
        }
        for (int64_t k = model->set_begin[p]; k < model->set_begin[p + 1]; k++) {
            partition->is_in_set[self->position[model->set[k]]] = true;
        }
        count = model->set_begin[p + 1] - model->set_begin[p];
    }
    if (model->limit != NULL && model->limit[p] > 0 && model->limit[p] < count) {
        partition->limit = (int32_t)model->limit[p];
        partition->blocks = gs_alloc(ctx, sms, sizeof *partition->blocks);
        if (partition->blocks == NULL) {
            return ctx->status;
        }
    }
    return GS_OK;
}

/* Finds the streams of the partitions, their channels and NULL streams. */
static int assign_streams(gs_simulate_hierarchy_t *self, gs_context_t *ctx)
{
    const gs_simulate_hierarchy_model_t *model = &self->model;
    for (int64_t p = 0; p < model->partitions; p++) {
        self->partition[p].context = self->partition[p].null_stream = -1;
    }
    for (int64_t s = 0; s < model->streams; s++) {
        gs_simulate_hierarchy_partition_t *partition = &self->partition[model->partition[s]];
        partition->context = model->context[s];
        int64_t *turn = &partition->streams;
        if (model->shared_channels) {
            turn = &self->context[partition->context].streams;
        }
        self->stream_channel[s] = model->channels == 0 ? -1 : *turn % model->channels;
        ++*turn;
        if (model->stream_kind[s] == GS_SIMULATE_HIERARCHY_STREAM_NULL) {
            if (partition->null_stream >= 0) {
                return gs_fail(ctx, GS_ERR_VALUE, "stream_kind", s,
                               GS_SIMULATE_HIERARCHY_STREAM_NULL,
                               "at most one NULL stream in a partition");
            }
            partition->null_stream = s;
        }
    }
    return GS_OK;
}

/* Gives each partition a group, and numbers the channels of its own among those of its context. */
static int make_groups(gs_simulate_hierarchy_t *self, gs_context_t *ctx)
{
    const gs_simulate_hierarchy_model_t *model = &self->model;
    int64_t *shared = gs_alloc(ctx, (size_t)model->contexts, sizeof *shared);
    int64_t *channel = gs_alloc(ctx, (size_t)model->partitions, sizeof *channel);
    int status = shared == NULL || channel == NULL ? ctx->status : GS_OK;
    for (int64_t c = 0; c < model->contexts && status == GS_OK; c++) {
        shared[c] = -1;
    }
    for (int64_t p = 0; p < model->partitions && status == GS_OK; p++) {
        gs_simulate_hierarchy_partition_t *partition = &self->partition[p];
        if (partition->context < 0) {
            continue;
        }
        gs_simulate_hierarchy_context_t *context = &self->context[partition->context];
        const bool own = model->own_queues != NULL && model->own_queues[p] != 0;
        partition->group =
            own || shared[partition->context] < 0 ? context->groups++ : shared[partition->context];
        if (!own) {
            shared[partition->context] = partition->group;
        }
        if (!model->shared_channels) {
            channel[p] = context->channels;
            context->channels +=
                partition->streams < model->channels ? partition->streams : model->channels;
        }
    }
    for (int64_t c = 0; model->shared_channels && c < model->contexts && status == GS_OK; c++) {
        gs_simulate_hierarchy_context_t *context = &self->context[c];
        context->channels = context->streams < model->channels ? context->streams : model->channels;
    }
    for (int64_t s = 0; s < model->streams && status == GS_OK; s++) {
        self->stream_channel[s] += self->stream_channel[s] < 0 ? 0 : channel[model->partition[s]];
    }
    gs_free(ctx, channel);
    gs_free(ctx, shared);
    return status;
}

/* Numbers the queues of the groups of a context: one for each priority of its streams. */
static int make_levels(gs_simulate_hierarchy_t *self, gs_context_t *ctx, int64_t c)
{
    const gs_simulate_hierarchy_model_t *model = &self->model;
    gs_simulate_hierarchy_context_t *context = &self->context[c];
    gs_heap_t heap = {0};
    int64_t *last = gs_alloc(ctx, (size_t)context->groups, sizeof *last); /* priorities */
    int status = last == NULL ? ctx->status : GS_OK;
    for (int64_t s = 0; s < model->streams && status == GS_OK; s++) {
        if (model->context[s] == c) {
            status = gs_heap_push(&heap, ctx, model->priority[s], s);
        }
    }
    for (; status == GS_OK && heap.count > 0; gs_heap_pop(&heap)) {
        gs_heap_entry_t entry = heap.entry[0];
        int64_t g = self->partition[model->partition[entry.item]].group;
        context->group[g].level_end += context->group[g].level_end == 0 || entry.time != last[g];
        self->stream_level[entry.item] = context->group[g].level_end - 1;
        last[g] = entry.time;
    }
    for (int64_t g = 0; g < context->groups && status == GS_OK; g++) {
        context->group[g].level = context->levels;
        context->group[g].level_end = context->levels += context->group[g].level_end;
    }
    for (int64_t s = 0; s < model->streams && status == GS_OK; s++) {
        if (model->context[s] == c) {
            self->stream_level[s] +=
                context->group[self->partition[model->partition[s]].group].level;
        }
    }
    gs_heap_free(&heap, ctx);
    gs_free(ctx, last);
    return status;
}

static int make_queues(gs_simulate_hierarchy_t *self, gs_context_t *ctx, int64_t c)
{
    gs_simulate_hierarchy_context_t *context = &self->context[c];
    size_t sms = (size_t)self->model.gpu.sms, groups = (size_t)context->groups;
    if ((context->group = gs_alloc(ctx, groups, sizeof *context->group)) == NULL) {
        return ctx->status;
    }
    int status = make_levels(self, ctx, c);
    for (int64_t g = 0; g < context->groups && status == GS_OK; g++) {
        gs_simulate_hierarchy_group_t *group = &context->group[g];
        group->head = -1;
        if ((group->freed = gs_alloc(ctx, sms, sizeof *group->freed)) == NULL ||
            (group->is_freed = gs_alloc(ctx, sms, sizeof *group->is_freed)) == NULL) {
            status = ctx->status;
        }
    }
    if (status != GS_OK) {
        return status;
    }
    size_t levels = (size_t)context->levels, channels = (size_t)context->channels;
    if ((context->queue = gs_alloc(ctx, levels, sizeof *context->queue)) == NULL ||
        (context->stuck = gs_alloc(ctx, groups, sizeof *context->stuck)) == NULL ||
        (context->is_first = gs_alloc(ctx, levels, sizeof *context->is_first)) == NULL ||
        (context->channel_tail = gs_alloc(ctx, channels, sizeof(int64_t))) == NULL) {
        return ctx->status;
    }
    for (int64_t g = 0; g < context->groups; g++) {
        context->is_first[context->group[g].level] = true;
    }
    for (int64_t k = 0; k < context->channels; k++) {
        context->channel_tail[k] = -1;
    }
    return GS_OK;
}

int gs_simulate_hierarchy_make_partitions(gs_simulate_hierarchy_t *self, gs_context_t *ctx)
{
    size_t partitions = (size_t)self->model.partitions;
    if ((self->partition = gs_alloc(ctx, partitions, sizeof *self->partition)) == NULL) {
        return ctx->status;
    }
    int status = assign_streams(self, ctx);
    for (int64_t p = 0; p < self->model.partitions && status == GS_OK; p++) {
        status = make_limits(self, ctx, p);
    }
    if (status == GS_OK) {
        status = make_groups(self, ctx);
    }
    for (int64_t c = 0; c < self->model.contexts && status == GS_OK; c++) {
        status = make_queues(self, ctx, c);
    }
    return status;
}

void gs_simulate_hierarchy_free_partitions(gs_simulate_hierarchy_t *self, gs_context_t *ctx)
{
    for (int64_t p = 0; self->partition != NULL && p < self->model.partitions; p++) {
        gs_free(ctx, self->partition[p].is_in_set);
        gs_free(ctx, self->partition[p].blocks);
    }
    gs_free(ctx, self->partition);
}
