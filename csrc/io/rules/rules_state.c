/* A log of blocks in the orders that the rules need. */
#include "io/rules/rules_state.h"

#include "core/hash_index.h"
#include "core/radix_sort.h"

static int check_times(gs_context_t *ctx, const int64_t *time, int64_t count, const char *field)
{
    for (int64_t row = 0; row < count; row++) {
        if (time[row] >= GS_IO_RULES_LATEST || time[row] <= -GS_IO_RULES_LATEST) {
            return gs_fail(ctx, GS_ERR_OVERFLOW, field, row, time[row], "less than 2**62");
        }
    }
    return GS_OK;
}

static int check_span(gs_context_t *ctx, int64_t span, const char *field)
{
    if (span < 0) {
        return gs_fail(ctx, GS_ERR_VALUE, field, -1, span, "a non-negative number");
    }
    return span < GS_IO_RULES_LATEST
               ? GS_OK
               : gs_fail(ctx, GS_ERR_OVERFLOW, field, -1, span, "less than 2**62");
}

static int check_blocks(gs_context_t *ctx, const gs_gpu_t *gpu, const gs_io_rules_log_t *log)
{
    for (int64_t row = 0; row < log->blocks; row++) {
        if (log->kernel[row] < 0 || log->kernel[row] >= log->kernels) {
            return gs_fail(ctx, GS_ERR_VALUE, "kernel", row, log->kernel[row], "a row of a kernel");
        }
        if (log->sm[row] < 0 || log->sm[row] >= gpu->sms) {
            return gs_fail(ctx, GS_ERR_VALUE, "sm", row, log->sm[row], "an SM of the GPU");
        }
        if (log->end[row] < log->start[row]) {
            return gs_fail(ctx, GS_ERR_VALUE, "end", row, log->end[row],
                           "at least the block's start");
        }
        if (log->block[row] < 0 || log->block[row] >= log->blocks) {
            return gs_fail(ctx, GS_ERR_VALUE, "block", row, log->block[row], "a number of a block");
        }
    }
    return GS_OK;
}

static int check(gs_context_t *ctx, const gs_gpu_t *gpu, const gs_io_rules_log_t *log,
                 const gs_io_rules_options_t *options)
{
    int status = gs_gpu_check(ctx, gpu);
    if (status == GS_OK && log->blocks >= GS_IO_RULES_MOST) {
        status = gs_fail(ctx, GS_ERR_OVERFLOW, "blocks", -1, log->blocks, "less than 2**30");
    }
    if (status == GS_OK && log->kernels >= GS_IO_RULES_MOST) {
        status = gs_fail(ctx, GS_ERR_OVERFLOW, "kernels", -1, log->kernels, "less than 2**30");
    }
    const struct {
        const int64_t *time;
        int64_t count;
        const char *field;
    } times[] = {
        {log->launch, log->kernels, "launch"},
        {log->joined, log->kernels, "joined"},
        {log->start, log->blocks, "start"},
        {log->end, log->blocks, "end"},
    };
    for (size_t i = 0; i < sizeof times / sizeof *times && status == GS_OK; i++) {
        status = check_times(ctx, times[i].time, times[i].count, times[i].field);
    }
    if (status == GS_OK) {
        status = check_span(ctx, options->tolerance, "tolerance");
    }
    if (status == GS_OK) {
        status = check_span(ctx, options->latency, "latency");
    }
    if (status == GS_OK) {
        status = check_span(ctx, options->resident_grids, "resident_grids");
    }
    return status == GS_OK ? check_blocks(ctx, gpu, log) : status;
}

/* Number of each row's value among the sorted different ones; `order` is sorted by it. */
static int ranks(gs_context_t *ctx, const int64_t *value, int32_t count, int32_t *order,
                 int32_t *rank, int32_t *different)
{
    gs_radix_sort_identity(count, order);
    int status = gs_radix_sort(ctx, value, count, order);
    *different = 0;
    for (int32_t i = 0; i < count && status == GS_OK; i++) {
        *different += i == 0 || value[order[i]] != value[order[i - 1]];
        rank[order[i]] = *different - 1;
    }
    return status;
}

