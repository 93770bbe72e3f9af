/* Start of blocks on SMs, for the hierarchy simulator. */
#include "simulate/hierarchy/hierarchy_parts.h"

#include "core/rng.h"
#include "core/vector.h"

bool gs_simulate_hierarchy_is_constant(const gs_simulate_hierarchy_t *self, int64_t op)
{
    const gs_simulate_hierarchy_model_t *model = &self->model;
    bool given = model->given_begin != NULL && model->given_begin[op] < model->given_begin[op + 1];
    return !given && model->least[op] == model->most[op];
}

int64_t gs_simulate_hierarchy_duration(const gs_simulate_hierarchy_t *self, int64_t op,
                                       int64_t block)
{
    const gs_simulate_hierarchy_model_t *model = &self->model;
    if (model->given_begin != NULL && model->given_begin[op] < model->given_begin[op + 1]) {
        return model->given[model->given_begin[op] + block];
    }
    int64_t least = model->least[op], most = model->most[op];
    if (least == most) {
        return most;
    }
    uint64_t bits = gs_rng_at(gs_rng_at(self->time_seed, (uint64_t)op), (uint64_t)block);
    return least + (int64_t)gs_rng_scale(bits, (uint64_t)(most - least) + 1);
}

int64_t gs_simulate_hierarchy_block_end(const gs_simulate_hierarchy_t *self)
{
    if (self->active < 0) {
        return GS_SIMULATE_HIERARCHY_NO_EVENT;
    }
    const gs_simulate_hierarchy_context_t *context = &self->context[self->active];
    return context->ends.count == 0
               ? GS_SIMULATE_HIERARCHY_NO_EVENT
               : context->resumed + (context->ends.entry[0].time - context->clock);
}

