/* Eligibility of one batch by placement; times, demand and tables of a batch function. */
#include "pbs/large/large_parts.h"

#include "core/hash_index.h"
#include "core/int128.h"
#include "core/rng.h"
#include "model/block_placement_internal.h"
#include "model/periodic_tasks_internal.h"
#include "pbs/oracle/oracle.h"
#include "pbs/subset.h"

#include <string.h>

int gs_pbs_large_placement_init(gs_pbs_large_placement_t *self, gs_context_t *ctx,
                                const gs_gpu_t *gpu, int32_t n, const gs_gpu_kernel_t *kernels)
{
    *self = (gs_pbs_large_placement_t){.n = n, .kernels = kernels};
    int status = gs_block_placement_init(&self->placer, ctx, gpu, GS_BLOCK_PLACEMENT_MOST_ROOM);
    if (status == GS_OK) {
        status = gs_pbs_oracle_kernels_read(ctx, gpu, n, kernels, self->take, self->per_sm);
    }
    if (status == GS_OK) {
        gs_pbs_oracle_kernels_sort(gpu, n, kernels, self->take, self->sorted);
        self->loads =
            gs_alloc(ctx, (size_t)gpu->sms * (GS_PBS_ORACLE_EXHAUSTIVE + 1), sizeof *self->loads);
        status = self->loads == NULL ? ctx->status : GS_OK;
    }
    return status;
}

void gs_pbs_large_placement_free(gs_pbs_large_placement_t *self, gs_context_t *ctx)
{
    gs_block_placement_free(&self->placer, ctx);
    gs_free(ctx, self->loads);
    self->loads = NULL;
}

/* Places all blocks of a kernel beside what the SMs hold. */
static int place(gs_pbs_large_placement_t *self, gs_context_t *ctx, int32_t i, bool *fits)
{
    int64_t placed;
    int status = gs_block_placement_kernel(&self->placer, ctx, &self->kernels[i], i, NULL, &placed);
    *fits = status == GS_OK && placed == self->kernels[i].blocks;
    return status == GS_OK ? gs_poll(ctx, self->placer.gpu->sms) : status;
}

/* Tries one of the sorted orders. */
static int try_sort(gs_pbs_large_placement_t *self, gs_context_t *ctx, uint64_t batch, int sort,
                    bool *fits)
{
    int status = GS_OK;
    int32_t placed = 0;
    *fits = true;
    gs_block_placement_clear(&self->placer);
    for (int32_t p = 0; p < self->n && *fits && status == GS_OK; p++) {
        int8_t i = self->sorted[sort * self->n + p];
        if ((batch >> i & 1) != 0) {
            self->order[placed++] = i;
            status = place(self, ctx, i, fits);
        }
    }
    return status;
}

/* Tries every order of the kernels left, after `depth` that are placed. */
static int try_all(gs_pbs_large_placement_t *self, gs_context_t *ctx, uint64_t left, int32_t depth,
                   bool *fits)
{
    size_t sms = (size_t)self->placer.gpu->sms;
    gs_block_placement_sm_load_t *before = self->loads + sms * (size_t)depth;
    *fits = left == 0;
    if (*fits) {
        return GS_OK;
    }
    memcpy(before, self->placer.load, sms * sizeof *before);
    int status = GS_OK;
    for (uint64_t rest = left; rest != 0 && !*fits && status == GS_OK; rest &= rest - 1) {
        int32_t i = __builtin_ctzll(rest);
        memcpy(self->placer.load, before, sms * sizeof *before);
        self->order[depth] = (int8_t)i;
        status = place(self, ctx, i, fits);
        if (status == GS_OK && *fits) {
            status = try_all(self, ctx, left & ~(UINT64_C(1) << i), depth + 1, fits);
        }
    }
    return status;
}

/* Whether every order places the batch, by total demand: a block finds no room only if every SM
 * holds too much of some resource for it, and the other blocks bring at most demand / (room - need
 * + 1) SMs to that. Kernels with different carve-outs may refuse an SM for that alone. */
