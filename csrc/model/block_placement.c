/* Placement of blocks on SMs. */
#include "model/block_placement_internal.h"

#include <string.h>

int gs_block_placement_init(gs_block_placement_t *self, gs_context_t *ctx, const gs_gpu_t *gpu,
                            int policy)
{
    *self = (gs_block_placement_t){.gpu = gpu, .policy = policy};
    if (policy < GS_BLOCK_PLACEMENT_MOST_ROOM || policy > GS_BLOCK_PLACEMENT_ROUND_ROBIN) {
        return gs_fail(ctx, GS_ERR_VALUE, "policy", -1, policy, "a known placement policy");
    }
    int status = gs_gpu_check(ctx, gpu);
    if (status != GS_OK) {
        return status;
    }
    size_t sms = (size_t)gpu->sms;
    if ((self->load = gs_alloc(ctx, sms, sizeof *self->load)) == NULL) {
        goto out;
    }
    if (policy == GS_BLOCK_PLACEMENT_OLMEDO &&
        (self->last = gs_alloc(ctx, sms, sizeof *self->last)) == NULL) {
        goto out;
    }
    if (policy == GS_BLOCK_PLACEMENT_MOST_ROOM &&
        ((self->room = gs_alloc(ctx, sms, sizeof *self->room)) == NULL ||
         (self->active = gs_alloc(ctx, sms, sizeof *self->active)) == NULL)) {
        goto out;
    }
    gs_block_placement_clear(self);
    return GS_OK;
out:
    status = ctx->status;
    gs_block_placement_free(self, ctx);
    return status;
}

void gs_block_placement_free(gs_block_placement_t *self, gs_context_t *ctx)
{
    gs_free(ctx, self->load);
    gs_free(ctx, self->last);
    gs_free(ctx, self->room);
    gs_free(ctx, self->active);
    self->load = NULL;
    self->last = NULL;
    self->room = NULL;
    self->active = NULL;
}

void gs_block_placement_clear(gs_block_placement_t *self)
{
    for (int32_t s = 0; s < self->gpu->sms; s++) {
        self->load[s] = (gs_block_placement_sm_load_t){.carveout = -1};
    }
    self->kernels = 0;
    self->next = 0;
    for (int32_t s = 0; self->last != NULL && s < self->gpu->sms; s++) {
        self->last[s] =
            (gs_block_placement_sm_last_t){-2, -2, 0, 0}; /* the kernel before kernel 0 is -1 */
    }
}

int gs_block_placement_set(gs_block_placement_t *self, gs_context_t *ctx,
                           const gs_block_placement_sm_load_t *load)
{
    const gs_gpu_t *gpu = self->gpu;
    for (int32_t s = 0; s < gpu->sms; s++) {
        const struct {
            const char *field;
            int64_t value;
            int64_t most;
        } parts[] = {
            {"load.warps", load[s].warps, gpu->warps_per_sm},
            {"load.blocks", load[s].blocks, gpu->blocks_per_sm},
            {"load.regs", load[s].regs, gpu->regs_per_sm},
            {"load.smem", load[s].smem, gpu->smem_per_sm},
        };
        for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
            if (parts[i].value < 0) {
                return gs_fail(ctx, GS_ERR_VALUE, parts[i].field, s, parts[i].value,
                               "a number of at least 0");
            }
            if (parts[i].value > parts[i].most) {
                return gs_fail(ctx, GS_ERR_VALUE, parts[i].field, s, parts[i].value,
                               "at most what an SM holds");
            }
        }
        if (load[s].carveout < -1) {
            return gs_fail(ctx, GS_ERR_VALUE, "load.carveout", s, load[s].carveout,
                           "bytes of at least 0, or -1");
        }
    }
    gs_block_placement_clear(self);
    for (int32_t s = 0; s < gpu->sms; s++) {
        self->load[s] = load[s];
        self->load[s].carveout = load[s].blocks == 0 ? -1 : load[s].carveout;
    }
    return GS_OK;
}

static void add(gs_block_placement_sm_load_t *load, const gs_occupancy_footprint_t *take,
                int64_t blocks)
{
    load->warps += blocks * take->warps;
    load->blocks += blocks;
    load->regs += blocks * take->regs;
    load->smem += blocks * take->smem;
}

