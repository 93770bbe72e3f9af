/* Numbers of SMs of the tasks, and the task that gets one more. */
#include "core/int128.h"
#include "analysis/allocation/stgm_state.h"

void gs_analysis_allocation_stgm_update_task(const gs_analysis_allocation_stgm_run_t *run,
                                             int64_t i)
{
    gs_analysis_allocation_stgm_allocate_t *self = run->self;
    int64_t count = self->count[i], used = count < run->sms ? count : run->sms;
    self->test.sums[i] = gs_analysis_common_sums(run->hosts, i, used > 0 ? used : 1);
    self->test.chain.weight[i] = self->test.sums[i].most_kernel;
    self->gain[i] = 0;
    for (int64_t j = 0; j < run->hosts->segments[i]; j++) {
        self->gain[i] += gs_host_tasks_kernel(run->hosts, i, j, count) -
                         gs_host_tasks_kernel(run->hosts, i, j, count + 1);
    }
}

int64_t gs_analysis_allocation_stgm_give_one_sm(const gs_analysis_allocation_stgm_run_t *run)
{
    gs_analysis_allocation_stgm_allocate_t *self = run->self;
    int64_t users = 0;
    for (int64_t i = 0; i < self->n; i++) {
        self->count[i] = run->hosts->segments[i] > 0;
        users += self->count[i];
        gs_analysis_allocation_stgm_update_task(run, i);
    }
    return users;
}

int64_t gs_analysis_allocation_stgm_choose_task(const gs_analysis_allocation_stgm_run_t *run)
{
    const gs_analysis_allocation_stgm_allocate_t *self = run->self;
    bool past = gs_analysis_allocation_stgm_has_flag(run, GS_ANALYSIS_ALLOCATION_ALLOCATE_PAST_END),
         ended = true;
    bool least = gs_analysis_allocation_stgm_has_flag(run, GS_ANALYSIS_ALLOCATION_ALLOCATE_SIGN);
    int64_t best = -1;
    for (int64_t i = 0; i < self->n; i++) {
        if (self->count[i] == 0 || (!past && self->count[i] >= run->sms)) {
            continue;
        }
        ended = ended && past && self->count[i] > run->sms;
        if (best >= 0) {
            gs_int128_t mine = (gs_int128_t)self->gain[i] * run->hosts->period[best];
            gs_int128_t other = (gs_int128_t)self->gain[best] * run->hosts->period[i];
            if (least ? mine >= other : mine <= other) {
                continue;
            }
        }
        best = i;
    }
    if (best < 0 || ended) {
        return -1;
    }
    int64_t help = run->sms > run->hosts->columns ? run->sms : run->hosts->columns;
    return past && self->count[best] >= help + 2 * run->sms ? -1 : best;
}

bool gs_analysis_allocation_stgm_is_infeasible(const gs_analysis_allocation_stgm_run_t *run)
{
    const gs_analysis_partitioned_stgm_t *test = &run->self->test;
    bool hopeless = false;
    for (int64_t i = 0; i < run->self->n && !hopeless; i++) {
        int64_t least = test->sums[i].cpu + test->sums[i].gpu;
        if (!gs_analysis_allocation_stgm_depends_on_cores(run)) {
            least = gs_analysis_common_saturating_add(
                least, gs_analysis_common_saturating_add(test->copy[i], test->kernel[i]));
        }
        hopeless = least > run->hosts->deadline[i];
    }
    return hopeless;
}