static bool same_shape(const gs_occupancy_footprint_t *a, const gs_occupancy_footprint_t *b)
{
    return a->warps == b->warps && a->regs == b->regs && a->smem == b->smem &&
           a->regs_usable == b->regs_usable && a->carveout == b->carveout;
}

/* The place of a carve-out among those of the GPU; -1 where they are ignored. */
static int32_t carveout_place(const gs_gpu_t *gpu, int64_t carveout)
{
    if (gpu->carveout_rule == GS_GPU_CARVEOUT_IGNORE) {
        return -1;
    }
    int32_t place = 0;
    while (gpu->carveout[place] != carveout) {
        place++;
    }
    return place;
}

/* Shapes of the kernels, each once. */
static int find_shapes(gs_io_rules_state_t *self, gs_context_t *ctx)
{
    gs_hash_index_t index;
    gs_hash_index_init(&index);
    int status = GS_OK;
    for (int32_t k = 0; k < self->kernels && status == GS_OK; k++) {
        const gs_io_rules_log_t *log = self->log;
        const gs_gpu_kernel_t grid = {1, log->threads[k], log->regs[k], log->smem[k]};
        gs_occupancy_footprint_t take;
        int64_t fit;
        int limit;
        status = gs_occupancy_footprint(ctx, self->gpu, &grid, k, &take, &fit, &limit);
        if (status == GS_OK && fit == 0) {
            status = gs_fail(ctx, GS_ERR_VALUE, "threads", k, log->threads[k],
                             "a block that fits an SM");
        }
        if (status != GS_OK) {
            break;
        }
        uint64_t hash = gs_hash_index_mix((uint64_t)take.warps, (uint64_t)take.regs);
        hash = gs_hash_index_mix(gs_hash_index_mix(hash, (uint64_t)take.smem),
                                 (uint64_t)take.regs_usable);
        int64_t cursor = 0, shape = gs_hash_index_next(&index, hash, &cursor);
        while (shape >= 0 && !same_shape(&self->shape[shape], &take)) {
            shape = gs_hash_index_next(&index, hash, &cursor);
        }
        if (shape < 0) {
            shape = self->shapes++;
            self->shape[shape] = take;
            self->carveout[shape] = carveout_place(self->gpu, take.carveout);
            status = gs_hash_index_add(&index, ctx, hash, shape);
        }
        self->kernel[k].shape = (int32_t)shape;
    }
    gs_hash_index_free(&index, ctx);
    return status;
}

/* Blocks of each kernel: counts, numbers, and the extreme times. */
static int group_blocks(gs_io_rules_state_t *self, gs_context_t *ctx)
{
    const gs_io_rules_log_t *log = self->log;
    gs_io_rules_kernel_t *kernel = self->kernel;
    for (int32_t row = 0; row < self->blocks; row++) {
        kernel[log->kernel[row] + 1].begin++;
    }
    for (int32_t k = 0; k < self->kernels; k++) {
        if (kernel[k + 1].begin == 0) {
            return gs_fail(ctx, GS_ERR_VALUE, "kernel", k, 0, "a kernel with blocks");
        }
        kernel[k + 1].begin += kernel[k].begin;
        kernel[k].first = INT64_MAX;
        kernel[k].dispatched = kernel[k].ended = INT64_MIN;
    }
    for (int32_t i = 0; i < self->blocks; i++) {
        self->numbered[i] = -1;
    }
    for (int32_t row = 0; row < self->blocks; row++) {
        gs_io_rules_kernel_t *k = &kernel[log->kernel[row]];
        if (log->block[row] >= k[1].begin - k->begin) {
            return gs_fail(ctx, GS_ERR_VALUE, "block", row, log->block[row],
                           "a number below the kernel's blocks");
        }
        int32_t *entry = &self->numbered[k->begin + log->block[row]];
        if (*entry >= 0) {
            return gs_fail(ctx, GS_ERR_VALUE, "block", row, log->block[row],
                           "each block of a kernel once");
        }
        *entry = row;
        k->first = log->start[row] < k->first ? log->start[row] : k->first;
        k->dispatched = log->start[row] > k->dispatched ? log->start[row] : k->dispatched;
        k->ended = log->end[row] > k->ended ? log->end[row] : k->ended;
    }
    return GS_OK;
}

