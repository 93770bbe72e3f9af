/* Blocks on SMs, for the FIFO simulator: placement, and its part of the state. */
#include "simulate/fifo/fifo_sms.h"

#include "core/vector.h"
#include "model/block_placement_internal.h"

static int read_footprints(gs_simulate_fifo_t *self, gs_context_t *ctx)
{
    const gs_simulate_fifo_model_t *model = &self->model;
    const gs_kernel_tasks_t *kernels = &model->kernels;
    for (int64_t i = 0; i < gs_simulate_fifo_kernel_count(model); i++) {
        const gs_gpu_kernel_t kernel = {kernels->blocks[i], kernels->threads[i], model->regs[i],
                                        model->smem[i]};
        int64_t resident;
        int limit;
        int status = gs_occupancy_footprint(ctx, model->gpu, &kernel, i, &self->sms.take[i],
                                            &resident, &limit);
        if (status != GS_OK) {
            return status;
        }
        if (resident == 0) {
            return gs_fail(ctx, GS_ERR_VALUE, "threads", i, kernels->threads[i],
                           "a block that, with its registers and shared memory, fits an idle SM");
        }
    }
    return GS_OK;
}

int gs_simulate_fifo_sms_init(gs_simulate_fifo_t *self, gs_context_t *ctx)
{
    gs_simulate_fifo_sms_t *sms = &self->sms;
    const gs_gpu_t *gpu = self->model.gpu;
    const size_t kernels = (size_t)gs_simulate_fifo_kernel_count(&self->model);
    sms->placed = sms->stuck = -1;
    int status = gs_block_placement_init(&sms->placer, ctx, gpu, self->model.placement);
    if (status != GS_OK) {
        return status;
    }
    if ((sms->take = gs_alloc(ctx, kernels, sizeof *sms->take)) == NULL ||
        (sms->on_sm = gs_alloc(ctx, (size_t)gpu->sms, sizeof *sms->on_sm)) == NULL) {
        return ctx->status;
    }
    return read_footprints(self, ctx);
}

void gs_simulate_fifo_sms_free(gs_simulate_fifo_t *self, gs_context_t *ctx)
{
    gs_simulate_fifo_sms_t *sms = &self->sms;
    gs_block_placement_free(&sms->placer, ctx);
    gs_free(ctx, sms->take);
    gs_free(ctx, sms->of_flight);
    gs_free(ctx, sms->at);
    gs_free(ctx, sms->on_sm);
    *sms = (gs_simulate_fifo_sms_t){0};
}

static int make_sm_room(gs_simulate_fifo_t *self, gs_context_t *ctx, int64_t blocks)
{
    gs_simulate_fifo_sms_t *sms = &self->sms;
    const gs_gpu_t *gpu = self->model.gpu;
    int64_t per_sm =
        gpu->blocks_per_sm < gpu->warps_per_sm ? gpu->blocks_per_sm : gpu->warps_per_sm;
    int64_t most = per_sm * gpu->sms;
    int64_t needed = blocks < most ? blocks : most;
    if (needed <= sms->room) {
        return GS_OK;
    }
    int32_t *grown = gs_vector_reserve(ctx, sms->at, &sms->room, needed, sizeof *grown);
    if (grown == NULL) {
        return ctx->status;
    }
    sms->at = grown;
    return GS_OK;
}

/* Places as many waiting blocks of the job as find room. */
static int place(gs_simulate_fifo_t *self, gs_context_t *ctx, const gs_simulate_fifo_job_t *job)
{
    gs_simulate_fifo_sms_t *sms = &self->sms;
    int64_t placed = 0;
    int status = make_sm_room(self, ctx, job->waiting);
    if (status != GS_OK) {
        return status;
    }
    const bool changed = sms->placed != job->serial;
    if (changed) {
        gs_block_placement_change_kernel(&sms->placer);
    }
    status = gs_block_placement_resume(&sms->placer, ctx, &sms->take[job->kernel], job->waiting,
                                       NULL, 0, sms->at, &placed);
    if (placed > 0) {
        sms->placed = job->serial;
    } else if (changed) { /* a kernel without running blocks does not count as the previous one */
        sms->placer.kernels--;
    }
    sms->stuck = placed < job->waiting ? job->serial : -1;
    sms->waiting = job->waiting;
    sms->next = 0;
    sms->groups = placed;
    return status;
}

