/* Simulation of EDFserial and EDFParallel over one hyperperiod. */
#include "pbs/edf.h"
#include "model/periodic_tasks_internal.h"

typedef struct {
    int64_t job;      /* oldest job not executed, from 0 */
    int64_t release;  /* its release, GS_NEVER when all of [0, H) were executed */
    int64_t deadline; /* its absolute deadline */
} oldest_t;

static void set_oldest(oldest_t *oldest, const gs_periodic_tasks_t *tasks, int32_t i,
                       int64_t hyperperiod, int64_t job, int64_t release)
{
    oldest->job = job;
    oldest->release = release < hyperperiod ? release : GS_NEVER;
    oldest->deadline = release < hyperperiod ? release + tasks->deadline[i] : GS_NEVER;
}

/* Keeps the tasks of an order that do not wait for others; returns their number. */
static int32_t keep_current(const oldest_t *oldest, const gs_periodic_tasks_t *tasks,
                            int32_t *order, int32_t ready)
{
    int64_t done[GS_PERIODIC_TASKS_MAX];
    int32_t kept = 0;
    for (int32_t i = 0; i < tasks->n; i++) {
        done[i] = oldest[i].job;
    }
    uint32_t held = gs_periodic_tasks_held_back(tasks, done);
    for (int32_t j = 0; j < ready; j++) {
        if ((held >> order[j] & 1) == 0) {
            order[kept++] = order[j];
        }
    }
    return kept;
}

/* The batch that starts now, empty when no job is ready. */
static uint32_t choose(const oldest_t *oldest, const gs_periodic_tasks_t *tasks,
                       const int64_t *completion, int64_t now, bool parallel)
{
    int32_t order[GS_PERIODIC_TASKS_MAX], ready = 0;
    const int32_t n = tasks->n;
    for (int32_t i = 0; i < n; i++) {
        if (oldest[i].release <= now) {
            int32_t j = ready++;
            for (; j > 0 && oldest[order[j - 1]].deadline > oldest[i].deadline; j--) {
                order[j] = order[j - 1];
            }
            order[j] = i;
        }
    }
    if (gs_periodic_tasks_has_precedence(tasks)) {
        ready = keep_current(oldest, tasks, order, ready);
    }
    uint32_t batch = 0;
    for (int32_t j = 0; j < (parallel || ready == 0 ? ready : 1); j++) {
        uint32_t larger = batch | UINT32_C(1) << order[j];
        batch = completion[larger] != 0 ? larger : batch;
    }
    return batch;
}

int gs_pbs_edf_simulate(gs_context_t *ctx, const gs_periodic_tasks_t *tasks,
                        const gs_batch_table_t *table, bool parallel, gs_schedule_t *schedule,
                        gs_pbs_edf_miss_t *miss)
{
    *miss = (gs_pbs_edf_miss_t){-1, -1, -1};
    int status = gs_periodic_tasks_check(ctx, tasks);
    if (status == GS_OK) {
        status = gs_batch_table_check(ctx, table);
    }
    return status == GS_OK ? gs_pbs_edf_run(ctx, tasks, table, parallel, schedule, miss) : status;
}

int gs_pbs_edf_run(gs_context_t *ctx, const gs_periodic_tasks_t *tasks,
                   const gs_batch_table_t *table, bool parallel, gs_schedule_t *schedule,
                   gs_pbs_edf_miss_t *miss)
{
    int64_t hyperperiod, now = 0, frames = 0;
    oldest_t oldest[GS_PERIODIC_TASKS_MAX];
    *miss = (gs_pbs_edf_miss_t){-1, -1, -1};
    int status = gs_periodic_tasks_hyperperiod(ctx, tasks, &hyperperiod);
    if (status != GS_OK) {
        return status;
    }
    for (int32_t i = 0; i < tasks->n; i++) {
        set_oldest(&oldest[i], tasks, i, hyperperiod, 0, gs_periodic_tasks_offset(tasks, i));
    }
    for (;;) {
        uint32_t batch = choose(oldest, tasks, table->completion, now, parallel);
        if (batch == 0) {
            int64_t next = GS_NEVER;
            for (int32_t i = 0; i < tasks->n; i++) {
                next = oldest[i].release < next ? oldest[i].release : next;
            }
            if (next == GS_NEVER) {
                return GS_OK;
            }
            now = next;
            continue;
        }
        int64_t end = now + table->completion[batch];
        if (ctx->bytes_limit != 0 && ++frames > ctx->bytes_limit / GS_PBS_EDF_FRAME_BYTES) {
            return GS_SPENT_BYTES;
        }
        if (schedule != NULL) {
            status = gs_schedule_append(schedule, ctx, now, end, batch);
            if (status != GS_OK) {
                return status;
            }
        }
        for (int32_t i = 0; i < tasks->n; i++) {
            oldest_t before = oldest[i];
            bool runs = (batch >> i & 1) != 0;
            if (runs) {
                set_oldest(&oldest[i], tasks, i, hyperperiod, before.job + 1,
                           before.release + tasks->period[i]);
            }
            bool missed = runs ? before.deadline < end : before.deadline <= end;
            if (missed && (miss->task < 0 || before.deadline < miss->deadline)) {
                *miss = (gs_pbs_edf_miss_t){i, before.job, before.deadline};
            }
        }
        if (miss->task >= 0) {
            return GS_OK;
        }
        now = end;
        status = gs_poll(ctx, 4 * tasks->n);
        if (status != GS_OK) {
            return status;
        }
    }
}

const gs_method_t gs_pbs_edf_serial_method = {
    .name = "edf_serial",
    .model = "BatchTable",
    .function = "pbs.edf_serial",
    .claim = "exact",
    .source = "[RTNS24], section 6",
    .summary = "One kernel at a time, earliest deadline first.",
};

const gs_method_t gs_pbs_edf_parallel_method = {
    .name = "edf_parallel",
    .model = "BatchTable",
    .function = "pbs.edf_parallel",
    .claim = "exact",
    .source = "[RTNS24], section 6",
    .summary = "Batches filled greedily in order of deadlines.",
};
