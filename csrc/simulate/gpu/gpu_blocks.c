/* Start of blocks on SMs, of a simulated GPU. */
#include "simulate/gpu/gpu_parts.h"

#include "core/vector.h"

/* Records that blocks have ended on this SM. */
static void note_freed(gs_simulate_gpu_t *self, gs_simulate_gpu_context_t *context, int32_t sm)
{
    int32_t position = self->position[sm];
    gs_simulate_gpu_group_t *group = context->group;
    for (int64_t left = context->groups; left > 0; left--, group++) {
        if (group->head < 0 || group->is_freed[position]) {
            continue;
        }
        group->is_freed[position] = true;
        int32_t at = group->freed_count++; /* ascending: the placement follows the SM order */
        for (; at > 0 && group->freed[at - 1] > position; at--) {
            group->freed[at] = group->freed[at - 1];
        }
        group->freed[at] = position;
    }
}

static void forget_freed(gs_simulate_gpu_group_t *group, int64_t head)
{
    for (int32_t k = 0; k < group->freed_count; k++) {
        group->is_freed[group->freed[k]] = false;
    }
    group->freed_count = 0;
    group->head = head;
}

static int new_flight(gs_simulate_gpu_t *self, gs_context_t *ctx, int64_t *slot)
{
    if (self->flight_free_count > 0) {
        *slot = self->flight_free[--self->flight_free_count];
        return GS_OK;
    }
    if (self->flights == self->flight_room) {
        int64_t room = self->flight_room, needed = self->flights + 1;
        gs_simulate_gpu_flight_t *flight =
            gs_vector_reserve(ctx, self->flight, &room, needed, sizeof *flight);
        if (flight == NULL) {
            return ctx->status;
        }
        self->flight = flight;
        int64_t *spare =
            gs_vector_reserve(ctx, self->flight_free, &self->flight_room, needed, sizeof *spare);
        if (spare == NULL) {
            return ctx->status;
        }
        self->flight_free = spare;
    }
    *slot = self->flights++;
    return GS_OK;
}

/* Blocks of one kernel that start on one SM and end together. */
static inline int start_flight(gs_simulate_gpu_t *self, gs_context_t *ctx,
                               gs_simulate_gpu_context_t *context, int64_t op, int32_t sm,
                               int64_t blocks, int64_t log, int64_t duration)
{
    int64_t slot = 0, now = context->clock + (self->now - context->resumed), end = now + duration;
    const bool disturbed = self->interferes; /* else the time left is not used */
    if (disturbed && duration >= GS_NEVER / 1000) {
        return gs_fail(ctx, GS_ERR_OVERFLOW, "duration", self->op[op].log, duration,
                       "less than 2305843009213693 ticks with interference");
    }
    if (end >= GS_NEVER) {
        return gs_fail(ctx, GS_ERR_OVERFLOW, "duration", self->op[op].log, duration,
                       "a schedule that ends before tick 2**61 - 1");
    }
    int status = new_flight(self, ctx, &slot);
    if (status == GS_OK) {
        self->flight[slot] = (gs_simulate_gpu_flight_t){.op = op,
                                                        .blocks = blocks,
                                                        .log = log,
                                                        .left = disturbed ? 1000 * duration : 0,
                                                        .factor = 1000,
                                                        .updated = now,
                                                        .sm = sm};
        status = !self->has_triggers ? gs_heap_push(&context->ends, ctx, end, slot)
                                     : gs_simulate_gpu_aim(self, ctx, slot, duration, end);
    }
    return status;
}

/* Room in the log for so many more blocks. */
static int make_log_room(gs_simulate_gpu_t *self, gs_context_t *ctx, int64_t blocks)
{
    gs_simulate_gpu_block_log_t *log = self->block_log;
    if (log == NULL || log->count + blocks <= log->room) {
        return GS_OK;
    }
    int64_t needed = log->count + blocks;
    if (log->room == 0) {
        needed = needed > log->first ? needed : log->first;
    }
    return gs_vector_reserve_columns(ctx, log->column, GS_SIMULATE_GPU_BLOCK_COLUMNS, &log->room,
                                     needed, log->most);
}