static void find_ready(gs_io_rules_state_t *self)
{
    for (int32_t k = 0; k < self->kernels; k++) {
        gs_io_rules_kernel_t *kernel = &self->kernel[k];
        int64_t ready = self->log->launch[k] + self->options->latency;
        ready = ready < kernel->first ? ready : kernel->first;
        kernel->joined = self->log->joined[k];
        kernel->ready = ready > kernel->joined ? ready : kernel->joined;
    }
}

/* Sorts kernels by a key; the last call's key counts most. */
typedef int64_t kernel_key_t(const gs_io_rules_state_t *self, int32_t kernel);

static int64_t by_launch(const gs_io_rules_state_t *self, int32_t k)
{
    return self->log->launch[k];
}

static int64_t by_joined(const gs_io_rules_state_t *self, int32_t k)
{
    return self->kernel[k].joined;
}

static int64_t by_ready(const gs_io_rules_state_t *self, int32_t k)
{
    return self->kernel[k].ready;
}

static int64_t by_first(const gs_io_rules_state_t *self, int32_t k)
{
    return self->kernel[k].first;
}

static int64_t by_ended(const gs_io_rules_state_t *self, int32_t k)
{
    return self->kernel[k].ended;
}

static int64_t by_priority(const gs_io_rules_state_t *self, int32_t k)
{
    return self->kernel[k].priority;
}

static int64_t by_context(const gs_io_rules_state_t *self, int32_t k)
{
    return self->kernel[k].context;
}

/* An order of the kernels by several keys, the least significant one first. */
static int order_kernels(const gs_io_rules_state_t *self, gs_context_t *ctx, int64_t *key,
                         kernel_key_t *const *keys, int count, int32_t *order)
{
    gs_radix_sort_identity(self->kernels, order);
    int status = GS_OK;
    for (int i = 0; i < count && status == GS_OK; i++) {
        for (int32_t k = 0; k < self->kernels; k++) {
            key[k] = keys[i](self, k);
        }
        status = gs_radix_sort(ctx, key, self->kernels, order);
    }
    return status;
}

static bool tied(const gs_io_rules_state_t *self, int32_t a, int32_t b)
{
    const gs_io_rules_kernel_t *kernel = self->kernel;
    return kernel[a].priority == kernel[b].priority && kernel[a].joined == kernel[b].joined &&
           self->log->launch[a] == self->log->launch[b];
}

/* Priorities, contexts, ties and the orders of kernels; rank: by (priority, joined, launch, row).
 * key and scratch: one entry per kernel. */
static int sort_kernels(gs_io_rules_state_t *self, gs_context_t *ctx, int64_t *key, int32_t *rank,
                        int32_t *scratch)
{
    int status = ranks(ctx, self->log->priority, self->kernels, scratch, rank, &self->priorities);
    for (int32_t k = 0; k < self->kernels && status == GS_OK; k++) {
        self->kernel[k].priority = rank[k];
    }
    if (status == GS_OK) {
        status = ranks(ctx, self->log->context, self->kernels, scratch, rank, &self->contexts);
    }
    for (int32_t k = 0; k < self->kernels && status == GS_OK; k++) {
        self->kernel[k].context = rank[k];
    }
    if (status == GS_OK) {
        status = order_kernels(
            self, ctx, key, (kernel_key_t *const[]){by_launch, by_joined, by_priority}, 3, scratch);
    }
    int32_t tie = 0;
    for (int32_t i = 0; i < self->kernels && status == GS_OK; i++) {
        rank[scratch[i]] = i;
        tie += i > 0 && !tied(self, scratch[i - 1], scratch[i]);
        self->kernel[scratch[i]].tie = tie;
    }
    if (status == GS_OK) {
        status = order_kernels(self, ctx, key,
                               (kernel_key_t *const[]){by_joined, by_priority, by_context}, 3,
                               self->by_joined);
    }
    if (status == GS_OK) {
        status = order_kernels(self, ctx, key,
                               (kernel_key_t *const[]){by_ready, by_priority, by_context}, 3,
                               self->by_ready);
    }
    if (status == GS_OK) {
        status = order_kernels(self, ctx, key, (kernel_key_t *const[]){by_ready, by_context}, 2,
                               self->ready_order);
    }
    if (status == GS_OK && self->by_first != NULL) {
        status = order_kernels(self, ctx, key, (kernel_key_t *const[]){by_first, by_context}, 2,
                               self->by_first);
    }
    return status == GS_OK && self->by_first != NULL
               ? order_kernels(self, ctx, key, (kernel_key_t *const[]){by_ended, by_context}, 2,
                               self->by_ended)
               : status;
}

