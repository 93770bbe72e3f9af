/* Shared parts of the tests with one GPU user at a time. */
#include <string.h>

#include "analysis/partitioned/lock_test.h"

const char *const gs_analysis_partitioned_lock_fixed_point[] = {"joint", "one_pass", NULL};
const char *const gs_analysis_partitioned_lock_suspension[] = {"split", "jitter", NULL};

int gs_analysis_partitioned_lock_test_init(gs_analysis_partitioned_lock_test_t *self,
                                           gs_context_t *ctx, int64_t n)
{
    memset(self, 0, sizeof *self);
    self->n = n;
    self->order = gs_alloc(ctx, (size_t)n, sizeof *self->order);
    self->sums = gs_alloc(ctx, (size_t)n, sizeof *self->sums);
    self->spin = gs_alloc(ctx, (size_t)n, sizeof *self->spin);
    self->most_lower = gs_alloc(ctx, (size_t)n, sizeof *self->most_lower);
    self->assumed = gs_alloc(ctx, (size_t)n, sizeof *self->assumed);
    self->pending = gs_alloc(ctx, (size_t)n, sizeof *self->pending);
    self->limits = gs_alloc(ctx, (size_t)n, 2 * sizeof *self->limits);
    self->extra = gs_alloc(ctx, (size_t)n, 2 * sizeof *self->extra);
    /* Up to three demands of another task: its requests, on its core, and at the server; the latter
     * two once more for the ready intervals. */
    self->demands = gs_alloc(ctx, (size_t)n, 5 * sizeof *self->demands);
    bool made = self->order != NULL && self->sums != NULL && self->spin != NULL &&
                self->assumed != NULL && self->pending != NULL && self->limits != NULL &&
                self->extra != NULL;
    return made && self->most_lower != NULL && self->demands != NULL ? GS_OK : ctx->status;
}

void gs_analysis_partitioned_lock_test_free(gs_analysis_partitioned_lock_test_t *self,
                                            gs_context_t *ctx)
{
    gs_free(ctx, self->order);
    gs_free(ctx, self->sums);
    gs_free(ctx, self->spin);
    gs_free(ctx, self->most_lower);
    gs_free(ctx, self->assumed);
    gs_free(ctx, self->pending);
    gs_free(ctx, self->limits);
    gs_free(ctx, self->extra);
    gs_free(ctx, self->demands);
    memset(self, 0, sizeof *self);
}

/* The longest GPU segment of a less urgent task that can be pending beside the one at a place. */
static int64_t most_beside(const gs_analysis_partitioned_lock_test_t *self, int64_t at)
{
    int64_t most = 0;
    for (int64_t later = at + 1; later < self->n; later++) {
        int64_t u = self->order[later];
        if (!gs_analysis_common_apart(self->apart, self->order[at], u)) {
            most = gs_analysis_common_max(most, self->sums[u].most_gpu);
        }
    }
    return most;
}

int gs_analysis_partitioned_lock_test_start(gs_analysis_partitioned_lock_test_t *self,
                                            gs_context_t *ctx, const gs_host_tasks_t *hosts,
                                            const int64_t *core,
                                            const gs_analysis_partitioned_lock_options_t *options)
{
    int status;
    self->n = hosts->n;
    self->apart = (gs_analysis_common_apart_t){options->apart, hosts->n};
    if (options->apart != NULL &&
        (options->paper || options->mode == GS_ANALYSIS_PARTITIONED_LOCK_SPIN)) {
        return gs_fail(ctx, GS_ERR_VALUE, "apart", -1, 1, "no tasks that are apart in this test");
    }
    if ((status = gs_analysis_common_check_and_sort(ctx, hosts, !options->paper, self->order)) !=
            GS_OK ||
        (status = gs_analysis_common_check_cores(ctx, hosts, core, options->cpus)) != GS_OK ||
        (status = gs_analysis_common_check_sms(ctx, options->sms)) != GS_OK) {
        return status;
    }
    int64_t most = 0;
    for (int64_t at = self->n - 1; at >= 0; at--) {
        int64_t i = self->order[at];
        self->sums[i] = gs_analysis_common_sums(hosts, i, options->sms);
        self->most_lower[i] = most;
        most = gs_analysis_common_max(most, self->sums[i].most_gpu);
        if (gs_analysis_common_apart_any(self->apart, i)) {
            self->most_lower[i] = most_beside(self, at);
        }
    }
    return GS_OK;
}

static int solve_jointly(gs_analysis_partitioned_lock_test_t *self, gs_context_t *ctx,
                         const gs_host_tasks_t *hosts, int64_t take,
                         gs_analysis_partitioned_lock_task_t solve,
                         gs_analysis_partitioned_lock_delays_t delays, const void *test,
                         gs_analysis_common_answer_t *answer)
{
    for (int64_t i = 0; i < self->n; i++) {
        self->assumed[i] = gs_host_tasks_jitter(hosts, i) + self->sums[i].cpu + self->sums[i].gpu;
        self->pending[i] = true;
    }
    int status = GS_OK;
    int64_t left = take; /* pending places below it */
    for (int64_t at = 0; status == GS_OK && left > 0; at = at + 1 < take ? at + 1 : 0) {
        int64_t i = self->order[at], before = self->assumed[i];
        if (!self->pending[at]) {
            continue;
        }
        status = solve(test, at);
        if (status != GS_OK || !answer->schedulable) {
            return status;
        }
        self->pending[at] = false;
        self->assumed[i] = answer->response[i];
        left--;
        for (int64_t other = 0; other < take && self->assumed[i] != before; other++) {
            if (!self->pending[other] && other != at &&
                (delays == NULL || delays(test, other, at, before))) {
                self->pending[other] = true;
                left++;
            }
        }
        status = gs_poll(ctx, self->n);
    }
    return status;
}

int gs_analysis_partitioned_lock_test_run(gs_analysis_partitioned_lock_test_t *self,
                                          gs_context_t *ctx, const gs_host_tasks_t *hosts,
                                          const gs_analysis_partitioned_lock_options_t *options,
                                          gs_analysis_partitioned_lock_task_t solve,
                                          gs_analysis_partitioned_lock_delays_t delays,
                                          const void *test, gs_analysis_common_answer_t *answer)
{
    int64_t take = options->take > 0 ? options->take : self->n;
    int status = GS_OK;
    gs_analysis_common_answer_start(answer, self->n);
    if (gs_analysis_partitioned_lock_test_joint(options)) {
        status = solve_jointly(self, ctx, hosts, take, solve, delays, test, answer);
        if (status != GS_OK || answer->schedulable || take < self->n) {
            return status;
        }
        gs_analysis_common_answer_start(answer, self->n);
    }
    for (int64_t i = 0; i < self->n; i++) {
        self->assumed[i] = hosts->deadline[i];
    }
    for (int64_t at = 0; at < take && status == GS_OK && answer->schedulable; at++) {
        status = solve(test, at);
        self->assumed[self->order[at]] = answer->response[self->order[at]];
    }
    return status;
}
