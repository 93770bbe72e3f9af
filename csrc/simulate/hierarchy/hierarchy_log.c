/* Logs of blocks, waits and time slices, for the hierarchy simulator. */
#include "simulate/hierarchy/hierarchy_parts.h"

#include "core/vector.h"

/* Columns of so many rows have their own pages, which move when they grow and are not copied. Pages
 * that are not written take no memory. */
#define MOST_FIRST (INT64_C(1) << 22)

int64_t gs_simulate_hierarchy_first_log(const gs_simulate_hierarchy_t *self,
                                        const gs_context_t *ctx)
{
    int64_t rows = self->all_blocks < MOST_FIRST ? self->all_blocks : MOST_FIRST;
    if (ctx->bytes_limit != 0) {
        int64_t row = GS_SIMULATE_HIERARCHY_BLOCK_COLUMNS * (int64_t)sizeof *self->block[0];
        int64_t affordable = (ctx->bytes_limit - ctx->bytes_used) / (2 * row);
        rows = rows < affordable ? rows : affordable;
    }
    return rows;
}

static bool is_for_room(int why)
{
    return (why >= GS_SIMULATE_HIERARCHY_WAIT_WARPS && why <= GS_SIMULATE_HIERARCHY_WAIT_SMEM) ||
           (why >= GS_SIMULATE_HIERARCHY_WAIT_CARVEOUT &&
            why <= GS_SIMULATE_HIERARCHY_WAIT_CLUSTER);
}

int gs_simulate_hierarchy_wait(gs_simulate_hierarchy_t *self, gs_context_t *ctx, int64_t op,
                               int why, int64_t blocker, int64_t sm)
{
    gs_simulate_hierarchy_op_t *state = &self->op[op];
    if (state->why == why && state->blocker == blocker) {
        return GS_OK;
    }
    if (state->why >= 0 && self->now > state->since) {
        if (self->wait_count == self->wait_room) {
            gs_simulate_hierarchy_wait_t *grown = gs_vector_reserve(
                ctx, self->wait, &self->wait_room, self->wait_count + 1, sizeof *grown);
            if (grown == NULL) {
                return ctx->status;
            }
            self->wait = grown;
        }
        self->wait[self->wait_count++] = (gs_simulate_hierarchy_wait_t){
            op,           state->why, state->blocker, is_for_room(state->why) ? sm : -1,
            state->since, self->now};
    }
    state->why = why;
    state->since = self->now;
    state->blocker = blocker;
    return GS_OK;
}

int gs_simulate_hierarchy_log_slice(gs_simulate_hierarchy_t *self, gs_context_t *ctx,
                                    int64_t context, int64_t from, int64_t to)
{
    if (to == from) {
        return GS_OK;
    }
    if (self->slice_count == self->slice_room) {
        gs_simulate_hierarchy_slice_t *grown = gs_vector_reserve(
            ctx, self->slice, &self->slice_room, self->slice_count + 1, sizeof *grown);
        if (grown == NULL) {
            return ctx->status;
        }
        self->slice = grown;
    }
    self->slice[self->slice_count++] = (gs_simulate_hierarchy_slice_t){context, from, to};
    return GS_OK;
}

/* The resource that the most SMs of the kernel's partition lack for one more block. */
static int scarce(const gs_simulate_hierarchy_t *self,
                  const gs_simulate_hierarchy_context_t *context, int64_t op)
{
    const int64_t partition = self->model.partition[self->model.stream[op]];
    const bool *is_in_set = self->partition[partition].is_in_set;
    int64_t lacks[GS_OCCUPANCY_LIMITS] = {0};
    for (int32_t s = 0; s < self->model.gpu.sms; s++) {
        int lack = gs_block_placement_lack(&context->placer, s, &self->op[op].take);
        if (lack >= 0 && (is_in_set == NULL || is_in_set[self->position[s]])) {
            lacks[lack]++;
        }
    }
    int most = GS_OCCUPANCY_LIMIT_WARPS;
    for (int r = GS_OCCUPANCY_LIMIT_WARPS; r <= GS_OCCUPANCY_LIMIT_SMEM; r++) {
        most = lacks[r] > lacks[most] ? r : most;
    }
    return lacks[GS_OCCUPANCY_LIMIT_CARVEOUT] > lacks[most]
               ? GS_SIMULATE_HIERARCHY_WAIT_CARVEOUT
               : GS_SIMULATE_HIERARCHY_WAIT_WARPS + most;
}

int gs_simulate_hierarchy_explain(gs_simulate_hierarchy_t *self, gs_context_t *ctx, int64_t context,
                                  bool runs)
{
    gs_simulate_hierarchy_context_t *c = &self->context[context];
    int64_t urgent = -1; /* head of the most urgent queue of the group */
    int64_t served = -1; /* the same of those that may start blocks */
    int status = GS_OK;
    for (int64_t level = 0; level < c->levels && status == GS_OK; level++) {
        int64_t head = gs_simulate_hierarchy_first(&c->queue[level]);
        urgent = c->is_first[level] ? -1 : urgent;
        served = c->is_first[level] ? -1 : served;
        if (head < 0) {
            continue;
        }
        const bool has_place = gs_simulate_hierarchy_has_place(self, c, head);
        const int64_t before = has_place ? served : urgent;
        urgent = urgent < 0 ? head : urgent;
        served = served < 0 && has_place ? head : served;
        if (before >= 0) {
            status = gs_simulate_hierarchy_wait(self, ctx, head,
                                                GS_SIMULATE_HIERARCHY_WAIT_PRIORITY, before, -1);
        } else if (!runs) {
            status = gs_simulate_hierarchy_wait(self, ctx, head, GS_SIMULATE_HIERARCHY_WAIT_SLICE,
                                                -1, -1);
        } else if (!has_place) {
            status = gs_simulate_hierarchy_wait(self, ctx, head, GS_SIMULATE_HIERARCHY_WAIT_GRIDS,
                                                -1, -1);
        } else if (!is_for_room(self->op[head].why)) {
            bool confined = self->op[head].is_confined;
            int why = confined ? gs_simulate_hierarchy_lack_of_room(self, c, head) : -1;
            why = why < 0 ? scarce(self, c, head) : why;
            status = gs_simulate_hierarchy_wait(self, ctx, head, why, -1, -1);
        }
    }
    return status;
}
