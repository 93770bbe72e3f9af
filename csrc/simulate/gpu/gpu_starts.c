/* Starts of blocks that are confined, of a simulated GPU: to SMs of a partition, to one
 * instant for all (cooperative launches), to one GPC (clusters). */
#include "simulate/gpu/gpu_parts.h"

#include <string.h>

typedef gs_simulate_gpu_partition_t partition_t;

static partition_t *partition_of(const gs_simulate_gpu_t *self, int64_t op)
{
    return &self->partition[gs_simulate_gpu_room_of(self, op)->partition];
}

/* The partition that counts the SMs of one with a limit. */
static partition_t *client_of(const gs_simulate_gpu_t *self, const partition_t *partition)
{
    return &self->partition[partition->client];
}

static bool is_cooperative(const gs_simulate_gpu_t *self, int64_t op)
{
    return gs_simulate_gpu_shape_of(self, op)->cooperative;
}

static int64_t cluster_of(const gs_simulate_gpu_t *self, int64_t op)
{
    return gs_simulate_gpu_shape_of(self, op)->cluster;
}

/* SMs without blocks of a partition with a limit that may be added to those with some. */
static int32_t budget_of(const gs_simulate_gpu_t *self, const partition_t *partition)
{
    return partition->limit - client_of(self, partition)->held;
}

static bool is_in_set(const partition_t *partition, int32_t position)
{
    return partition->is_in_set == NULL || partition->is_in_set[position];
}

/* Counts blocks of a partition on an SM; a negative number: that have ended. */
static void hold(gs_simulate_gpu_t *self, const partition_t *partition, int32_t sm, int64_t blocks)
{
    if (partition->limit == 0) {
        return;
    }
    partition_t *client = client_of(self, partition);
    bool before = client->blocks[sm] > 0;
    client->blocks[sm] += blocks;
    bool after = client->blocks[sm] > 0;
    client->held += after - before;
}

void gs_simulate_gpu_release(gs_simulate_gpu_t *self, int64_t op, int32_t sm, int64_t blocks)
{
    hold(self, partition_of(self, op), sm, -blocks);
}

/* Places blocks at the positions self->starts.at[0 .. count - 1], behind those placed before. */
static int place_at(gs_simulate_gpu_t *self, gs_context_t *ctx, gs_simulate_gpu_context_t *context,
                    int64_t op, int64_t blocks, int32_t count, int64_t *placed)
{
    const partition_t *partition = partition_of(self, op);
    int64_t done = 0;
    int status =
        gs_block_placement_resume(&context->placer, ctx, &gs_simulate_gpu_shape_of(self, op)->take,
                                  blocks, self->starts.at, count, self->sm + *placed, &done);
    for (int64_t b = 0; b < done; b++) {
        hold(self, partition, self->sm[*placed + b], 1);
    }
    *placed += done;
    return status;
}

/* Rooms of all SMs for a kernel, 0 outside the set of its partition. */
static void find_rooms(gs_simulate_gpu_t *self, const gs_simulate_gpu_context_t *context,
                       int64_t op)
{
    const gs_gpu_t *gpu = self->gpu;
    const partition_t *partition = partition_of(self, op);
    for (int32_t p = 0; p < gpu->sms; p++) {
        self->starts.room[p] =
            is_in_set(partition, p)
                ? gs_block_placement_room(&context->placer, gs_gpu_sm_at(gpu, p),
                                          &gs_simulate_gpu_shape_of(self, op)->take)
                : 0;
    }
}

/* Finds, of the SMs at some positions, those that blocks of a partition can use if `budget` SMs
 * without any may be added (negative: all): those with such blocks, and the others with most room,
 * the first of equals. *room receives the sum of their rooms, *added the number of the others;
 * is_usable is set for all, if asked for. */
