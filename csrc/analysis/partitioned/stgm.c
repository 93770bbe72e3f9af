/* Response-time test for STGM, corrected and as printed. */
#include <string.h>

#include "analysis/partitioned/stgm.h"

int gs_analysis_partitioned_stgm_init(gs_analysis_partitioned_stgm_t *self, gs_context_t *ctx,
                                      int64_t n)
{
    memset(self, 0, sizeof *self);
    self->n = n;
    self->order = gs_alloc(ctx, (size_t)n, sizeof *self->order);
    self->sums = gs_alloc(ctx, (size_t)n, sizeof *self->sums);
    self->copy = gs_alloc(ctx, (size_t)n, sizeof *self->copy);
    self->kernel = gs_alloc(ctx, (size_t)n, sizeof *self->kernel);
    self->demand = gs_alloc(ctx, (size_t)n, sizeof *self->demand);
    self->segment = gs_alloc(ctx, (size_t)n, sizeof *self->segment);
    self->limits = gs_alloc(ctx, (size_t)n, sizeof *self->limits);
    self->demands = gs_alloc(ctx, (size_t)n, 2 * sizeof *self->demands);
    self->members = gs_alloc(ctx, (size_t)n, sizeof *self->members);
    if (self->order == NULL || self->sums == NULL || self->copy == NULL || self->kernel == NULL ||
        self->demand == NULL || self->segment == NULL || self->demands == NULL ||
        self->members == NULL || self->limits == NULL) {
        return ctx->status;
    }
    return gs_analysis_partitioned_request_chain_init(&self->chain, ctx, n);
}

void gs_analysis_partitioned_stgm_free(gs_analysis_partitioned_stgm_t *self, gs_context_t *ctx)
{
    gs_free(ctx, self->order);
    gs_free(ctx, self->sums);
    gs_free(ctx, self->copy);
    gs_free(ctx, self->kernel);
    gs_free(ctx, self->demand);
    gs_free(ctx, self->segment);
    gs_free(ctx, self->limits);
    gs_free(ctx, self->demands);
    gs_free(ctx, self->members);
    gs_analysis_partitioned_request_chain_free(&self->chain, ctx);
    memset(self, 0, sizeof *self);
}

void gs_analysis_partitioned_stgm_resize(gs_analysis_partitioned_stgm_t *self, int64_t n)
{
    if (self->n != n) { /* edges are removed while the number of their tasks is known */
        gs_analysis_partitioned_request_chain_clear(&self->chain);
        self->n = self->chain.n = n;
    }
}

/* The tasks that are apart from i, and with `core` those of the core of i, as a set for a chain. */
static const uint64_t *absent(gs_analysis_partitioned_stgm_t *self, int64_t i, const int64_t *core)
{
    uint64_t *set = self->chain.excluded;
    memset(set, 0, (size_t)self->chain.words * sizeof *set);
    for (int64_t j = 0; j < self->n; j++) {
        bool here = core != NULL && core[j] == core[i];
        bool is = here || gs_analysis_common_apart(self->apart, i, j);
        set[j / 64] |= (uint64_t)is << (j % 64);
    }
    return set;
}

/* Fills the sums and the graph of tasks that share SMs. */
static int start(gs_analysis_partitioned_stgm_t *self, gs_context_t *ctx,
                 const gs_host_tasks_t *hosts, const uint8_t *sm, int64_t sms)
{
    for (int64_t i = 0; i < self->n; i++) {
        int64_t count = 0;
        for (int64_t s = 0; s < sms; s++) {
            count += sm[i * sms + s] != 0;
        }
        if (count == 0 && hosts->segments[i] > 0) {
            return gs_fail(ctx, GS_ERR_VALUE, "sm", i, 0,
                           "at least one SM for a task with GPU segments");
        }
        self->sums[i] = gs_analysis_common_sums(hosts, i, count > 0 ? count : 1);
        self->chain.weight[i] = self->sums[i].most_kernel;
    }
    gs_analysis_partitioned_request_chain_clear(&self->chain);
    return gs_analysis_partitioned_request_chain_add_shared_sms(&self->chain, ctx, hosts->segments,
                                                                sm, sms);
}

