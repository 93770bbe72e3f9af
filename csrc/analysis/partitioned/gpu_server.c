/* Response-time test for the GPU server. */
#include "analysis/partitioned/gpu_server.h"

/* State of one test. */
typedef struct {
    gs_analysis_partitioned_lock_test_t *lock;
    gs_context_t *ctx;
    const gs_host_tasks_t *hosts;
    const int64_t *core;
    gs_analysis_common_answer_t *answer;
    int64_t server;
    int64_t overhead;
    bool joint;
    bool split;
} test_t;

/* The requests of higher-priority tasks in a window, each with the overhead before the next one: of
 * ceil((w + R) / T) jobs, those that are released after w + R before its end, R being the period
 * where bounds are found one after the other. */
static void add_requests(const test_t *test, gs_analysis_common_recurrence_t *recurrence,
                         int64_t at)
{
    const gs_analysis_partitioned_lock_test_t *lock = test->lock;
    for (int64_t earlier = 0; earlier < at; earlier++) {
        int64_t h = lock->order[earlier], period = test->hosts->period[h];
        const gs_analysis_common_sums_t *sums = &lock->sums[h];
        if (sums->segments > 0 && !gs_analysis_common_apart(lock->apart, lock->order[at], h)) {
            int64_t work = gs_analysis_common_saturating_add(
                sums->gpu, gs_analysis_common_saturating_mul(sums->segments, test->overhead));
            int64_t response = test->joint ? lock->assumed[h] : period;
            gs_analysis_common_recurrence_add(recurrence, GS_ANALYSIS_COMMON_REQUEST, response,
                                              period, 1, GS_ANALYSIS_COMMON_DEMAND_UNLIMITED, work,
                                              work);
        }
    }
}

/* B^w = min(eta RD, JD): RD is one request from issue to start, JD counts the jobs in the whole
 * response time. Leaves the demands at window RD, which W is not below. *single: RD, or -1 if it
 * exceeds the deadline, as W then does too. */
static int start_requests(const test_t *test, gs_analysis_common_recurrence_t *recurrence,
                          int64_t at, int64_t *single)
{
    int64_t i = test->lock->order[at], eta = test->lock->sums[i].segments;
    int64_t lower = test->lock->most_lower[i];
    bool any = false;
    for (int64_t later = at + 1; later < test->lock->n && !any; later++) {
        int64_t l = test->lock->order[later];
        any =
            test->lock->sums[l].segments > 0 && !gs_analysis_common_apart(test->lock->apart, i, l);
    }
    lower = any ? gs_analysis_common_saturating_add(lower, test->overhead) : 0;
    add_requests(test, recurrence, at);
    recurrence->constant[GS_ANALYSIS_COMMON_REQUEST] = lower;
    int status = gs_analysis_common_recurrence_solve(recurrence, test->ctx, 0,
                                                     gs_host_tasks_window(test->hosts, i), single);
    recurrence->constant[GS_ANALYSIS_COMMON_REQUEST] =
        gs_analysis_common_saturating_mul(eta, lower);
    if (*single >= 0) {
        recurrence->request_most = gs_analysis_common_saturating_mul(eta, *single);
    }
    return status;
}

/* Higher-priority tasks on the core, which suspend while they are clients. */
static void add_higher(const test_t *test, gs_analysis_common_recurrence_t *recurrence, int64_t at)
{
    const gs_analysis_partitioned_lock_test_t *lock = test->lock;
    int64_t i = lock->order[at];
    for (int64_t earlier = 0; earlier < at; earlier++) {
        int64_t h = lock->order[earlier], work = lock->sums[h].cpu;
        if (test->core[h] != test->core[i] || gs_analysis_common_apart(lock->apart, i, h)) {
            continue;
        }
        int64_t jitter = gs_analysis_partitioned_lock_test_jitter(lock, test->hosts, i, h, work);
        gs_analysis_common_recurrence_add(recurrence, GS_ANALYSIS_COMMON_HIGHER, jitter,
                                          test->hosts->period[h], 1,
                                          GS_ANALYSIS_COMMON_DEMAND_UNLIMITED, work, work);
    }
}

/* The work of the server for all other tasks, where it shares the core of i: it lies between
 * release and end of the job of the client. In one pass R is the deadline of every task. */
static void add_server(const test_t *test, gs_analysis_common_recurrence_t *recurrence, int64_t i)
{
    const gs_analysis_partitioned_lock_test_t *lock = test->lock;
    for (int64_t j = 0; j < lock->n && test->core[i] == test->server; j++) {
        const gs_analysis_common_sums_t *sums = &lock->sums[j];
        if (j != i && sums->segments > 0 && !gs_analysis_common_apart(lock->apart, i, j)) {
            int64_t work = gs_analysis_common_saturating_add(
                sums->copies,
                gs_analysis_common_saturating_mul(
                    2, gs_analysis_common_saturating_mul(sums->segments, test->overhead)));
            int64_t response = test->joint ? lock->assumed[j] : test->hosts->deadline[j];
            gs_analysis_common_recurrence_add(recurrence, GS_ANALYSIS_COMMON_SERVER,
                                              response - work, test->hosts->period[j], 1,
                                              GS_ANALYSIS_COMMON_DEMAND_UNLIMITED, work, work);
        }
    }
}