static int find_usable(gs_simulate_gpu_t *self, gs_context_t *ctx, const partition_t *partition,
                       const int32_t *at, int32_t count, int32_t budget, bool mark, int64_t *room,
                       int32_t *added)
{
    gs_simulate_gpu_starts_t *starts = &self->starts;
    int status = gs_poll(ctx, count);
    *room = *added = 0;
    starts->most_room.count = 0;
    for (int32_t k = 0; k < count && status == GS_OK; k++) {
        int32_t p = at[k];
        if (starts->room[p] == 0) {
            continue;
        }
        if (budget < 0 || client_of(self, partition)->blocks[gs_gpu_sm_at(self->gpu, p)] > 0) {
            *room += starts->room[p];
            starts->is_usable[p] = mark || starts->is_usable[p];
        } else {
            status = gs_heap_push(&starts->most_room, ctx, -starts->room[p], p);
        }
    }
    for (; *added < budget && starts->most_room.count > 0; ++*added) {
        gs_heap_entry_t entry = starts->most_room.entry[0];
        *room -= entry.time;
        starts->is_usable[entry.item] = mark || starts->is_usable[entry.item];
        gs_heap_pop(&starts->most_room);
    }
    return status;
}

/* Parts of the GPU that blocks start on together: GPCs, for a kernel with clusters. */
typedef struct {
    int32_t count;
    const int32_t *at, *begin;
} parts_t;

static parts_t parts_of(const gs_simulate_gpu_t *self, int64_t op)
{
    const gs_simulate_gpu_starts_t *starts = &self->starts;
    return cluster_of(self, op) > 1 ? (parts_t){starts->gpcs, starts->gpc_at, starts->gpc_begin}
                                    : (parts_t){1, starts->whole, starts->whole_begin};
}

/* Clusters of a kernel that a part can host. */
static int count_clusters(gs_simulate_gpu_t *self, gs_context_t *ctx, int64_t op,
                          const parts_t *parts, int32_t part, int32_t budget)
{
    int64_t room;
    int32_t added, begin = parts->begin[part];
    int status = find_usable(self, ctx, partition_of(self, op), parts->at + begin,
                             parts->begin[part + 1] - begin, budget, false, &room, &added);
    self->starts.clusters[part] = room / cluster_of(self, op);
    return status;
}

/* The first part with most clusters, -1: all have a negative number. */
static int32_t best_part(const gs_simulate_gpu_t *self, const parts_t *parts)
{
    const int64_t *clusters = self->starts.clusters;
    int32_t best = -1;
    for (int32_t g = 0; g < parts->count; g++) {
        if (clusters[g] >= 0 && (best < 0 || clusters[g] > clusters[best])) {
            best = g;
        }
    }
    return best;
}

/* Leaves room on those SMs alone that a cooperative kernel of a partition with a limit takes. */
static int choose_sms(gs_simulate_gpu_t *self, gs_context_t *ctx, int64_t op)
{
    const partition_t *partition = partition_of(self, op);
    gs_simulate_gpu_starts_t *starts = &self->starts;
    const int32_t sms = self->gpu->sms;
    const parts_t parts = parts_of(self, op);
    int32_t budget = budget_of(self, partition), added;
    int64_t room;
    memset(starts->is_usable, 0, (size_t)sms * sizeof *starts->is_usable);
    memset(starts->clusters, 0, (size_t)parts.count * sizeof *starts->clusters);
    int status = find_usable(self, ctx, partition, starts->whole, sms, 0, true, &room, &added);
    for (int32_t taken = 0; status == GS_OK && taken < parts.count && budget > 0; taken++) {
        for (int32_t g = 0; g < parts.count && status == GS_OK; g++) {
            if (starts->clusters[g] >= 0) {
                status = count_clusters(self, ctx, op, &parts, g, budget);
            }
        }
        int32_t best = best_part(self, &parts), begin = parts.begin[best];
        if (status == GS_OK) {
            status = find_usable(self, ctx, partition, parts.at + begin,
                                 parts.begin[best + 1] - begin, budget, true, &room, &added);
        }
        budget -= added;
        starts->clusters[best] = -1;
    }
    for (int32_t p = 0; p < sms; p++) {
        starts->room[p] = starts->is_usable[p] ? starts->room[p] : 0;
    }
    return status;
}

/* Blocks of a cooperative kernel that can start at one instant; leaves room on their SMs alone. */
static int count_at_once(gs_simulate_gpu_t *self, gs_context_t *ctx,
                         const gs_simulate_gpu_context_t *context, int64_t op, int64_t *most)
{
    const parts_t parts = parts_of(self, op);
    find_rooms(self, context, op);
    int status = partition_of(self, op)->limit > 0 ? choose_sms(self, ctx, op) : GS_OK;
    *most = 0;
    for (int32_t g = 0; g < parts.count && status == GS_OK; g++) {
        status = count_clusters(self, ctx, op, &parts, g, -1);
        *most += self->starts.clusters[g] * cluster_of(self, op);
    }
    return status;
}

