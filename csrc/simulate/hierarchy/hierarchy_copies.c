/* Copies of the hierarchy simulator: engines with directions, and the copies that wait for them. */
#include "simulate/hierarchy/hierarchy_parts.h"

/* Number of directions of an engine. */
static int directions_of(int64_t mask)
{
    return mask == (GS_SIMULATE_HIERARCHY_ENGINE_IN | GS_SIMULATE_HIERARCHY_ENGINE_OUT) ? 2 : 1;
}

/* Direction of a copy, of GS_SIMULATE_HIERARCHY_ENGINE_*. */
static int64_t direction_of(const gs_simulate_hierarchy_model_t *model, int64_t op)
{
    return model->kind[op] == GS_SIMULATE_HIERARCHY_OP_COPY_IN ? GS_SIMULATE_HIERARCHY_ENGINE_IN
                                                               : GS_SIMULATE_HIERARCHY_ENGINE_OUT;
}

/* The copies that wait for the direction of a copy, or for the other one. */
static gs_simulate_hierarchy_queue_t *waiting_of(gs_simulate_hierarchy_t *self, int64_t op,
                                                 bool other)
{
    bool out = direction_of(&self->model, op) == GS_SIMULATE_HIERARCHY_ENGINE_OUT;
    return &self->engines.waiting[out != other];
}

int gs_simulate_hierarchy_check_engines(gs_context_t *ctx,
                                        const gs_simulate_hierarchy_model_t *model)
{
    if (model->engines < 1 || model->engines > GS_SIMULATE_HIERARCHY_ENGINES) {
        return gs_fail(ctx, GS_ERR_VALUE, "copy_engines", -1, model->engines, "1 to 64 engines");
    }
    const int64_t both = GS_SIMULATE_HIERARCHY_ENGINE_IN | GS_SIMULATE_HIERARCHY_ENGINE_OUT;
    int64_t served = 0;
    for (int64_t e = 0; e < model->engines; e++) {
        if (model->engine_directions[e] < 1 || model->engine_directions[e] > both) {
            return gs_fail(ctx, GS_ERR_VALUE, "copy_engines", e, model->engine_directions[e],
                           "1 for copies in, 2 for copies out, or 3 for both");
        }
        served |= model->engine_directions[e];
    }
    for (int64_t i = 0; i < model->ops; i++) {
        if (model->kind[i] != GS_SIMULATE_HIERARCHY_OP_KERNEL &&
            (direction_of(model, i) & served) == 0) {
            return gs_fail(ctx, GS_ERR_VALUE, "kind", i, model->kind[i],
                           "a direction that a copy engine has");
        }
    }
    return GS_OK;
}

void gs_simulate_hierarchy_make_engines(gs_simulate_hierarchy_t *self)
{
    gs_simulate_hierarchy_engines_t *engines = &self->engines;
    for (int64_t e = 0; e < self->model.engines; e++) {
        engines->op[e] = -1;
        engines->end[e] = GS_SIMULATE_HIERARCHY_NO_EVENT;
        engines->is_shared |= directions_of(self->model.engine_directions[e]) == 2;
    }
}

void gs_simulate_hierarchy_free_engines(gs_simulate_hierarchy_t *self, gs_context_t *ctx)
{
    gs_free(ctx, self->engines.joined.op);
    gs_free(ctx, self->engines.waiting[0].op);
    gs_free(ctx, self->engines.waiting[1].op);
}

int gs_simulate_hierarchy_join_copy(gs_simulate_hierarchy_t *self, gs_context_t *ctx, int64_t op)
{
    int status = gs_simulate_hierarchy_push(&self->engines.joined, ctx, op);
    return status != GS_OK ? status : gs_simulate_hierarchy_wait(self, ctx, op, -1, -1, -1);
}

/* The idle engine that serves a copy: of those with its direction one with fewer directions, then
 * the first; -1: none. */
static int64_t idle_engine(const gs_simulate_hierarchy_t *self, int64_t op)
{
    const int64_t *mask = self->model.engine_directions, direction = direction_of(&self->model, op);
    int64_t best = -1;
    for (int64_t e = 0; e < self->model.engines; e++) {
        if (self->engines.op[e] < 0 && (mask[e] & direction) != 0 &&
            (best < 0 || directions_of(mask[e]) < directions_of(mask[best]))) {
            best = e;
        }
    }
    return best;
}

