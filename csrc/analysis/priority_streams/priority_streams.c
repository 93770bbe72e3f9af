/* Order in which the theorems are tried: from the most urgent level on, until no bound falls. */
#include "analysis/priority_streams/priority_streams.h"

#include <string.h>

#include "analysis/priority_streams/chain_state.h"

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

int gs_analysis_priority_streams_bound_in(
    gs_context_t *ctx, const gs_kernel_chains_t *chains,
    const gs_analysis_priority_streams_partitions_t *partitions, int64_t sms, int64_t threads,
    const gs_analysis_priority_streams_device_t *device, bool overlap,
    gs_analysis_priority_streams_bound_t *bound, int64_t *beta)
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
        status = gs_analysis_priority_streams_alone(&self, ctx);
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
    return gs_analysis_priority_streams_bound_in(ctx, chains, NULL, sms, threads, device, overlap,
                                                 bound, beta);
}

static const char *const QUEUES[] = {"own", "shared", NULL};
static const gs_method_option_t OPTIONS[] = {
    {"overlap", "boolean", NULL, "False", "whether jobs of one task may overlap"},
    {"queues", "choice", QUEUES, "own",
     "whether partitions with their own SMs have their own queues"},
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
