/* Order in which the theorems are tried: from the most urgent level on, until no bound falls; and
 * partitions with own queues. */
#include "analysis/priority_streams/priority_streams.h"

#include <string.h>

#include "analysis/priority_streams/chain_state.h"
#include "model/occupancy.h"

/* Rounds over all levels in which bounds of less urgent tasks are used; the bounds are valid after
 * each. */
#define ROUNDS 8

/* Less urgent tasks of which all subsets are tried; of more, those with the longest periods. */
#define ALL_SUBSETS 4

/* Theorem M for task k with the more urgent tasks of a choice taken as fluid. all: all of them,
 * otherwise those without a bound. */
static int try_fluid(gs_analysis_priority_streams_t *self, gs_context_t *ctx, int64_t k, bool all,
                     bool *fluid, gs_analysis_priority_streams_roles_t *roles, bool *changed)
{
    int64_t level = self->rank[k], beta = self->beta[level];
    bool some = false;
    roles->fluid = fluid;
    roles->height = 0;
    for (int64_t i = 0; i < self->chains->n; i++) {
        bool forced = self->response[i].denominator == 0;
        fluid[i] = self->rank[i] < level && (all || forced);
        some = some || (fluid[i] && !forced);
        roles->height += fluid[i] ? self->height[i] : 0;
        if (roles->height > self->threads) {
            roles->height = self->threads;
        }
    }
    if ((all && !some) || (beta != 0 && roles->height >= beta)) { /* shared queues: beta is 0 */
        return GS_OK;
    }
    gs_analysis_priority_streams_found_t found;
    int status = gs_analysis_priority_streams_theorem_m(self, ctx, k, roles, &found);
    *changed =
        (status == GS_OK && gs_analysis_priority_streams_record(self, k, &found)) || *changed;
    return status;
}

static int refine(gs_analysis_priority_streams_t *self, gs_context_t *ctx, int64_t k, bool *scratch,
                  const bool *lower, int64_t saturation, bool *changed)
{
    gs_analysis_priority_streams_roles_t roles = {.lower = lower, .saturation = saturation};
    int status = try_fluid(self, ctx, k, false, scratch, &roles, changed);
    return status == GS_OK ? try_fluid(self, ctx, k, true, scratch, &roles, changed) : status;
}

/* Bounds of a level from those of the more urgent ones. */
static int bound_level(gs_analysis_priority_streams_t *self, gs_context_t *ctx, int64_t level,
                       bool *scratch, bool *lower)
{
    int64_t n = self->chains->n, saturation;
    memset(lower, 0, (size_t)n * sizeof *lower);
    int status = gs_analysis_priority_streams_saturate(self, ctx, level, lower, &saturation);
    for (bool changed = true; changed && status == GS_OK;) {
        changed = false;
        bool complete = true, higher = true;
        for (int64_t k = 0; k < n && status == GS_OK; k++) {
            if (self->rank[k] == level) {
                status = refine(self, ctx, k, scratch, lower, saturation, &changed);
                complete = complete && self->response[k].denominator != 0;
            }
            higher = higher && (self->rank[k] >= level || self->response[k].denominator != 0);
        }
        if (!changed && !complete && higher && status == GS_OK &&
            !gs_analysis_priority_streams_is(self, GS_ANALYSIS_PRIORITY_STREAMS_SHARED)) {
            status = gs_analysis_priority_streams_theorem_a(self, ctx, level, &changed);
        }
    }
    return status;
}

/* The less urgent tasks with a bound, by falling periods. */
static int64_t bounded_below(const gs_analysis_priority_streams_t *self, int64_t level,
                             int64_t *tasks)
{
    const int64_t *period = self->chains->period;
    int64_t count = 0;
    for (int64_t i = 0; i < self->chains->n; i++) {
        if (self->rank[i] > level && self->response[i].denominator != 0) {
            int64_t at = count++;
            for (; at > 0 && period[tasks[at - 1]] < period[i]; at--) {
                tasks[at] = tasks[at - 1];
            }
            tasks[at] = i;
        }
    }
    return count;
}