/* Counts the placed blocks by SM, in order of first occurrence. */
static void group(gs_simulate_fifo_sms_t *self)
{
    int64_t used = 0;
    for (int64_t b = 0; b < self->groups; b++) {
        int32_t sm = self->at[b];
        if (self->on_sm[sm]++ == 0) {
            self->at[used++] = sm;
        }
    }
    self->groups = used;
}

int gs_simulate_fifo_sms_next(gs_simulate_fifo_t *self, gs_context_t *ctx,
                              const gs_simulate_fifo_job_t *job)
{
    gs_simulate_fifo_sms_t *sms = &self->sms;
    const bool single = self->model.draw == GS_SIMULATE_FIFO_PER_BLOCK;
    sms->blocks = 0;
    if (sms->next == sms->groups && sms->stuck != job->serial) {
        int status = place(self, ctx, job);
        if (status != GS_OK) {
            return status;
        }
        if (!single) {
            group(sms);
        }
    }
    if (sms->next < sms->groups) {
        sms->sm = sms->at[sms->next++];
        sms->blocks = single ? 1 : sms->on_sm[sms->sm];
        sms->on_sm[sms->sm] = 0;
    }
    return GS_OK;
}

/* Writes an entry of a growing array. */
static int32_t *write_sm(gs_context_t *ctx, int32_t *array, int64_t *room, int64_t at, int32_t sm)
{
    int32_t *grown = gs_vector_reserve(ctx, array, room, at + 1, sizeof *grown);
    if (grown != NULL) {
        grown[at] = sm;
    }
    return grown;
}

int gs_simulate_fifo_sms_note(gs_simulate_fifo_t *self, gs_context_t *ctx, int64_t flight)
{
    gs_simulate_fifo_sms_t *sms = &self->sms;
    int32_t *grown = write_sm(ctx, sms->of_flight, &sms->flight_room, flight, sms->sm);
    if (grown == NULL) {
        return ctx->status;
    }
    sms->of_flight = grown;
    if (self->model.log_waves) {
        grown = write_sm(ctx, self->wave_sm, &sms->wave_room, self->wave_count - 1, sms->sm);
        if (grown == NULL) {
            return ctx->status;
        }
        self->wave_sm = grown;
    }
    return GS_OK;
}

void gs_simulate_fifo_sms_remove(gs_simulate_fifo_t *self, int32_t kernel, int64_t flight,
                                 int64_t blocks)
{
    gs_block_placement_remove(&self->sms.placer, self->sms.of_flight[flight],
                              &self->sms.take[kernel], blocks);
    self->sms.stuck = -1;
}

/* Words per SM under olmedo. */
#define LAST_WORDS 4

/* Whether the blocks that run do not tell an SM's carve-out: it may be that of a block that ended.
 */
static bool has_carveouts(const gs_simulate_fifo_t *self)
{
    return self->model.gpu->carveout_rule == GS_GPU_CARVEOUT_AT_LEAST;
}

int64_t gs_simulate_fifo_sms_words(const gs_simulate_fifo_t *self)
{
    int64_t per_sm = (self->sms.placer.last == NULL ? 0 : LAST_WORDS) + has_carveouts(self);
    return 2 + per_sm * self->model.gpu->sms;
}

/* Number of kernels since this one; from 2 on it does not matter. */
static int64_t kernels_since(const gs_block_placement_t *placer, int64_t kernel)
{
    int64_t since = placer->kernels - kernel;
    return since < 2 ? since : 2;
}

int64_t *gs_simulate_fifo_sms_write(const gs_simulate_fifo_t *self, int64_t *word)
{
    const gs_block_placement_t *placer = &self->sms.placer;
    int64_t stream = -1; /* of the job that was placed last, if it is at the head of its stream */
    for (int64_t s = 0; s < self->model.kernels.n; s++) {
        int64_t head = self->stream[s].head;
        if (head >= 0 && self->job[head].serial == self->sms.placed) {
            stream = s;
        }
    }
    *word++ = stream;
    *word++ = placer->next;
    for (int32_t s = 0; placer->last != NULL && s < self->model.gpu->sms; s++) {
        const gs_block_placement_sm_last_t *last = &placer->last[s];
        int64_t since = kernels_since(placer, last->kernel);
        *word++ = since;
        *word++ = since < 2 ? kernels_since(placer, last->kernel_before) : 2;
        *word++ = since < 2 ? last->x : 0;
        *word++ = since < 2 ? last->z : 0;
    }
    for (int32_t s = 0; has_carveouts(self) && s < self->model.gpu->sms; s++) {
        *word++ = placer->load[s].carveout;
    }
    return word;
}
