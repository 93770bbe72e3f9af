/* Given launches as operations of a GPU. */
#include "core/rng.h"
#include "core/vector.h"
#include "simulate/hierarchy/hierarchy_parts.h"

typedef gs_simulate_hierarchy_t sim_t;
typedef gs_simulate_hierarchy_model_t model_t;

/* Whether the times of the blocks of a launch are given. */
static bool is_given(const model_t *model, int64_t launch)
{
    return model->given_begin != NULL &&
           model->given_begin[launch] < model->given_begin[launch + 1];
}

/* Resources of a block of a kernel. A block that fits no SM is refused: it would never start. */
static int measure(const sim_t *self, gs_context_t *ctx, int64_t i, gs_simulate_gpu_shape_t *shape)
{
    const model_t *model = &self->model;
    gs_gpu_kernel_t kernel = {model->blocks[i], model->threads[i], model->regs[i], model->smem[i]};
    int64_t blocks;
    int limit;
    int status =
        gs_occupancy_footprint(ctx, &model->gpu, &kernel, i, &shape->take, &blocks, &limit);
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
        int64_t least = kernel.smem == 0 ? 0 : shape->take.smem;
        shape->take.carveout = gs_occupancy_carveout(
            &model->gpu, model->carveout[i] > least ? model->carveout[i] : least);
    }
    return GS_OK;
}

int gs_simulate_hierarchy_shape(const sim_t *self, gs_context_t *ctx, int64_t launch,
                                gs_simulate_gpu_shape_t *shape)
{
    const model_t *model = &self->model;
    *shape = (gs_simulate_gpu_shape_t){
        .kind = (int32_t)model->kind[launch],
        .cluster = 1,
        .trigger = model->trigger == NULL ? -1 : model->trigger[launch],
        .most = model->most[launch],
    };
    if (shape->kind != GS_SIMULATE_GPU_OP_KERNEL) {
        return GS_OK;
    }
    shape->blocks = model->blocks[launch];
    shape->cooperative = model->cooperative != NULL && model->cooperative[launch] != 0;
    shape->programmatic = gs_simulate_hierarchy_is_programmatic(model, launch);
    shape->is_constant = !is_given(model, launch) && model->least[launch] == model->most[launch];
    if (model->cluster != NULL) {
        shape->cluster = model->cluster[launch];
    }
    if (model->interference != NULL) {
        shape->interference = model->interference + 4 * launch;
    }
    gs_simulate_gpu_complete(&self->gpu, shape, model->stream[launch]);
    return measure(self, ctx, launch, shape);
}

int64_t gs_simulate_hierarchy_new_op(sim_t *self, gs_context_t *ctx, int64_t launch)
{
    gs_simulate_gpu_t *gpu = &self->gpu;
    int64_t op = gs_simulate_gpu_new_op(gpu, ctx);
    if (op < 0) {
        return -1;
    }
    if (op >= self->shape_room) {
        gs_simulate_gpu_shape_t *grown =
            gs_vector_reserve(ctx, gpu->shape, &self->shape_room, op + 1, sizeof *grown);
        if (grown == NULL) {
            return -1;
        }
        gpu->shape = grown;
    }
    gs_simulate_gpu_op_t *state = &gpu->op[op];
    state->owner = state->log = launch;
    state->shape = op;
    state->room = self->model.stream[launch];
    state->graph = self->graph == NULL ? -1 : self->graph[launch];
    return gs_simulate_hierarchy_shape(self, ctx, launch, &gpu->shape[op]) == GS_OK ? op : -1;
}

int gs_simulate_hierarchy_launch(sim_t *self, gs_context_t *ctx, int64_t launch)
{
    int64_t op = gs_simulate_hierarchy_new_op(self, ctx, launch);
    if (op < 0) {
        return ctx->status;
    }
    self->gpu.op[op].rank = self->launched++;
    self->op[launch] = (int32_t)op;
    return gs_simulate_gpu_launch(&self->gpu, ctx, op);
}

static int64_t time_of(const void *owner, const gs_simulate_gpu_op_t *op, int64_t block)
{
    const sim_t *self = owner;
    const model_t *model = &self->model;
    int64_t launch = op->owner, least = model->least[launch], most = model->most[launch];
    if (is_given(model, launch)) {
        return model->given[model->given_begin[launch] + block];
    }
    if (least == most) {
        return most;
    }
    uint64_t bits = gs_rng_at(gs_rng_at(self->time_seed, (uint64_t)launch), (uint64_t)block);
    return least + (int64_t)gs_rng_scale(bits, (uint64_t)(most - least) + 1);
}

/* The first launch in `after` that has not ended. */
static int64_t before(void *owner, int64_t op, bool *aside)
{
    sim_t *self = owner;
    const model_t *model = &self->model;
    if (model->after_begin == NULL) {
        return -1;
    }
    int64_t launch = self->gpu.op[op].owner;
    const bool early =
        self->gpu.op[op].graph >= 0 && gs_simulate_hierarchy_is_programmatic(model, launch);
    for (int64_t k = model->after_begin[launch]; k < model->after_begin[launch + 1]; k++) {
        int64_t other = model->after[k];
        if (self->time[GS_SIMULATE_GPU_TIME_END][other] < 0 &&
            !(early && self->op[other] >= 0 &&
              gs_simulate_gpu_is_past_triggers(&self->gpu, self->op[other]))) {
            self->next_waiter[launch] = self->waiter[other];
            self->waiter[other] = (int32_t)launch;
            *aside = true;
            return other;
        }
    }
    return -1;
}

/* Those that wait for a launch may join again. */
static int wake(sim_t *self, gs_context_t *ctx, int64_t launch)
{
    int status = GS_OK;
    if (self->waiter == NULL) {
        return status;
    }
    int32_t waiter = self->waiter[launch];
    self->waiter[launch] = -1;
    for (; waiter >= 0 && status == GS_OK; waiter = self->next_waiter[waiter]) {
        status = gs_simulate_gpu_resume(&self->gpu, ctx, self->op[waiter]);
    }
    return status;
}

static int ended(void *owner, gs_context_t *ctx, int64_t device, int64_t op)
{
    sim_t *self = owner;
    (void)device;
    int64_t launch = self->gpu.op[op].owner;
    self->ended++;
    self->engine[launch] = (int8_t)self->gpu.op[op].engine;
    self->op[launch] = -1;
    return wake(self, ctx, launch);
}

static int past_triggers(void *owner, gs_context_t *ctx, int64_t op)
{
    sim_t *self = owner;
    return wake(self, ctx, self->gpu.op[op].owner);
}

const gs_simulate_gpu_owner_t gs_simulate_hierarchy_feed = {
    .time = time_of,
    .before = before,
    .ended = ended,
    .past_triggers = past_triggers,
};