void gs_analysis_partitioned_stgm_copy_blocking(gs_analysis_partitioned_stgm_t *self)
{
    int64_t all = 0; /* below GS_ANALYSIS_COMMON_LIMIT, as all jobs together are */
    for (int64_t i = 0; i < self->n; i++) {
        all += self->sums[i].longest_copy;
    }
    for (int64_t i = 0; i < self->n; i++) {
        const gs_analysis_common_sums_t *own = &self->sums[i];
        self->copy[i] =
            gs_analysis_common_saturating_mul(own->segments, 2 * (all - own->longest_copy));
    }
}

int gs_analysis_partitioned_stgm_kernel_blocking(gs_analysis_partitioned_stgm_t *self,
                                                 gs_context_t *ctx, int paper)
{
    int status = GS_OK;
    if (paper == GS_ANALYSIS_PARTITIONED_STGM_SOUND) {
        status = gs_analysis_partitioned_request_chain_all(&self->chain, ctx, self->kernel);
    }
    for (int64_t i = 0; i < self->n && paper != GS_ANALYSIS_PARTITIONED_STGM_SOUND; i++) {
        self->kernel[i] = 0; /* the kernels of the neighbours, but not those that they wait for */
        for (int64_t j = 0; j < self->n; j++) {
            self->kernel[i] += gs_analysis_partitioned_request_chain_has_edge(&self->chain, i, j)
                                   ? self->sums[j].most_kernel
                                   : 0;
        }
    }
    for (int64_t i = 0; i < self->n; i++) {
        self->kernel[i] =
            gs_analysis_common_saturating_mul(self->sums[i].segments, self->kernel[i]);
    }
    return status;
}

void gs_analysis_partitioned_stgm_set_busy_blocking(gs_analysis_partitioned_stgm_t *self, int64_t i,
                                                    int64_t copy, int64_t chain)
{
    int64_t eta = self->sums[i].segments;
    self->copy[i] = gs_analysis_common_saturating_mul(eta, 2 * copy);
    self->kernel[i] = gs_analysis_common_saturating_mul(eta, chain);
    self->segment[i] =
        eta > 0 ? gs_analysis_common_saturating_add(self->sums[i].most_gpu, 2 * copy + chain) : 0;
}

/* Sound busy test: the longest copy of every other core, of tasks that can be pending beside i. */
static int64_t copies_beside(const gs_analysis_partitioned_stgm_t *self, int64_t i,
                             const int64_t *core)
{
    int64_t sum = 0;
    for (int64_t first = 0; first < self->n; first++) {
        int64_t longest = 0;
        bool counts = core[first] != core[i];
        for (int64_t j = 0; j < self->n; j++) {
            if (core[j] == core[first]) {
                counts = counts && j >= first;
                if (!gs_analysis_common_apart(self->apart, i, j)) {
                    longest = gs_analysis_common_max(longest, self->sums[j].longest_copy);
                }
            }
        }
        sum += counts ? longest : 0;
    }
    return sum;
}

/* Suspend: B^m and B^e of the tasks that are apart from others. */
static int set_blocking_beside(gs_analysis_partitioned_stgm_t *self, gs_context_t *ctx)
{
    int status = GS_OK;
    for (int64_t i = 0; i < self->n && status == GS_OK; i++) {
        int64_t eta = self->sums[i].segments, copies = 0, chain = 0;
        if (eta == 0 || !gs_analysis_common_apart_any(self->apart, i)) {
            continue;
        }
        for (int64_t j = 0; j < self->n; j++) {
            if (j != i && !gs_analysis_common_apart(self->apart, i, j)) {
                copies += self->sums[j].longest_copy;
            }
        }
        status = gs_analysis_partitioned_request_chain_longest(&self->chain, ctx, i,
                                                               absent(self, i, NULL), &chain);
        self->copy[i] = gs_analysis_common_saturating_mul(eta, 2 * copies);
        self->kernel[i] = gs_analysis_common_saturating_mul(eta, chain);
    }
    return status;
}