/* Places clusters, one after the other, on the GPCs that can host most of them. */
static int place_clusters(gs_simulate_gpu_t *self, gs_context_t *ctx,
                          gs_simulate_gpu_context_t *context, int64_t op, bool limited,
                          int64_t *placed)
{
    const partition_t *partition = partition_of(self, op);
    const gs_gpu_t *gpu = self->gpu;
    gs_simulate_gpu_starts_t *starts = &self->starts;
    const parts_t parts = parts_of(self, op);
    const int64_t blocks = self->op[op].waiting;
    int32_t budget = -2, best = -1; /* of no GPC the clusters are known */
    int status = GS_OK;
    while (*placed < blocks && status == GS_OK) {
        int32_t before = budget, added;
        int64_t room;
        budget = limited ? budget_of(self, partition) : -1;
        for (int32_t g = 0; g < parts.count && status == GS_OK; g++) {
            if (g == best || budget != before) {
                status = count_clusters(self, ctx, op, &parts, g, budget);
            }
        }
        best = best_part(self, &parts);
        if (status != GS_OK || starts->clusters[best] == 0) {
            break;
        }
        const int32_t begin = parts.begin[best], end = parts.begin[best + 1];
        for (int32_t k = begin; k < end; k++) {
            starts->is_usable[parts.at[k]] = false;
        }
        status = find_usable(self, ctx, partition, parts.at + begin, end - begin, budget, true,
                             &room, &added);
        int32_t count = 0;
        for (int32_t k = begin; k < end; k++) {
            if (starts->is_usable[parts.at[k]]) {
                starts->at[count++] = parts.at[k];
            }
        }
        if (status == GS_OK) {
            status = place_at(self, ctx, context, op, cluster_of(self, op), count, placed);
        }
        for (int32_t k = 0; k < count; k++) {
            int32_t p = starts->at[k];
            starts->room[p] = gs_block_placement_room(&context->placer, gs_gpu_sm_at(gpu, p),
                                                      &gs_simulate_gpu_shape_of(self, op)->take);
        }
    }
    return status;
}

/* Places blocks of a partition with a limit, as many at a time as cannot exceed it. */
static int place_limited(gs_simulate_gpu_t *self, gs_context_t *ctx,
                         gs_simulate_gpu_context_t *context, int64_t op, int64_t *placed)
{
    const partition_t *partition = partition_of(self, op);
    const int64_t blocks = self->op[op].waiting;
    int status = GS_OK;
    while (*placed < blocks && status == GS_OK) {
        int32_t budget = budget_of(self, partition), count = 0;
        for (int32_t p = 0; p < self->gpu->sms; p++) {
            bool held = client_of(self, partition)->blocks[gs_gpu_sm_at(self->gpu, p)] > 0;
            if (budget > 0 ? is_in_set(partition, p) : held) {
                self->starts.at[count++] = p;
            }
        }
        int64_t left = blocks - *placed, part = budget > 0 && budget < left ? budget : left;
        int64_t before = *placed;
        status = place_at(self, ctx, context, op, part, count, placed);
        if (*placed < before + part) {
            break;
        }
    }
    return status;
}

/* Finds empty SMs for the only block of a kernel that takes several. */
static void place_whole(gs_simulate_gpu_t *self, const gs_simulate_gpu_context_t *context,
                        int64_t op, int64_t *placed)
{
    const partition_t *partition = partition_of(self, op);
    const gs_gpu_t *gpu = self->gpu;
    const int64_t whole = gs_simulate_gpu_shape_of(self, op)->whole;
    const bool limited = partition->limit > 0, full = limited && budget_of(self, partition) <= 0;
    int32_t found = 0;
    if (limited && !full && whole > budget_of(self, partition)) {
        return;
    }
    for (int32_t p = 0; p < gpu->sms && found < whole; p++) {
        int32_t sm = gs_gpu_sm_at(gpu, p);
        bool usable = full ? client_of(self, partition)->blocks[sm] > 0 : is_in_set(partition, p);
        if (usable && context->placer.load[sm].blocks == 0) {
            self->sm[found++] = sm;
        }
    }
    if (found < whole) {
        return;
    }
    for (int32_t k = 0; k < found; k++) {
        hold(self, partition, self->sm[k], 1);
        context->placer.load[self->sm[k]] = (gs_block_placement_sm_load_t){
            gpu->warps_per_sm, gpu->blocks_per_sm, gpu->regs_per_sm, gpu->smem_per_sm, -1};
    }
    *placed = whole;
}

