/* Response-time test for MPCP. */
#include "analysis/partitioned/mpcp.h"

/* State of one test. */
typedef struct {
    gs_analysis_partitioned_lock_test_t *lock;
    gs_context_t *ctx;
    const gs_host_tasks_t *hosts;
    const int64_t *core;
    gs_analysis_common_answer_t *answer;
    int mode;
    bool split;
} test_t;

/* The GPU segments of higher-priority tasks, on any core, in a window: n_h(w) = ceil((w + W_h -
 * G_h) / T_h) jobs (a job with x of its GPU time left at the start of the window was released at
 * least x after that minus W_h; the rest of the proof is that of jitter W_h - G_h, also for jobs
 * that take less than G_h). */
static void add_requests(const test_t *test, gs_analysis_common_recurrence_t *recurrence,
                         int64_t at)
{
    for (int64_t earlier = 0; earlier < at; earlier++) {
        int64_t h = test->lock->order[earlier], gpu = test->lock->sums[h].gpu;
        if (test->lock->sums[h].segments == 0 ||
            gs_analysis_common_apart(test->lock->apart, test->lock->order[at], h)) {
            continue;
        }
        int64_t response = test->lock->assumed[h];
        gs_analysis_common_recurrence_add(recurrence, GS_ANALYSIS_COMMON_REQUEST, response - gpu,
                                          test->hosts->period[h], 1,
                                          GS_ANALYSIS_COMMON_DEMAND_UNLIMITED, gpu, gpu);
    }
}

/* rd_i, one request of i from issue to grant, with the demands of add_requests, which are then
 * limited to eta_i n_h(rd_i) jobs. *single: rd_i, or -1 if it exceeds the deadline; then W, which
 * is no less, exceeds it too. With rd_i, the demands may stay at that window. */
static int solve_request(const test_t *test, gs_analysis_common_recurrence_t *recurrence, int64_t i,
                         int64_t *single)
{
    int64_t eta = test->lock->sums[i].segments;
    recurrence->constant[GS_ANALYSIS_COMMON_REQUEST] = test->lock->most_lower[i];
    int status = gs_analysis_common_recurrence_solve(recurrence, test->ctx, 0,
                                                     gs_host_tasks_window(test->hosts, i), single);
    recurrence->constant[GS_ANALYSIS_COMMON_REQUEST] =
        gs_analysis_common_saturating_mul(eta, test->lock->most_lower[i]);
    for (int64_t k = 0; k < recurrence->count && *single >= 0; k++) {
        gs_analysis_common_demand_t *demand = &recurrence->demands[k];
        gs_analysis_common_recurrence_limit(demand,
                                            gs_analysis_common_saturating_mul(eta, demand->jobs));
    }
    return status;
}

/* Lower-priority tasks on the core: none begins a GPU segment while i is ready, so each has at most
 * one open when i becomes ready, at its release and after each of its GPU segments (if i spins, it
 * is ready from its release on), and no more than its jobs have. Returns what they take of one
 * ready interval. */
static int64_t add_lower(const test_t *test, gs_analysis_common_recurrence_t *recurrence,
                         int64_t at)
{
    const gs_analysis_partitioned_lock_test_t *lock = test->lock;
    int64_t i = lock->order[at], once = 0,
            most = test->mode == GS_ANALYSIS_PARTITIONED_LOCK_SPIN ? 1 : lock->sums[i].segments + 1;
    for (int64_t later = at + 1; later < lock->n; later++) {
        int64_t l = lock->order[later];
        if (test->core[l] == test->core[i] && lock->sums[l].segments > 0 &&
            !gs_analysis_common_apart(lock->apart, i, l)) {
            int64_t work = gs_analysis_partitioned_lock_test_segment(&lock->sums[l], test->mode);
            gs_analysis_common_recurrence_add(recurrence, GS_ANALYSIS_COMMON_LOWER,
                                              lock->assumed[l], test->hosts->period[l],
                                              lock->sums[l].segments, most, work, work);
            once = gs_analysis_common_saturating_add(once, work);
        }
    }
    return once;
}

/* Higher-priority tasks on the core. Spinning: no job suspends, so there is only that of releases
 * (a busy period of i and higher-priority tasks ends within W and holds one job of i: the next one
 * is released at least T_i - J_i >= W later). */
static void add_higher(const test_t *test, gs_analysis_common_recurrence_t *recurrence, int64_t at)
{
    const gs_analysis_partitioned_lock_test_t *lock = test->lock;
    bool spins = test->mode == GS_ANALYSIS_PARTITIONED_LOCK_SPIN;
    int64_t i = lock->order[at];
    for (int64_t earlier = 0; earlier < at; earlier++) {
        int64_t h = lock->order[earlier];
        if (test->core[h] != test->core[i] || gs_analysis_common_apart(lock->apart, i, h)) {
            continue;
        }
        int64_t demand = gs_analysis_partitioned_lock_test_demand(&lock->sums[h], test->mode);
        int64_t work = spins ? gs_analysis_common_saturating_add(demand, lock->spin[h]) : demand;
        int64_t release = gs_host_tasks_jitter(test->hosts, h);
        int64_t jitter = gs_analysis_partitioned_lock_test_jitter(lock, test->hosts, i, h, demand);
        gs_analysis_common_recurrence_add(recurrence, GS_ANALYSIS_COMMON_HIGHER,
                                          spins ? release : jitter, test->hosts->period[h], 1,
                                          GS_ANALYSIS_COMMON_DEMAND_UNLIMITED, work, work);
    }
}

