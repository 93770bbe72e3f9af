/* Sums of resource demand by meet in the middle, and the bounds that decide eligibility. */
#include "pbs/oracle/resource_demand.h"

#include <string.h>

/* One resource, in units of the greatest common divisor of all needs: a smaller remainder of an SM
 * is unusable. */
typedef struct {
    int64_t need[GS_PERIODIC_TASKS_MAX];
    int64_t room[GS_PERIODIC_TASKS_MAX]; /* differs between kernels only for registers */
    int64_t least_room;
    int64_t most_room;
} resource_t;

static int64_t gcd(int64_t a, int64_t b)
{
    while (b != 0) {
        int64_t r = a % b;
        a = b;
        b = r;
    }
    return a;
}

static void read_resource(resource_t *self, int which, const gs_gpu_t *gpu, int32_t n,
                          const gs_occupancy_footprint_t *take)
{
    int64_t unit = 0;
    for (int32_t i = 0; i < n; i++) {
        const int64_t need[] = {take[i].warps, 1, take[i].regs, take[i].smem};
        /* A kernel without registers is not limited by the registers of others. */
        int64_t regs = take[i].regs > 0 ? take[i].regs_usable : gpu->regs_per_sm;
        const int64_t room[] = {gpu->warps_per_sm, gpu->blocks_per_sm, regs, gpu->smem_per_sm};
        self->need[i] = need[which];
        self->room[i] = room[which];
        unit = gcd(unit, self->need[i]);
    }
    self->least_room = INT64_MAX;
    self->most_room = 0;
    for (int32_t i = 0; i < n; i++) {
        if (unit > 1) {
            self->need[i] /= unit;
            self->room[i] /= unit;
        }
        if (self->need[i] > 0) {
            self->least_room = self->room[i] < self->least_room ? self->room[i] : self->least_room;
            self->most_room = self->room[i] > self->most_room ? self->room[i] : self->most_room;
        }
    }
}

/* Whether a is never exhausted for a block of some kernel before b is: every kernel takes at least
 * as large a fraction of b. True also when no kernel needs a. */
static bool implied(const resource_t *a, const resource_t *b, int32_t n)
{
    for (int32_t i = 0; i < n; i++) {
        /* Products of two 31-bit numbers. */
        if (a->need[i] > 0 &&
            (b->need[i] == 0 || a->need[i] * b->most_room > b->need[i] * a->least_room)) {
            return false;
        }
    }
    return true;
}

static void drop_implied(resource_t *resource, int32_t *count, int32_t n)
{
    for (int32_t a = *count - 1; a >= 0; a--) {
        bool drop = false;
        for (int32_t b = 0; b < *count; b++) {
            drop = drop || (b != a && implied(&resource[a], &resource[b], n));
        }
        if (drop) {
            (*count)--;
            memmove(&resource[a], &resource[a + 1], (size_t)(*count - a) * sizeof *resource);
        }
    }
}

/* An SM holds at most j blocks that need more than 1/(j+1) of a resource, at most j/2 that need
 * more than 2/(j+1), and so on: the weight of a block is floor((j+1) need / (room+1)). */
static int64_t large(int64_t need, int64_t room, int64_t j)
{
    return (j + 1) * need / (room + 1);
}

static void add_kind(gs_pbs_oracle_resource_demand_t *self, const resource_t *resource, int32_t i)
{
    int64_t need[GS_PBS_ORACLE_RESOURCE_DEMAND_RESOURCES] = {0},
            room[GS_PBS_ORACLE_RESOURCE_DEMAND_RESOURCES] = {0};
    for (int32_t r = 0; r < self->resources; r++) {
        need[r] = resource[r].need[i];
        room[r] = resource[r].room[i];
    }
    int32_t k = 0;
    while (k < self->kinds && (memcmp(self->kind[k].need, need, sizeof need) != 0 ||
                               memcmp(self->kind[k].room, room, sizeof room) != 0)) {
        k++;
    }
    if (k == self->kinds) {
        self->kinds++;
        self->kind[k].tasks = 0;
        memcpy(self->kind[k].need, need, sizeof need);
        memcpy(self->kind[k].room, room, sizeof room);
    }
    self->kind[k].tasks |= UINT32_C(1) << i;
}

/* The sums of all sets of count tasks, from those of single tasks. */
static void add_up(gs_pbs_oracle_resource_demand_sums_t *sums, int32_t count,
                   const gs_pbs_oracle_resource_demand_sums_t *single)
{
    memset(&sums[0], 0, sizeof sums[0]);
    for (uint32_t mask = 1; mask < UINT32_C(1) << count; mask++) {
        int i = __builtin_ctz(mask);
        for (int s = 0; s < GS_PBS_ORACLE_RESOURCE_DEMAND_SUMS; s++) {
            sums[mask].sum[s] = sums[mask & (mask - 1)].sum[s] + single[i].sum[s];
        }
    }
}

