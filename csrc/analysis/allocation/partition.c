/* Worst-fit assignment to cores, then the test. */
#include <string.h>

#include "analysis/allocation/partition.h"
#include "analysis/allocation/worst_fit.h"
#include "analysis/partitioned/gpu_server.h"

static int check(gs_context_t *ctx, const gs_host_tasks_t *hosts,
                 const gs_analysis_partitioned_lock_method_t *method,
                 const gs_analysis_partitioned_lock_options_t *options)
{
    int status;
    if ((status = gs_host_tasks_check(ctx, hosts)) != GS_OK ||
        (status = gs_analysis_common_check_cpus(ctx, options->cpus)) != GS_OK ||
        (status = gs_analysis_common_check_sms(ctx, options->sms)) != GS_OK ||
        (status = gs_analysis_partitioned_lock_method_check(method, ctx, options->mode)) != GS_OK) {
        return status;
    }
    return gs_analysis_partitioned_gpu_server_check_overhead(ctx, options->overhead);
}

/* share: n + 1 entries; the last one is that of the server, or 0 without one. */
static void find_shares(const gs_host_tasks_t *hosts, bool has_server,
                        const gs_analysis_partitioned_lock_options_t *options, double *share)
{
    double unit = gs_analysis_allocation_worst_fit_unit(hosts);
    int64_t n = hosts->n;
    share[n] = 0;
    for (int64_t i = 0; i < n; i++) {
        gs_analysis_common_sums_t sums = gs_analysis_common_sums(hosts, i, options->sms);
        int64_t work = sums.cpu, period = hosts->period[i];
        if (has_server) {
            int64_t served = gs_analysis_common_saturating_mul(
                2, gs_analysis_common_saturating_mul(sums.segments, options->overhead));
            share[n] += gs_analysis_allocation_worst_fit_share(
                unit, gs_analysis_common_saturating_add(sums.copies, served), period);
        } else {
            work = gs_analysis_partitioned_lock_test_demand(&sums, options->mode);
        }
        share[i] = gs_analysis_allocation_worst_fit_share(unit, work, period);
    }
}

int gs_analysis_allocation_partition(gs_analysis_partitioned_lock_test_t *self, gs_context_t *ctx,
                                     const gs_host_tasks_t *hosts,
                                     const gs_analysis_partitioned_lock_method_t *method,
                                     const gs_analysis_partitioned_lock_options_t *options,
                                     int64_t *core, int64_t *server,
                                     gs_analysis_common_answer_t *answer)
{
    int status = check(ctx, hosts, method, options);
    if (status != GS_OK) {
        return status;
    }
    int64_t n = hosts->n, count = n + method->has_server, cpus = options->cpus;
    int64_t used = cpus < count ? cpus : count; /* beyond, cores stay empty */
    find_shares(hosts, method->has_server, options, self->share);
    gs_analysis_allocation_worst_fit_order(self->share, count, self->order);
    memset(self->load, 0, (size_t)used * sizeof *self->load);
    *server = -1;
    for (int64_t at = 0; at < count && status == GS_OK; at++) {
        int64_t i = self->order[at], p = gs_analysis_allocation_worst_fit_core(self->load, used);
        self->load[p] += self->share[i];
        *(i < n ? &core[i] : server) = p;
        status = gs_poll(ctx, used);
    }
    if (status != GS_OK) {
        return status;
    }
    gs_analysis_partitioned_lock_options_t chosen = *options;
    chosen.server = *server;
    chosen.paper = false;
    return method->run(self, ctx, hosts, core, &chosen, answer);
}

static const char *const PARTITION_PROTOCOL[] = {"mpcp", "fmlp_plus", "gpu_server", NULL};
static const char *const PARTITION_MODE[] = {"suspend", "busy", "spin", NULL};
static const gs_method_option_t PARTITION_OPTIONS[] = {
    {"protocol", "choice", PARTITION_PROTOCOL, "mpcp", "test for which cores are chosen"},
    {"mode", "choice", PARTITION_MODE, "suspend", "use of the core during a GPU segment"},
    {"overhead", "integer", NULL, "0", "overhead of the server per intervention, in ticks"},
    {"fixed_point", "choice", gs_analysis_partitioned_lock_fixed_point, "joint",
     "compute all bounds together, or one after the other by priority"},
    {"suspension", "choice", gs_analysis_partitioned_lock_suspension, "split",
     "count higher-priority tasks of the core only while the job is ready, or throughout"},
};

const gs_method_t gs_analysis_allocation_partition_method = {
    .name = "partition",
    .model = "HostTasks",
    .function = "analysis.partition",
    .claim = "sufficient",
    .source = "[RTCSA19], Algorithm 1 without SMs: worst fit, decreasing",
    .summary = "Assignment of cores by worst fit, for mpcp, fmlp_plus or gpu_server.",
    .options = PARTITION_OPTIONS,
    .option_count = sizeof PARTITION_OPTIONS / sizeof *PARTITION_OPTIONS,
};
