/* Response-time test for FMLP+, and the form of the public code of GCAPS. */
#include "analysis/partitioned/fmlp_plus.h"

/* State of one test. */
typedef struct {
    gs_analysis_partitioned_lock_test_t *lock;
    gs_context_t *ctx;
    const gs_host_tasks_t *hosts;
    const int64_t *core;
    gs_analysis_common_answer_t *answer;
    int mode; /* GS_ANALYSIS_PARTITIONED_LOCK_SUSPEND or GS_ANALYSIS_PARTITIONED_LOCK_BUSY */
    bool paper;
    bool split;
} test_t;

/* Requests ahead of those of i: first come, first served, so at most one of every other task for
 * each request of i, and no more than the jobs in a window have. Those of lower-priority tasks on
 * the core are in add_lower. Those of higher-priority ones there are part of their demand on the
 * core if, and only if, the lock holder keeps its core. */
static void add_requests(const test_t *test, gs_analysis_common_recurrence_t *recurrence,
                         int64_t at)
{
    const gs_analysis_partitioned_lock_test_t *lock = test->lock;
    int64_t i = lock->order[at];
    for (int64_t other = 0; other < lock->n; other++) {
        int64_t u = lock->order[other], most = lock->sums[u].most_gpu;
        bool here = test->core[u] == test->core[i], higher = other < at;
        bool on_core =
            here && (!higher || test->mode == GS_ANALYSIS_PARTITIONED_LOCK_BUSY || test->paper);
        if (other == at || lock->sums[u].segments == 0 || on_core ||
            gs_analysis_common_apart(lock->apart, i, u)) {
            continue;
        }
        int64_t jitter = test->paper ? test->hosts->period[u] : lock->assumed[u];
        gs_analysis_common_recurrence_add(recurrence, GS_ANALYSIS_COMMON_REQUEST, jitter,
                                          test->hosts->period[u], lock->sums[u].segments,
                                          lock->sums[i].segments, most, most);
    }
}

/* Segments of lower-priority tasks on the core. At most eta + 1 of a task delay i: one that is open
 * when i is released, and one for each GPU segment of i, begun while i was suspended. Each delays i
 * for at most its length, waiting and ready times together. Counted separately: one request ahead
 * of each of i's, and eta + 1 times the time of a segment on the core. For k <= eta segments the
 * former is less; for eta + 1, the last one adds the minimum of both. */
static void add_lower(const test_t *test, gs_analysis_common_recurrence_t *recurrence, int64_t at)
{
    const gs_analysis_partitioned_lock_test_t *lock = test->lock;
    int64_t i = lock->order[at], most = lock->sums[i].segments + 1;
    for (int64_t later = at + 1; later < lock->n; later++) {
        int64_t u = lock->order[later], gpu = lock->sums[u].most_gpu;
        if (test->core[u] != test->core[i] || lock->sums[u].segments == 0 ||
            gs_analysis_common_apart(lock->apart, i, u)) {
            continue;
        }
        int64_t separate = gs_analysis_common_saturating_mul(
            most, gs_analysis_partitioned_lock_test_segment(&lock->sums[u], test->mode));
        gs_analysis_common_recurrence_add(recurrence, GS_ANALYSIS_COMMON_LOWER, lock->assumed[u],
                                          test->hosts->period[u], lock->sums[u].segments, most, gpu,
                                          separate < gpu ? separate : gpu);
    }
}

/* The same in the public code of GCAPS, with z requests of i delayed from other cores. */
static void add_lower_paper(const test_t *test, gs_analysis_common_recurrence_t *recurrence,
                            int64_t at, int64_t z)
{
    const gs_analysis_partitioned_lock_test_t *lock = test->lock;
    int64_t i = lock->order[at];
    for (int64_t later = at + 1; later < lock->n; later++) {
        int64_t u = lock->order[later], gpu = lock->sums[u].most_gpu;
        if (test->core[u] == test->core[i] && lock->sums[u].segments > 0) {
            gs_analysis_common_recurrence_add(recurrence, GS_ANALYSIS_COMMON_LOWER,
                                              test->hosts->period[u], test->hosts->period[u],
                                              lock->sums[u].segments, z + 1, gpu, gpu);
        }
    }
}

