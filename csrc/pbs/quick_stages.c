/* Stages that need no classes. */
#include "model/periodic_tasks_internal.h"
#include "pbs/depth_first.h"
#include "pbs/edf.h"
#include "pbs/search_stages.h"

enum {
    MANY_JOBS = 4096, /* with more, overload is tested before any schedule is built */
    TASKS = 12        /* with more, no dead interval is looked for */
};

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

/* Whether the fast tests go on. */
static bool is_quick(const gs_pbs_stages_t *self, int skipped)
{
    return self->search->answer < 0 && !self->options->thorough &&
           gs_pbs_search_does(self->options, skipped);
}

bool gs_pbs_stage_has_many_jobs(const gs_pbs_stages_t *self)
{
    return gs_pbs_stage_is_unrated(self) && count_jobs(self->tasks) > MANY_JOBS;
}

bool gs_pbs_stage_is_unrated(const gs_pbs_stages_t *self)
{
    return is_quick(self, GS_PBS_SEARCH_SKIP_RATES) && !self->rated;
}

int gs_pbs_stage_overload(gs_pbs_stages_t *self)
{
    self->rated = true;
    int status = gs_pbs_rates_find(&self->rates, self->ctx, self->tasks, self->table, false);
    if (status == GS_OK && self->rates.proven) {
        gs_pbs_search_decide(self->search, GS_PBS_STAGE_OVERLOAD, false);
    }
    return status;
}

bool gs_pbs_stage_tries_edf(const gs_pbs_stages_t *self)
{
    return is_quick(self, GS_PBS_SEARCH_SKIP_EDF);
}

static int try_edf(gs_pbs_stages_t *self, bool parallel, int stage)
{
    gs_schedule_t *schedule = &self->search->schedule;
    gs_pbs_edf_miss_t miss;
    schedule->count = 0;
    int status = gs_pbs_edf_run(self->ctx, self->tasks, self->table, parallel, schedule, &miss);
    if (status == GS_OK) {
        status = gs_count_states(self->ctx, schedule->count);
    }
    if (status == GS_OK && miss.task < 0) {
        gs_pbs_search_decide(self->search, stage, true);
    }
    return status;
}

int gs_pbs_stage_edf_serial(gs_pbs_stages_t *self)
{
    return try_edf(self, false, GS_PBS_STAGE_EDF_SERIAL);
}

int gs_pbs_stage_edf_parallel(gs_pbs_stages_t *self)
{
    return try_edf(self, true, GS_PBS_STAGE_EDF_PARALLEL);
}

bool gs_pbs_stage_needs_arrivals(const gs_pbs_stages_t *self)
{
    int answer = self->search->answer;
    return answer < 0 || (answer == 1 && self->options->policy);
}

int gs_pbs_stage_arrivals(gs_pbs_stages_t *self)
{
    return gs_pbs_problem_init(&self->search->problem, self->ctx, self->tasks, self->table, false);
}

bool gs_pbs_stage_dives(const gs_pbs_stages_t *self)
{
    return is_quick(self, GS_PBS_SEARCH_SKIP_DEPTH_FIRST);
}

int gs_pbs_stage_dive(gs_pbs_stages_t *self, const gs_pbs_latest_start_t *bound,
                      const gs_pbs_feasible_t *feasible, bool idling, int64_t states, int stage)
{
    const gs_pbs_problem_t *p = &self->search->problem;
    bool found = false, complete = false;
    if (states != 0) {
        for (int32_t i = 0; i < p->n; i++) {
            states += p->hyperperiod / p->tasks.period[i];
        }
    }
    gs_pbs_depth_first_options_t options = {bound, feasible, idling, states};
    self->search->schedule.count = 0;
    int status =
        gs_pbs_depth_first(self->ctx, p, &options, &self->search->schedule, &found, &complete);
    if (status == GS_OK && (found || complete)) {
        gs_pbs_search_decide(self->search, stage, found);
    }
    return status;
}

int gs_pbs_stage_depth_first(gs_pbs_stages_t *self)
{
    return gs_pbs_stage_dive(self, NULL, NULL, self->options->idling, 64, GS_PBS_STAGE_DEPTH_FIRST);
}

bool gs_pbs_stage_has_short_deadlines(const gs_pbs_stages_t *self)
{
    const gs_periodic_tasks_t *tasks = self->tasks;
    bool shorter = false;
    for (int32_t i = 0; i < tasks->n; i++) {
        shorter = shorter || tasks->deadline[i] < tasks->period[i];
    }
    return is_quick(self, GS_PBS_SEARCH_SKIP_DEAD_INTERVAL) && tasks->n <= TASKS && shorter;
}

int gs_pbs_stage_dead_interval(gs_pbs_stages_t *self)
{
    int status = gs_pbs_dead_interval_find(&self->interval, self->ctx, &self->search->problem);
    if (status == GS_OK && self->interval.found) {
        gs_pbs_search_decide(self->search, GS_PBS_STAGE_DEAD_INTERVAL, false);
    }
    return status;
}