/* Puts at least one block on an SM. */
static void put(gs_block_placement_t *self, int32_t sm, const gs_occupancy_footprint_t *take,
                int64_t blocks)
{
    gs_block_placement_sm_load_t *load = &self->load[sm];
    add(load, take, blocks);
    if (load->carveout < 0) {
        load->carveout = take->carveout;
    }
}

static bool refuses(const gs_block_placement_t *self, const gs_block_placement_sm_load_t *load,
                    const gs_occupancy_footprint_t *take)
{
    return load->carveout >= 0 &&
           !gs_occupancy_carveout_suits(self->gpu, load->carveout, take->carveout);
}

int gs_block_placement_lack(const gs_block_placement_t *self, int32_t sm,
                            const gs_occupancy_footprint_t *take)
{
    const gs_block_placement_sm_load_t *load = &self->load[sm];
    if (refuses(self, load, take)) {
        return GS_OCCUPANCY_LIMIT_CARVEOUT;
    }
    if (load->warps + take->warps > self->gpu->warps_per_sm) {
        return GS_OCCUPANCY_LIMIT_WARPS;
    }
    if (load->blocks >= self->gpu->blocks_per_sm) {
        return GS_OCCUPANCY_LIMIT_BLOCKS;
    }
    if (take->regs != 0 && load->regs + take->regs > take->regs_usable) {
        return GS_OCCUPANCY_LIMIT_REGS;
    }
    return load->smem + take->smem > self->gpu->smem_per_sm ? GS_OCCUPANCY_LIMIT_SMEM : -1;
}

static bool fits(const gs_block_placement_t *self, int32_t sm, const gs_occupancy_footprint_t *take)
{
    return gs_block_placement_lack(self, sm, take) < 0;
}

static inline int64_t room_on(const gs_block_placement_t *self, int32_t sm,
                              const gs_occupancy_footprint_t *take)
{
    const gs_block_placement_sm_load_t *load = &self->load[sm];
    int64_t warps = self->gpu->warps_per_sm - load->warps;
    int64_t room = self->gpu->blocks_per_sm - load->blocks;
    if (warps < take->warps || room <= 0 || refuses(self, load, take)) {
        return 0;
    }
    int64_t by_warps = warps / take->warps;
    room = by_warps < room ? by_warps : room;
    if (take->regs != 0) {
        /* Other kernels can use more registers than are usable for this one. */
        int64_t regs = take->regs_usable - load->regs;
        int64_t by_regs = regs < take->regs ? 0 : regs / take->regs;
        room = by_regs < room ? by_regs : room;
    }
    if (take->smem != 0) {
        int64_t by_smem = (self->gpu->smem_per_sm - load->smem) / take->smem;
        room = by_smem < room ? by_smem : room;
    }
    return room;
}

/* A block reduces the room of its SM by exactly one, as it reduces each term of the minimum by one.
 * Blocks are therefore dealt in levels: the SMs with the largest room R get one block each, in
 * order, then have room R - 1 like those that had R - 1 before, and so on. Between two different
 * rooms the SMs of a level stay the same, and their rounds are dealt at once. */