int gs_simulate_gpu_place(gs_simulate_gpu_t *self, gs_context_t *ctx,
                          gs_simulate_gpu_context_t *context, int64_t op, const int32_t *at,
                          int32_t count, int64_t *placed)
{
    const partition_t *partition = partition_of(self, op);
    const bool together = is_cooperative(self, op), limited = partition->limit > 0;
    int64_t most = 0;
    int status = gs_poll(ctx, self->gpu->sms);
    *placed = 0;
    if (gs_simulate_gpu_shape_of(self, op)->whole > 0) {
        place_whole(self, context, op, placed);
        return status;
    }
    if (together && status == GS_OK) {
        status = count_at_once(self, ctx, context, op, &most);
        if (status != GS_OK || most < self->op[op].waiting) {
            return status;
        }
    }
    if (cluster_of(self, op) > 1) {
        if (!together) {
            find_rooms(self, context, op);
        }
        return status != GS_OK
                   ? status
                   : place_clusters(self, ctx, context, op, limited && !together, placed);
    }
    if (limited && !together) {
        return status != GS_OK ? status : place_limited(self, ctx, context, op, placed);
    }
    int32_t usable = 0;
    for (int32_t k = 0; k < (at == NULL || together ? self->gpu->sms : count); k++) {
        int32_t p = at == NULL || together ? k : at[k];
        if (together ? self->starts.room[p] > 0 : is_in_set(partition, p)) {
            self->starts.at[usable++] = p;
        }
    }
    return status != GS_OK ? status
                           : place_at(self, ctx, context, op, self->op[op].waiting, usable, placed);
}

int gs_simulate_gpu_lack_of_room(const gs_simulate_gpu_t *self,
                                 const gs_simulate_gpu_context_t *context, int64_t op)
{
    const gs_gpu_t *gpu = self->gpu;
    const partition_t *partition = partition_of(self, op);
    const bool full = partition->limit > 0 && budget_of(self, partition) == 0;
    bool elsewhere = false;
    for (int32_t p = 0; p < gpu->sms; p++) {
        int32_t sm = gs_gpu_sm_at(gpu, p);
        if (gs_block_placement_room(&context->placer, sm,
                                    &gs_simulate_gpu_shape_of(self, op)->take) == 0) {
            continue;
        }
        if (full ? client_of(self, partition)->blocks[sm] > 0 : is_in_set(partition, p)) {
            return is_cooperative(self, op) ? GS_SIMULATE_GPU_WAIT_COOPERATIVE
                                            : GS_SIMULATE_GPU_WAIT_CLUSTER;
        }
        elsewhere = true;
    }
    return elsewhere ? GS_SIMULATE_GPU_WAIT_PARTITION : -1;
}

/* GPCs in the order of their first SM, with their SMs. */
static int make_gpcs(gs_simulate_gpu_t *self, gs_context_t *ctx)
{
    gs_simulate_gpu_starts_t *starts = &self->starts;
    const gs_gpu_t *gpu = self->gpu;
    const size_t sms = (size_t)gpu->sms;
    int32_t *rank = gs_alloc(ctx, sms, sizeof *rank); /* by index of the GPC, from 1 */
    if (rank == NULL || (starts->gpc_at = gs_alloc(ctx, sms, sizeof *starts->gpc_at)) == NULL ||
        (starts->gpc_begin = gs_alloc(ctx, sms + 2, sizeof *starts->gpc_begin)) == NULL) {
        gs_free(ctx, rank);
        return ctx->status;
    }
    /* Counting sort: gpc_begin[r + 1] first counts the SMs of rank r, from 1. */
    for (int32_t p = 0; p < gpu->sms; p++) {
        int32_t number = self->gpc[gs_gpu_sm_at(gpu, p)];
        rank[number] = rank[number] == 0 ? ++starts->gpcs : rank[number];
        starts->gpc_begin[rank[number] + 1]++;
    }
    for (int32_t g = 0; g < starts->gpcs; g++) {
        starts->gpc_begin[g + 2] += starts->gpc_begin[g + 1];
    }
    for (int32_t p = 0; p < gpu->sms; p++) {
        int32_t number = self->gpc[gs_gpu_sm_at(gpu, p)];
        starts->gpc_at[starts->gpc_begin[rank[number]]++] = p;
    }
    gs_free(ctx, rank);
    return GS_OK;
}

