/* Allocation of cores and SMs for STGM: the rounds of Algorithm 1 and the answer. */
#include "analysis/allocation/stgm_allocate.h"

#include <string.h>

#include "analysis/allocation/stgm_state.h"
#include "analysis/allocation/worst_fit.h"

typedef gs_analysis_allocation_stgm_memory_t memory_t;

static int memory_init(memory_t *self, gs_context_t *ctx, int64_t n)
{
    int64_t **columns[] = {
        &self->rank,        &self->count,  &self->first, &self->gain, &self->placing_order,
        &self->members,     &self->bound,  &self->found, &self->copy, &self->group,
        &self->seen,        &self->head,   &self->next,  &self->run,  &self->run_users,
        &self->run_kernels, &self->before, &self->queue, &self->rest, &self->run_cover,
        &self->cut};
    for (size_t c = 0; c < sizeof columns / sizeof *columns; c++) {
        if ((*columns[c] = gs_alloc(ctx, (size_t)n, sizeof **columns[c])) == NULL) {
            return ctx->status;
        }
    }
    self->share = gs_alloc(ctx, (size_t)n, sizeof *self->share);
    self->load = gs_alloc(ctx, (size_t)n, sizeof *self->load);
    return self->share != NULL && self->load != NULL
               ? gs_analysis_partitioned_stgm_init(&self->test, ctx, n)
               : ctx->status;
}

int gs_analysis_allocation_stgm_allocate_init(gs_analysis_allocation_stgm_allocate_t *self,
                                              gs_context_t *ctx, int64_t n)
{
    self->memory = gs_alloc(ctx, 1, sizeof *self->memory);
    return self->memory != NULL ? memory_init(self->memory, ctx, n) : ctx->status;
}

void gs_analysis_allocation_stgm_allocate_free(gs_analysis_allocation_stgm_allocate_t *allocate,
                                               gs_context_t *ctx)
{
    memory_t *self = allocate->memory;
    if (self == NULL) {
        return;
    }
    int64_t *columns[] = {
        self->rank,        self->count,  self->first, self->gain, self->placing_order,
        self->members,     self->bound,  self->found, self->copy, self->group,
        self->seen,        self->head,   self->next,  self->run,  self->run_users,
        self->run_kernels, self->before, self->queue, self->rest, self->run_cover,
        self->cut};
    for (size_t c = 0; c < sizeof columns / sizeof *columns; c++) {
        gs_free(ctx, columns[c]);
    }
    gs_free(ctx, self->share);
    gs_free(ctx, self->load);
    gs_analysis_partitioned_stgm_free(&self->test, ctx);
    gs_free(ctx, self);
    allocate->memory = NULL;
}

static int start(gs_analysis_allocation_stgm_run_t *run, int64_t cpus)
{
    gs_analysis_allocation_stgm_memory_t *self = run->self;
    int status;
    if (run->flags < 0 || run->flags > GS_ANALYSIS_ALLOCATION_ALLOCATE_ALL) {
        return gs_fail(run->ctx, GS_ERR_VALUE, "flags", -1, run->flags, "a sum of flags, 0 to 63");
    }
    if ((status = gs_analysis_partitioned_stgm_check_paper(run->ctx, run->paper)) != GS_OK ||
        (status = gs_analysis_common_check_and_sort(
             run->ctx, run->hosts, run->paper == GS_ANALYSIS_PARTITIONED_STGM_SOUND,
             self->test.order)) != GS_OK ||
        (status = gs_analysis_common_check_cpus(run->ctx, cpus)) != GS_OK ||
        (status = gs_analysis_common_check_sms(run->ctx, run->sms)) != GS_OK) {
        return status;
    }
    run->unit = gs_analysis_allocation_worst_fit_unit(run->hosts);
    run->full = run->unit > 1 ? run->unit : 1 + 1e-9; /* exact where loads are exact */
    for (int64_t i = 0; i < self->n; i++) {
        self->rank[self->test.order[i]] = i;
        self->bound[i] = self->seen[i] = 0;
        self->test.kernel[i] = self->test.segment[i] = 0;
    }
    self->version = self->runs = 0;
    gs_analysis_allocation_stgm_give_one_sm(run);
    gs_analysis_partitioned_stgm_copy_blocking(&self->test);
    return GS_OK;
}

/* Rounds of Algorithm 1, from line 1 on, until one places all tasks, or to the end. */
static int try_rounds(const gs_analysis_allocation_stgm_run_t *run, int64_t *rounds, bool *placed)
{
    gs_analysis_allocation_stgm_memory_t *self = run->self;
    /* Placements of earlier rounds stay. */
    bool must_place = (run->flags & GS_ANALYSIS_ALLOCATION_ALLOCATE_NO_RESET) != 0;
    gs_analysis_allocation_stgm_give_one_sm(run);
    gs_analysis_allocation_stgm_clear_cores(run);
    gs_analysis_allocation_stgm_set_utilizations(run);
    *placed = false;
    for (;;) {
        int64_t more = gs_analysis_allocation_stgm_choose_task(run);
        int status = gs_analysis_allocation_stgm_assign_sms(run);
        ++*rounds;
        if (status == GS_OK &&
            (more < 0 || must_place || !gs_analysis_allocation_stgm_is_infeasible(run))) {
            status = gs_analysis_allocation_stgm_place_all(run, placed);
        }
        if (status != GS_OK || *placed || more < 0) {
            return status;
        }
        self->count[more]++;
        gs_analysis_allocation_stgm_update_task(run, more);
        if (run->busy) {
            gs_analysis_allocation_stgm_update_utilization(run, more);
        }
    }
}