/* Sorts rows of blocks by what a field of theirs is. */
enum { NUMBER, RANK, START, END, CONTEXT };

static int sort_blocks(const gs_io_rules_state_t *self, gs_context_t *ctx, int field,
                       const int32_t *rank, int64_t *key, int32_t *order)
{
    const gs_io_rules_log_t *log = self->log;
    const int64_t *sorted = key;
    if (field == CONTEXT && self->contexts < 2) {
        return GS_OK;
    }
    if (field == NUMBER || field == START || field == END) {
        sorted = field == NUMBER ? log->block : field == START ? log->start : log->end;
    } else {
        for (int32_t row = 0; row < self->blocks; row++) {
            int64_t k = log->kernel[row];
            key[row] = field == RANK ? rank[k] : self->kernel[k].context;
        }
    }
    return gs_radix_sort(ctx, sorted, self->blocks, order);
}

/* The blocks by start and by end, by kernel, and the contexts' parts of them. */
static int sort_items(gs_io_rules_state_t *self, gs_context_t *ctx, int64_t *key,
                      const int32_t *rank, int32_t *place)
{
    const gs_io_rules_log_t *log = self->log;
    int32_t *order = self->grouped; /* until it is filled */
    gs_radix_sort_identity(self->blocks, order);
    static const int fields[] = {NUMBER, RANK, START, CONTEXT};
    int status = GS_OK;
    for (int i = 0; i < 4 && status == GS_OK; i++) {
        status = sort_blocks(self, ctx, fields[i], rank, key, order);
    }
    gs_radix_sort_identity(self->blocks, self->by_end);
    if (status == GS_OK) {
        status = sort_blocks(self, ctx, END, rank, key, self->by_end);
    }
    if (status == GS_OK) {
        status = sort_blocks(self, ctx, CONTEXT, rank, key, self->by_end);
    }
    if (status != GS_OK) {
        return status;
    }
    for (int32_t i = 0; i < self->blocks; i++) {
        int32_t row = order[i];
        place[row] = i;
        self->item[i] =
            (gs_io_rules_item_t){log->start[row], log->end[row], (int32_t)log->kernel[row],
                                 self->at_of[log->sm[row]], (int32_t)log->block[row]};
    }
    for (int32_t i = 0; i < self->blocks; i++) {
        self->by_end[i] = place[self->by_end[i]];
    }
    /* A counting sort by kernel keeps the order of (start, number). */
    int32_t *next = place;
    for (int32_t k = 0; k < self->kernels; k++) {
        next[k] = self->kernel[k].begin;
    }
    for (int32_t i = 0; i < self->blocks; i++) {
        const gs_io_rules_item_t *item = &self->item[i];
        int32_t position = next[item->kernel]++;
        self->numbered[self->kernel[item->kernel].begin + item->number] = position;
        self->grouped[position] = i;
    }
    return GS_OK;
}

static void find_parts(gs_io_rules_state_t *self)
{
    for (int32_t c = 0; c < self->contexts; c++) {
        self->part[c] = (gs_io_rules_part_t){0};
    }
    for (int32_t k = 0; k < self->kernels; k++) {
        gs_io_rules_part_t *part = &self->part[self->kernel[k].context];
        part->kernels_to++;
        part->to += self->kernel[k + 1].begin - self->kernel[k].begin;
    }
    for (int32_t c = 1; c < self->contexts; c++) {
        gs_io_rules_part_t *part = &self->part[c];
        part->from = part[-1].to;
        part->kernels_from = part[-1].kernels_to;
        part->to += part->from;
        part->kernels_to += part->kernels_from;
    }
}