/* Sound busy test: B^m, B^e and the longest open segment of all tasks. */
static int set_busy_blocking(gs_analysis_partitioned_stgm_t *self, gs_context_t *ctx,
                             const int64_t *core)
{
    int64_t all = 0; /* the longest copy of every core */
    for (int64_t i = 0; i < self->n; i++) {
        bool first = true;
        self->segment[i] = 0; /* the longest copy on the same core, temporarily */
        for (int64_t j = 0; j < self->n; j++) {
            if (core[j] == core[i]) {
                self->segment[i] =
                    gs_analysis_common_max(self->segment[i], self->sums[j].longest_copy);
                first = first && j >= i;
            }
        }
        all += first ? self->segment[i] : 0;
    }
    for (int64_t i = 0; i < self->n; i++) {
        const uint64_t *excluded = absent(self, i, core);
        int64_t chain = 0, copy = all - self->segment[i];
        int status = self->sums[i].segments > 0 ? gs_analysis_partitioned_request_chain_longest(
                                                      &self->chain, ctx, i, excluded, &chain)
                                                : GS_OK;
        if (gs_analysis_common_apart_any(self->apart, i)) {
            copy = copies_beside(self, i, core);
        }
        if (status != GS_OK) {
            return status;
        }
        gs_analysis_partitioned_stgm_set_busy_blocking(self, i, copy, chain);
    }
    return GS_OK;
}

/* B^l of the task at that place.
 *
 * Suspend, sound: while i is ready, a lower-priority task begins no GPU segment, so at most one is
 * open when i becomes ready (at its release and after each of its GPU segments), and both of its
 * copies can still follow. As printed (Eqs. 7, 8): only the longer one, and once for each CPU
 * segment.
 *
 * Busy, sound: i never suspends, so only the segment open at the start of the busy period counts,
 * with all its spinning. As printed (Eqs. 11, 12): one segment of every task, without the
 * spinning. */
static int64_t lower_of(const gs_analysis_partitioned_stgm_t *self,
                        const gs_analysis_partitioned_stgm_core_t *core, int64_t at)
{
    const gs_analysis_common_sums_t *own = &self->sums[core->members[at]];
    bool sound = core->paper == GS_ANALYSIS_PARTITIONED_STGM_SOUND;
    int64_t sum = 0;
    for (int64_t later = at + 1; later < core->count; later++) {
        int64_t u = core->members[later];
        const gs_analysis_common_sums_t *low = &self->sums[u];
        if (low->segments == 0 || gs_analysis_common_apart(self->apart, core->members[at], u)) {
            continue;
        }
        if (core->busy) {
            sum = sound ? gs_analysis_common_max(sum, self->segment[u])
                        : gs_analysis_common_saturating_add(sum, low->most_gpu);
        } else {
            int64_t part =
                sound ? gs_analysis_common_saturating_mul(own->segments + 1, low->most_copies)
                      : gs_analysis_common_saturating_mul(own->cpu_segments, low->longest_copy);
            sum = gs_analysis_common_saturating_add(sum, part);
        }
    }
    return sum;
}

/* Demand of a job of h on the core. Busy, sound: with its own spinning; the only jitter is that of
 * releases, as no job suspends (a busy period of i and higher-priority tasks ends within W, and the
 * next job of i is released at least T_i - J_i >= W later, so it holds one job of i). As printed:
 * Eq. 9 with the blocking of i, or with that of h. */
static int64_t demand_of(const gs_analysis_partitioned_stgm_t *self, int64_t h, bool busy,
                         int paper, int64_t blocking)
{
    const gs_analysis_common_sums_t *sums = &self->sums[h];
    if (!busy) {
        return sums->cpu + sums->copies;
    }
    int64_t demand = sums->cpu + sums->gpu;
    if (paper == GS_ANALYSIS_PARTITIONED_STGM_SOUND) {
        return gs_analysis_common_saturating_add(
            demand, gs_analysis_common_saturating_add(self->copy[h], self->kernel[h]));
    }
    return gs_analysis_common_saturating_add(
        demand, paper == GS_ANALYSIS_PARTITIONED_STGM_PAPER ? blocking : self->demand[h]);
}

