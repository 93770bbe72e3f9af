/* Placing of tasks on cores: the test of a core with one more task, and the order of cores and
 * tasks. */
#include <string.h>

#include "analysis/allocation/stgm_state.h"
#include "analysis/allocation/worst_fit.h"

void gs_analysis_allocation_stgm_clear_cores(const gs_analysis_allocation_stgm_run_t *run)
{
    gs_analysis_allocation_stgm_allocate_t *self = run->self;
    memset(self->load, 0, (size_t)run->cpus * sizeof *self->load);
    for (int64_t p = 0; p < run->cpus; p++) {
        self->head[p] = -1;
    }
    for (int64_t i = 0; i < self->n; i++) {
        run->core[i] = -1;
    }
    gs_analysis_allocation_stgm_start_queue(run);
}

/* Time on the core per period. */
static double utilization_of(const gs_analysis_allocation_stgm_run_t *run, int64_t i)
{
    const gs_analysis_common_sums_t *sums = &run->self->test.sums[i];
    return gs_analysis_allocation_worst_fit_share(
        run->unit, sums->cpu + (run->busy ? sums->gpu : sums->copies), run->hosts->period[i]);
}

void gs_analysis_allocation_stgm_set_utilizations(const gs_analysis_allocation_stgm_run_t *run)
{
    gs_analysis_allocation_stgm_allocate_t *self = run->self;
    for (int64_t i = 0; i < self->n; i++) {
        self->share[i] = utilization_of(run, i);
    }
    gs_analysis_allocation_worst_fit_order(self->share, self->n, self->placing_order);
    for (int64_t i = 0; i < self->n && gs_analysis_allocation_stgm_has_flag(
                                           run, GS_ANALYSIS_ALLOCATION_ALLOCATE_CPU_LOAD);
         i++) {
        self->share[i] = gs_analysis_allocation_worst_fit_share(run->unit, self->test.sums[i].cpu,
                                                                run->hosts->period[i]);
    }
}

void gs_analysis_allocation_stgm_update_utilization(const gs_analysis_allocation_stgm_run_t *run,
                                                    int64_t i)
{
    if (gs_analysis_allocation_stgm_has_flag(run, GS_ANALYSIS_ALLOCATION_ALLOCATE_CPU_LOAD)) {
        gs_analysis_allocation_stgm_set_utilizations(run); /* loads are not those of the order */
    } else {
        run->self->share[i] = utilization_of(run, i);
        gs_analysis_allocation_worst_fit_move(run->self->share, run->self->n, i,
                                              run->self->placing_order);
    }
}

int gs_analysis_allocation_stgm_core_with_task(const gs_analysis_allocation_stgm_run_t *run,
                                               int64_t p, int64_t i,
                                               gs_analysis_partitioned_stgm_core_t *on)
{
    gs_analysis_allocation_stgm_allocate_t *self = run->self;
    int64_t t = self->head[p];
    *on = (gs_analysis_partitioned_stgm_core_t){
        .members = self->members, .busy = run->busy, .paper = run->paper};
    for (; t >= 0 && self->rank[t] < self->rank[i]; t = self->next[t]) {
        self->members[on->count++] = t;
    }
    self->members[on->count++] = i;
    for (; t >= 0; t = self->next[t]) {
        self->members[on->count++] = t;
    }
    return gs_analysis_allocation_stgm_depends_on_cores(run)
               ? gs_analysis_allocation_stgm_set_busy_blocking(run, on, p, i)
               : GS_OK;
}

/* Whether W of member t is the same without task i: i has a lower priority and no GPU segment that
 * could delay t. */
static bool is_unchanged(const gs_analysis_allocation_stgm_run_t *run, int64_t t, int64_t i)
{
    const gs_analysis_allocation_stgm_allocate_t *self = run->self;
    return !run->busy &&
           !gs_analysis_allocation_stgm_has_flag(run, GS_ANALYSIS_ALLOCATION_ALLOCATE_NO_RESET) &&
           self->rank[t] < self->rank[i] && run->hosts->segments[i] == 0;
}

/* A lower bound of the new W. In suspend mode another member never reduces W; in busy mode it may,
 * as its GPU segments then cause no contention. */
static int64_t start_of(const gs_analysis_allocation_stgm_run_t *run, int64_t t, int64_t i)
{
    bool known =
        t != i && !run->busy &&
        !gs_analysis_allocation_stgm_has_flag(run, GS_ANALYSIS_ALLOCATION_ALLOCATE_NO_RESET);
    return known ? run->self->bound[t] : 0;
}

/* Line 16: whether the tasks of core p pass with task i. *on: these tasks. */
static int test_core(const gs_analysis_allocation_stgm_run_t *run, int64_t p, int64_t i,
                     gs_analysis_partitioned_stgm_core_t *on, bool *passes)
{
    gs_analysis_allocation_stgm_allocate_t *self = run->self;
    int status = gs_analysis_allocation_stgm_core_with_task(run, p, i, on);
    *passes = true;
    for (int64_t at = 0; at < on->count && *passes && status == GS_OK; at++) {
        int64_t t = on->members[at];
        bool asked = t == i || !gs_analysis_allocation_stgm_has_flag(
                                   run, GS_ANALYSIS_ALLOCATION_ALLOCATE_ONE_TASK);
        self->found[t] = self->bound[t];
        if (is_unchanged(run, t, i)) {
            continue;
        }
        gs_analysis_common_recurrence_t recurrence;
        gs_analysis_partitioned_stgm_recurrence(&self->test, run->hosts, on, at, self->found,
                                                &recurrence);
        if (asked) {
            status = gs_analysis_common_recurrence_solve(&recurrence, run->ctx, start_of(run, t, i),
                                                         run->hosts->deadline[t], &self->found[t]);
            *passes = self->found[t] >= 0;
        }
        if (status == GS_OK) {
            status = gs_poll(run->ctx, on->count);
        }
    }
    return status;
}