/* Bounds of a level with some less urgent tasks counted by the work of their jobs. */
static int refine_level(gs_analysis_priority_streams_t *self, gs_context_t *ctx, int64_t level,
                        bool *scratch, bool *lower, int64_t *tasks, bool *changed)
{
    int64_t n = self->chains->n, count = bounded_below(self, level, tasks), saturation;
    bool subsets = count <= ALL_SUBSETS;
    int64_t choices = subsets ? INT64_C(1) << count : count + 1;
    int status = GS_OK;
    for (int64_t choice = 0; choice < choices && status == GS_OK; choice++) {
        memset(lower, 0, (size_t)n * sizeof *lower);
        for (int64_t t = 0; t < count; t++) {
            lower[tasks[t]] = subsets ? (choice >> t & 1) != 0 : t < choice;
        }
        status = gs_analysis_priority_streams_saturate(self, ctx, level, lower, &saturation);
        for (int64_t k = 0; k < n && status == GS_OK; k++) {
            if (self->rank[k] == level) {
                status = refine(self, ctx, k, scratch, lower, saturation, changed);
            }
        }
    }
    return status;
}

static int bound_all(gs_analysis_priority_streams_t *self, gs_context_t *ctx)
{
    size_t n = (size_t)self->chains->n;
    bool *scratch = gs_alloc(ctx, n, sizeof *scratch), *lower = NULL;
    int64_t *tasks = NULL, *refined = NULL; /* refined: improvements before it was, by level */
    int status = GS_OK;
    if (scratch == NULL || (lower = gs_alloc(ctx, n, sizeof *lower)) == NULL ||
        (tasks = gs_alloc(ctx, n, sizeof *tasks)) == NULL ||
        (refined = gs_alloc(ctx, n, sizeof *refined)) == NULL) {
        status = ctx->status;
    }
    for (int64_t level = 0; level < self->levels && status == GS_OK; level++) {
        status = bound_level(self, ctx, level, scratch, lower);
    }
    bool changed = self->levels > 1;
    for (int round = 0; round < ROUNDS && changed && status == GS_OK; round++) {
        changed = false;
        for (int64_t level = 0; level < self->levels && status == GS_OK; level++) {
            if (round == 0 || refined[level] < self->improvements) {
                refined[level] = self->improvements;
                status = refine_level(self, ctx, level, scratch, lower, tasks, &changed);
            }
        }
    }
    gs_free(ctx, scratch);
    gs_free(ctx, lower);
    gs_free(ctx, tasks);
    gs_free(ctx, refined);
    return status;
}

/* Blocks of kernel j that fit the empty SMs together. */
static int places_of(const gs_analysis_priority_streams_t *self, gs_context_t *ctx, int64_t j,
                     int64_t *places)
{
    const gs_kernel_chains_t *c = self->chains;
    const gs_analysis_priority_streams_device_t *device = self->saturation.device;
    int status = GS_OK;
    *places = self->threads / self->sms / c->threads[j];
    if (device != NULL) {
        gs_gpu_kernel_t kernel = {c->blocks[j], c->threads[j], device->regs[j], device->smem[j]};
        status = gs_occupancy_blocks(ctx, device->gpu, &kernel, j, places, NULL);
    }
    *places *= gs_analysis_priority_streams_sms(self, 0);
    return status;
}

/* The bound of a task that has the SMs to itself.
 *
 * Its kernels run one after the other, and those of a job before those of the next one where a job
 * takes at most a period. Let `places` blocks of a kernel fit the SMs together. Block y = 0, 1, ...
 * of the kernel starts at most floor(y / places) * c after the kernel joins its queue, c being the
 * longest time of a block: by induction, those of the first j * places blocks that still run
 * (j - 1) c later end by j c. If block y >= j * places has not started by then, all places are
 * held by blocks before it that are not among these, so y >= (j + 1) * places. A job therefore
 * takes at most
 *
 *     sum of latency + ceil(blocks / places) * c over its kernels,
 *
 * and exactly that when every block and every latency is as long as it can be.
 */
