/* Load of the SMs by the blocks of a log, and the room that it leaves for blocks of each shape.
 *
 * Rooms are kept for several shapes at once and brought up to date when they are asked for, SM by
 * SM: a division is made where a load has changed, not for every block and SM.
 */
#ifndef GS_IO_RULES_RULES_ROOM_H
#define GS_IO_RULES_RULES_ROOM_H

#include "io/rules/rules_state.h"

#define GS_IO_RULES_ROOM_SLOTS 32

/* Resources that blocks hold on an SM, and the numbers of blocks with each carve-out. */
typedef struct {
    int64_t amount[4]; /* by GS_OCCUPANCY_LIMIT_* */
    int32_t of_carveout[GS_GPU_MAX_CARVEOUTS];
} gs_io_rules_load_t;

typedef struct {
    int32_t shape;   /* -1: unused */
    int64_t changes; /* of the loads that are known here */
    int32_t *room;   /* by place in the device's order */
} gs_io_rules_room_slot_t;

typedef struct {
    const gs_io_rules_state_t *state;
    gs_io_rules_load_t *load; /* owned, by place in the device's order */
    int32_t *changed;         /* owned: a ring of the places that have changed */
    int64_t mask;             /* entries of the ring minus one */
    int64_t changes;          /* so far */
    int32_t *rooms;           /* owned, of all slots */
    gs_io_rules_room_slot_t slot[GS_IO_RULES_ROOM_SLOTS];
} gs_io_rules_room_t;

/* So many more blocks of a shape; negative: fewer. */
static inline void gs_io_rules_load_add(gs_io_rules_load_t *load, const gs_io_rules_state_t *state,
                                        int32_t shape, int32_t blocks)
{
    const gs_occupancy_footprint_t *take = &state->shape[shape];
    load->amount[GS_OCCUPANCY_LIMIT_WARPS] += blocks * take->warps;
    load->amount[GS_OCCUPANCY_LIMIT_BLOCKS] += blocks;
    load->amount[GS_OCCUPANCY_LIMIT_REGS] += blocks * take->regs;
    load->amount[GS_OCCUPANCY_LIMIT_SMEM] += blocks * take->smem;
    if (state->carveout[shape] >= 0) {
        load->of_carveout[state->carveout[shape]] += blocks;
    }
}

int gs_io_rules_room_init(gs_io_rules_room_t *self, gs_context_t *ctx,
                          const gs_io_rules_state_t *state);
void gs_io_rules_room_free(gs_io_rules_room_t *self, gs_context_t *ctx);

/* Empties all SMs. */
void gs_io_rules_room_clear(gs_io_rules_room_t *self);

/* A block of a shape comes (1) or goes (-1). */
void gs_io_rules_room_change(gs_io_rules_room_t *self, int32_t at, int32_t shape, int sign);

/* Number of further blocks of a shape that each SM could take: negative where it holds more than
 * it has, and where its blocks may keep one of this carve-out away. Valid until the next call. */
const int32_t *gs_io_rules_room_of(gs_io_rules_room_t *self, int32_t shape);

/* Whether an SM takes a block of a shape, as far as carve-outs go, if these blocks, or any of them,
 * are on it. With GS_GPU_CARVEOUT_AT_LEAST it may take one in other cases, too: its carve-out may
 * be that of a block that ended. */
bool gs_io_rules_room_suits(const gs_io_rules_state_t *state, int32_t shape,
                            const gs_io_rules_load_t *load);

/* Amount that an SM has of a resource for blocks of a shape, amount that a block takes, and the
 * number of blocks of the shape for which the rest is enough. */
int64_t gs_io_rules_room_limit(const gs_io_rules_state_t *state, int32_t shape, int resource);
int64_t gs_io_rules_room_take(const gs_io_rules_state_t *state, int32_t shape, int resource);
int32_t gs_io_rules_room_left(const gs_io_rules_state_t *state, int32_t shape,
                              const gs_io_rules_load_t *load);

#endif