/* Higher-priority tasks on the core, which suspend. */
static void add_higher(const test_t *test, gs_analysis_common_recurrence_t *recurrence, int64_t at)
{
    const gs_analysis_partitioned_lock_test_t *lock = test->lock;
    int64_t i = lock->order[at];
    for (int64_t earlier = 0; earlier < at; earlier++) {
        int64_t h = lock->order[earlier];
        if (test->core[h] != test->core[i] || gs_analysis_common_apart(lock->apart, i, h)) {
            continue;
        }
        int64_t demand = gs_analysis_partitioned_lock_test_demand(&lock->sums[h], test->mode);
        int64_t jitter =
            test->paper ? lock->assumed[h] - demand
                        : gs_analysis_partitioned_lock_test_jitter(lock, test->hosts, i, h, demand);
        gs_analysis_common_recurrence_add(recurrence, GS_ANALYSIS_COMMON_HIGHER, jitter,
                                          test->hosts->period[h], 1,
                                          GS_ANALYSIS_COMMON_DEMAND_UNLIMITED, demand, demand);
    }
}

/* Limits the last demands, those of add_higher, by the ready intervals of i. Where the holder of
 * the lock keeps its core, waits for a more urgent task of the core are part of that task's demand,
 * too: for one of its segments per request of i. */
static int split(const test_t *test, gs_analysis_common_recurrence_t *recurrence, int64_t at)
{
    const gs_analysis_partitioned_lock_test_t *lock = test->lock;
    int64_t i = lock->order[at], eta = lock->sums[i].segments, once = 0, count = 0;
    for (int64_t other = 0; other < lock->n; other++) {
        int64_t u = lock->order[other];
        const gs_analysis_common_sums_t *sums = &lock->sums[u];
        if (test->core[u] != test->core[i] || other == at ||
            gs_analysis_common_apart(lock->apart, i, u)) {
            continue;
        }
        if (other < at) {
            bool busy = test->mode == GS_ANALYSIS_PARTITIONED_LOCK_BUSY;
            lock->extra[count++] =
                busy ? gs_analysis_common_saturating_mul(eta, sums->most_gpu) : 0;
        } else {
            once = gs_analysis_common_saturating_add(
                once, gs_analysis_partitioned_lock_test_segment(sums, test->mode));
        }
    }
    const gs_analysis_common_ready_job_t job = {gs_host_tasks_cpu(test->hosts, i), eta, once,
                                                gs_host_tasks_window(test->hosts, i)};
    return gs_analysis_common_ready_intervals(recurrence, test->ctx, recurrence->count - count,
                                              &job, lock->extra, lock->limits);
}

/* All demands but those of lower-priority tasks on the core. */
static void start(const test_t *test, gs_analysis_common_recurrence_t *recurrence, int64_t at)
{
    const gs_analysis_common_sums_t *own = &test->lock->sums[test->lock->order[at]];
    gs_analysis_common_recurrence_init(recurrence, test->lock->demands);
    recurrence->constant[GS_ANALYSIS_COMMON_OWN] = own->cpu + own->gpu;
    if (own->segments > 0) {
        add_requests(test, recurrence, at);
    }
    add_higher(test, recurrence, at);
}

/* z at the current window: min(eta_i, requests from other cores). */
static int64_t delayed(const gs_analysis_common_recurrence_t *recurrence, int64_t eta)
{
    int64_t z = 0;
    for (int64_t k = 0; k < recurrence->count && z < eta; k++) {
        const gs_analysis_common_demand_t *demand = &recurrence->demands[k];
        z += demand->term == GS_ANALYSIS_COMMON_REQUEST ? demand->jobs : 0;
    }
    return z < eta ? z : eta;
}

