/* Partitions of contexts, and the rooms of streams that follow from them. */
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

/* Scratch for the rooms: per context and partition. */
typedef struct {
    int64_t *shared;  /* per context: group of the partitions without queues of their own, -1: none
                         so far */
    int64_t *groups;  /* per context */
    int64_t *taken;   /* per context: streams, which take shared channels in turn */
    int64_t *group;   /* per partition, -1: it has no streams */
    int64_t *streams; /* per partition */
    int64_t *channel; /* per partition, or per context where it is shared: the first one */
} counts_t;

/* The groups of the partitions with streams, by their smallest partition. */
static void make_groups(const gs_simulate_hierarchy_model_t *model, counts_t *counts)
{
    for (int64_t c = 0; c < model->contexts; c++) {
        counts->shared[c] = -1;
    }
    for (int64_t p = 0; p < model->partitions; p++) {
        int64_t c = counts->group[p]; /* so far: its context */
        if (c < 0) {
            continue;
        }
        const bool own = model->own_queues != NULL && model->own_queues[p] != 0;
        counts->group[p] = own || counts->shared[c] < 0 ? counts->groups[c]++ : counts->shared[c];
        if (!own) {
            counts->shared[c] = counts->group[p];
        }
    }
}

/* Numbers the channels of the GPU; returns how many there are. */
static int64_t number_channels(const gs_simulate_hierarchy_model_t *model, counts_t *counts)
{
    int64_t total = 0, many = model->shared_channels ? model->contexts : model->partitions;
    const int64_t *streams = model->shared_channels ? counts->taken : counts->streams;
    for (int64_t k = 0; k < many; k++) {
        counts->channel[k] = total;
        total += streams[k] < model->channels ? streams[k] : model->channels;
    }
    return total;
}

static int fill_rooms(gs_simulate_hierarchy_t *self, gs_context_t *ctx, counts_t *counts)
{
    const gs_simulate_hierarchy_model_t *model = &self->model;
    gs_simulate_gpu_t *gpu = &self->gpu;
    for (int64_t p = 0; p < model->partitions; p++) {
        counts->group[p] = -1;
    }
    for (int64_t s = 0; s < model->streams; s++) {
        int64_t p = model->partition[s], c = model->context[s];
        int64_t *turn = model->shared_channels ? &counts->taken[c] : &counts->streams[p];
        gpu->stream[s] = (gs_simulate_gpu_stream_t){.kind = model->stream_kind[s], .partition = p};
        gpu->room[s] = (gs_simulate_gpu_room_t){
            .stream = s,
            .context = c,
            .priority = model->priority[s],
            .channel = model->channels == 0 ? -1 : *turn % model->channels,
            .partition = p,
        };
        ++*turn;
        counts->group[p] = c;
        if (model->stream_kind[s] == GS_SIMULATE_GPU_STREAM_NULL) {
            if (gpu->partition[p].null_stream >= 0) {
                return gs_fail(ctx, GS_ERR_VALUE, "stream_kind", s, GS_SIMULATE_GPU_STREAM_NULL,
                               "at most one NULL stream in a partition");
            }
            gpu->partition[p].null_stream = s;
        }
    }
    make_groups(model, counts);
    gpu->channels = number_channels(model, counts);
    for (int64_t s = 0; s < model->streams; s++) {
        int64_t of = model->shared_channels ? model->context[s] : model->partition[s];
        gpu->room[s].group = counts->group[model->partition[s]];
        gpu->room[s].channel += gpu->room[s].channel < 0 ? 0 : counts->channel[of];
    }
    return gs_poll(ctx, model->streams + model->partitions);
}

int gs_simulate_hierarchy_make_rooms(gs_simulate_hierarchy_t *self, gs_context_t *ctx)
{
    const gs_simulate_hierarchy_model_t *model = &self->model;
    gs_simulate_gpu_t *gpu = &self->gpu;
    const size_t streams = (size_t)model->streams, partitions = (size_t)model->partitions;
    const size_t contexts = (size_t)model->contexts;
    const size_t most = contexts > partitions ? contexts : partitions;
    gpu->streams = gpu->rooms = model->streams;
    gpu->partitions = model->partitions;
    counts_t counts = {
        .shared = gs_alloc(ctx, contexts, sizeof(int64_t)),
        .groups = gs_alloc(ctx, contexts, sizeof(int64_t)),
        .taken = gs_alloc(ctx, contexts, sizeof(int64_t)),
        .group = gs_alloc(ctx, partitions, sizeof(int64_t)),
        .streams = gs_alloc(ctx, partitions, sizeof(int64_t)),
        .channel = gs_alloc(ctx, most, sizeof(int64_t)),
    };
    int64_t *const scratch[] = {counts.shared, counts.groups,  counts.taken,
                                counts.group,  counts.streams, counts.channel};
    int status = GS_OK;
    for (size_t k = 0; k < sizeof scratch / sizeof *scratch; k++) {
        status = scratch[k] == NULL ? ctx->status : status;
    }
    if (status == GS_OK &&
        ((gpu->stream = gs_alloc(ctx, streams, sizeof *gpu->stream)) == NULL ||
         (gpu->room = gs_alloc(ctx, streams, sizeof *gpu->room)) == NULL ||
         (gpu->partition = gs_alloc(ctx, partitions, sizeof *gpu->partition)) == NULL)) {
        status = ctx->status;
    }
    for (int64_t p = 0; p < model->partitions && status == GS_OK; p++) {
        gpu->partition[p] = (gs_simulate_gpu_partition_t){.client = p, .null_stream = -1};
    }
    if (status == GS_OK) {
        status = fill_rooms(self, ctx, &counts);
    }
    for (size_t k = 0; k < sizeof scratch / sizeof *scratch; k++) {
        gs_free(ctx, scratch[k]);
    }
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