static int place_most_room(gs_block_placement_t *self, gs_context_t *ctx,
                           const gs_occupancy_footprint_t *take, int64_t blocks, const int32_t *at,
                           int32_t sms, int32_t *sm, int64_t *placed)
{
    int64_t level = 0, done = 0;
    for (int32_t p = 0; p < sms; p++) {
        self->room[p] =
            gs_block_placement_room(self, gs_gpu_sm_at(self->gpu, at == NULL ? p : at[p]), take);
        level = self->room[p] > level ? self->room[p] : level;
    }
    while (done < blocks && level > 0) {
        int64_t next = 0; /* the greatest room below this level */
        int32_t active = 0;
        for (int32_t p = 0; p < sms; p++) {
            if (self->room[p] >= level) {
                self->active[active++] = gs_gpu_sm_at(self->gpu, at == NULL ? p : at[p]);
            } else if (self->room[p] > next) {
                next = self->room[p];
            }
        }
        int64_t rounds = (blocks - done) / active, rest = (blocks - done) % active;
        if (rounds >= level - next) {
            rounds = level - next;
            rest = 0;
        }
        int32_t taking = rounds > 0 ? active : (int32_t)rest;
        for (int32_t a = 0; a < taking; a++) {
            put(self, self->active[a], take, rounds + (a < rest ? 1 : 0));
        }
        int64_t dealt = rounds * active + rest;
        for (int64_t i = 0; sm != NULL && i < dealt; i += active) {
            int64_t part = dealt - i < active ? dealt - i : active;
            memcpy(sm + done + i, self->active, (size_t)part * sizeof *sm);
        }
        done += dealt;
        *placed = done;
        level = next;
        int status = gs_poll(ctx, sms + (sm == NULL ? 0 : dealt));
        if (status != GS_OK) {
            return status;
        }
    }
    return GS_OK;
}

/* The SM of the next block under round_robin, -1 when it fits none: of the positions `at`, in
 * cyclic order. */
static int32_t choose_round_robin(gs_block_placement_t *self, const gs_occupancy_footprint_t *take,
                                  const int32_t *at, int32_t count)
{
    int32_t first = at == NULL ? self->next : 0; /* the first entry from `next` on */
    while (at != NULL && first < count && at[first] < self->next) {
        first++;
    }
    for (int32_t i = 0, k = first; i < count; i++, k++) {
        k = k >= count ? 0 : k;
        int32_t p = at == NULL ? k : at[k];
        if (fits(self, gs_gpu_sm_at(self->gpu, p), take)) {
            self->next = p + 1 == self->gpu->sms ? 0 : p + 1;
            return gs_gpu_sm_at(self->gpu, p);
        }
    }
    return -1;
}

/* Whether the SM holds a block of the kernel dispatched before this one. */
static bool holds_previous(const gs_block_placement_t *self, int32_t sm)
{
    const gs_block_placement_sm_last_t *last = &self->last[sm];
    int64_t previous = self->kernels - 1;
    return last->kernel == previous ||
           (last->kernel == self->kernels && last->kernel_before == previous);
}

/* The SM that carries fewer warps than all others, which carry the same number; -1 if none. */
static int32_t lone_sm(const gs_block_placement_t *self, int64_t *others)
{
    const gs_block_placement_sm_load_t *load = self->load;
    const int32_t sms = self->gpu->sms;
    if (sms < 2) {
        return -1;
    }
    *others = load[0].warps > load[1].warps ? load[0].warps : load[1].warps;
    int32_t lone = -1;
    for (int32_t s = 0; s < sms; s++) {
        if (load[s].warps == *others) {
            continue;
        }
        if (load[s].warps > *others || lone >= 0) {
            return -1;
        }
        lone = s;
    }
    return lone;
}

/* Whether an SM is at one of the positions. */
static bool is_among(const gs_gpu_t *gpu, const int32_t *at, int32_t count, int32_t sm)
{
    int32_t k = 0;
    while (at != NULL && k < count && gs_gpu_sm_at(gpu, at[k]) != sm) {
        k++;
    }
    return k < count;
}

/* The SM of the next block under olmedo, -1 when it fits none of the positions `at`. */
static int32_t choose_olmedo(const gs_block_placement_t *self, const gs_occupancy_footprint_t *take,
                             const int32_t *at, int32_t count)
{
    const gs_gpu_t *gpu = self->gpu;
    const int64_t mw = gpu->warps_per_sm, y = take->warps;
    for (int32_t k = 0; k < count; k++) {
        int32_t s = gs_gpu_sm_at(gpu, at == NULL ? k : at[k]);
        if (holds_previous(self, s) && fits(self, s, take)) {
            int64_t x = self->last[s].x, z = self->last[s].z;
            if (mw - z - x >= (mw - z) / y * y) {
                return s;
            }
        }
    }
    int32_t passed_over = -1;
    int64_t others;
    int32_t lone = lone_sm(self, &others);
    if (lone >= 0 && holds_previous(self, lone) && fits(self, lone, take) &&
        is_among(gpu, at, count, lone)) {
        if ((mw - self->load[lone].warps) / y * y > mw - others) {
            return lone;
        }
        passed_over = lone;
    }
    int32_t best = -1;
    for (int32_t k = 0; k < count; k++) {
        int32_t s = gs_gpu_sm_at(gpu, at == NULL ? k : at[k]);
        if (s != passed_over && (best < 0 || self->load[s].warps < self->load[best].warps) &&
            fits(self, s, take)) {
            best = s;
        }
    }
    return best < 0 ? passed_over : best;
}