/* z and W grow together from the least z. */
static int test_task_paper(const test_t *test, int64_t at)
{
    gs_analysis_common_recurrence_t recurrence;
    int64_t i = test->lock->order[at], eta = test->lock->sums[i].segments;
    int64_t deadline = test->hosts->deadline[i], least = 0, z;
    start(test, &recurrence, at);
    for (z = delayed(&recurrence, eta);; z = delayed(&recurrence, eta)) {
        start(test, &recurrence, at);
        add_lower_paper(test, &recurrence, at, z);
        int status =
            gs_analysis_common_recurrence_solve(&recurrence, test->ctx, least, deadline, &least);
        if (status != GS_OK || least < 0 || delayed(&recurrence, eta) == z) {
            if (status != GS_OK) {
                return status;
            }
            break;
        }
    }
    if (least < 0) { /* the terms at the deadline, with z there */
        start(test, &recurrence, at);
        gs_analysis_common_recurrence_advance(&recurrence, deadline);
        z = delayed(&recurrence, eta);
        start(test, &recurrence, at);
        add_lower_paper(test, &recurrence, at, z);
    }
    return gs_analysis_common_recurrence_solve_task(
        &recurrence, test->ctx, least < 0 ? deadline + 1 : least, test->hosts, i, test->answer);
}

static int test_task(const void *state, int64_t at)
{
    const test_t *test = state;
    gs_analysis_common_recurrence_t recurrence;
    int64_t i = test->lock->order[at];
    if (test->paper) {
        return test_task_paper(test, at);
    }
    start(test, &recurrence, at);
    int status = test->split ? split(test, &recurrence, at) : GS_OK;
    if (status != GS_OK) {
        return status;
    }
    add_lower(test, &recurrence, at);
    return gs_analysis_common_recurrence_solve_task(&recurrence, test->ctx, 0, test->hosts, i,
                                                    test->answer);
}

/* Tasks of other cores and less urgent ones count by their jobs in the window alone. */
static bool delays(const void *state, int64_t at, int64_t of, int64_t before)
{
    const test_t *test = state;
    const gs_analysis_partitioned_lock_test_t *lock = test->lock;
    int64_t i = lock->order[at], u = lock->order[of], eta = lock->sums[i].segments;
    bool here = test->core[u] == test->core[i], uses = lock->sums[u].segments > 0;
    if (here && of < at) {
        return !gs_analysis_common_apart(lock->apart, i, u);
    }
    return uses && !gs_analysis_common_apart(lock->apart, i, u) &&
           gs_analysis_partitioned_lock_test_more_jobs(lock, test->hosts, test->answer, at, u,
                                                       here ? eta + 1 : eta, before);
}

int gs_analysis_partitioned_fmlp_plus(gs_analysis_partitioned_lock_test_t *self, gs_context_t *ctx,
                                      const gs_host_tasks_t *hosts, const int64_t *core,
                                      const gs_analysis_partitioned_lock_options_t *options,
                                      gs_analysis_common_answer_t *answer)
{
    int status = gs_analysis_partitioned_lock_test_start(self, ctx, hosts, core, options);
    const test_t test = {
        self,   ctx,           hosts,          core,
        answer, options->mode, options->paper, gs_analysis_partitioned_lock_test_split(options)};
    return status == GS_OK ? gs_analysis_partitioned_lock_test_run(self, ctx, hosts, options,
                                                                   test_task, delays, &test, answer)
                           : status;
}

static const char *const FMLP_PLUS_MODE[] = {"suspend", "busy", NULL};
static const char *const FMLP_PLUS_VARIANT[] = {"sound", "gcaps", NULL};
static const gs_method_option_t FMLP_PLUS_OPTIONS[] = {
    {"mode", "choice", FMLP_PLUS_MODE, "suspend", "use of the core during a GPU segment"},
    {"variant", "choice", FMLP_PLUS_VARIANT, "sound",
     "corrected, or as in the public code of GCAPS"},
    {"fixed_point", "choice", gs_analysis_partitioned_lock_fixed_point, "joint",
     "compute all bounds together, or one after the other by priority"},
    {"suspension", "choice", gs_analysis_partitioned_lock_suspension, "split",
     "count higher-priority tasks of the core only while the job is ready, or throughout"},
};

const gs_method_t gs_analysis_partitioned_fmlp_plus_method = {
    .name = "fmlp_plus",
    .model = "HostTasks",
    .function = "analysis.fmlp_plus",
    .claim = "sufficient",
    .source = "Block et al. 2007; Brandenburg 2014; notebook 06",
    .summary = "One lock guards the whole GPU and is granted first come, first served.",
    .options = FMLP_PLUS_OPTIONS,
    .option_count = sizeof FMLP_PLUS_OPTIONS / sizeof *FMLP_PLUS_OPTIONS,
};