static bool never_stuck(const gs_pbs_large_placement_t *self, uint64_t batch)
{
    const gs_gpu_t *gpu = self->placer.gpu;
    int64_t demand[4] = {0}, carveout = self->take[__builtin_ctzll(batch)].carveout;
    for (uint64_t rest = batch; rest != 0; rest &= rest - 1) {
        int32_t i = __builtin_ctzll(rest);
        const gs_occupancy_footprint_t *take = &self->take[i];
        if (take->carveout != carveout) {
            return false;
        }
        demand[0] += self->kernels[i].blocks * take->warps;
        demand[1] += self->kernels[i].blocks;
        demand[2] += self->kernels[i].blocks * take->regs;
        demand[3] += self->kernels[i].blocks * take->smem;
    }
    for (uint64_t rest = batch; rest != 0; rest &= rest - 1) {
        const gs_occupancy_footprint_t *take = &self->take[__builtin_ctzll(rest)];
        const int64_t need[4] = {take->warps, 1, take->regs, take->smem};
        const int64_t room[4] = {gpu->warps_per_sm, gpu->blocks_per_sm, take->regs_usable,
                                 gpu->smem_per_sm};
        int64_t full = 0;
        for (int r = 0; r < 4; r++) {
            full += need[r] == 0 ? 0 : (demand[r] - need[r]) / (room[r] - need[r] + 1);
        }
        if (full >= gpu->sms) {
            return false;
        }
    }
    return true;
}

int gs_pbs_large_placement_decide(gs_pbs_large_placement_t *self, gs_context_t *ctx, uint64_t batch,
                                  int *verdict)
{
    bool fits = never_stuck(self, batch);
    bool all = __builtin_popcountll(batch) <= GS_PBS_ORACLE_EXHAUSTIVE;
    int status = GS_OK;
    int32_t count = 0;
    for (uint64_t rest = fits ? batch : 0; rest != 0; rest &= rest - 1) {
        self->order[count++] = (int8_t)__builtin_ctzll(rest);
    }
    for (int sort = 0; sort < (all ? 1 : GS_PBS_ORACLE_KERNELS_ORDERS); sort++) {
        if (status == GS_OK && !fits) {
            status = try_sort(self, ctx, batch, sort, &fits);
        }
    }
    if (status == GS_OK && !fits && all) {
        gs_block_placement_clear(&self->placer);
        status = try_all(self, ctx, batch, 0, &fits);
    }
    *verdict = fits  ? GS_PBS_LARGE_PLACEMENT_FITS
               : all ? GS_PBS_LARGE_PLACEMENT_NO
                     : GS_PBS_LARGE_PLACEMENT_OPEN;
    return status;
}

#define MOST_SLOWDOWN (INT64_C(1000000) * GS_PBS_ORACLE_SLOWDOWN_ONE)

/* A wcet times a factor, rounded up; below 2**60 - 1 for a checked function. */
static gs_int128_t slowed(int64_t wcet, int64_t factor)
{
    return gs_int128_ceil_div((gs_int128_t)wcet * factor, GS_PBS_ORACLE_SLOWDOWN_ONE);
}

static int check(const gs_pbs_large_function_t *self, gs_context_t *ctx)
{
    gs_pbs_oracle_slowdown_t slowdown = self->slowdown;
    if (self->n < 1 || self->n > GS_PBS_LARGE_TASKS) {
        return gs_fail(ctx, GS_ERR_VALUE, "tasks", -1, self->n, "1 to 64 tasks");
    }
    if (slowdown.least < GS_PBS_ORACLE_SLOWDOWN_ONE || slowdown.most < slowdown.least ||
        slowdown.most > MOST_SLOWDOWN) {
        return gs_fail(ctx, GS_ERR_VALUE, "slowdown", -1, slowdown.least,
                       "factors of 1 to 1000000, in billionths, the lesser first");
    }
    for (int32_t i = 0; i < self->n; i++) {
        if (self->wcet[i] < 1) {
            return gs_fail(ctx, GS_ERR_VALUE, "wcet", i, self->wcet[i],
                           "a positive number of ticks");
        }
        if (slowed(self->wcet[i], slowdown.most) >= GS_NEVER / 2) {
            return gs_fail(ctx, GS_ERR_OVERFLOW, "wcet", i, self->wcet[i],
                           "a time that, slowed down, is at most 2**60 - 2 ticks");
        }
    }
    return GS_OK;
}

/* Work in a hyperperiod: one row. */
static int demand_of_work(gs_pbs_large_function_t *self, gs_context_t *ctx,
                          const gs_periodic_tasks_t *tasks)
{
    int64_t hyperperiod;
    int status = gs_periodic_tasks_check_times(ctx, tasks);
    if (status == GS_OK) {
        status = gs_periodic_tasks_hyperperiod(ctx, tasks, &hyperperiod);
    }
    if (status != GS_OK) {
        return status;
    }
    self->rows = 1;
    self->room[0] = hyperperiod;
    for (int32_t i = 0; i < self->n; i++) {
        gs_int128_t work = (gs_int128_t)self->wcet[i] * (hyperperiod / tasks->period[i]);
        bool fits = work <= hyperperiod;
        self->need[0][i] = fits ? (int64_t)work : 0;
        self->alone |= (uint64_t)!fits << i;
    }
    return GS_OK;
}

