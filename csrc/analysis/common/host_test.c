/* Shared parts of the response-time tests for host tasks: checks, sums per job, priority order. */
#include <stdlib.h>
#include <string.h>

#include "analysis/common/host_test.h"

void gs_analysis_common_answer_start(gs_analysis_common_answer_t *self, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        self->response[i] = -1;
    }
    memset(self->terms, 0, (size_t)(n * GS_ANALYSIS_COMMON_TERMS) * sizeof *self->terms);
    self->failed = -1;
    self->schedulable = true;
}

gs_analysis_common_sums_t gs_analysis_common_sums(const gs_host_tasks_t *hosts, int64_t i,
                                                  int64_t sms)
{
    const int64_t *cpu = gs_host_tasks_cpu(hosts, i);
    gs_analysis_common_sums_t sums = {.segments = hosts->segments[i]};
    for (int64_t j = 0; j <= sums.segments; j++) {
        sums.cpu += cpu[j];
        sums.cpu_segments += cpu[j] > 0;
    }
    for (int64_t j = 0; j < sums.segments; j++) {
        int64_t in = gs_host_tasks_copy_in(hosts, i, j), out = gs_host_tasks_copy_out(hosts, i, j);
        int64_t kernel = gs_host_tasks_kernel(hosts, i, j, sms);
        sums.copies += in + out;
        sums.gpu += in + kernel + out;
        sums.longest_copy =
            gs_analysis_common_max(sums.longest_copy, gs_analysis_common_max(in, out));
        sums.most_copies = gs_analysis_common_max(sums.most_copies, in + out);
        sums.most_kernel = gs_analysis_common_max(sums.most_kernel, kernel);
        sums.most_gpu = gs_analysis_common_max(sums.most_gpu, in + kernel + out);
    }
    return sums;
}

/* Insertion sort: n is small. */
static void sort_few(const int64_t *priority, int64_t n, int64_t *order)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t at = i;
        for (; at > 0 && priority[order[at - 1]] > priority[i]; at--) {
            order[at] = order[at - 1];
        }
        order[at] = i;
    }
}

typedef struct {
    int64_t priority;
    int64_t task;
} rank_t;

static int by_priority(const void *a, const void *b)
{
    const rank_t *x = a, *y = b;
    if (x->priority != y->priority) {
        return x->priority < y->priority ? -1 : 1;
    }
    return x->task < y->task ? -1 : 1;
}

static int sort_many(gs_context_t *ctx, const int64_t *priority, int64_t n, int64_t *order)
{
    rank_t *ranks = gs_alloc(ctx, (size_t)n, sizeof *ranks);
    if (ranks == NULL) {
        return ctx->status;
    }
    for (int64_t i = 0; i < n; i++) {
        ranks[i] = (rank_t){priority[i], i};
    }
    qsort(ranks, (size_t)n, sizeof *ranks, by_priority);
    for (int64_t i = 0; i < n; i++) {
        order[i] = ranks[i].task;
    }
    gs_free(ctx, ranks);
    return GS_OK;
}

int gs_analysis_common_check_and_sort(gs_context_t *ctx, const gs_host_tasks_t *hosts,
                                      bool takes_jitter, int64_t *order)
{
    enum { FEW = 32 };
    int64_t n = hosts->n;
    int status =
        takes_jitter ? gs_host_tasks_check_jitter(ctx, hosts) : gs_host_tasks_check(ctx, hosts);
    if (status != GS_OK) {
        return status;
    }
    for (int64_t i = 0; i < n; i++) {
        if (hosts->deadline[i] > hosts->period[i]) {
            return gs_fail(ctx, GS_ERR_VALUE, "deadline", i, hosts->deadline[i],
                           "a deadline of at most the period");
        }
    }
    if (n <= FEW) {
        sort_few(hosts->priority, n, order);
    } else if ((status = sort_many(ctx, hosts->priority, n, order)) != GS_OK) {
        return status;
    }
    for (int64_t at = 1; at < n; at++) {
        int64_t i = order[at];
        if (hosts->priority[i] == hosts->priority[order[at - 1]]) {
            return gs_fail(ctx, GS_ERR_VALUE, "priority", i, hosts->priority[i],
                           "a priority that no other task has");
        }
    }
    return GS_OK;
}

int gs_analysis_common_check_cpus(gs_context_t *ctx, int64_t cpus)
{
    if (cpus < 1 || cpus > INT32_MAX) {
        return gs_fail(ctx, GS_ERR_VALUE, "cpus", -1, cpus,
                       "a positive number of CPUs below 2**31");
    }
    return GS_OK;
}

int gs_analysis_common_check_cores(gs_context_t *ctx, const gs_host_tasks_t *hosts,
                                   const int64_t *core, int64_t cpus)
{
    int status = gs_analysis_common_check_cpus(ctx, cpus);
    for (int64_t i = 0; i < hosts->n && status == GS_OK; i++) {
        if (core[i] < 0 || core[i] >= cpus) {
            status = gs_fail(ctx, GS_ERR_VALUE, "core", i, core[i], "a core of 0 to cpus - 1");
        }
    }
    return status;
}

int gs_analysis_common_check_sms(gs_context_t *ctx, int64_t sms)
{
    if (sms < 1 || sms > INT32_MAX) {
        return gs_fail(ctx, GS_ERR_VALUE, "sms", -1, sms, "a positive number of SMs below 2**31");
    }
    return GS_OK;
}
