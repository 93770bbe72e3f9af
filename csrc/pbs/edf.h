/* EDFserial and EDFParallel, the two schedulers that PBS is compared with.
 *
 * [RTNS24], section 6. EDFserial runs one job per frame, the one with the earliest deadline.
 * EDFParallel goes through the ready jobs in deadline order and adds each that leaves the batch
 * eligible. Both are non-preemptive; ties go to the smaller task index.
 */
#ifndef GS_PBS_EDF_H
#define GS_PBS_EDF_H

#include "core/method.h"
#include "model/schedule.h"

/* The first job that misses its deadline; task is -1 when none does. */
typedef struct {
    int32_t task;
    int64_t job; /* from 0 */
    int64_t deadline;
} gs_pbs_edf_miss_t;

/* Bytes of a frame in the budget: its own, and those of its row in the arrays made of it. */
enum { GS_PBS_EDF_FRAME_BYTES = 64 };

/* Simulates the jobs released in [0, H) up to their end or the first miss. schedule: NULL, or
 * receives the frames, including the one that misses. Returns GS_SPENT_BYTES when the frames,
 * stored or not, exceed the budget, and GS_SPENT_SECONDS from the poll. Errors: those of
 * gs_periodic_tasks_check, gs_batch_table_check, gs_periodic_tasks_hyperperiod. */
int gs_pbs_edf_simulate(gs_context_t *ctx, const gs_periodic_tasks_t *tasks,
                        const gs_batch_table_t *table, bool parallel, gs_schedule_t *schedule,
                        gs_pbs_edf_miss_t *miss);

/* The same for tasks and table that were checked. */
int gs_pbs_edf_run(gs_context_t *ctx, const gs_periodic_tasks_t *tasks,
                   const gs_batch_table_t *table, bool parallel, gs_schedule_t *schedule,
                   gs_pbs_edf_miss_t *miss);

extern const gs_method_t gs_pbs_edf_serial_method;
extern const gs_method_t gs_pbs_edf_parallel_method;

#endif