static int bound_alone(gs_analysis_priority_streams_t *self, gs_context_t *ctx)
{
    const gs_kernel_chains_t *c = self->chains;
    gs_int128_t latency = 0, running = 0;
    for (int64_t j = 0; j < c->begin[1]; j++) {
        int64_t places;
        int status = places_of(self, ctx, j, &places);
        if (status != GS_OK) {
            return status;
        }
        latency += c->latency[j];
        running += (gs_int128_t)((c->blocks[j] + places - 1) / places) * c->block_time[j];
    }
    if (latency + running <= c->period[0]) {
        gs_analysis_priority_streams_found_t found = {
            .response = gs_analysis_priority_streams_ticks(latency + running),
            .terms = {.theorem = GS_ANALYSIS_PRIORITY_STREAMS_ALONE,
                      .jobs = 1,
                      .latency = (int64_t)latency,
                      .tail = (int64_t)running}};
        gs_analysis_priority_streams_record(self, 0, &found);
    }
    return gs_poll(ctx, c->begin[1]);
}

/* Jobs that overlap are single kernels that join at their release. */
static int check_overlap(gs_context_t *ctx, const gs_kernel_chains_t *chains)
{
    for (int64_t i = 0; i < chains->n; i++) {
        int64_t kernels = chains->begin[i + 1] - chains->begin[i];
        if (kernels != 1) {
            return gs_fail(ctx, GS_ERR_VALUE, "kernels", i, kernels,
                           "one kernel in each job where jobs may overlap");
        }
        if (chains->latency[i] != 0) {
            return gs_fail(ctx, GS_ERR_VALUE, "latency", i, chains->latency[i],
                           "0 where jobs may overlap");
        }
    }
    return GS_OK;
}

static void write_bounds(const gs_analysis_priority_streams_t *self)
{
    for (int64_t k = 0; k < self->chains->n; k++) {
        const gs_analysis_priority_streams_time_t *time = &self->response[k];
        if (time->denominator != 0) {
            int64_t divisor = (int64_t)gs_int128_gcd(time->numerator, time->denominator);
            gs_int128_t numerator = time->numerator / divisor;
            int64_t denominator = time->denominator / divisor;
            if (numerator > INT64_MAX) { /* to whole ticks, rounded up */
                numerator = gs_int128_ceil_div(numerator, denominator);
                denominator = 1;
            }
            self->out[k].numerator = (int64_t)numerator;
            self->out[k].denominator = denominator;
        }
    }
}

/* partitions: with shared queues or limits; NULL: none. */
static int bound_in(gs_context_t *ctx, const gs_kernel_chains_t *chains,
                    const gs_analysis_priority_streams_partitions_t *partitions, int64_t sms,
                    int64_t threads, const gs_analysis_priority_streams_device_t *device,
                    bool overlap, gs_analysis_priority_streams_bound_t *bound, int64_t *beta)
{
    gs_analysis_priority_streams_t self = {
        .chains = chains, .sms = sms, .partitions = partitions, .out = bound};
    if (sms < 1 || sms > INT32_MAX || threads * sms > INT32_MAX) {
        return gs_fail(ctx, GS_ERR_OVERFLOW, "sms", -1, sms,
                       "a positive number, and below 2**31 threads in all");
    }
    self.threads = threads * sms;
    memset(bound, 0, (size_t)chains->n * sizeof *bound);
    int status = overlap ? check_overlap(ctx, chains) : GS_OK;
    if (status == GS_OK) {
        status = gs_analysis_priority_streams_prepare(&self, ctx, threads, device, overlap);
    }
    if (status == GS_OK) {
        status = gs_analysis_priority_streams_saturate_all(&self, ctx);
    }
    if (status == GS_OK && overlap) {
        gs_analysis_priority_streams_theorem_o(&self);
    } else if (status == GS_OK) {
        status = bound_all(&self, ctx);
    }
    if (status == GS_OK && !overlap && chains->n == 1) {
        status = bound_alone(&self, ctx);
    }
    if (status == GS_OK) {
        write_bounds(&self);
    }
    for (int64_t k = 0; k < chains->n && status == GS_OK; k++) {
        beta[k] = gs_analysis_priority_streams_is(&self, GS_ANALYSIS_PRIORITY_STREAMS_SHARED)
                      ? self.part_beta[self.rank[k] * partitions->count + partitions->of[k]]
                      : self.beta[self.rank[k]];
    }
    gs_analysis_priority_streams_free(&self, ctx);
    return status;
}

int gs_analysis_priority_streams_bound(gs_context_t *ctx, const gs_kernel_chains_t *chains,
                                       int64_t sms, int64_t threads,
                                       const gs_analysis_priority_streams_device_t *device,
                                       bool overlap, gs_analysis_priority_streams_bound_t *bound,
                                       int64_t *beta)
{
    return bound_in(ctx, chains, NULL, sms, threads, device, overlap, bound, beta);
}