int gs_pbs_oracle_resource_demand_init(gs_pbs_oracle_resource_demand_t *self, gs_context_t *ctx,
                                       const gs_gpu_t *gpu, int32_t n,
                                       const gs_gpu_kernel_t *kernels,
                                       const gs_occupancy_footprint_t *take, const int64_t *per_sm)
{
    memset(self, 0, sizeof *self);
    self->n = n;
    self->sms = gpu->sms;
    self->low_bits = n / 2;
    resource_t resource[GS_PBS_ORACLE_RESOURCE_DEMAND_RESOURCES];
    self->resources = GS_PBS_ORACLE_RESOURCE_DEMAND_RESOURCES;
    for (int r = 0; r < GS_PBS_ORACLE_RESOURCE_DEMAND_RESOURCES; r++) {
        read_resource(&resource[r], r, gpu, n, take);
    }
    drop_implied(resource, &self->resources, n);
    self->count = self->resources;
    gs_pbs_oracle_resource_demand_sums_t single[GS_PERIODIC_TASKS_MAX] = {{{0}}};
    int64_t blocks[GS_PERIODIC_TASKS_MAX];
    for (int32_t i = 0; i < n; i++) {
        bool waves = kernels[i].blocks > gpu->sms * per_sm[i];
        self->alone |= (uint32_t)waves << i;
        blocks[i] = waves ? 0 : kernels[i].blocks; /* keeps the sums small */
        add_kind(self, resource, i);
    }
    for (int32_t r = 0; r < self->resources; r++) {
        self->capacity[r] = self->sms * resource[r].most_room;
        for (int32_t i = 0; i < n; i++) {
            single[i].sum[r] = blocks[i] * resource[r].need[i];
        }
        for (int64_t j = 1; j <= GS_PBS_ORACLE_RESOURCE_DEMAND_LARGE; j++) {
            bool any = false;
            for (int32_t i = 0; i < n; i++) {
                int64_t weight = large(resource[r].need[i], resource[r].most_room, j);
                single[i].sum[self->count] = blocks[i] * weight;
                any = any || weight > 0;
            }
            self->capacity[self->count] = self->sms * j;
            self->count += any ? 1 : 0;
        }
    }
    self->low = gs_alloc(ctx, (size_t)1 << self->low_bits, sizeof *self->low);
    self->high = gs_alloc(ctx, (size_t)1 << (n - self->low_bits), sizeof *self->high);
    if (self->low == NULL || self->high == NULL) {
        gs_pbs_oracle_resource_demand_free(self, ctx);
        return ctx->status;
    }
    add_up(self->low, self->low_bits, single);
    add_up(self->high, n - self->low_bits, single + self->low_bits);
    return GS_OK;
}

void gs_pbs_oracle_resource_demand_free(gs_pbs_oracle_resource_demand_t *self, gs_context_t *ctx)
{
    gs_free(ctx, self->low);
    gs_free(ctx, self->high);
    self->low = NULL;
    self->high = NULL;
}

/* A block of one kind finds no room only if every SM holds more than room - need of some resource
 * r. The other blocks can bring at most demand / (room - need + 1) SMs to that. */
static bool never_stuck(const gs_pbs_oracle_resource_demand_t *self, const int64_t *demand,
                        int32_t kind)
{
    int64_t full = 0;
    for (int32_t r = 0; r < self->resources; r++) {
        int64_t need = self->kind[kind].need[r], room = self->kind[kind].room[r];
        if (need > 0) {
            full += (demand[r] - need) / (room - need + 1);
        }
    }
    return full < self->sms;
}

int gs_pbs_oracle_resource_demand_classify(const gs_pbs_oracle_resource_demand_t *self,
                                           uint32_t mask)
{
    if ((mask & self->alone) != 0) {
        return GS_PBS_ORACLE_RESOURCE_DEMAND_TOO_LARGE;
    }
    const int64_t *low = self->low[mask & ((UINT32_C(1) << self->low_bits) - 1)].sum;
    const int64_t *high = self->high[mask >> self->low_bits].sum;
    int64_t demand[GS_PBS_ORACLE_RESOURCE_DEMAND_SUMS];
    for (int32_t s = 0; s < self->count; s++) {
        demand[s] = low[s] + high[s];
        if (demand[s] > self->capacity[s]) {
            return GS_PBS_ORACLE_RESOURCE_DEMAND_TOO_LARGE;
        }
    }
    for (int32_t k = 0; k < self->kinds; k++) {
        if ((mask & self->kind[k].tasks) != 0 && !never_stuck(self, demand, k)) {
            return GS_PBS_ORACLE_RESOURCE_DEMAND_UNDECIDED;
        }
    }
    return GS_PBS_ORACLE_RESOURCE_DEMAND_FITS;
}