void gs_analysis_partitioned_stgm_recurrence(gs_analysis_partitioned_stgm_t *self,
                                             const gs_host_tasks_t *hosts,
                                             const gs_analysis_partitioned_stgm_core_t *core,
                                             int64_t at, const int64_t *response,
                                             gs_analysis_common_recurrence_t *recurrence)
{
    int64_t i = core->members[at], lower = lower_of(self, core, at);
    int64_t blocking = gs_analysis_common_saturating_add(
        gs_analysis_common_saturating_add(self->copy[i], self->kernel[i]), lower);
    gs_analysis_common_recurrence_init(recurrence, self->demands);
    recurrence->constant[GS_ANALYSIS_COMMON_OWN] = self->sums[i].cpu + self->sums[i].gpu;
    recurrence->constant[GS_ANALYSIS_COMMON_COPY] = self->copy[i];
    recurrence->constant[GS_ANALYSIS_COMMON_KERNEL] = self->kernel[i];
    recurrence->constant[GS_ANALYSIS_COMMON_LOWER] = lower;
    self->demand[i] = blocking;
    for (int64_t earlier = 0; earlier < at; earlier++) {
        int64_t h = core->members[earlier];
        if (gs_analysis_common_apart(self->apart, i, h)) {
            continue;
        }
        int64_t demand = demand_of(self, h, core->busy, core->paper, blocking);
        int64_t release = gs_host_tasks_jitter(hosts, h);
        bool beside = gs_analysis_common_apart_any(self->apart, i);
        int64_t jitter = core->busy && !beside ? release : response[h] - demand; /* as printed */
        if (!core->busy && !beside && core->paper == GS_ANALYSIS_PARTITIONED_STGM_SOUND) {
            jitter = gs_analysis_common_jitter(self->sums[i].segments, self->sums[h].segments,
                                               response[h], demand, release);
        }
        gs_analysis_common_recurrence_add(recurrence, GS_ANALYSIS_COMMON_HIGHER, jitter,
                                          hosts->period[h], 1, GS_ANALYSIS_COMMON_DEMAND_UNLIMITED,
                                          demand, demand);
    }
}

/* Limits what more urgent tasks of the core take to the ready intervals of the member at that
 * place, in suspend mode. In each of them the copies of one segment of every less urgent task can
 * follow. */
static int split_higher(gs_analysis_partitioned_stgm_t *self, gs_context_t *ctx,
                        const gs_host_tasks_t *hosts,
                        const gs_analysis_partitioned_stgm_core_t *core, int64_t at,
                        gs_analysis_common_recurrence_t *recurrence)
{
    int64_t i = core->members[at];
    gs_analysis_common_ready_job_t job = {gs_host_tasks_cpu(hosts, i), hosts->segments[i], 0,
                                          gs_host_tasks_window(hosts, i)};
    for (int64_t later = at + 1; later < core->count; later++) {
        int64_t l = core->members[later];
        if (!gs_analysis_common_apart(self->apart, i, l)) {
            job.blocks = gs_analysis_common_saturating_add(job.blocks, self->sums[l].most_copies);
        }
    }
    return gs_analysis_common_ready_intervals(recurrence, ctx, 0, &job, NULL, self->limits);
}

int gs_analysis_partitioned_stgm_check_paper(gs_context_t *ctx, int paper)
{
    if (paper < GS_ANALYSIS_PARTITIONED_STGM_SOUND ||
        paper > GS_ANALYSIS_PARTITIONED_STGM_PAPER_HIGHER) {
        return gs_fail(ctx, GS_ERR_VALUE, "paper", -1, paper,
                       "0 (sound), 1 (paper) or 2 (paper with B_h)");
    }
    return GS_OK;
}