/* A block that starts now, in row k of the log, which has room for it. */
static inline void log_block(const gs_simulate_gpu_t *self, int64_t k, int64_t op, int64_t number,
                             int64_t sm)
{
    int64_t *const *column = self->block_log->column;
    column[GS_SIMULATE_GPU_BLOCK_OP][k] = self->op[op].log;
    column[GS_SIMULATE_GPU_BLOCK_NUMBER][k] = number;
    column[GS_SIMULATE_GPU_BLOCK_SM][k] = sm;
    column[GS_SIMULATE_GPU_BLOCK_START][k] = self->now;
    column[GS_SIMULATE_GPU_BLOCK_END][k] = -1;
}

/* Starts blocks on the SMs self->sm[0 .. count-1], each with its own execution time. */
static int start_each(gs_simulate_gpu_t *self, gs_context_t *ctx,
                      gs_simulate_gpu_context_t *context, int64_t op, int64_t first, int64_t count)
{
    gs_simulate_gpu_block_log_t *log = self->block_log;
    int status = GS_OK;
    for (int64_t b = 0; b < count && status == GS_OK; b++) {
        int64_t row = -1;
        if (log != NULL) {
            row = log->count++;
            log_block(self, row, op, first + b, self->sm[b]);
        }
        status = start_flight(self, ctx, context, op, self->sm[b], 1, row,
                              self->calls->time(self->owner, &self->op[op], first + b));
    }
    return status;
}

/* The same for blocks of equal execution times: those of one SM form one flight and are adjacent in
 * the log. Counting sort by SM, in order of first occurrence. */
static int start_together(gs_simulate_gpu_t *self, gs_context_t *ctx,
                          gs_simulate_gpu_context_t *context, int64_t op, int64_t first,
                          int64_t count)
{
    const bool logs = self->block_log != NULL;
    int64_t duration = self->calls->time(self->owner, &self->op[op], 0);
    int64_t log = logs ? self->block_log->count : -1;
    int32_t used = 0;
    int status = GS_OK;
    for (int64_t b = 0; b < count; b++) {
        if (self->on_sm[self->sm[b]]++ == 0) {
            self->used_sm[used++] = self->sm[b];
        }
    }
    for (int32_t k = 0; k < used && status == GS_OK; k++) {
        int64_t blocks = self->on_sm[self->used_sm[k]];
        status = start_flight(self, ctx, context, op, self->used_sm[k], blocks, log, duration);
        self->on_sm[self->used_sm[k]] = log; /* from here on: log position of its blocks */
        log += logs ? blocks : 0;
    }
    for (int64_t b = 0; logs && b < count && status == GS_OK; b++) {
        log_block(self, self->on_sm[self->sm[b]]++, op, first + b, self->sm[b]);
    }
    for (int32_t k = 0; k < used; k++) {
        self->on_sm[self->used_sm[k]] = 0;
    }
    if (logs) {
        self->block_log->count = log;
    }
    return status;
}

/* Starts the only block of a kernel on all of the SMs self->sm[0 .. count-1]. */
static int start_whole(gs_simulate_gpu_t *self, gs_context_t *ctx,
                       gs_simulate_gpu_context_t *context, int64_t op, int64_t count)
{
    gs_simulate_gpu_block_log_t *log = self->block_log;
    int64_t duration = self->calls->time(self->owner, &self->op[op], 0), row = -1;
    int status = GS_OK;
    if (log != NULL) {
        row = log->count++;
        log_block(self, row, op, 0, self->sm[0]);
    }
    for (int64_t k = 0; k < count && status == GS_OK; k++) {
        status = start_flight(self, ctx, context, op, self->sm[k], 1, k == 0 ? row : -1, duration);
    }
    return status;
}

