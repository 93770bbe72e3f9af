/* Worst-fit assignment to cores. */
#include "analysis/allocation/partition.h"

#include <string.h>

#include "analysis/allocation/worst_fit.h"
#include "analysis/partitioned/gpu_server.h"
#include "analysis/placed_method.h"

int gs_analysis_allocation_partition_init(gs_analysis_allocation_partition_t *self,
                                          gs_context_t *ctx, int64_t n)
{
    memset(self, 0, sizeof *self);
    self->order = gs_alloc(ctx, (size_t)n + 1, sizeof *self->order);
    self->share = gs_alloc(ctx, (size_t)n + 1, sizeof *self->share);
    self->load = gs_alloc(ctx, (size_t)n + 1, sizeof *self->load);
    bool made = self->order != NULL && self->share != NULL && self->load != NULL;
    return made ? GS_OK : ctx->status;
}

void gs_analysis_allocation_partition_free(gs_analysis_allocation_partition_t *self,
                                           gs_context_t *ctx)
{
    gs_free(ctx, self->order);
    gs_free(ctx, self->share);
    gs_free(ctx, self->load);
    memset(self, 0, sizeof *self);
}

static int check(gs_context_t *ctx, const gs_host_tasks_t *hosts,
                 const gs_analysis_placed_test_t *test)
{
    int status;
    if ((status = gs_host_tasks_check_jitter(ctx, hosts)) != GS_OK ||
        (status = gs_analysis_common_check_cpus(ctx, test->options.cpus)) != GS_OK ||
        (status = gs_analysis_common_check_sms(ctx, test->options.sms)) != GS_OK) {
        return status;
    }
    return test->method->has_server ? gs_analysis_partitioned_gpu_server_check_overhead(
                                          ctx, test->options.server_overhead)
                                    : GS_OK;
}

/* share: n + 1 entries; the last one is that of the server, or 0 without one. */
static void find_shares(const gs_host_tasks_t *hosts, const gs_analysis_placed_test_t *test,
                        const gs_analysis_placed_place_t *place, double *share)
{
    double unit = gs_analysis_allocation_worst_fit_unit(hosts);
    int64_t n = hosts->n;
    share[n] = 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t sms = gs_analysis_placed_method_sms(test->method, test->options.sms, place->sm, i),
                period = hosts->period[i];
        gs_analysis_common_sums_t sums = gs_analysis_common_sums(hosts, i, sms);
        int64_t work = sums.cpu;
        if (test->method->has_server) {
            int64_t served = gs_analysis_common_saturating_mul(
                2, gs_analysis_common_saturating_mul(sums.segments, test->options.server_overhead));
            share[n] += gs_analysis_allocation_worst_fit_share(
                unit, gs_analysis_common_saturating_add(sums.copies, served), period);
        } else {
            work = gs_analysis_partitioned_lock_test_demand(&sums, test->options.mode);
        }
        share[i] = gs_analysis_allocation_worst_fit_share(unit, work, period);
    }
}

int gs_analysis_allocation_partition(gs_analysis_allocation_partition_t *self, gs_context_t *ctx,
                                     const gs_analysis_placed_test_t *test,
                                     const gs_host_tasks_t *hosts,
                                     const gs_analysis_placed_place_t *place, int64_t *core,
                                     int64_t *server)
{
    int status = check(ctx, hosts, test);
    if (status != GS_OK) {
        return status;
    }
    int64_t n = hosts->n, count = n + test->method->has_server, cpus = test->options.cpus;
    int64_t used = cpus < count ? cpus : count; /* beyond, cores stay empty */
    find_shares(hosts, test, place, self->share);
    gs_analysis_allocation_worst_fit_order(self->share, count, self->order);
    memset(self->load, 0, (size_t)used * sizeof *self->load);
    *server = -1;
    for (int64_t at = 0; at < count && status == GS_OK; at++) {
        int64_t i = self->order[at], p = gs_analysis_allocation_worst_fit_core(self->load, used);
        self->load[p] += self->share[i];
        *(i < n ? &core[i] : server) = p;
        status = gs_poll(ctx, used);
    }
    return status;
}

static const gs_method_option_t OPTIONS[] = {
    {"way", "way", NULL, "mpcp", "the way of sharing the GPU whose test it is"},
};

const gs_method_t gs_analysis_allocation_partition_method = {
    .name = "partition",
    .model = "HostTasks",
    .function = "analysis.partition",
    .claim = "sufficient",
    .source = "[RTCSA19], Algorithm 1 without SMs: worst fit, decreasing",
    .summary = "Assignment of cores by worst fit, then the test of a way of sharing the GPU.",
    .options = OPTIONS,
    .option_count = sizeof OPTIONS / sizeof *OPTIONS,
};
