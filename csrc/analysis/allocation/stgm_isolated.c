/* Allocation of cores and SMs such that no task waits for the kernel of another. */
#include <string.h>

#include "analysis/allocation/stgm_state.h"
#include "analysis/allocation/worst_fit.h"

/* Of the tasks that gain from one more SM, the one with the largest time alone on a core as a
 * fraction of its deadline; -1: none. */
static int64_t choose_by_need(const gs_analysis_allocation_stgm_run_t *run)
{
    const gs_analysis_allocation_stgm_allocate_t *self = run->self;
    int64_t best = -1;
    double most = -1;
    for (int64_t i = 0; i < self->n; i++) {
        const gs_analysis_common_sums_t *sums = &self->test.sums[i];
        double need = (double)(sums->cpu + sums->gpu) / (double)run->hosts->deadline[i];
        if (self->gain[i] > 0 && need > most) {
            best = i;
            most = need;
        }
    }
    return best;
}

/* The task of line 24 if it gains from one more SM; -1: none. */
static int64_t choose_by_gain(const gs_analysis_allocation_stgm_run_t *run)
{
    int64_t best = gs_analysis_allocation_stgm_choose_task(run);
    return best >= 0 && run->self->gain[best] > 0 ? best : -1;
}

/* Disjoint SM sets, divided in two ways, and cores by ascending and by descending load. */
static int try_disjoint(gs_analysis_allocation_stgm_run_t *run, int64_t *rounds, bool *placed)
{
    int status = GS_OK;
    for (int way = 0; way < 4 && !*placed && status == GS_OK; way++) {
        int64_t total = gs_analysis_allocation_stgm_give_one_sm(run);
        if (total > run->sms) {
            return GS_OK;
        }
        for (; total < run->sms && status == GS_OK; total++) {
            int64_t i = way % 2 == 0 ? choose_by_need(run) : choose_by_gain(run);
            if (i < 0) {
                break;
            }
            run->self->count[i]++;
            gs_analysis_allocation_stgm_update_task(run, i);
            status = gs_poll(run->ctx, run->self->n);
        }
        ++*rounds;
        run->most_loaded_first = way >= 2;
        if (status == GS_OK) {
            status = gs_analysis_allocation_stgm_assign_sms(run);
        }
        if (status == GS_OK) {
            status = gs_analysis_allocation_stgm_place_with_retries(run, placed);
        }
        run->most_loaded_first = false;
    }
    return status;
}

/* Divides the tasks with GPU segments among `cores` cores by worst fit. */
static int group_users(const gs_analysis_allocation_stgm_run_t *run, int64_t cores)
{
    gs_analysis_allocation_stgm_allocate_t *self = run->self;
    for (int64_t i = 0; i < self->n; i++) {
        self->count[i] =
            run->hosts->segments[i] > 0 ? gs_analysis_common_max(1, run->sms / cores) : 0;
        gs_analysis_allocation_stgm_update_task(run, i);
    }
    gs_analysis_allocation_stgm_set_utilizations(run);
    gs_analysis_allocation_stgm_gpu_tasks_first(run);
    memset(self->load, 0, (size_t)cores * sizeof *self->load);
    int status = gs_poll(run->ctx, self->n);
    for (int64_t at = 0;
         at < self->n && self->count[self->placing_order[at]] > 0 && status == GS_OK; at++) {
        int64_t i = self->placing_order[at],
                p = gs_analysis_allocation_worst_fit_core(self->load, cores);
        self->group[i] = p;
        self->load[p] += self->share[i];
        status = gs_poll(run->ctx, cores);
    }
    return status;
}

/* Divides the SMs among these cores: one each, and each further one to the core with the largest
 * load per SM. self->copy: the number of SMs of each. */
static int divide_sms(const gs_analysis_allocation_stgm_run_t *run, int64_t cores)
{
    gs_analysis_allocation_stgm_allocate_t *self = run->self;
    const double *load = self->load;
    int64_t *width = self->copy;
    int status = GS_OK;
    for (int64_t c = 0; c < cores; c++) {
        width[c] = 1;
    }
    for (int64_t left = run->sms - cores; left > 0 && status == GS_OK; left--) {
        int64_t most = 0;
        for (int64_t c = 1; c < cores; c++) {
            bool more = load[c] / (double)width[c] > load[most] / (double)width[most];
            most = more ? c : most;
        }
        width[most]++;
        status = gs_poll(run->ctx, cores);
    }
    return status;
}

/* Assigns the SMs of a core to its tasks. They share them only with tasks that they never wait for,
 * so the graph of shared SMs stays empty. */
static void give_by_core(const gs_analysis_allocation_stgm_run_t *run, int64_t cores)
{
    gs_analysis_allocation_stgm_allocate_t *self = run->self;
    int64_t *width = self->copy, *first = self->members, next = 0;
    for (int64_t c = 0; c < cores; c++) {
        first[c] = next;
        next += width[c];
    }
    gs_analysis_partitioned_request_chain_clear(&self->test.chain);
    self->runs = 0;
    for (int64_t i = 0; i < self->n; i++) {
        if (self->count[i] > 0) {
            self->first[i] = first[self->group[i]];
            self->count[i] = width[self->group[i]];
            gs_analysis_allocation_stgm_update_task(run, i);
        }
    }
}

/* Busy mode: GPU segments of one core never overlap, so its tasks share SMs without waiting. */
static int try_sms_by_core(gs_analysis_allocation_stgm_run_t *run, int64_t *rounds, bool *placed)
{
    int64_t users = gs_analysis_allocation_stgm_give_one_sm(run);
    int status = GS_OK;
    run->sms_by_core = true;
    for (int64_t cores = 1; cores <= run->cpus && cores <= users && cores <= run->sms; cores++) {
        status = group_users(run, cores);
        if (status == GS_OK) {
            status = divide_sms(run, cores);
        }
        if (status == GS_OK) {
            give_by_core(run, cores);
            ++*rounds;
            status = gs_analysis_allocation_stgm_place_with_retries(run, placed);
        }
        if (status != GS_OK || *placed) {
            break;
        }
    }
    run->sms_by_core = false;
    return status;
}

int gs_analysis_allocation_stgm_isolated(gs_analysis_allocation_stgm_run_t *run, int64_t *rounds,
                                         bool *placed)
{
    int flags = run->flags, status = GS_OK;
    run->flags = 0; /* the lines as printed apply to Algorithm 1 only */
    *placed = false;
    if (gs_analysis_allocation_stgm_depends_on_cores(run)) {
        status = try_sms_by_core(run, rounds, placed);
    }
    if (status == GS_OK && !*placed) {
        status = try_disjoint(run, rounds, placed);
    }
    if (status == GS_OK && !*placed && !gs_analysis_allocation_stgm_depends_on_cores(run)) {
        status = gs_analysis_allocation_stgm_groups(run, rounds, placed);
    }
    run->flags = flags;
    return status;
}
