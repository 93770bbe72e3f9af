/* Load of the SMs, and the room that it leaves. */
#include "io/rules/rules_room.h"

int64_t gs_io_rules_room_limit(const gs_io_rules_state_t *state, int32_t shape, int resource)
{
    switch (resource) {
    case GS_OCCUPANCY_LIMIT_WARPS:
        return state->gpu->warps_per_sm;
    case GS_OCCUPANCY_LIMIT_BLOCKS:
        return state->gpu->blocks_per_sm;
    case GS_OCCUPANCY_LIMIT_REGS:
        return state->shape[shape].regs_usable;
    default:
        return state->gpu->smem_per_sm;
    }
}

int64_t gs_io_rules_room_take(const gs_io_rules_state_t *state, int32_t shape, int resource)
{
    const gs_occupancy_footprint_t *take = &state->shape[shape];
    switch (resource) {
    case GS_OCCUPANCY_LIMIT_WARPS:
        return take->warps;
    case GS_OCCUPANCY_LIMIT_BLOCKS:
        return 1;
    case GS_OCCUPANCY_LIMIT_REGS:
        return take->regs;
    default:
        return take->smem;
    }
}

/* Rounded down. free: below 2^31, take: positive and below 2^31. */
static int64_t quotient(int64_t free, int64_t take)
{
    return free >= 0 ? (int64_t)((uint32_t)free / (uint32_t)take) : -((take - 1 - free) / take);
}

int32_t gs_io_rules_room_left(const gs_io_rules_state_t *state, int32_t shape,
                              const gs_io_rules_load_t *load)
{
    const gs_occupancy_footprint_t *take = &state->shape[shape];
    const gs_gpu_t *gpu = state->gpu;
    int64_t room = gpu->blocks_per_sm - load->amount[GS_OCCUPANCY_LIMIT_BLOCKS];
    int64_t most =
        quotient(gpu->warps_per_sm - load->amount[GS_OCCUPANCY_LIMIT_WARPS], take->warps);
    room = most < room ? most : room;
    if (take->regs > 0) {
        most = quotient(take->regs_usable - load->amount[GS_OCCUPANCY_LIMIT_REGS], take->regs);
        room = most < room ? most : room;
    }
    if (take->smem > 0) {
        most = quotient(gpu->smem_per_sm - load->amount[GS_OCCUPANCY_LIMIT_SMEM], take->smem);
        room = most < room ? most : room;
    }
    /* No kernel has as many blocks: with those of its own added it is still negative. */
    return room < -GS_IO_RULES_MOST ? (int32_t)-GS_IO_RULES_MOST : (int32_t)room;
}

bool gs_io_rules_room_suits(const gs_io_rules_state_t *state, int32_t shape,
                            const gs_io_rules_load_t *load)
{
    const gs_gpu_t *gpu = state->gpu;
    const int32_t own = state->carveout[shape];
    const bool larger_do = gpu->carveout_rule == GS_GPU_CARVEOUT_AT_LEAST;
    bool suits = true;
    for (int32_t place = 0; own >= 0 && place < gpu->carveouts && suits; place++) {
        bool suitable = place == own || (larger_do && place > own);
        suits = suitable || load->of_carveout[place] == 0;
    }
    return suits;
}

static int32_t room_left(const gs_io_rules_state_t *state, int32_t shape,
                         const gs_io_rules_load_t *load)
{
    return gs_io_rules_room_suits(state, shape, load) ? gs_io_rules_room_left(state, shape, load)
                                                      : (int32_t)-GS_IO_RULES_MOST;
}

int gs_io_rules_room_init(gs_io_rules_room_t *self, gs_context_t *ctx,
                          const gs_io_rules_state_t *state)
{
    size_t sms = (size_t)state->gpu->sms, ring = 1;
    while (ring < sms) {
        ring *= 2;
    }
    *self = (gs_io_rules_room_t){.state = state, .mask = (int64_t)ring - 1};
    if ((self->load = gs_alloc(ctx, sms, sizeof *self->load)) == NULL ||
        (self->changed = gs_alloc(ctx, ring, sizeof *self->changed)) == NULL ||
        (self->rooms = gs_alloc(ctx, sms * GS_IO_RULES_ROOM_SLOTS, sizeof *self->rooms)) == NULL) {
        gs_io_rules_room_free(self, ctx);
        return ctx->status;
    }
    gs_io_rules_room_clear(self);
    return GS_OK;
}

void gs_io_rules_room_clear(gs_io_rules_room_t *self)
{
    size_t sms = (size_t)self->state->gpu->sms;
    for (size_t at = 0; at < sms; at++) {
        self->load[at] = (gs_io_rules_load_t){0};
    }
    for (size_t i = 0; i < GS_IO_RULES_ROOM_SLOTS; i++) {
        self->slot[i] = (gs_io_rules_room_slot_t){-1, 0, self->rooms + i * sms};
    }
}

void gs_io_rules_room_free(gs_io_rules_room_t *self, gs_context_t *ctx)
{
    gs_free(ctx, self->load);
    gs_free(ctx, self->changed);
    gs_free(ctx, self->rooms);
    self->load = NULL;
    self->changed = self->rooms = NULL;
}

void gs_io_rules_room_change(gs_io_rules_room_t *self, int32_t at, int32_t shape, int sign)
{
    gs_io_rules_load_add(&self->load[at], self->state, shape, sign);
    self->changed[self->changes++ & self->mask] = at;
}

const int32_t *gs_io_rules_room_of(gs_io_rules_room_t *self, int32_t shape)
{
    gs_io_rules_room_slot_t *slot = &self->slot[shape % GS_IO_RULES_ROOM_SLOTS];
    int32_t sms = self->state->gpu->sms;
    if (slot->shape != shape || self->changes - slot->changes >= sms) {
        for (int32_t at = 0; at < sms; at++) {
            slot->room[at] = room_left(self->state, shape, &self->load[at]);
        }
        slot->shape = shape;
    } else {
        for (int64_t i = slot->changes; i < self->changes; i++) {
            int32_t at = self->changed[i & self->mask];
            slot->room[at] = room_left(self->state, shape, &self->load[at]);
        }
    }
    slot->changes = self->changes;
    return slot->room;
}