int gs_analysis_partitioned_stgm(gs_analysis_partitioned_stgm_t *self, gs_context_t *ctx,
                                 const gs_host_tasks_t *hosts, const int64_t *core,
                                 const uint8_t *sm, const uint8_t *apart, int64_t sms, int64_t cpus,
                                 bool busy, int paper, bool split,
                                 gs_analysis_common_answer_t *answer)
{
    int status;
    gs_analysis_partitioned_stgm_resize(self, hosts->n);
    self->apart = (gs_analysis_common_apart_t){apart, hosts->n};
    if (apart != NULL && paper != GS_ANALYSIS_PARTITIONED_STGM_SOUND) {
        return gs_fail(ctx, GS_ERR_VALUE, "apart", -1, 1, "no tasks that are apart in this test");
    }
    if ((status = gs_analysis_partitioned_stgm_check_paper(ctx, paper)) != GS_OK ||
        (status = gs_analysis_common_check_and_sort(
             ctx, hosts, paper == GS_ANALYSIS_PARTITIONED_STGM_SOUND, self->order)) != GS_OK ||
        (status = gs_analysis_common_check_cores(ctx, hosts, core, cpus)) != GS_OK ||
        (status = start(self, ctx, hosts, sm, sms)) != GS_OK) {
        return status;
    }
    if (busy && paper == GS_ANALYSIS_PARTITIONED_STGM_SOUND) {
        status = set_busy_blocking(self, ctx, core);
    } else {
        gs_analysis_partitioned_stgm_copy_blocking(self);
        status = gs_analysis_partitioned_stgm_kernel_blocking(self, ctx, paper);
        status = status == GS_OK ? set_blocking_beside(self, ctx) : status;
    }
    gs_analysis_common_answer_start(answer, self->n);
    gs_analysis_partitioned_stgm_core_t on = {
        .members = self->members, .busy = busy, .paper = paper};
    for (int64_t turn = 0; turn < self->n && status == GS_OK && answer->schedulable; turn++) {
        int64_t i = self->order[turn], at = 0;
        on.count = 0;
        for (int64_t other = 0; other < self->n; other++) {
            at = other == turn ? on.count : at;
            if (core[self->order[other]] == core[i]) {
                self->members[on.count++] = self->order[other];
            }
        }
        gs_analysis_common_recurrence_t recurrence;
        gs_analysis_partitioned_stgm_recurrence(self, hosts, &on, at, answer->response,
                                                &recurrence);
        if (split && !busy && paper == GS_ANALYSIS_PARTITIONED_STGM_SOUND) {
            status = split_higher(self, ctx, hosts, &on, at, &recurrence);
        }
        if (status == GS_OK) {
            status =
                gs_analysis_common_recurrence_solve_task(&recurrence, ctx, 0, hosts, i, answer);
        }
    }
    return status;
}

static const char *const STGM_MODE[] = {"suspend", "busy", NULL};
static const char *const STGM_VARIANT[] = {"sound", "paper", "paper, B_h", NULL};
static const char *const STGM_SUSPENSION[] = {"jitter", "split", NULL};
static const gs_method_option_t STGM_OPTIONS[] = {
    {"mode", "choice", STGM_MODE, "suspend", "use of the core during a GPU segment"},
    {"variant", "choice", STGM_VARIANT, "sound",
     "corrected equations, or the printed ones, which are unsound"},
    {"suspension", "choice", STGM_SUSPENSION, "jitter",
     "count higher-priority tasks of the core throughout, or only while the job is ready"},
};

const gs_method_t gs_analysis_partitioned_stgm_method = {
    .name = "stgm",
    .model = "HostTasks",
    .function = "analysis.stgm",
    .claim = "sufficient",
    .source = "[RTCSA19], section IV-B, corrected in notebook 06",
    .summary = "Tasks run on SMs of their own or shared; kernels on different SMs slow each other "
               "down by no more than the given times allow, and a copy engine serves copies in "
               "the order of their requests.",
    .options = STGM_OPTIONS,
    .option_count = sizeof STGM_OPTIONS / sizeof *STGM_OPTIONS,
};
