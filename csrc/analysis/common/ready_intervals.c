/* Limits on the jobs of more urgent tasks by the ready intervals of a job. */
#include <string.h>

#include "analysis/common/ready_intervals.h"

/* Adds the jobs that meet the ready interval of a CPU segment to the limits, -1 where it may be
 * longer than the deadline. `last`: the one that ends the job. */
static int add_interval(const gs_analysis_common_recurrence_t *recurrence, gs_context_t *ctx,
                        int64_t first, const gs_analysis_common_ready_job_t *job, int64_t segment,
                        int64_t *limits, bool *found)
{
    gs_analysis_common_recurrence_t interval;
    int64_t count = recurrence->count - first, least;
    bool last = segment == job->segments;
    gs_analysis_common_recurrence_init(&interval, recurrence->demands + recurrence->count);
    interval.constant[GS_ANALYSIS_COMMON_OWN] =
        gs_analysis_common_saturating_add(job->cpu[segment], job->blocks);
    for (int64_t k = first; k < recurrence->count; k++) {
        const gs_analysis_common_demand_t *demand = &recurrence->demands[k];
        /* At window 1: jobs * period - until is the jitter; floor(v / T) + 1 = ceil((v + 1) / T).
         * A number of jobs that saturates gives a jitter that does. */
        int64_t all = gs_analysis_common_saturating_mul(demand->jobs, demand->period);
        int64_t jitter = gs_analysis_common_max(0, all - demand->until);
        gs_analysis_common_recurrence_add(&interval, (int)demand->term, jitter + !last,
                                          demand->period, 1, GS_ANALYSIS_COMMON_DEMAND_UNLIMITED,
                                          demand->work, demand->work);
    }
    int status = gs_analysis_common_recurrence_solve(&interval, ctx, 0, job->deadline, &least);
    *found = least >= 0;
    for (int64_t k = 0; k < count && *found; k++) {
        limits[k] = gs_analysis_common_saturating_add(limits[k], interval.demands[k].jobs);
    }
    return status;
}

int gs_analysis_common_ready_intervals(gs_analysis_common_recurrence_t *recurrence,
                                       gs_context_t *ctx, int64_t first,
                                       const gs_analysis_common_ready_job_t *job,
                                       const int64_t *extra, int64_t *limits)
{
    int64_t count = recurrence->count - first;
    bool found = true;
    if (count == 0 || job->segments == 0) { /* one interval: the response time */
        return GS_OK;
    }
    memset(limits, 0, (size_t)count * sizeof *limits);
    for (int64_t segment = 0; segment <= job->segments && found; segment++) {
        if (segment < job->segments || job->cpu[segment] > 0) {
            int status = add_interval(recurrence, ctx, first, job, segment, limits, &found);
            if (status != GS_OK) {
                return status;
            }
        }
    }
    for (int64_t k = 0; k < count && found; k++) {
        gs_analysis_common_demand_t *demand = &recurrence->demands[first + k];
        int64_t total = gs_analysis_common_saturating_mul(limits[k], demand->work);
        total = gs_analysis_common_saturating_add(total, extra == NULL ? 0 : extra[k]);
        gs_analysis_common_recurrence_limit_work(demand, total);
    }
    return GS_OK;
}