/* Lines 17 to 19. on: task i and the tasks of core p, whose new W are in self->found. */
static void record_placement(const gs_analysis_allocation_stgm_run_t *run, int64_t p, int64_t i,
                             const gs_analysis_partitioned_stgm_core_t *on)
{
    gs_analysis_allocation_stgm_allocate_t *self = run->self;
    gs_analysis_allocation_stgm_record_copies(run, p, i);
    run->core[i] = p;
    self->load[p] += self->share[i];
    gs_analysis_allocation_stgm_update_queue(run, p);
    self->version += self->count[i] > 0;
    int64_t *link = &self->head[p];
    while (*link >= 0 && self->rank[*link] < self->rank[i]) {
        link = &self->next[*link];
    }
    self->next[i] = *link;
    *link = i;
    for (int64_t at = 0; at < on->count; at++) {
        self->bound[on->members[at]] = self->found[on->members[at]];
    }
}

/* Lines 15 to 20: the first core by load that accepts task i. Of several empty cores only the first
 * is tested. */
static int place(const gs_analysis_allocation_stgm_run_t *run, int64_t i)
{
    const gs_analysis_allocation_stgm_allocate_t *self = run->self;
    bool fixed = run->sms_by_core && self->count[i] > 0;
    gs_analysis_allocation_stgm_walk_t walk;
    gs_analysis_allocation_stgm_walk_start(run, &walk);
    int64_t p = fixed ? self->group[i] : gs_analysis_allocation_stgm_walk_next(run, &walk);
    while (p >= 0) {
        bool passes = false;
        if (self->load[p] + self->share[i] <= run->full) {
            gs_analysis_partitioned_stgm_core_t on;
            int status = test_core(run, p, i, &on, &passes);
            if (status != GS_OK) {
                return status;
            }
            if (passes) {
                record_placement(run, p, i, &on);
                return GS_OK;
            }
            walk.with_empty = walk.with_empty && on.count > 1;
        } else if (!run->most_loaded_first) {
            return GS_OK; /* all later cores have more load */
        }
        p = fixed ? -1 : gs_analysis_allocation_stgm_walk_next(run, &walk);
        int status = gs_poll(run->ctx, 10);
        if (status != GS_OK) {
            return status;
        }
    }
    return GS_OK;
}

int gs_analysis_allocation_stgm_place_all(const gs_analysis_allocation_stgm_run_t *run,
                                          bool *placed)
{
    gs_analysis_allocation_stgm_allocate_t *self = run->self;
    bool continues =
        gs_analysis_allocation_stgm_has_flag(run, GS_ANALYSIS_ALLOCATION_ALLOCATE_NO_RESET);
    if (!continues) {
        gs_analysis_allocation_stgm_clear_cores(run);
    }
    *placed = true;
    self->version++;
    gs_analysis_allocation_stgm_start_copies(run);
    int status = gs_poll(run->ctx, self->n);
    for (int64_t at = 0; at < self->n && status == GS_OK && (*placed || continues); at++) {
        int64_t i = self->placing_order[at];
        if (run->core[i] < 0) {
            status = place(run, i);
            *placed = *placed && run->core[i] >= 0;
        }
    }
    return status;
}

/* Moves the first task without a core to the front of the order of placing; false if it is there
 * already. */
static bool bring_forward(const gs_analysis_allocation_stgm_run_t *run)
{
    int64_t *placing_order = run->self->placing_order, at = 0;
    while (run->core[placing_order[at]] >= 0) {
        at++;
    }
    int64_t i = placing_order[at];
    memmove(placing_order + 1, placing_order, (size_t)at * sizeof *placing_order);
    placing_order[0] = i;
    return at > 0;
}

void gs_analysis_allocation_stgm_gpu_tasks_first(const gs_analysis_allocation_stgm_run_t *run)
{
    gs_analysis_allocation_stgm_allocate_t *self = run->self;
    int64_t *others = self->members, users = 0, rest = 0;
    for (int64_t at = 0; at < self->n; at++) {
        int64_t i = self->placing_order[at];
        *(self->count[i] > 0 ? &self->placing_order[users++] : &others[rest++]) = i;
    }
    memcpy(self->placing_order + users, others, (size_t)rest * sizeof *others);
}

int gs_analysis_allocation_stgm_place_with_retries(const gs_analysis_allocation_stgm_run_t *run,
                                                   bool *placed)
{
    int status = GS_OK;
    if (gs_analysis_allocation_stgm_is_infeasible(run)) {
        return status;
    }
    gs_analysis_allocation_stgm_set_utilizations(run);
    if (run->sms_by_core) {
        gs_analysis_allocation_stgm_gpu_tasks_first(run);
    }
    for (int64_t time = 0; time < run->self->n && status == GS_OK && !*placed; time++) {
        status = gs_analysis_allocation_stgm_place_all(run, placed);
        if (status == GS_OK && !*placed && !bring_forward(run)) {
            break;
        }
    }
    return status;
}
