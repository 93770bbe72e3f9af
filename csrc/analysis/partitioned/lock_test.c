/* Shared parts of the tests with one GPU user at a time. */
#include <string.h>

#include "analysis/partitioned/lock_test.h"

int gs_analysis_partitioned_lock_test_init(gs_analysis_partitioned_lock_test_t *self,
                                           gs_context_t *ctx, int64_t n)
{
    memset(self, 0, sizeof *self);
    self->n = n;
    self->order = gs_alloc(ctx, (size_t)n + 1, sizeof *self->order);
    self->sums = gs_alloc(ctx, (size_t)n, sizeof *self->sums);
    self->spin = gs_alloc(ctx, (size_t)n, sizeof *self->spin);
    self->most_lower = gs_alloc(ctx, (size_t)n, sizeof *self->most_lower);
    /* Up to three demands of another task: its requests, on its core, and at the server. */
    self->demands = gs_alloc(ctx, (size_t)n, 3 * sizeof *self->demands);
    self->share = gs_alloc(ctx, (size_t)n + 1, sizeof *self->share);
    self->load = gs_alloc(ctx, (size_t)n + 1, sizeof *self->load);
    bool made = self->share != NULL && self->load != NULL && self->order != NULL &&
                self->sums != NULL && self->spin != NULL;
    return made && self->most_lower != NULL && self->demands != NULL ? GS_OK : ctx->status;
}

void gs_analysis_partitioned_lock_test_free(gs_analysis_partitioned_lock_test_t *self,
                                            gs_context_t *ctx)
{
    gs_free(ctx, self->order);
    gs_free(ctx, self->sums);
    gs_free(ctx, self->spin);
    gs_free(ctx, self->most_lower);
    gs_free(ctx, self->demands);
    gs_free(ctx, self->share);
    gs_free(ctx, self->load);
    memset(self, 0, sizeof *self);
}

int gs_analysis_partitioned_lock_test_start(gs_analysis_partitioned_lock_test_t *self,
                                            gs_context_t *ctx, const gs_host_tasks_t *hosts,
                                            const int64_t *core, int64_t cpus, int64_t sms)
{
    int status;
    self->n = hosts->n;
    if ((status = gs_analysis_common_check_and_sort(ctx, hosts, self->order)) != GS_OK ||
        (status = gs_analysis_common_check_cores(ctx, hosts, core, cpus)) != GS_OK ||
        (status = gs_analysis_common_check_sms(ctx, sms)) != GS_OK) {
        return status;
    }
    int64_t most = 0;
    for (int64_t at = self->n - 1; at >= 0; at--) {
        int64_t i = self->order[at];
        self->sums[i] = gs_analysis_common_sums(hosts, i, sms);
        self->most_lower[i] = most;
        most = gs_analysis_common_max(most, self->sums[i].most_gpu);
    }
    return GS_OK;
}