static void remember(gs_block_placement_t *self, int32_t sm, const gs_occupancy_footprint_t *take)
{
    gs_block_placement_sm_last_t *last = &self->last[sm];
    if (last->kernel != self->kernels) {
        last->kernel_before = last->kernel;
        last->kernel = self->kernels;
    }
    last->x = take->warps;
    last->z = self->load[sm].warps;
}

static int place_one_by_one(gs_block_placement_t *self, gs_context_t *ctx,
                            const gs_occupancy_footprint_t *take, int64_t blocks, const int32_t *at,
                            int32_t sms, int32_t *sm, int64_t *placed)
{
    while (*placed < blocks) {
        int32_t s = self->policy == GS_BLOCK_PLACEMENT_OLMEDO
                        ? choose_olmedo(self, take, at, sms)
                        : choose_round_robin(self, take, at, sms);
        if (s < 0) {
            break;
        }
        if (self->policy == GS_BLOCK_PLACEMENT_OLMEDO) {
            remember(self, s, take);
        }
        put(self, s, take, 1);
        if (sm != NULL) {
            sm[*placed] = s;
        }
        (*placed)++;
        int status = gs_poll(ctx, self->gpu->sms);
        if (status != GS_OK) {
            return status;
        }
    }
    return GS_OK;
}

int gs_block_placement_kernel(gs_block_placement_t *self, gs_context_t *ctx,
                              const gs_gpu_kernel_t *kernel, int64_t row, int32_t *sm,
                              int64_t *placed)
{
    gs_occupancy_footprint_t take;
    int64_t per_sm;
    int limit;
    *placed = 0;
    int status = gs_occupancy_footprint(ctx, self->gpu, kernel, row, &take, &per_sm, &limit);
    if (status != GS_OK) {
        return status;
    }
    if (per_sm > 0) {
        status = self->policy == GS_BLOCK_PLACEMENT_MOST_ROOM
                     ? place_most_room(self, ctx, &take, kernel->blocks, NULL, self->gpu->sms, sm,
                                       placed)
                     : place_one_by_one(self, ctx, &take, kernel->blocks, NULL, self->gpu->sms, sm,
                                        placed);
    }
    self->kernels++;
    for (int64_t i = *placed; status == GS_OK && sm != NULL && i < kernel->blocks; i++) {
        sm[i] = -1;
        status = gs_poll(ctx, 1);
    }
    return status;
}

void gs_block_placement_change_kernel(gs_block_placement_t *self)
{
    self->kernels++;
}

int gs_block_placement_resume(gs_block_placement_t *self, gs_context_t *ctx,
                              const gs_occupancy_footprint_t *take, int64_t blocks,
                              const int32_t *at, int32_t count, int32_t *sm, int64_t *placed)
{
    int32_t sms = at == NULL ? self->gpu->sms : count;
    *placed = 0;
    return self->policy == GS_BLOCK_PLACEMENT_MOST_ROOM
               ? place_most_room(self, ctx, take, blocks, at, sms, sm, placed)
               : place_one_by_one(self, ctx, take, blocks, at, sms, sm, placed);
}

int64_t gs_block_placement_room(const gs_block_placement_t *self, int32_t sm,
                                const gs_occupancy_footprint_t *take)
{
    return room_on(self, sm, take);
}

void gs_block_placement_remove(gs_block_placement_t *self, int32_t sm,
                               const gs_occupancy_footprint_t *take, int64_t blocks)
{
    gs_block_placement_sm_load_t *load = &self->load[sm];
    add(load, take, -blocks);
    if (load->blocks == 0) {
        load->carveout = -1;
    }
}