/* Warps, block slots, registers and shared memory of all SMs: four rows. */
static void demand_of_blocks(gs_pbs_large_function_t *self, const gs_gpu_t *gpu)
{
    const gs_pbs_large_placement_t *of = &self->placement;
    int64_t regs = 0;
    self->rows = GS_PBS_LARGE_FUNCTION_ROWS;
    for (int32_t i = 0; i < self->n; i++) {
        int64_t blocks = of->kernels[i].blocks;
        bool waves = blocks > gpu->sms * of->per_sm[i];
        self->alone |= (uint64_t)waves << i;
        blocks = waves ? 0 : blocks;
        self->need[0][i] = blocks * of->take[i].warps;
        self->need[1][i] = blocks;
        self->need[2][i] = blocks * of->take[i].regs;
        self->need[3][i] = blocks * of->take[i].smem;
        regs =
            of->take[i].regs > 0 && of->take[i].regs_usable > regs ? of->take[i].regs_usable : regs;
    }
    self->room[0] = (int64_t)gpu->sms * gpu->warps_per_sm;
    self->room[1] = (int64_t)gpu->sms * gpu->blocks_per_sm;
    self->room[2] = gpu->sms * regs;
    self->room[3] = (int64_t)gpu->sms * gpu->smem_per_sm;
}

int gs_pbs_large_function_init(gs_pbs_large_function_t *self, gs_context_t *ctx,
                               const gs_periodic_tasks_t *tasks, const int64_t *wcet,
                               gs_pbs_oracle_slowdown_t slowdown, uint64_t seed,
                               const gs_gpu_t *gpu, const gs_gpu_kernel_t *kernels)
{
    *self = (gs_pbs_large_function_t){
        .n = tasks->n, .wcet = wcet, .slowdown = slowdown, .seed = seed, .placed = gpu != NULL};
    int status = check(self, ctx);
    if (status == GS_OK && gpu != NULL) {
        status = gs_pbs_large_placement_init(&self->placement, ctx, gpu, self->n, kernels);
        if (status == GS_OK) {
            demand_of_blocks(self, gpu);
        }
    } else if (status == GS_OK) {
        status = demand_of_work(self, ctx, tasks);
    }
    if (status == GS_OK) {
        int64_t entries = GS_PBS_LARGE_FUNCTION_MEMO;
        while (entries > 1 && ctx->bytes_limit != 0 &&
               entries * (int64_t)sizeof *self->memo > ctx->bytes_limit / 8) {
            entries /= 2;
        }
        self->memo_last = (uint64_t)entries - 1;
        self->memo = gs_alloc(ctx, (size_t)entries, sizeof *self->memo);
        status = self->memo == NULL ? ctx->status : GS_OK;
    }
    return status;
}

void gs_pbs_large_function_free(gs_pbs_large_function_t *self, gs_context_t *ctx)
{
    if (self->placed) {
        gs_pbs_large_placement_free(&self->placement, ctx);
    }
    gs_free(ctx, self->memo);
    self->memo = NULL;
}

/* Whether demand leaves a batch of two or more possible. */
static bool has_room(const gs_pbs_large_function_t *self, uint64_t batch)
{
    if ((batch & self->alone) != 0) {
        return false;
    }
    for (int32_t r = 0; r < self->rows; r++) {
        int64_t left = self->room[r];
        for (uint64_t rest = batch; rest != 0 && left >= 0; rest &= rest - 1) {
            left -= self->need[r][__builtin_ctzll(rest)];
        }
        if (left < 0) {
            return false;
        }
    }
    return true;
}

static int64_t longest(const gs_pbs_large_function_t *self, uint64_t batch)
{
    int64_t most = 0;
    for (uint64_t rest = batch; rest != 0; rest &= rest - 1) {
        int64_t wcet = self->wcet[__builtin_ctzll(rest)];
        most = wcet > most ? wcet : most;
    }
    return most;
}

static int compute(gs_pbs_large_function_t *self, gs_context_t *ctx, uint64_t batch, int64_t *time)
{
    int verdict = GS_PBS_LARGE_PLACEMENT_FITS, status = GS_OK;
    *time = 0;
    if (!has_room(self, batch)) {
        return GS_OK;
    }
    if (self->placed) {
        status = gs_pbs_large_placement_decide(&self->placement, ctx, batch, &verdict);
    }
    if (status == GS_OK && verdict != GS_PBS_LARGE_PLACEMENT_NO) {
        uint64_t choices = (uint64_t)(self->slowdown.most - self->slowdown.least) + 1;
        int64_t factor = self->slowdown.least;
        if (choices > 1) {
            factor += (int64_t)gs_rng_scale(gs_rng_at(self->seed, batch), choices);
        }
        int64_t own = (int64_t)slowed(longest(self, batch), factor);
        *time = verdict == GS_PBS_LARGE_PLACEMENT_FITS ? own : -own;
    }
    return status;
}