/* After the last round: the test of the least loaded core with the first task without a core. */
static int test_failing_core(const gs_analysis_allocation_stgm_run_t *run,
                             gs_analysis_common_answer_t *answer)
{
    gs_analysis_allocation_stgm_memory_t *self = run->self;
    int64_t at = 0, p = gs_analysis_allocation_worst_fit_core(self->load, run->cpus);
    while (at < self->n - 1 && run->core[self->placing_order[at]] >= 0) {
        at++;
    }
    int64_t i = self->placing_order[at];
    gs_analysis_partitioned_stgm_core_t on;
    int status = gs_analysis_allocation_stgm_core_with_task(run, p, i, &on);
    for (at = 0; at < on.count && status == GS_OK && answer->failed < 0; at++) {
        gs_analysis_common_recurrence_t recurrence;
        gs_analysis_partitioned_stgm_recurrence(&self->test, run->hosts, &on, at, answer->response,
                                                &recurrence);
        status = gs_analysis_common_recurrence_solve_task(&recurrence, run->ctx, 0, run->hosts,
                                                          on.members[at], answer);
    }
    answer->schedulable = false;
    answer->failed = answer->failed < 0 ? i : answer->failed;
    return status;
}

/* Writes the SMs assigned last. */
static void write_sms(const gs_analysis_allocation_stgm_run_t *run, uint8_t *sm)
{
    const gs_analysis_allocation_stgm_memory_t *self = run->self;
    memset(sm, 0, (size_t)(self->n * run->sms));
    for (int64_t i = 0; i < self->n; i++) {
        for (int64_t k = 0; k < self->count[i] && k < run->sms; k++) {
            sm[i * run->sms + (self->first[i] + k) % run->sms] = 1;
        }
    }
}

int gs_analysis_allocation_stgm_allocate(gs_analysis_allocation_stgm_allocate_t *allocate,
                                         gs_context_t *ctx, const gs_host_tasks_t *hosts,
                                         int64_t cpus, int64_t sms, bool busy, int paper, int flags,
                                         gs_analysis_allocation_stgm_placement_t *placement,
                                         gs_analysis_common_answer_t *answer)
{
    memory_t *self = allocate->memory;
    self->n = hosts->n;
    gs_analysis_partitioned_stgm_resize(&self->test, hosts->n);
    gs_analysis_allocation_stgm_run_t run = {
        .self = self,
        .ctx = ctx,
        .hosts = hosts,
        .cpus = cpus < self->n ? cpus : self->n,
        .sms = sms,
        .busy = busy,
        .paper = paper,
        .flags = flags,
        .core_contention = busy && paper == GS_ANALYSIS_PARTITIONED_STGM_SOUND,
        .core = placement->core};
    bool placed = false, claimed = false;
    placement->rounds = 0;
    int status = start(&run, cpus);
    if (status == GS_OK && (run.flags & GS_ANALYSIS_ALLOCATION_ALLOCATE_ISOLATED) != 0) {
        status = gs_analysis_allocation_stgm_isolated(&run, &placement->rounds, &placed);
    }
    if (status == GS_OK && !placed) {
        status = try_rounds(&run, &placement->rounds, &placed);
        claimed = placed && (run.flags & (GS_ANALYSIS_ALLOCATION_ALLOCATE_ONE_TASK |
                                          GS_ANALYSIS_ALLOCATION_ALLOCATE_NO_RESET)) != 0;
    }
    if (status != GS_OK) {
        return status;
    }
    write_sms(&run, placement->sm);
    gs_analysis_common_answer_start(answer, self->n);
    if (!placed) {
        return test_failing_core(&run, answer);
    }
    status = gs_analysis_partitioned_stgm(&self->test, ctx, hosts, placement->core, placement->sm,
                                          NULL, sms, cpus, busy, paper, false, answer);
    answer->schedulable = answer->schedulable || claimed;
    return status;
}

static const char *const STGM_ALLOCATE_MODE[] = {"suspend", "busy", NULL};
static const char *const STGM_ALLOCATE_VARIANT[] = {"sound", "paper", "paper, B_h", NULL};
static const gs_method_option_t STGM_ALLOCATE_OPTIONS[] = {
    {"mode", "choice", STGM_ALLOCATE_MODE, "suspend", "use of the core during a GPU segment"},
    {"variant", "choice", STGM_ALLOCATE_VARIANT, "sound",
     "corrected equations, or the printed ones, which are unsound"},
    {"apart", "boolean", NULL, "False", "first try allocations with little waiting for SMs"},
    {"printed", "data", NULL, NULL, "lines of Algorithm 1 that are run as printed"},
    {"unit", "integer", NULL, "1", "number of consecutive SMs that are assigned together"},
};

const gs_method_t gs_analysis_allocation_stgm_allocate_method = {
    .name = "stgm_allocate",
    .model = "HostTasks",
    .function = "analysis.stgm_allocate",
    .claim = "sufficient",
    .source = "[RTCSA19], Algorithm 1, corrected",
    .summary = "Assignment of cores and SMs for stgm.",
    .options = STGM_ALLOCATE_OPTIONS,
    .option_count = sizeof STGM_ALLOCATE_OPTIONS / sizeof *STGM_ALLOCATE_OPTIONS,
};
