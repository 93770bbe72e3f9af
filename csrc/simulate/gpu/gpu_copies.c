/* Copies of a simulated GPU: engines with directions, and the copies that wait for them. */
#include "simulate/gpu/gpu_parts.h"

/* Number of directions of an engine. */
static int directions_of(int64_t mask)
{
    return mask == (GS_SIMULATE_GPU_ENGINE_IN | GS_SIMULATE_GPU_ENGINE_OUT) ? 2 : 1;
}

/* Number of the direction of a copy. */
static int64_t number_of(const gs_simulate_gpu_t *self, int64_t op)
{
    return gs_simulate_gpu_shape_of(self, op)->kind - GS_SIMULATE_GPU_OP_COPY_IN;
}

/* Direction of a copy, as in the masks of engines. */
static int64_t direction_of(const gs_simulate_gpu_t *self, int64_t op)
{
    return INT64_C(1) << number_of(self, op);
}

/* The last copy that waits for the other direction, if an engine serves both; else -1. */
static int64_t last_of_other(const gs_simulate_gpu_t *self, int64_t op)
{
    int64_t number = number_of(self, op);
    return self->engines.is_shared && number < 2 ? self->engines.waiting[1 - number].tail : -1;
}

void gs_simulate_gpu_make_engines(gs_simulate_gpu_t *self)
{
    gs_simulate_gpu_engines_t *engines = &self->engines;
    engines->joined = (gs_simulate_gpu_list_t){-1, -1};
    for (int d = 0; d < GS_SIMULATE_GPU_DIRECTIONS; d++) {
        engines->waiting[d] = (gs_simulate_gpu_list_t){-1, -1};
    }
    for (int64_t e = 0; e < self->engines.count; e++) {
        engines->op[e] = -1;
        engines->end[e] = GS_SIMULATE_GPU_NO_EVENT;
        engines->is_shared |= directions_of(self->engines.directions[e]) == 2;
    }
}

int gs_simulate_gpu_join_copy(gs_simulate_gpu_t *self, gs_context_t *ctx, int64_t op)
{
    gs_simulate_gpu_push(self, &self->engines.joined, op);
    return gs_simulate_gpu_wait(self, ctx, op, -1, -1, -1);
}

/* The idle engine that serves a copy: of those with its direction one with fewer directions, then
 * the first; -1: none. */
static int64_t idle_engine(const gs_simulate_gpu_t *self, int64_t op)
{
    const int64_t *mask = self->engines.directions, direction = direction_of(self, op);
    int64_t best = -1;
    for (int64_t e = 0; e < self->engines.count; e++) {
        if (self->engines.op[e] < 0 && (mask[e] & direction) != 0 &&
            (best < 0 || directions_of(mask[e]) < directions_of(mask[best]))) {
            best = e;
        }
    }
    return best;
}

static int serve(gs_simulate_gpu_t *self, gs_context_t *ctx, int64_t op, int64_t engine)
{
    gs_simulate_gpu_op_t *state = &self->op[op];
    self->engines.op[engine] = op;
    self->engines.end[engine] = self->now + self->calls->time(self->owner, state, 0);
    self->engines.busy++;
    state->engine = (int32_t)engine;
    state->first = self->now;
    gs_simulate_gpu_note(self, op, GS_SIMULATE_GPU_TIME_FIRST);
    gs_simulate_gpu_note(self, op, GS_SIMULATE_GPU_TIME_DISPATCHED);
    return gs_simulate_gpu_wait(self, ctx, op, -1, -1, -1);
}

/* Whether a copy joined after another one; either may be -1, before all. */
static bool is_after(const gs_simulate_gpu_t *self, int64_t op, int64_t other)
{
    if (op < 0 || other < 0) {
        return other < 0 && op >= 0;
    }
    int64_t joined = self->op[op].joined, before = self->op[other].joined;
    return joined != before ? joined > before : self->op[op].rank > self->op[other].rank;
}

/* The last of the copies that joined before this one and hold, or wait for, an engine that has its
 * direction. */
static int64_t copy_ahead(gs_simulate_gpu_t *self, int64_t op)
{
    const gs_simulate_gpu_engines_t *engines = &self->engines;
    int64_t ahead = engines->waiting[number_of(self, op)].tail, other = last_of_other(self, op);
    ahead = is_after(self, other, ahead) ? other : ahead;
    for (int64_t e = 0; e < self->engines.count; e++) {
        if ((self->engines.directions[e] & direction_of(self, op)) != 0 &&
            is_after(self, engines->op[e], ahead)) {
            ahead = engines->op[e];
        }
    }
    return ahead;
}

/* Serves the first of the copies in the two queues for which an engine is idle; *served: whether
 * there is one. */
static int serve_next(gs_simulate_gpu_t *self, gs_context_t *ctx, bool *served)
{
    gs_simulate_gpu_list_t *from = NULL;
    for (int d = 0; d < GS_SIMULATE_GPU_DIRECTIONS; d++) {
        gs_simulate_gpu_list_t *queue = &self->engines.waiting[d];
        int64_t op = queue->head;
        if (op >= 0 && idle_engine(self, op) >= 0 &&
            (from == NULL || is_after(self, from->head, op))) {
            from = queue;
        }
    }
    *served = from != NULL;
    if (from == NULL) {
        return GS_OK;
    }
    int64_t op = gs_simulate_gpu_pop(self, from);
    self->engines.waits--;
    return serve(self, ctx, op, idle_engine(self, op));
}

int gs_simulate_gpu_start_copies(gs_simulate_gpu_t *self, gs_context_t *ctx)
{
    gs_simulate_gpu_engines_t *engines = &self->engines;
    int status = GS_OK;
    bool served = engines->waits > 0 && engines->busy < engines->count;
    while (status == GS_OK && served) {
        status = serve_next(self, ctx, &served);
    }
    while (status == GS_OK && engines->joined.head >= 0) {
        int64_t op = gs_simulate_gpu_pop(self, &engines->joined), engine = idle_engine(self, op);
        if (engine >= 0) {
            status = serve(self, ctx, op, engine);
            continue;
        }
        int64_t ahead = copy_ahead(self, op);
        gs_simulate_gpu_push(self, &engines->waiting[number_of(self, op)], op);
        engines->waits++;
        status = gs_simulate_gpu_wait(self, ctx, op, GS_SIMULATE_GPU_WAIT_COPY_ENGINE,
                                      gs_simulate_gpu_row(self, ahead), -1);
    }
    return status;
}

int64_t gs_simulate_gpu_leave_engine(gs_simulate_gpu_t *self)
{
    gs_simulate_gpu_engines_t *engines = &self->engines;
    for (int64_t e = 0; e < self->engines.count && engines->busy > 0; e++) {
        if (engines->end[e] == self->now) {
            int64_t op = engines->op[e];
            engines->op[e] = -1;
            engines->end[e] = GS_SIMULATE_GPU_NO_EVENT;
            engines->busy--;
            return op;
        }
    }
    return -1;
}

int64_t gs_simulate_gpu_copy_end(const gs_simulate_gpu_t *self)
{
    int64_t next = GS_SIMULATE_GPU_NO_EVENT;
    for (int64_t e = 0; e < self->engines.count && self->engines.busy > 0; e++) {
        next = self->engines.end[e] < next ? self->engines.end[e] : next;
    }
    return next;
}