static int test_task(const void *state, int64_t at)
{
    const test_t *test = state;
    int64_t i = test->lock->order[at], deadline = gs_host_tasks_window(test->hosts, i), single = 0;
    const gs_analysis_common_sums_t *own = &test->lock->sums[i];
    gs_analysis_common_recurrence_t recurrence;
    gs_analysis_common_recurrence_init(&recurrence, test->lock->demands);
    if (own->segments > 0) {
        int status = start_requests(test, &recurrence, at, &single);
        if (status != GS_OK) {
            return status;
        }
    }
    int64_t overhead = gs_analysis_common_saturating_mul(
        2, gs_analysis_common_saturating_mul(own->segments, test->overhead));
    recurrence.constant[GS_ANALYSIS_COMMON_OWN] =
        gs_analysis_common_saturating_add(own->cpu + own->gpu, overhead);
    int64_t first = recurrence.count;
    add_server(test, &recurrence, i);
    add_higher(test, &recurrence, at);
    if (test->split) { /* only the server is boosted, and waits for it are in the requests */
        const gs_analysis_common_ready_job_t job = {gs_host_tasks_cpu(test->hosts, i),
                                                    own->segments, 0, deadline};
        int status = gs_analysis_common_ready_intervals(&recurrence, test->ctx, first, &job, NULL,
                                                        test->lock->limits);
        if (status != GS_OK) {
            return status;
        }
    }
    return gs_analysis_common_recurrence_solve_task(
        &recurrence, test->ctx, single < 0 ? deadline + 1 : single, test->hosts, i, test->answer);
}

int gs_analysis_partitioned_gpu_server_check_overhead(gs_context_t *ctx, int64_t overhead)
{
    if (overhead < 0 || overhead >= GS_ANALYSIS_COMMON_LIMIT) {
        return gs_fail(ctx, GS_ERR_VALUE, "server_overhead", -1, overhead,
                       "a time of 0 to 2**60 - 2 ticks");
    }
    return GS_OK;
}

int gs_analysis_partitioned_gpu_server(gs_analysis_partitioned_lock_test_t *self, gs_context_t *ctx,
                                       const gs_host_tasks_t *hosts, const int64_t *core,
                                       const gs_analysis_partitioned_lock_options_t *options,
                                       gs_analysis_common_answer_t *answer)
{
    int status = gs_analysis_partitioned_lock_test_start(self, ctx, hosts, core, options);
    int64_t server = options->server, overhead = options->overhead;
    if (status == GS_OK && (server < 0 || server > options->cpus)) {
        status = gs_fail(ctx, GS_ERR_VALUE, "server", -1, server,
                         "a core of 0 to cpus - 1, or cpus for a core of its own");
    }
    if (status == GS_OK) {
        status = gs_analysis_partitioned_gpu_server_check_overhead(ctx, overhead);
    }
    const test_t test = {.lock = self,
                         .ctx = ctx,
                         .hosts = hosts,
                         .core = core,
                         .answer = answer,
                         .server = server,
                         .overhead = overhead,
                         .joint = gs_analysis_partitioned_lock_test_joint(options),
                         .split = gs_analysis_partitioned_lock_test_split(options)};
    return status == GS_OK ? gs_analysis_partitioned_lock_test_run(self, ctx, hosts, options,
                                                                   test_task, NULL, &test, answer)
                           : status;
}

static const gs_method_option_t GPU_SERVER_OPTIONS[] = {
    {"server", "integer", NULL, NULL, "core of the server; default: one of its own"},
    {"server_overhead", "time", NULL, "0", "overhead of the server per intervention"},
    {"fixed_point", "choice", gs_analysis_partitioned_lock_fixed_point, "joint",
     "compute all bounds together, or one after the other by priority"},
    {"suspension", "choice", gs_analysis_partitioned_lock_suspension, "split",
     "count higher-priority tasks of the core only while the job is ready, or throughout"},
};

const gs_method_t gs_analysis_partitioned_gpu_server_method = {
    .name = "gpu_server",
    .model = "HostTasks",
    .function = "analysis.gpu_server",
    .claim = "sufficient",
    .source = "Kim, Patel, Wang, Rajkumar 2017; notebook 06",
    .summary = "One server task of the highest priority on its core runs all GPU segments, one "
               "at a time, the most urgent task's first; tasks are suspended meanwhile.",
    .options = GPU_SERVER_OPTIONS,
    .option_count = sizeof GPU_SERVER_OPTIONS / sizeof *GPU_SERVER_OPTIONS,
};