static int test_task(const void *state, int64_t at)
{
    const test_t *test = state;
    const gs_analysis_common_sums_t *sums = test->lock->sums;
    int64_t i = test->lock->order[at], eta = sums[i].segments, single = 0;
    gs_analysis_common_recurrence_t recurrence;
    gs_analysis_common_recurrence_init(&recurrence, test->lock->demands);
    if (eta > 0) {
        add_requests(test, &recurrence, at);
        int status = solve_request(test, &recurrence, i, &single);
        if (status != GS_OK) {
            return status;
        }
    }
    recurrence.constant[GS_ANALYSIS_COMMON_OWN] = sums[i].cpu + sums[i].gpu;
    int64_t deadline = gs_host_tasks_window(test->hosts, i),
            once = add_lower(test, &recurrence, at);
    int64_t first = recurrence.count;
    add_higher(test, &recurrence, at);
    int status = GS_OK;
    if (test->split) { /* waits are in the requests, whoever holds the lock */
        const gs_analysis_common_ready_job_t job = {gs_host_tasks_cpu(test->hosts, i), eta, once,
                                                    deadline};
        status = gs_analysis_common_ready_intervals(&recurrence, test->ctx, first, &job, NULL,
                                                    test->lock->limits);
    }
    if (status != GS_OK) {
        return status;
    }
    status = gs_analysis_common_recurrence_solve_task(
        &recurrence, test->ctx, single < 0 ? deadline + 1 : single, test->hosts, i, test->answer);
    if (status == GS_OK && test->answer->response[i] >= 0 &&
        test->mode == GS_ANALYSIS_PARTITIONED_LOCK_SPIN) {
        const int64_t *terms = test->answer->terms + i * GS_ANALYSIS_COMMON_TERMS;
        int64_t waits = gs_analysis_common_saturating_mul(eta, single);
        int64_t blocking = gs_analysis_common_saturating_add(terms[GS_ANALYSIS_COMMON_REQUEST],
                                                             terms[GS_ANALYSIS_COMMON_LOWER]);
        test->lock->spin[i] = eta == 0 ? 0 : waits < blocking ? waits : blocking;
    }
    return status;
}

/* A less urgent task counts by its jobs in the window alone. */
static bool delays(const void *state, int64_t at, int64_t of, int64_t before)
{
    const test_t *test = state;
    const gs_analysis_partitioned_lock_test_t *lock = test->lock;
    int64_t i = lock->order[at], u = lock->order[of], eta = lock->sums[i].segments;
    bool here = test->core[u] == test->core[i], uses = lock->sums[u].segments > 0;
    if (of < at) {
        return (here || (uses && eta > 0)) && !gs_analysis_common_apart(lock->apart, i, u);
    }
    return here && uses && !gs_analysis_common_apart(lock->apart, i, u) &&
           gs_analysis_partitioned_lock_test_more_jobs(lock, test->hosts, test->answer, at, u,
                                                       eta + 1, before);
}

int gs_analysis_partitioned_mpcp(gs_analysis_partitioned_lock_test_t *self, gs_context_t *ctx,
                                 const gs_host_tasks_t *hosts, const int64_t *core,
                                 const gs_analysis_partitioned_lock_options_t *options,
                                 gs_analysis_common_answer_t *answer)
{
    int status = gs_analysis_partitioned_lock_test_start(self, ctx, hosts, core, options);
    const test_t test = {self,
                         ctx,
                         hosts,
                         core,
                         answer,
                         options->mode,
                         gs_analysis_partitioned_lock_test_split(options)};
    return status == GS_OK ? gs_analysis_partitioned_lock_test_run(self, ctx, hosts, options,
                                                                   test_task, delays, &test, answer)
                           : status;
}

static const char *const MPCP_MODE[] = {"suspend", "busy", "spin", NULL};
static const gs_method_option_t MPCP_OPTIONS[] = {
    {"mode", "choice", MPCP_MODE, "suspend", "use of the core during a GPU segment"},
    {"fixed_point", "choice", gs_analysis_partitioned_lock_fixed_point, "joint",
     "compute all bounds together, or one after the other by priority"},
    {"suspension", "choice", gs_analysis_partitioned_lock_suspension, "split",
     "count higher-priority tasks of the core only while the job is ready, or throughout"},
};

const gs_method_t gs_analysis_partitioned_mpcp_method = {
    .name = "mpcp",
    .model = "HostTasks",
    .function = "analysis.mpcp",
    .claim = "sufficient",
    .source = "Rajkumar, Sha, Lehoczky 1988; Lakshmanan, de Niz, Rajkumar 2009; notebook 06",
    .summary = "One lock guards the whole GPU and is granted by priority.",
    .options = MPCP_OPTIONS,
    .option_count = sizeof MPCP_OPTIONS / sizeof *MPCP_OPTIONS,
};