static int start_placed(gs_simulate_gpu_t *self, gs_context_t *ctx,
                        gs_simulate_gpu_context_t *context, int64_t op, int64_t placed)
{
    gs_simulate_gpu_op_t *state = &self->op[op];
    const gs_simulate_gpu_shape_t *shape = gs_simulate_gpu_shape_of(self, op);
    int64_t blocks = shape->whole > 0 ? 1 : placed;
    int64_t first = shape->blocks - state->waiting;
    int64_t log = self->block_log == NULL ? 0 : self->block_log->count;
    int status = make_log_room(self, ctx, blocks);
    if (status == GS_OK) {
        status = shape->whole > 0     ? start_whole(self, ctx, context, op, placed)
                 : shape->is_constant ? start_together(self, ctx, context, op, first, placed)
                                      : start_each(self, ctx, context, op, first, placed);
    }
    if (status != GS_OK) {
        if (self->block_log != NULL) {
            self->block_log->count = log; /* rows of blocks that did not all start are incomplete */
        }
        return status;
    }
    self->blocks += blocks;
    state->waiting -= blocks;
    state->running += placed;
    bool is_first = state->first < 0;
    if (is_first) {
        state->first = self->now;
        gs_simulate_gpu_note(self, op, GS_SIMULATE_GPU_TIME_FIRST);
        context->places--;
    }
    if (state->waiting == 0) {
        gs_simulate_gpu_note(self, op, GS_SIMULATE_GPU_TIME_DISPATCHED);
    }
    return is_first || state->waiting == 0
               ? gs_simulate_gpu_wait(self, ctx, op, -1, -1, self->sm[0])
               : GS_OK;
}

/* The kernel at the head of a queue has started its last block. */
static int leave(gs_simulate_gpu_t *self, gs_context_t *ctx, gs_simulate_gpu_context_t *context,
                 int64_t op)
{
    gs_simulate_gpu_pop(self, &context->queue[gs_simulate_gpu_room_of(self, op)->level]);
    self->started = true;
    if (!self->until_end) {
        gs_simulate_gpu_leave_channel(self, op);
    }
    return gs_simulate_gpu_pass_triggers(self, ctx, op);
}

static int make_sm_room(gs_simulate_gpu_t *self, gs_context_t *ctx, int64_t blocks)
{
    if (blocks <= self->sm_room) {
        return GS_OK;
    }
    const gs_gpu_t *gpu = self->gpu;
    int64_t per_sm =
        gpu->blocks_per_sm < gpu->warps_per_sm ? gpu->blocks_per_sm : gpu->warps_per_sm;
    int64_t most = per_sm * gpu->sms;
    int64_t needed = blocks < most ? blocks : most;
    if (needed > self->sm_room) {
        int32_t *grown = gs_vector_reserve(ctx, self->sm, &self->sm_room, needed, sizeof *grown);
        if (grown == NULL) {
            return ctx->status;
        }
        self->sm = grown;
    }
    return GS_OK;
}