void gs_simulate_hierarchy_note_freed(gs_simulate_hierarchy_t *self,
                                      gs_simulate_hierarchy_context_t *context, int32_t sm)
{
    int32_t position = self->position[sm];
    gs_simulate_hierarchy_group_t *group = context->group;
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

static void forget_freed(gs_simulate_hierarchy_group_t *group, int64_t head)
{
    for (int32_t k = 0; k < group->freed_count; k++) {
        group->is_freed[group->freed[k]] = false;
    }
    group->freed_count = 0;
    group->head = head;
}

static int new_flight(gs_simulate_hierarchy_t *self, gs_context_t *ctx, int64_t *slot)
{
    if (self->flight_free_count > 0) {
        *slot = self->flight_free[--self->flight_free_count];
        return GS_OK;
    }
    if (self->flights == self->flight_room) {
        int64_t room = self->flight_room, needed = self->flights + 1;
        gs_simulate_hierarchy_flight_t *flight =
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
static int start_flight(gs_simulate_hierarchy_t *self, gs_context_t *ctx,
                        gs_simulate_hierarchy_context_t *context, int64_t op, int32_t sm,
                        int64_t blocks, int64_t log, int64_t duration)
{
    int64_t slot = 0, now = context->clock + (self->now - context->resumed), end = now + duration;
    const bool disturbed = self->model.interference != NULL; /* else the time left is not used */
    if (disturbed && duration >= GS_NEVER / 1000) {
        return gs_fail(ctx, GS_ERR_OVERFLOW, "duration", op, duration,
                       "less than 2305843009213693 ticks with interference");
    }
    if (end >= GS_NEVER) {
        return gs_fail(ctx, GS_ERR_OVERFLOW, "duration", op, duration,
                       "a schedule that ends before tick 2**61 - 1");
    }
    int status = new_flight(self, ctx, &slot);
    if (status == GS_OK) {
        self->flight[slot] =
            (gs_simulate_hierarchy_flight_t){.op = op,
                                             .blocks = blocks,
                                             .log = log,
                                             .left = disturbed ? 1000 * duration : 0,
                                             .factor = 1000,
                                             .updated = now,
                                             .sm = sm};
        status = self->model.trigger == NULL
                     ? gs_heap_push(&context->ends, ctx, end, slot)
                     : gs_simulate_hierarchy_aim(self, ctx, slot, duration, end);
    }
    return status;
}

static int make_log_room(gs_simulate_hierarchy_t *self, gs_context_t *ctx, int64_t blocks)
{
    int64_t needed = self->block_count + blocks;
    if (!self->model.log_blocks || needed <= self->block_room) {
        return GS_OK;
    }
    if (self->block_room == 0) {
        int64_t first = gs_simulate_hierarchy_first_log(self, ctx);
        needed = needed > first ? needed : first;
    }
    return gs_vector_reserve_columns(ctx, self->block, GS_SIMULATE_HIERARCHY_BLOCK_COLUMNS,
                                     &self->block_room, needed, self->all_blocks);
}

/* Starts blocks on the SMs self->sm[0 .. count-1], each with its own execution time. */
static int start_each(gs_simulate_hierarchy_t *self, gs_context_t *ctx,
                      gs_simulate_hierarchy_context_t *context, int64_t op, int64_t first,
                      int64_t count)
{
    int status = GS_OK;
    for (int64_t b = 0; b < count && status == GS_OK; b++) {
        if (self->model.log_blocks) {
            gs_simulate_hierarchy_log_block(self, self->block_count++, op, first + b, self->sm[b]);
        }
        status = start_flight(self, ctx, context, op, self->sm[b], 1, self->block_count - 1,
                              gs_simulate_hierarchy_duration(self, op, first + b));
    }
    return status;
}

/* The same for blocks of equal execution times: those of one SM form one flight and are adjacent in
 * the log. Counting sort by SM, in order of first occurrence. */
static int start_together(gs_simulate_hierarchy_t *self, gs_context_t *ctx,
                          gs_simulate_hierarchy_context_t *context, int64_t op, int64_t first,
                          int64_t count)
{
    int64_t duration = gs_simulate_hierarchy_duration(self, op, 0), log = self->block_count;
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
        log += blocks;
    }
    for (int64_t b = 0; b < count && status == GS_OK && self->model.log_blocks; b++) {
        gs_simulate_hierarchy_log_block(self, self->on_sm[self->sm[b]]++, op, first + b,
                                        self->sm[b]);
    }
    for (int32_t k = 0; k < used; k++) {
        self->on_sm[self->used_sm[k]] = 0;
    }
    if (self->model.log_blocks) {
        self->block_count = log;
    }
    return status;
}

static int start_placed(gs_simulate_hierarchy_t *self, gs_context_t *ctx,
                        gs_simulate_hierarchy_context_t *context, int64_t op, int64_t count)
{
    gs_simulate_hierarchy_op_t *state = &self->op[op];
    int64_t first = self->model.blocks[op] - state->waiting, log = self->block_count;
    int status = make_log_room(self, ctx, count);
    if (status == GS_OK) {
        status = gs_simulate_hierarchy_is_constant(self, op)
                     ? start_together(self, ctx, context, op, first, count)
                     : start_each(self, ctx, context, op, first, count);
    }
    if (status != GS_OK) {
        self->block_count = log; /* rows of blocks that did not all start are not complete */
        return status;
    }
    self->blocks += count;
    state->waiting -= count;
    state->running += count;
    bool is_first = state->first < 0;
    state->first = is_first ? self->now : state->first;
    context->places -= is_first;
    state->dispatched = state->waiting == 0 ? self->now : -1;
    return is_first || state->waiting == 0
               ? gs_simulate_hierarchy_wait(self, ctx, op, -1, -1, self->sm[0])
               : GS_OK;
}

/* The kernel at the head of a queue has started its last block. */
static int leave(gs_simulate_hierarchy_t *self, gs_context_t *ctx,
                 gs_simulate_hierarchy_context_t *context, int64_t op)
{
    int64_t stream = self->model.stream[op];
    gs_simulate_hierarchy_pop(&context->queue[self->stream_level[stream]]);
    self->started = true;
    self->retry = self->retry || self->stream_channel[stream] >= 0;
    return self->model.programmatic == NULL ? GS_OK
                                            : gs_simulate_hierarchy_pass_triggers(self, ctx, op);
}

static int make_sm_room(gs_simulate_hierarchy_t *self, gs_context_t *ctx, int64_t blocks)
{
    if (blocks <= self->sm_room) {
        return GS_OK;
    }
    const gs_gpu_t *gpu = &self->model.gpu;
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
static inline int start_head(gs_simulate_hierarchy_t *self, gs_context_t *ctx,
                             gs_simulate_hierarchy_context_t *context,
                             gs_simulate_hierarchy_group_t *group, int64_t op, bool *all)
{
    *all = false;
    bool known = group->head == op; /* no room but on SMs freed since */
    if (known && group->freed_count == 0) {
        return GS_OK;
    }
    const bool changed = context->placed_op != op;
    if (changed) {
        gs_block_placement_change_kernel(&context->placer);
    }
    const int32_t *freed = known ? group->freed : NULL;
    int64_t waiting = self->op[op].waiting, placed = 0;
    int status = make_sm_room(self, ctx, waiting);
    if (status == GS_OK) {
        status = self->op[op].is_confined
                     ? gs_simulate_hierarchy_place(self, ctx, context, op, freed,
                                                   group->freed_count, &placed)
                     : gs_block_placement_resume(&context->placer, ctx, &self->op[op].take, waiting,
                                                 freed, group->freed_count, self->sm, &placed);
    }
    forget_freed(group, op);
    if (placed > 0) {
        context->placed_op = op;
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
static inline int64_t head_of(const gs_simulate_hierarchy_t *self,
                              const gs_simulate_hierarchy_context_t *context,
                              const gs_simulate_hierarchy_group_t *group)
{
    for (int64_t level = group->level; level < group->level_end; level++) {
        int64_t head = gs_simulate_hierarchy_first(&context->queue[level]);
        if (head >= 0 && gs_simulate_hierarchy_has_place(self, context, head)) {
            return head;
        }
    }
    return -1;
}

/* The group whose head is served next, by priority and number; NULL: none has a head with room. */
static gs_simulate_hierarchy_group_t *next_group(const gs_simulate_hierarchy_t *self,
                                                 const gs_simulate_hierarchy_context_t *context)
{
    gs_simulate_hierarchy_group_t *next = NULL;
    int64_t least = 0;
    for (int64_t g = 0; g < context->groups; g++) {
        int64_t stuck = context->stuck[g]; /* still the head while there are places */
        int64_t head =
            stuck >= 0 && context->places > 0 ? stuck : head_of(self, context, &context->group[g]);
        if (head < 0 || head == stuck) {
            continue;
        }
        int64_t priority = self->model.priority[self->model.stream[head]];
        if (next == NULL || priority < least) {
            next = &context->group[g];
            least = priority;
        }
    }
    return next;
}

int gs_simulate_hierarchy_start_blocks(gs_simulate_hierarchy_t *self, gs_context_t *ctx,
                                       gs_simulate_hierarchy_context_t *context)
{
    const bool several = context->groups > 1;
    gs_simulate_hierarchy_group_t *group = context->group;
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