int gs_pbs_large_function_time(gs_pbs_large_function_t *self, gs_context_t *ctx, uint64_t batch,
                               int64_t *time)
{
    if ((batch & (batch - 1)) == 0) {
        *time = batch == 0 ? 0 : self->wcet[__builtin_ctzll(batch)];
        return GS_OK;
    }
    gs_pbs_large_function_memo_t *memo = &self->memo[gs_hash_index_mix(0, batch) & self->memo_last];
    if (memo->batch == batch) {
        *time = memo->time;
        return GS_OK;
    }
    int status = compute(self, ctx, batch, time);
    if (status == GS_OK) {
        *memo = (gs_pbs_large_function_memo_t){batch, *time};
        status = gs_poll(ctx, self->n);
    }
    return status;
}

int gs_pbs_large_function_known(gs_pbs_large_function_t *self, gs_context_t *ctx, uint64_t batch,
                                int64_t *time)
{
    int status = gs_pbs_large_function_time(self, ctx, batch, time);
    *time = *time > 0 ? *time : 0;
    return status;
}

int gs_pbs_large_function_order(gs_pbs_large_function_t *self, gs_context_t *ctx, uint64_t batch,
                                int8_t *order)
{
    int verdict = GS_PBS_LARGE_PLACEMENT_NO, status = GS_OK;
    int32_t count = 0;
    for (uint64_t rest = batch; rest != 0; rest &= rest - 1) {
        order[count++] = (int8_t)__builtin_ctzll(rest);
    }
    if (self->placed && count > 1 && has_room(self, batch)) {
        status = gs_pbs_large_placement_decide(&self->placement, ctx, batch, &verdict);
    }
    for (int32_t p = 0; p < count && verdict == GS_PBS_LARGE_PLACEMENT_FITS; p++) {
        order[p] = self->placement.order[p];
    }
    return status;
}

/* At most the time of any eligible batch that contains these tasks; 0: no such batch is
 * eligible. */
static int64_t least_time(const gs_pbs_large_function_t *self, uint64_t tasks)
{
    if ((tasks & (tasks - 1)) == 0) {
        return tasks == 0 ? 0 : self->wcet[__builtin_ctzll(tasks)];
    }
    return has_room(self, tasks) ? (int64_t)slowed(longest(self, tasks), self->slowdown.least) : 0;
}

/* The row of a batch in a table of some of the tasks, all -1 before. */
static int write_order(gs_pbs_large_function_t *self, gs_context_t *ctx, uint64_t tasks,
                       uint64_t batch, int8_t *row)
{
    int8_t order[GS_PBS_LARGE_TASKS];
    int status = gs_pbs_large_function_order(self, ctx, batch, order);
    for (int32_t p = 0; p < __builtin_popcountll(batch) && status == GS_OK; p++) {
        uint64_t before = tasks & ((UINT64_C(1) << order[p]) - 1);
        row[p] = (int8_t)__builtin_popcountll(before);
    }
    return status;
}

int gs_pbs_large_function_table(gs_pbs_large_function_t *self, gs_context_t *ctx, uint64_t tasks,
                                int64_t *completion, int64_t *undecided, int8_t *order)
{
    int status = GS_OK, size = __builtin_popcountll(tasks);
    for (uint32_t q = 0; q < UINT32_C(1) << size && status == GS_OK; q++) {
        uint64_t batch = gs_pbs_subset_members(tasks, q);
        int64_t time;
        status = gs_pbs_large_function_time(self, ctx, batch, &time);
        completion[q] = time > 0 ? time : 0;
        undecided[q] = time < 0 ? -time : 0;
        if (status == GS_OK && order != NULL) {
            int8_t *row = order + (size_t)q * (size_t)size;
            memset(row, -1, (size_t)size);
            status = time > 0 ? write_order(self, ctx, tasks, batch, row) : GS_OK;
        }
        status = status == GS_OK ? gs_poll(ctx, self->n) : status;
    }
    return status;
}

int gs_pbs_large_function_least_table(const gs_pbs_large_function_t *self, gs_context_t *ctx,
                                      uint64_t tasks, int64_t *completion)
{
    int status = GS_OK;
    uint32_t sets = UINT32_C(1) << __builtin_popcountll(tasks);
    for (uint32_t q = 0; q < sets && status == GS_OK; q++) {
        completion[q] = least_time(self, gs_pbs_subset_members(tasks, q));
        status = gs_poll(ctx, 2 * self->n);
    }
    return status;
}