int gs_io_rules_state_init(gs_io_rules_state_t *self, gs_context_t *ctx, const gs_gpu_t *gpu,
                           const gs_io_rules_log_t *log, const gs_io_rules_options_t *options,
                           gs_io_rules_findings_t *findings)
{
    *self = (gs_io_rules_state_t){.gpu = gpu, .log = log, .options = options, .findings = findings};
    int status = check(ctx, gpu, log, options);
    if (status != GS_OK) {
        return status;
    }
    self->blocks = (int32_t)log->blocks;
    self->kernels = (int32_t)log->kernels;
    self->exact = options->tolerance == 0 && options->latency == 0;
    size_t blocks = (size_t)self->blocks, kernels = (size_t)self->kernels;
    size_t sms = (size_t)gpu->sms;
    const bool limited = options->resident_grids > 0 && options->resident_grids < log->kernels;
    int64_t *key = gs_alloc(ctx, blocks > kernels ? blocks : kernels, sizeof *key);
    int32_t *rank = gs_alloc(ctx, kernels, sizeof *rank);
    int32_t *place = gs_alloc(ctx, blocks > kernels ? blocks : kernels, sizeof *place);
    if (key == NULL || rank == NULL || place == NULL ||
        (self->item = gs_alloc(ctx, blocks, sizeof *self->item)) == NULL ||
        (self->by_end = gs_alloc(ctx, blocks, sizeof *self->by_end)) == NULL ||
        (self->grouped = gs_alloc(ctx, blocks, sizeof *self->grouped)) == NULL ||
        (self->numbered = gs_alloc(ctx, blocks, sizeof *self->numbered)) == NULL ||
        (self->kernel = gs_alloc(ctx, kernels + 1, sizeof *self->kernel)) == NULL ||
        (self->shape = gs_alloc(ctx, kernels, sizeof *self->shape)) == NULL ||
        (self->carveout = gs_alloc(ctx, kernels, sizeof *self->carveout)) == NULL ||
        (self->by_joined = gs_alloc(ctx, kernels, sizeof *self->by_joined)) == NULL ||
        (self->by_ready = gs_alloc(ctx, kernels, sizeof *self->by_ready)) == NULL ||
        (self->ready_order = gs_alloc(ctx, kernels, sizeof *self->ready_order)) == NULL ||
        (limited && (self->by_first = gs_alloc(ctx, kernels, sizeof(int32_t))) == NULL) ||
        (limited && (self->by_ended = gs_alloc(ctx, kernels, sizeof(int32_t))) == NULL) ||
        (self->part = gs_alloc(ctx, kernels, sizeof *self->part)) == NULL ||
        (self->sm_at = gs_alloc(ctx, sms, sizeof *self->sm_at)) == NULL ||
        (self->at_of = gs_alloc(ctx, sms, sizeof *self->at_of)) == NULL) {
        status = ctx->status;
        goto out;
    }
    for (int32_t at = 0; at < gpu->sms; at++) {
        self->sm_at[at] = gpu->sm_order == NULL ? at : gpu->sm_order[at];
        self->at_of[self->sm_at[at]] = at;
    }
    status = group_blocks(self, ctx);
    if (status == GS_OK) {
        find_ready(self);
        status = sort_kernels(self, ctx, key, rank, place);
    }
    if (status == GS_OK) {
        status = sort_items(self, ctx, key, rank, place);
    }
    if (status == GS_OK) {
        find_parts(self);
        status = find_shapes(self, ctx);
    }
out:
    gs_free(ctx, key);
    gs_free(ctx, rank);
    gs_free(ctx, place);
    return status;
}

void gs_io_rules_state_free(gs_io_rules_state_t *self, gs_context_t *ctx)
{
    gs_free(ctx, self->item);
    gs_free(ctx, self->by_end);
    gs_free(ctx, self->grouped);
    gs_free(ctx, self->numbered);
    gs_free(ctx, self->kernel);
    gs_free(ctx, self->shape);
    gs_free(ctx, self->carveout);
    gs_free(ctx, self->by_joined);
    gs_free(ctx, self->by_ready);
    gs_free(ctx, self->ready_order);
    gs_free(ctx, self->by_first);
    gs_free(ctx, self->by_ended);
    gs_free(ctx, self->part);
    gs_free(ctx, self->sm_at);
    gs_free(ctx, self->at_of);
}