/* Partitions ---------------------------------------------------------------------------------- */

static int check_partitions(gs_context_t *ctx, const gs_kernel_chains_t *chains,
                            const gs_analysis_priority_streams_partitions_t *partitions,
                            int64_t sms, bool overlap)
{
    if (partitions->kind < GS_ANALYSIS_PRIORITY_STREAMS_OWN ||
        partitions->kind > GS_ANALYSIS_PRIORITY_STREAMS_LIMITS) {
        return gs_fail(ctx, GS_ERR_VALUE, "kind", -1, partitions->kind, "0, 1 or 2");
    }
    if (partitions->count < 1 || partitions->count > INT32_MAX) {
        return gs_fail(ctx, GS_ERR_VALUE, "partitions", -1, partitions->count,
                       "a positive number below 2**31");
    }
    const bool limits = partitions->kind == GS_ANALYSIS_PRIORITY_STREAMS_LIMITS;
    int64_t left = sms;
    for (int64_t p = 0; p < partitions->count; p++) {
        if (partitions->sms[p] < 1 || partitions->sms[p] > (limits ? sms : left)) {
            return gs_fail(ctx, GS_ERR_VALUE, limits ? "partition_limit" : "partition_sms", p,
                           partitions->sms[p],
                           limits ? "1 or more SMs, and no more than the GPU has"
                                  : "1 or more SMs, and no more than the GPU has left");
        }
        left -= limits ? 0 : partitions->sms[p];
    }
    for (int64_t i = 0; i < chains->n; i++) {
        if (partitions->of[i] < 0 || partitions->of[i] >= partitions->count) {
            return gs_fail(ctx, GS_ERR_VALUE, "partition", i, partitions->of[i],
                           "the index of a partition");
        }
    }
    if (overlap && partitions->kind == GS_ANALYSIS_PRIORITY_STREAMS_SHARED) {
        return gs_fail(ctx, GS_ERR_VALUE, "overlap", -1, 1,
                       "0 where partitions share their queues");
    }
    return gs_poll(ctx, chains->n + partitions->count);
}

/* The chains of one partition: copies of their columns. */
typedef struct {
    gs_kernel_chains_t chains;
    gs_analysis_priority_streams_device_t device;
    int64_t *task, *begin, *period, *level;
    int64_t *kernel[6]; /* blocks, threads, block time, latency, registers, shared memory */
    gs_analysis_priority_streams_bound_t *bound;
    int64_t *beta;
} part_t;

static int part_init(part_t *self, gs_context_t *ctx, const gs_kernel_chains_t *chains)
{
    size_t n = (size_t)chains->n, kernels = (size_t)chains->begin[chains->n];
    *self = (part_t){0};
    if ((self->task = gs_alloc(ctx, n, sizeof *self->task)) == NULL ||
        (self->begin = gs_alloc(ctx, n + 1, sizeof *self->begin)) == NULL ||
        (self->period = gs_alloc(ctx, n, sizeof *self->period)) == NULL ||
        (self->level = gs_alloc(ctx, n, sizeof *self->level)) == NULL ||
        (self->bound = gs_alloc(ctx, n, sizeof *self->bound)) == NULL ||
        (self->beta = gs_alloc(ctx, n, sizeof *self->beta)) == NULL) {
        return ctx->status;
    }
    for (int c = 0; c < 6; c++) {
        if ((self->kernel[c] = gs_alloc(ctx, kernels, sizeof *self->kernel[c])) == NULL) {
            return ctx->status;
        }
    }
    return GS_OK;
}

static void part_free(part_t *self, gs_context_t *ctx)
{
    gs_free(ctx, self->task);
    gs_free(ctx, self->begin);
    gs_free(ctx, self->period);
    gs_free(ctx, self->level);
    gs_free(ctx, self->bound);
    gs_free(ctx, self->beta);
    for (int c = 0; c < 6; c++) {
        gs_free(ctx, self->kernel[c]);
    }
}

