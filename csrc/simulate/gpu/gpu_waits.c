/* Waits of operations of a simulated GPU, and their reasons. */
#include "simulate/gpu/gpu_parts.h"

#include "core/vector.h"

static bool is_for_room(int why)
{
    return (why >= GS_SIMULATE_GPU_WAIT_WARPS && why <= GS_SIMULATE_GPU_WAIT_SMEM) ||
           (why >= GS_SIMULATE_GPU_WAIT_CARVEOUT && why <= GS_SIMULATE_GPU_WAIT_CLUSTER);
}

int gs_simulate_gpu_log_wait(gs_simulate_gpu_t *self, gs_context_t *ctx, int64_t op, int why,
                             int64_t blocker, int64_t sm)
{
    gs_simulate_gpu_op_t *state = &self->op[op];
    gs_simulate_gpu_wait_log_t *log = self->wait_log;
    if (state->why == why && state->blocker == blocker) {
        return GS_OK;
    }
    if (state->why >= 0 && self->now > state->since) {
        if (log->count == log->room) {
            gs_simulate_gpu_wait_t *grown =
                gs_vector_reserve(ctx, log->wait, &log->room, log->count + 1, sizeof *grown);
            if (grown == NULL) {
                return ctx->status;
            }
            log->wait = grown;
        }
        log->wait[log->count++] = (gs_simulate_gpu_wait_t){
            state->log,   state->why, state->blocker, is_for_room(state->why) ? sm : -1,
            state->since, self->now};
    }
    state->why = why;
    state->since = self->now;
    state->blocker = blocker;
    return GS_OK;
}

/* The resource that the most SMs of the kernel's partition lack for one more block. */
static int scarce(const gs_simulate_gpu_t *self, const gs_simulate_gpu_context_t *context,
                  int64_t op)
{
    const bool *is_in_set = self->partition[gs_simulate_gpu_room_of(self, op)->partition].is_in_set;
    int64_t lacks[GS_OCCUPANCY_LIMITS] = {0};
    for (int32_t s = 0; s < self->gpu->sms; s++) {
        int lack =
            gs_block_placement_lack(&context->placer, s, &gs_simulate_gpu_shape_of(self, op)->take);
        if (lack >= 0 && (is_in_set == NULL || is_in_set[self->position[s]])) {
            lacks[lack]++;
        }
    }
    int most = GS_OCCUPANCY_LIMIT_WARPS;
    for (int r = GS_OCCUPANCY_LIMIT_WARPS; r <= GS_OCCUPANCY_LIMIT_SMEM; r++) {
        most = lacks[r] > lacks[most] ? r : most;
    }
    return lacks[GS_OCCUPANCY_LIMIT_CARVEOUT] > lacks[most] ? GS_SIMULATE_GPU_WAIT_CARVEOUT
                                                            : GS_SIMULATE_GPU_WAIT_WARPS + most;
}

int gs_simulate_gpu_explain(gs_simulate_gpu_t *self, gs_context_t *ctx, int64_t context, bool runs)
{
    gs_simulate_gpu_context_t *c = &self->context[context];
    int64_t urgent = -1; /* head of the most urgent queue of the group */
    int64_t served = -1; /* the same of those that may start blocks */
    int status = GS_OK;
    for (int64_t level = 0; level < c->levels && status == GS_OK; level++) {
        int64_t head = c->queue[level].head;
        urgent = c->is_first[level] ? -1 : urgent;
        served = c->is_first[level] ? -1 : served;
        if (head < 0) {
            continue;
        }
        const bool has_place = gs_simulate_gpu_has_place(self, c, head);
        const int64_t before = has_place ? served : urgent;
        urgent = urgent < 0 ? head : urgent;
        served = served < 0 && has_place ? head : served;
        if (before >= 0) {
            status = gs_simulate_gpu_wait(self, ctx, head, GS_SIMULATE_GPU_WAIT_PRIORITY,
                                          gs_simulate_gpu_row(self, before), -1);
        } else if (!runs) {
            status = gs_simulate_gpu_wait(self, ctx, head, GS_SIMULATE_GPU_WAIT_SLICE, -1, -1);
        } else if (!has_place) {
            status = gs_simulate_gpu_wait(self, ctx, head, GS_SIMULATE_GPU_WAIT_GRIDS, -1, -1);
        } else if (!is_for_room(self->op[head].why)) {
            bool confined = gs_simulate_gpu_shape_of(self, head)->is_confined;
            int why = confined ? gs_simulate_gpu_lack_of_room(self, c, head) : -1;
            why = why < 0 ? scarce(self, c, head) : why;
            status = gs_simulate_gpu_wait(self, ctx, head, why, -1, -1);
        }
    }
    return status;
}