int gs_simulate_gpu_make_starts(gs_simulate_gpu_t *self, gs_context_t *ctx)
{
    gs_simulate_gpu_starts_t *starts = &self->starts;
    const size_t sms = (size_t)self->gpu->sms;
    if ((starts->whole = gs_alloc(ctx, sms, sizeof *starts->whole)) == NULL ||
        (starts->room = gs_alloc(ctx, sms, sizeof *starts->room)) == NULL ||
        (starts->is_usable = gs_alloc(ctx, sms, sizeof *starts->is_usable)) == NULL ||
        (starts->clusters = gs_alloc(ctx, sms, sizeof *starts->clusters)) == NULL ||
        (starts->at = gs_alloc(ctx, sms, sizeof *starts->at)) == NULL) {
        return ctx->status;
    }
    for (int32_t p = 0; p < self->gpu->sms; p++) {
        starts->whole[p] = p;
    }
    starts->whole_begin[1] = self->gpu->sms;
    return self->has_clusters ? make_gpcs(self, ctx) : GS_OK;
}

void gs_simulate_gpu_complete(const gs_simulate_gpu_t *self, gs_simulate_gpu_shape_t *shape,
                              int64_t room)
{
    const partition_t *partition = &self->partition[self->room[room].partition];
    shape->is_confined = shape->cooperative || shape->cluster > 1 || partition->is_in_set != NULL ||
                         partition->limit > 0 || shape->whole > 0;
}

int gs_simulate_gpu_check(gs_simulate_gpu_t *self, gs_context_t *ctx, int64_t op)
{
    const gs_simulate_gpu_room_t *room = gs_simulate_gpu_room_of(self, op);
    const gs_simulate_gpu_context_t *context = &self->context[room->context];
    const partition_t *partition = partition_of(self, op);
    const int64_t cluster = cluster_of(self, op), row = self->op[op].log;
    const int64_t blocks = gs_simulate_gpu_shape_of(self, op)->blocks;
    int32_t added, budget = partition->limit > 0 ? partition->limit : -1;
    int64_t most = 0, sms = 0;
    int status = GS_OK;
    if (cluster > 1) {
        const parts_t parts = parts_of(self, op);
        find_rooms(self, context, op);
        for (int32_t g = 0; g < parts.count && status == GS_OK; g++) {
            status = find_usable(self, ctx, partition, parts.at + parts.begin[g],
                                 parts.begin[g + 1] - parts.begin[g], budget, false, &sms, &added);
            most = sms > most ? sms : most;
        }
        if (status == GS_OK && most < cluster) {
            return gs_fail_above(
                ctx, GS_ERR_VALUE, "cluster", row, cluster, most,
                "the blocks that the SMs of one GPC hold, as far as the kernel may "
                "use them");
        }
    }
    if (status == GS_OK && is_cooperative(self, op)) {
        status = count_at_once(self, ctx, context, op, &most);
        if (status == GS_OK && most < blocks) {
            return gs_fail_above(ctx, GS_ERR_VALUE, "blocks", row, blocks, most,
                                 "the blocks of a cooperative launch that the SMs hold at once, as "
                                 "far as the kernel may use them");
        }
    }
    return status;
}

void gs_simulate_gpu_free_starts(gs_simulate_gpu_t *self, gs_context_t *ctx)
{
    gs_simulate_gpu_starts_t *starts = &self->starts;
    gs_free(ctx, starts->gpc_at);
    gs_free(ctx, starts->gpc_begin);
    gs_free(ctx, starts->whole);
    gs_free(ctx, starts->room);
    gs_free(ctx, starts->is_usable);
    gs_free(ctx, starts->clusters);
    gs_free(ctx, starts->at);
    gs_heap_free(&starts->most_room, ctx);
}