static void part_fill(part_t *self, const gs_kernel_chains_t *chains,
                      const gs_analysis_priority_streams_partitions_t *partitions, int64_t p,
                      const gs_analysis_priority_streams_device_t *device)
{
    const int64_t *column[6] = {chains->blocks,
                                chains->threads,
                                chains->block_time,
                                chains->latency,
                                device == NULL ? NULL : device->regs,
                                device == NULL ? NULL : device->smem};
    int64_t n = 0, count = 0;
    for (int64_t i = 0; i < chains->n; i++) {
        if (partitions->of[i] != p) {
            continue;
        }
        self->task[n] = i;
        self->period[n] = chains->period[i];
        self->level[n] = chains->level[i];
        self->begin[n++] = count;
        for (int64_t j = chains->begin[i]; j < chains->begin[i + 1]; j++, count++) {
            for (int c = 0; c < 6; c++) {
                self->kernel[c][count] = column[c] == NULL ? 0 : column[c][j];
            }
        }
    }
    self->begin[n] = count;
    self->chains = (gs_kernel_chains_t){n,
                                        self->period,
                                        self->level,
                                        self->begin,
                                        self->kernel[0],
                                        self->kernel[1],
                                        self->kernel[2],
                                        self->kernel[3]};
    self->device = (gs_analysis_priority_streams_device_t){device == NULL ? NULL : device->gpu,
                                                           self->kernel[4], self->kernel[5]};
}

/* Bounds in partitions with own queues, each by itself. */
static int bound_each(gs_context_t *ctx, const gs_kernel_chains_t *chains,
                      const gs_analysis_priority_streams_partitions_t *partitions, int64_t threads,
                      const gs_analysis_priority_streams_device_t *device, bool overlap,
                      gs_analysis_priority_streams_bound_t *bound, int64_t *beta)
{
    part_t part;
    int status = part_init(&part, ctx, chains);
    for (int64_t p = 0; p < partitions->count && status == GS_OK; p++) {
        part_fill(&part, chains, partitions, p, device);
        if (part.chains.n > 0) {
            status = bound_in(ctx, &part.chains, NULL, partitions->sms[p], threads,
                              device == NULL ? NULL : &part.device, overlap, part.bound, part.beta);
        }
        for (int64_t i = 0; i < part.chains.n && status == GS_OK; i++) {
            bound[part.task[i]] = part.bound[i];
            beta[part.task[i]] = part.beta[i];
        }
        status = status == GS_OK ? gs_poll(ctx, chains->n + 1) : status;
    }
    part_free(&part, ctx);
    return status;
}

int gs_analysis_priority_streams_partitioned(
    gs_context_t *ctx, const gs_kernel_chains_t *chains,
    const gs_analysis_priority_streams_partitions_t *partitions, int64_t sms, int64_t threads,
    const gs_analysis_priority_streams_device_t *device, bool overlap,
    gs_analysis_priority_streams_bound_t *bound, int64_t *beta)
{
    int status = check_partitions(ctx, chains, partitions, sms, overlap);
    if (status != GS_OK) {
        return status;
    }
    if (partitions->kind == GS_ANALYSIS_PRIORITY_STREAMS_OWN) {
        return bound_each(ctx, chains, partitions, threads, device, overlap, bound, beta);
    }
    return bound_in(ctx, chains, partitions, sms, threads, device, overlap, bound, beta);
}

static const char *const QUEUES[] = {"own", "shared", NULL};
static const gs_method_option_t OPTIONS[] = {
    {"overlap", "boolean", NULL, "False", "whether jobs of one task may overlap"},
    {"queues", "choice", QUEUES, "own",
     "whether partitions with their own SMs have their own queues"},
    {"partition", "integers", NULL, NULL, "partition of the GPU that each task uses"},
    {"partition_sms", "integers", NULL, NULL, "number of SMs of each partition, its own ones"},
    {"partition_limit", "integers", NULL, NULL, "most SMs that the blocks of each partition use"},
};

const gs_method_t gs_analysis_priority_streams_method = {
    .name = "priority_streams",
    .model = "KernelChains",
    .function = "analysis.priority_streams",
    .claim = "sufficient",
    .source = "this package: Theorems M, A and O of notebooks/11_priority_streams.ipynb",
    .summary = "Response-time bounds of kernel chains in streams of different priorities.",
    .options = OPTIONS,
    .option_count = sizeof OPTIONS / sizeof *OPTIONS,
};