/* Starts blocks of the kernel at the head of a group; *all: whether all that waited. */
static inline int start_head(gs_simulate_gpu_t *self, gs_context_t *ctx,
                             gs_simulate_gpu_context_t *context, gs_simulate_gpu_group_t *group,
                             int64_t op, bool *all)
{
    *all = false;
    bool known = group->head == op; /* no room but on SMs freed since */
    if (known && group->freed_count == 0) {
        return GS_OK;
    }
    const bool changed = context->placed_rank != self->op[op].rank;
    if (changed) {
        gs_block_placement_change_kernel(&context->placer);
    }
    const int32_t *freed = known ? group->freed : NULL;
    const gs_simulate_gpu_shape_t *shape = gs_simulate_gpu_shape_of(self, op);
    int64_t waiting = shape->whole > 0 ? shape->whole : self->op[op].waiting, placed = 0;
    int status = make_sm_room(self, ctx, waiting);
    if (status == GS_OK) {
        status =
            shape->is_confined
                ? gs_simulate_gpu_place(self, ctx, context, op, freed, group->freed_count, &placed)
                : gs_block_placement_resume(&context->placer, ctx, &shape->take, waiting, freed,
                                            group->freed_count, self->sm, &placed);
    }
    forget_freed(group, op);
    if (placed > 0) {
        context->placed_rank = self->op[op].rank;
    } else if (changed) { /* a kernel without running blocks does not count as the previous one */
        context->placer.kernels--;
    }
    if (status == GS_OK && placed > 0) {
        status = start_placed(self, ctx, context, op, placed);
    }
    if (status == GS_OK && placed == waiting) {
        *all = true;
        forget_freed(group, -1);
        status = leave(self, ctx, context, op);
    }
    return status;
}

/* The head of the most urgent queue of a group, of those that may start blocks; -1: none. */
static inline int64_t head_of(const gs_simulate_gpu_t *self,
                              const gs_simulate_gpu_context_t *context,
                              const gs_simulate_gpu_group_t *group)
{
    for (int64_t level = group->level; level < group->level_end; level++) {
        int64_t head = context->queue[level].head;
        if (head >= 0 && gs_simulate_gpu_has_place(self, context, head)) {
            return head;
        }
    }
    return -1;
}

/* The group whose head is served next, by priority and number; NULL: none has a head with room. */
static gs_simulate_gpu_group_t *next_group(const gs_simulate_gpu_t *self,
                                           const gs_simulate_gpu_context_t *context)
{
    gs_simulate_gpu_group_t *next = NULL;
    int64_t least = 0;
    for (int64_t g = 0; g < context->groups; g++) {
        int64_t stuck = context->stuck[g]; /* still the head while there are places */
        int64_t head =
            stuck >= 0 && context->places > 0 ? stuck : head_of(self, context, &context->group[g]);
        if (head < 0 || head == stuck) {
            continue;
        }
        int64_t priority = gs_simulate_gpu_room_of(self, head)->priority;
        if (next == NULL || priority < least) {
            next = &context->group[g];
            least = priority;
        }
    }
    return next;
}

int gs_simulate_gpu_start_context(gs_simulate_gpu_t *self, gs_context_t *ctx,
                                  gs_simulate_gpu_context_t *context)
{
    const bool several = context->groups > 1;
    gs_simulate_gpu_group_t *group = context->group;
    int64_t op;
    int status = several ? gs_poll(ctx, context->groups) : GS_OK;
    for (int64_t g = 0; several && g < context->groups; g++) {
        context->stuck[g] = -1;
    }
    while (status == GS_OK) {
        group = several ? next_group(self, context) : group;
        if (group == NULL || (op = head_of(self, context, group)) < 0) {
            break;
        }
        bool all;
        status = start_head(self, ctx, context, group, op, &all);
        if (!several && !all) {
            break;
        }
        context->stuck[group - context->group] = all ? -1 : op;
    }
    return status;
}

void gs_simulate_gpu_free_sms(gs_simulate_gpu_t *self, gs_simulate_gpu_context_t *context,
                              const gs_simulate_gpu_flight_t *flight)
{
    const gs_simulate_gpu_shape_t *shape = gs_simulate_gpu_shape_of(self, flight->op);
    if (shape->whole > 0) {
        context->placer.load[flight->sm] = (gs_block_placement_sm_load_t){.carveout = -1};
    } else {
        gs_block_placement_remove(&context->placer, flight->sm, &shape->take, flight->blocks);
    }
    note_freed(self, context, flight->sm);
    if (shape->is_confined) {
        gs_simulate_gpu_release(self, flight->op, flight->sm, flight->blocks);
    }
    context->retry = true;
}