static int serve(gs_simulate_hierarchy_t *self, gs_context_t *ctx, int64_t op, int64_t engine)
{
    gs_simulate_hierarchy_op_t *state = &self->op[op];
    self->engines.op[engine] = op;
    self->engines.end[engine] = self->now + gs_simulate_hierarchy_duration(self, op, 0);
    self->engines.busy++;
    state->engine = (int32_t)engine;
    state->first = state->dispatched = self->now;
    return gs_simulate_hierarchy_wait(self, ctx, op, -1, -1, -1);
}

/* Whether a copy joined after another one; either may be -1, before all. */
static bool is_after(const gs_simulate_hierarchy_t *self, int64_t op, int64_t other)
{
    if (op < 0 || other < 0) {
        return other < 0 && op >= 0;
    }
    int64_t joined = self->op[op].joined, before = self->op[other].joined;
    return joined != before ? joined > before : self->op[op].rank > self->op[other].rank;
}

/* The last of the copies that joined before this one and hold, or wait for, an engine that has its
 * direction. */
static int64_t copy_ahead(gs_simulate_hierarchy_t *self, int64_t op)
{
    const gs_simulate_hierarchy_engines_t *engines = &self->engines;
    int64_t ahead = gs_simulate_hierarchy_last(waiting_of(self, op, false));
    int64_t other =
        engines->is_shared ? gs_simulate_hierarchy_last(waiting_of(self, op, true)) : -1;
    ahead = is_after(self, other, ahead) ? other : ahead;
    for (int64_t e = 0; e < self->model.engines; e++) {
        if ((self->model.engine_directions[e] & direction_of(&self->model, op)) != 0 &&
            is_after(self, engines->op[e], ahead)) {
            ahead = engines->op[e];
        }
    }
    return ahead;
}

/* Serves the first of the copies in the two queues for which an engine is idle; *served: whether
 * there is one. */
static int serve_next(gs_simulate_hierarchy_t *self, gs_context_t *ctx, bool *served)
{
    gs_simulate_hierarchy_queue_t *from = NULL;
    for (int d = 0; d < 2; d++) {
        gs_simulate_hierarchy_queue_t *queue = &self->engines.waiting[d];
        int64_t op = gs_simulate_hierarchy_first(queue);
        if (op >= 0 && idle_engine(self, op) >= 0 &&
            (from == NULL || is_after(self, gs_simulate_hierarchy_first(from), op))) {
            from = queue;
        }
    }
    *served = from != NULL;
    if (from == NULL) {
        return GS_OK;
    }
    int64_t op = gs_simulate_hierarchy_pop(from);
    return serve(self, ctx, op, idle_engine(self, op));
}

int gs_simulate_hierarchy_start_copies(gs_simulate_hierarchy_t *self, gs_context_t *ctx)
{
    gs_simulate_hierarchy_engines_t *engines = &self->engines;
    int status = GS_OK;
    bool served = engines->busy < self->model.engines;
    while (status == GS_OK && served) {
        status = serve_next(self, ctx, &served);
    }
    while (status == GS_OK && engines->joined.count > 0) {
        int64_t op = gs_simulate_hierarchy_pop(&engines->joined), engine = idle_engine(self, op);
        if (engine >= 0) {
            status = serve(self, ctx, op, engine);
            continue;
        }
        int64_t ahead = copy_ahead(self, op);
        status = gs_simulate_hierarchy_push(waiting_of(self, op, false), ctx, op);
        if (status == GS_OK) {
            status = gs_simulate_hierarchy_wait(self, ctx, op,
                                                GS_SIMULATE_HIERARCHY_WAIT_COPY_ENGINE, ahead, -1);
        }
    }
    return status;
}

int64_t gs_simulate_hierarchy_leave_engine(gs_simulate_hierarchy_t *self)
{
    gs_simulate_hierarchy_engines_t *engines = &self->engines;
    for (int64_t e = 0; e < self->model.engines && engines->busy > 0; e++) {
        if (engines->end[e] == self->now) {
            int64_t op = engines->op[e];
            engines->op[e] = -1;
            engines->end[e] = GS_SIMULATE_HIERARCHY_NO_EVENT;
            engines->busy--;
            return op;
        }
    }
    return -1;
}

int64_t gs_simulate_hierarchy_copy_end(const gs_simulate_hierarchy_t *self)
{
    int64_t next = GS_SIMULATE_HIERARCHY_NO_EVENT;
    for (int64_t e = 0; e < self->model.engines && self->engines.busy > 0; e++) {
        next = self->engines.end[e] < next ? self->engines.end[e] : next;
    }
    return next;
}
