/* Given releases and execution times of the host simulator: checks, and times in rows of parts. */
#include "simulate/host/host_parts.h"

static int check_task(gs_context_t *ctx, const gs_simulate_host_model_t *model, int64_t i)
{
    int64_t begin = model->release_begin[i], end = model->release_begin[i + 1];
    for (int64_t k = begin; k < end; k++) {
        int64_t release = model->release[k];
        if (release < 0) {
            return gs_fail(ctx, GS_ERR_VALUE, "release", k, release, "a number of at least 0");
        }
        if (release >= GS_CHECK_LATEST) {
            return gs_fail(ctx, GS_ERR_OVERFLOW, "release", k, release,
                           "a time below 2**59 - 1 ticks");
        }
        if (k > begin && release - model->release[k - 1] < model->hosts.period[i]) {
            return gs_fail(ctx, GS_ERR_VALUE, "release", k, release,
                           "at least a period after the release before it");
        }
    }
    return GS_OK;
}

int gs_simulate_host_given_check(gs_context_t *ctx, const gs_simulate_host_model_t *model)
{
    if (model->release == NULL) {
        return model->time == NULL
                   ? GS_OK
                   : gs_fail(ctx, GS_ERR_VALUE, "time", -1, 1, "none unless releases are given");
    }
    if (model->release_begin[0] != 0) {
        return gs_fail(ctx, GS_ERR_VALUE, "release_begin", 0, model->release_begin[0], "0");
    }
    for (int64_t i = 0; i < model->hosts.n; i++) {
        if (model->release_begin[i + 1] < model->release_begin[i]) {
            return gs_fail(ctx, GS_ERR_VALUE, "release_begin", i + 1, model->release_begin[i + 1],
                           "positions in ascending order");
        }
    }
    for (int64_t i = 0; i < model->hosts.n; i++) {
        int status = check_task(ctx, model, i);
        if (status == GS_OK) {
            status = gs_poll(ctx, 4 * (model->release_begin[i + 1] - model->release_begin[i]));
        }
        if (status != GS_OK) {
            return status;
        }
    }
    return GS_OK;
}

/* Worst case of an entry of a row of times: part `entry` of task i, as the caller numbers them. */
static int64_t worst_of(const gs_simulate_host_model_t *model, int64_t i, int64_t entry,
                        int64_t sms)
{
    const gs_host_tasks_t *hosts = &model->hosts;
    int64_t segment = entry / GS_SIMULATE_HOST_PARTS;
    switch (entry % GS_SIMULATE_HOST_PARTS) {
    case GS_SIMULATE_HOST_PART_CPU:
        return gs_host_tasks_cpu(hosts, i)[segment];
    case GS_SIMULATE_HOST_PART_IN:
        return gs_host_tasks_copy_in(hosts, i, segment);
    case GS_SIMULATE_HOST_PART_KERNEL:
        return gs_host_tasks_kernel(hosts, i, segment, sms);
    default:
        return gs_host_tasks_copy_out(hosts, i, segment);
    }
}

/* Checks a row of times and writes it as the parts of the thread, whose segments without any part
 * are left out. */
static int take_row(gs_context_t *ctx, const gs_simulate_host_model_t *model,
                    const gs_simulate_host_thread_t *t, int64_t sms, int64_t k, int64_t *parts)
{
    int64_t width = 4 * model->hosts.width + 1, segments = model->hosts.segments[t->task];
    const int64_t *time = model->time + k * width;
    int32_t last = 0;
    for (int64_t entry = 0; entry <= 4 * segments; entry++) {
        int64_t most = worst_of(model, t->task, entry, sms);
        if (time[entry] < (most > 0)) {
            return gs_fail(ctx, GS_ERR_VALUE, "execution", k, time[entry],
                           "1 tick or more for a part that is not 0");
        }
        if (time[entry] > most) {
            return gs_fail_above(ctx, GS_ERR_VALUE, "execution", k, time[entry], most,
                                 "the worst case of the part");
        }
    }
    parts[0] = time[0];
    for (int64_t j = 0; j < segments; j++) {
        const int64_t *segment = time + 4 * j;
        int64_t in = segment[GS_SIMULATE_HOST_PART_IN], out = segment[GS_SIMULATE_HOST_PART_OUT];
        int64_t kernel = segment[GS_SIMULATE_HOST_PART_KERNEL], cpu = segment[4];
        if (model->way->one_piece) {
            kernel += in + out;
            in = out = 0;
        }
        if (in == 0 && kernel == 0 && out == 0) {
            parts[last] += cpu;
        } else {
            parts[last + GS_SIMULATE_HOST_PART_IN] = in;
            parts[last + GS_SIMULATE_HOST_PART_KERNEL] = kernel;
            parts[last + GS_SIMULATE_HOST_PART_OUT] = out;
            last += GS_SIMULATE_HOST_PARTS;
            parts[last] = cpu;
        }
    }
    return GS_OK;
}

int gs_simulate_host_given_times(gs_simulate_host_state_t *self, gs_context_t *ctx,
                                 const gs_simulate_host_model_t *model)
{
    size_t width = 4 * (size_t)model->hosts.width + 1;
    size_t rows = (size_t)model->release_begin[self->n];
    if ((self->given = gs_alloc(ctx, rows, width * sizeof *self->given)) == NULL) {
        return ctx->status;
    }
    for (int32_t r = 0; r < self->n; r++) {
        gs_simulate_host_thread_t *t = &self->thread[r];
        int64_t begin = model->release_begin[t->task], end = model->release_begin[t->task + 1];
        int64_t sms = gs_simulate_host_sms(model, t->task);
        t->given = self->given + (size_t)begin * width;
        for (int64_t k = begin; k < end; k++) {
            int status = take_row(ctx, model, t, sms, k, self->given + (size_t)k * width);
            if (status == GS_OK) {
                status = gs_poll(ctx, (int64_t)width);
            }
            if (status != GS_OK) {
                return status;
            }
        }
    }
    return GS_OK;
}
