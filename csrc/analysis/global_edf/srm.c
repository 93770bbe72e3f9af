/* Blocking per request under FMLP and the global OMLP. */
#include "analysis/global_edf/srm.h"

#include <stdlib.h>

/* A GPU-using task's longest critical section. */
typedef struct {
    int64_t task;
    int64_t length;
} section_t;

static int by_length(const void *a, const void *b)
{
    const section_t *x = a, *y = b;
    if (x->length != y->length) {
        return x->length < y->length ? 1 : -1;
    }
    return (x->task > y->task) - (x->task < y->task);
}

static int64_t longest_section(const gs_host_tasks_t *hosts, int64_t i, int64_t sms)
{
    int64_t longest = 0;
    for (int64_t j = 0; j < hosts->segments[i]; j++) {
        int64_t length = gs_host_tasks_copy_in(hosts, i, j) +
                         gs_host_tasks_kernel(hosts, i, j, sms) +
                         gs_host_tasks_copy_out(hosts, i, j);
        longest = length > longest ? length : longest;
    }
    return longest;
}

/* Most requests that one request waits for, and most of them from one task. */
typedef struct {
    int64_t requests;
    int64_t each;
} queue_t;

static queue_t queue_of(int lock, int paper, int64_t m, int64_t users)
{
    if (lock == GS_ANALYSIS_GLOBAL_EDF_SRM_OMLP && paper != GS_ANALYSIS_GLOBAL_EDF_SRM_SOUND) {
        return (queue_t){2 * (m - 1), paper == GS_ANALYSIS_GLOBAL_EDF_SRM_PAPER_ONCE ? 1 : 2};
    }
    if (lock == GS_ANALYSIS_GLOBAL_EDF_SRM_OMLP && users > m + 1) {
        return (queue_t){2 * m - 1, 2};
    }
    return (queue_t){users, 1};
}

/* Sum of the longest sections but section number `own`; sections are sorted, descending. */
static int64_t wait_of(const section_t *sections, int64_t users, int64_t own, queue_t queue)
{
    int64_t sum = 0, left = queue.requests; /* below 2**61: each at most twice */
    for (int64_t k = 0; k < users && left > 0; k++) {
        int64_t times = left < queue.each ? left : queue.each;
        if (k != own) {
            sum += times * sections[k].length;
            left -= times;
        }
    }
    return sum;
}

static int check(gs_context_t *ctx, int64_t m, int64_t sms, int lock, int paper)
{
    if (m < 1 || m > INT32_MAX) {
        return gs_fail(ctx, GS_ERR_VALUE, "cpus", -1, m, "a positive number of CPUs below 2**31");
    }
    if (sms < 1 || sms > INT32_MAX) {
        return gs_fail(ctx, GS_ERR_VALUE, "sms", -1, sms, "a positive number of SMs below 2**31");
    }
    if (lock != GS_ANALYSIS_GLOBAL_EDF_SRM_FMLP && lock != GS_ANALYSIS_GLOBAL_EDF_SRM_OMLP) {
        return gs_fail(ctx, GS_ERR_VALUE, "lock", -1, lock, "0 (FMLP) or 1 (OMLP)");
    }
    if (paper < GS_ANALYSIS_GLOBAL_EDF_SRM_SOUND || paper > GS_ANALYSIS_GLOBAL_EDF_SRM_PAPER_ONCE) {
        return gs_fail(ctx, GS_ERR_VALUE, "paper", -1, paper, "0 (sound), 1 (paper) or 2 (once)");
    }
    return GS_OK;
}

int gs_analysis_global_edf_srm_blocking(gs_context_t *ctx, const gs_host_tasks_t *hosts, int64_t m,
                                        int64_t sms, int lock, int paper, int64_t *blocking)
{
    int status = check(ctx, m, sms, lock, paper);
    if (status != GS_OK) {
        return status;
    }
    section_t *sections = gs_alloc(ctx, (size_t)hosts->n, sizeof *sections);
    if (sections == NULL) {
        return ctx->status;
    }
    int64_t users = 0;
    for (int64_t i = 0; i < hosts->n; i++) {
        blocking[i] = 0;
        if (hosts->segments[i] > 0) {
            sections[users++] = (section_t){i, longest_section(hosts, i, sms)};
        }
    }
    qsort(sections, (size_t)users, sizeof *sections, by_length);
    queue_t queue = queue_of(lock, paper, m, users);
    for (int64_t k = 0; k < users && status == GS_OK; k++) {
        int64_t i = sections[k].task, wait = wait_of(sections, users, k, queue);
        if (!gs_mul(wait, hosts->segments[i], &blocking[i]) || blocking[i] >= GS_NEVER / 2) {
            status = gs_fail(
                ctx, GS_ERR_OVERFLOW, "blocking", i, wait,
                "a wait that, times the number of GPU segments, is at most 2**60 - 2 ticks");
        } else {
            status = gs_poll(ctx, queue.requests < users ? queue.requests : users);
        }
    }
    gs_free(ctx, sections);
    return status;
}

static const char *const SRM_LOCK[] = {"fmlp", "omlp", "best", NULL};
static const char *const SRM_VARIANT[] = {"sound", "paper", "paper, once", NULL};
static const char *const SRM_METHOD[] = {"best", "devi_anderson", "compliant", NULL};
static const gs_method_option_t SRM_OPTIONS[] = {
    {"lock", "choice", SRM_LOCK, "best", "lock of the GPU"},
    {"variant", "choice", SRM_VARIANT, "sound",
     "corrected, or as printed, with up to two requests of each other task or one"},
    {"method", "choice", SRM_METHOD, "best",
     "tardiness bound; best: the smallest applicable one for each task"},
};

const gs_method_t gs_analysis_global_edf_srm_method = {
    .name = "srm",
    .model = "HostTasks",
    .function = "analysis.srm",
    .claim = "sufficient",
    .source = "[RTNS10], section 4.1, Eq. (2) corrected",
    .summary =
        "Shared Resource Method: the GPU behind a k-exclusion lock, waiting charged as execution.",
    .options = SRM_OPTIONS,
    .option_count = sizeof SRM_OPTIONS / sizeof *SRM_OPTIONS,
};
