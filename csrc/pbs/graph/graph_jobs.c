/* Arrivals and deadlines of the jobs released in [0, H). */
#include "pbs/graph/graph_jobs.h"

int gs_pbs_graph_jobs_init(gs_pbs_graph_jobs_t *self, gs_context_t *ctx,
                           const gs_periodic_tasks_t *tasks)
{
    int status = gs_periodic_tasks_check(ctx, tasks);
    if (status == GS_OK && tasks->chained != 0) {
        status = gs_fail(ctx, GS_ERR_VALUE, "chained", -1, tasks->chained, "tasks of one kernel");
    }
    if (status == GS_OK) {
        status = gs_periodic_tasks_hyperperiod(ctx, tasks, &self->hyperperiod);
    }
    if (status != GS_OK) {
        return status;
    }
    self->n = tasks->n;
    for (int32_t i = 0; i < tasks->n; i++) {
        self->period[i] = tasks->period[i];
        self->deadline[i] = tasks->deadline[i];
        self->offset[i] = gs_periodic_tasks_offset(tasks, i);
        self->jobs[i] = gs_periodic_tasks_jobs_before(tasks, i, self->hyperperiod);
    }
    return GS_OK;
}

void gs_pbs_graph_jobs_released(const gs_pbs_graph_jobs_t *self, int64_t t, int64_t *released)
{
    for (int32_t i = 0; i < self->n; i++) {
        int64_t count = t < self->offset[i] ? 0 : (t - self->offset[i]) / self->period[i] + 1;
        released[i] = count < self->jobs[i] ? count : self->jobs[i];
    }
}

int64_t gs_pbs_graph_jobs_next(const gs_pbs_graph_jobs_t *self, const int64_t *released)
{
    int64_t next = GS_NEVER;
    for (int32_t i = 0; i < self->n; i++) {
        if (released[i] < self->jobs[i]) {
            int64_t at = self->offset[i] + released[i] * self->period[i];
            next = at < next ? at : next;
        }
    }
    return next;
}

int64_t gs_pbs_graph_jobs_latest(const gs_pbs_graph_jobs_t *self, const int64_t *executed,
                                 uint32_t batch)
{
    int64_t latest = GS_NEVER;
    for (int32_t i = 0; i < self->n; i++) {
        int64_t k = executed[i];
        if ((batch >> i & 1) != 0) {
            int64_t due = gs_pbs_graph_jobs_due(self, i, k);
            latest = due < latest ? due : latest;
            k++;
        }
        int64_t waits = gs_pbs_graph_jobs_due(self, i, k) - 1;
        latest = waits < latest ? waits : latest;
    }
    return latest;
}
