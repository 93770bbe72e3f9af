/* Partitions of contexts, and the rooms of streams that follow from them. */
#include "core/radix_sort.h"
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
    int status = gs_check_offsets(ctx, "partition_sms", model->set_begin, model->partitions, 0);
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

/* The channels of the GPU: the streams of a partition, or of a context, take theirs in turn. order:
 * scratch, per stream. */
static int number_channels(gs_simulate_hierarchy_t *self, gs_context_t *ctx, int32_t *order)
{
    const gs_simulate_hierarchy_model_t *model = &self->model;
    const int64_t *owner = model->shared_channels ? model->context : model->partition;
    gs_simulate_gpu_t *gpu = &self->gpu;
    gs_radix_sort_identity(model->streams, order);
    int status = gs_radix_sort(ctx, owner, model->streams, order);
    int64_t base = 0, turn = 0;
    for (int64_t k = 0; k < model->streams && status == GS_OK; k++, turn++) {
        if (k > 0 && owner[order[k]] != owner[order[k - 1]]) {
            base = gpu->channels;
            turn = 0;
        }
        gpu->channels += turn < model->channels;
        gpu->room[order[k]].channel = model->channels == 0 ? -1 : base + turn % model->channels;
    }
    return status;
}

/* The groups of each context, by their smallest partition: one for each partition with queues of
 * its own, one for all others. shared, groups: per context, all 0. */
static int number_groups(gs_simulate_hierarchy_t *self, gs_context_t *ctx, int32_t *order,
                         int64_t *shared, int64_t *groups)
{
    const gs_simulate_hierarchy_model_t *model = &self->model;
    gs_radix_sort_identity(model->streams, order);
    int status = gs_radix_sort(ctx, model->partition, model->streams, order);
    int64_t group = 0;
    for (int64_t k = 0; k < model->streams && status == GS_OK; k++) {
        int64_t p = model->partition[order[k]], c = model->context[order[k]];
        if (k == 0 || p != model->partition[order[k - 1]]) {
            const bool own = model->own_queues != NULL && model->own_queues[p] != 0;
            group = own || shared[c] == 0 ? groups[c]++ : shared[c] - 1;
            shared[c] = own ? shared[c] : group + 1;
        }
        self->gpu.room[order[k]].group = group;
    }
    return status;
}

static int fill_rooms(gs_simulate_hierarchy_t *self, gs_context_t *ctx)
{
    const gs_simulate_hierarchy_model_t *model = &self->model;
    gs_simulate_gpu_t *gpu = &self->gpu;
    for (int64_t p = 0; p < model->partitions; p++) {
        gpu->partition[p] = (gs_simulate_gpu_partition_t){.client = p, .null_stream = -1};
    }
    for (int64_t s = 0; s < model->streams; s++) {
        int64_t p = model->partition[s];
        gpu->stream[s] = (gs_simulate_gpu_stream_t){.kind = model->stream_kind[s], .partition = p};
        gpu->room[s] = (gs_simulate_gpu_room_t){
            .stream = s,
            .context = model->context[s],
            .priority = model->priority[s],
            .partition = p,
        };
        if (model->stream_kind[s] == GS_SIMULATE_GPU_STREAM_NULL) {
            if (gpu->partition[p].null_stream >= 0) {
                return gs_fail(ctx, GS_ERR_VALUE, "stream_kind", s, GS_SIMULATE_GPU_STREAM_NULL,
                               "at most one NULL stream in a partition");
            }
            gpu->partition[p].null_stream = s;
        }
    }
    return gs_poll(ctx, model->streams + model->partitions);
}

int gs_simulate_hierarchy_make_rooms(gs_simulate_hierarchy_t *self, gs_context_t *ctx)
{
    const gs_simulate_hierarchy_model_t *model = &self->model;
    gs_simulate_gpu_t *gpu = &self->gpu;
    const size_t streams = (size_t)model->streams, contexts = (size_t)model->contexts;
    gpu->streams = gpu->rooms = model->streams;
    gpu->partitions = model->partitions;
    int status;
    int64_t *shared = gs_alloc(ctx, contexts, sizeof *shared);
    int64_t *groups = gs_alloc(ctx, contexts, sizeof *groups);
    int32_t *order = gs_alloc(ctx, streams, sizeof *order);
    gpu->stream = gs_alloc(ctx, streams, sizeof *gpu->stream);
    gpu->room = gs_alloc(ctx, streams, sizeof *gpu->room);
    gpu->partition = gs_alloc(ctx, (size_t)model->partitions, sizeof *gpu->partition);
    if (shared == NULL || groups == NULL || order == NULL || gpu->stream == NULL ||
        gpu->room == NULL || gpu->partition == NULL) {
        status = ctx->status;
    } else if ((status = fill_rooms(self, ctx)) == GS_OK &&
               (status = number_channels(self, ctx, order)) == GS_OK) {
        status = number_groups(self, ctx, order, shared, groups);
    }
    gs_free(ctx, shared);
    gs_free(ctx, groups);
    gs_free(ctx, order);
    return status;
}

int gs_simulate_hierarchy_make_limits(gs_simulate_hierarchy_t *self, gs_context_t *ctx)
{
    const gs_simulate_hierarchy_model_t *model = &self->model;
    int status = GS_OK;
    for (int64_t p = 0; p < model->partitions && status == GS_OK; p++) {
        int64_t begin = model->set_begin == NULL ? 0 : model->set_begin[p];
        int64_t count = model->set_begin == NULL ? 0 : model->set_begin[p + 1] - begin;
        int64_t limit = model->limit == NULL ? 0 : model->limit[p];
        if (limit >= (count > 0 ? count : model->gpu.sms)) {
            limit = 0;
        }
        status = gs_simulate_gpu_confine(&self->gpu, ctx, p, count > 0 ? model->set + begin : NULL,
                                         count, limit);
    }
    return status;
}
