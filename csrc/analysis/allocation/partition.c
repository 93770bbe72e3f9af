/* Worst-fit assignment to cores, then the test. */
#include <string.h>

#include "analysis/allocation/partition.h"
#include "analysis/allocation/worst_fit.h"

static int check(gs_context_t *ctx, const gs_host_tasks_t *hosts, int64_t cpus, int64_t sms,
                 int test, int mode, int64_t overhead)
{
    int status;
    if ((status = gs_host_tasks_check(ctx, hosts)) != GS_OK ||
        (status = gs_analysis_common_check_cpus(ctx, cpus)) != GS_OK ||
        (status = gs_analysis_common_check_sms(ctx, sms)) != GS_OK) {
        return status;
    }
    if (test < GS_ANALYSIS_ALLOCATION_PARTITION_MPCP ||
        test > GS_ANALYSIS_ALLOCATION_PARTITION_GPU_SERVER) {
        return gs_fail(ctx, GS_ERR_VALUE, "test", -1, test,
                       "0 (MPCP), 1 (FMLP+) or 2 (GPU server)");
    }
    int last = test == GS_ANALYSIS_ALLOCATION_PARTITION_MPCP ? GS_ANALYSIS_PARTITIONED_LOCK_SPIN
               : test == GS_ANALYSIS_ALLOCATION_PARTITION_FMLP_PLUS
                   ? GS_ANALYSIS_PARTITIONED_LOCK_BUSY
                   : GS_ANALYSIS_PARTITIONED_LOCK_SUSPEND;
    if (mode < GS_ANALYSIS_PARTITIONED_LOCK_SUSPEND || mode > last) {
        return gs_fail(ctx, GS_ERR_VALUE, "mode", -1, mode,
                       "0 (suspend), 1 (busy, not with a server) or 2 (spin, MPCP only)");
    }
    return gs_analysis_partitioned_gpu_server_check_overhead(ctx, overhead);
}

/* share: n + 1 entries; the last one is that of the server, or 0 without one. */
static void find_shares(const gs_host_tasks_t *hosts, int64_t sms, int test, int mode,
                        int64_t overhead, double *share)
{
    double unit = gs_analysis_allocation_worst_fit_unit(hosts);
    int64_t n = hosts->n;
    share[n] = 0;
    for (int64_t i = 0; i < n; i++) {
        gs_analysis_common_sums_t sums = gs_analysis_common_sums(hosts, i, sms);
        int64_t work = sums.cpu, period = hosts->period[i];
        if (test == GS_ANALYSIS_ALLOCATION_PARTITION_GPU_SERVER) {
            int64_t served = gs_analysis_common_saturating_mul(
                2, gs_analysis_common_saturating_mul(sums.segments, overhead));
            share[n] += gs_analysis_allocation_worst_fit_share(
                unit, gs_analysis_common_saturating_add(sums.copies, served), period);
        } else {
            work = gs_analysis_partitioned_lock_test_demand(&sums, mode);
        }
        share[i] = gs_analysis_allocation_worst_fit_share(unit, work, period);
    }
}

int gs_analysis_allocation_partition(gs_analysis_partitioned_lock_test_t *self, gs_context_t *ctx,
                                     const gs_host_tasks_t *hosts, int64_t cpus, int64_t sms,
                                     int test, int mode, int64_t overhead, int64_t *core,
                                     int64_t *server, gs_analysis_common_answer_t *answer)
{
    int status = check(ctx, hosts, cpus, sms, test, mode, overhead);
    if (status != GS_OK) {
        return status;
    }
    int64_t n = hosts->n, count = n + (test == GS_ANALYSIS_ALLOCATION_PARTITION_GPU_SERVER);
    int64_t used = cpus < count ? cpus : count; /* more cores stay empty */
    find_shares(hosts, sms, test, mode, overhead, self->share);
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
    if (test == GS_ANALYSIS_ALLOCATION_PARTITION_MPCP) {
        return gs_analysis_partitioned_mpcp(self, ctx, hosts, core, cpus, sms, mode, answer);
    }
    if (test == GS_ANALYSIS_ALLOCATION_PARTITION_FMLP_PLUS) {
        return gs_analysis_partitioned_fmlp_plus(self, ctx, hosts, core, cpus, sms,
                                                 mode == GS_ANALYSIS_PARTITIONED_LOCK_BUSY, false,
                                                 answer);
    }
    return gs_analysis_partitioned_gpu_server(self, ctx, hosts, core, *server, cpus, sms, overhead,
                                              answer);
}
