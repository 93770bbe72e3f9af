/* Tests that need no classes. */
#include "pbs/stages/quick.h"

#include "pbs/depth_first.h"
#include "pbs/edf.h"

enum { MANY_JOBS = 4096 /* with more, overload is tested before any schedule is built */ };

/* The number of jobs of [0, H), at most MANY_JOBS + 1. */
static int64_t count_jobs(const gs_periodic_tasks_t *tasks)
{
    int64_t h = gs_periodic_tasks_hyperperiod_or_never(tasks), jobs = 0;
    for (int32_t i = 0; i < tasks->n; i++) {
        int64_t own = h / tasks->period[i];
        jobs = h < GS_NEVER && own <= MANY_JOBS - jobs ? jobs + own : MANY_JOBS + 1;
        if (jobs > MANY_JOBS) {
            return jobs;
        }
    }
    return jobs;
}

static int try_edf(gs_pbs_search_t *self, gs_context_t *ctx, const gs_periodic_tasks_t *tasks,
                   const gs_batch_table_t *table, bool parallel)
{
    gs_pbs_edf_miss_t miss;
    self->schedule.count = 0;
    int status = gs_pbs_edf_run(ctx, tasks, table, parallel, &self->schedule, &miss);
    if (status == GS_OK) {
        status = gs_count_states(ctx, self->schedule.count);
    }
    if (status == GS_OK && miss.task < 0) {
        gs_pbs_search_decide(self, parallel ? GS_PBS_STAGE_EDF_PARALLEL : GS_PBS_STAGE_EDF_SERIAL,
                             true);
    }
    return status;
}

int gs_pbs_stages_quick_depth_first(gs_pbs_search_t *self, gs_context_t *ctx,
                                    const gs_pbs_latest_start_t *bound,
                                    const gs_pbs_feasible_t *feasible, bool idling, int64_t states,
                                    int stage)
{
    const gs_pbs_problem_t *p = &self->problem;
    bool found = false, complete = false;
    if (states != 0) {
        for (int32_t i = 0; i < p->n; i++) {
            states += p->hyperperiod / p->tasks.period[i];
        }
    }
    gs_pbs_depth_first_options_t options = {bound, feasible, idling, states};
    self->schedule.count = 0;
    int status = gs_pbs_depth_first(ctx, p, &options, &self->schedule, &found, &complete);
    if (status == GS_OK && (found || complete)) {
        gs_pbs_search_decide(self, stage, found);
    }
    return status;
}

int gs_pbs_stages_quick_rates(gs_pbs_search_t *self, gs_context_t *ctx,
                              const gs_periodic_tasks_t *tasks, const gs_batch_table_t *table)
{
    gs_pbs_rates_t rates;
    int status = gs_pbs_rates_find(&rates, ctx, tasks, table, false);
    if (status == GS_OK && rates.proven) {
        self->proof.kind = GS_PBS_REFUTATION_WINDOW;
        self->proof.n = tasks->n;
        self->proof.rates = rates;
        gs_pbs_search_decide(self, GS_PBS_STAGE_OVERLOAD, false);
    }
    return status;
}

int gs_pbs_stages_quick_interval(gs_pbs_search_t *self, gs_context_t *ctx)
{
    gs_pbs_dead_interval_t interval;
    int status = gs_pbs_dead_interval_find(&interval, ctx, &self->problem);
    if (status == GS_OK && interval.found) {
        self->proof.kind = GS_PBS_REFUTATION_INTERVAL;
        self->proof.n = self->problem.n;
        self->proof.interval = interval;
        gs_pbs_search_decide(self, GS_PBS_STAGE_DEAD_INTERVAL, false);
    }
    return status;
}

int gs_pbs_stages_quick_before_cut(gs_pbs_search_t *self, gs_context_t *ctx,
                                   const gs_periodic_tasks_t *tasks, const gs_batch_table_t *table,
                                   const gs_pbs_search_options_t *options, bool *rated)
{
    int status = GS_OK;
    *rated = !gs_pbs_search_does(options, GS_PBS_SEARCH_SKIP_RATES);
    if (!*rated && count_jobs(tasks) > MANY_JOBS) {
        status = gs_pbs_stages_quick_rates(self, ctx, tasks, table);
        *rated = true;
    }
    for (int parallel = 0; parallel < 2 && gs_pbs_search_does(options, GS_PBS_SEARCH_SKIP_EDF);
         parallel++) {
        if (status == GS_OK && self->answer < 0) {
            status = try_edf(self, ctx, tasks, table, parallel != 0);
        }
    }
    return status;
}
