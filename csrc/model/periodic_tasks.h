/* Periodic kernels, a structure of arrays.
 *
 * [RTNS24], section 2.2. Times are integer ticks. The arrays belong to the caller.
 *
 * A task whose jobs run several kernels one after the other is a *chain*: a row for each of its
 * kernels, neighbours in the order in which they run, with the period, deadline and offset of the
 * task. A kernel starts once the one before it in its job has ended, and the first one once the job
 * before it has ended.
 *
 * More generally a row may *need* others of its period and offset: its job starts once their jobs
 * of the same number have ended. Its deadline, too, counts from the arrival that they share, and is
 * no shorter than theirs, so that the job that is due first is never one that waits. Jobs of
 * different numbers do not wait for each other.
 */
#ifndef GS_MODEL_PERIODIC_TASKS_H
#define GS_MODEL_PERIODIC_TASKS_H

#include "core/context.h"

/* Maximum number of tasks where sets of tasks are bit masks. */
#define GS_PERIODIC_TASKS_MAX 24

typedef struct {
    int32_t n;
    const int64_t *period;
    const int64_t *deadline; /* relative */
    const int64_t *offset;   /* of the first release; NULL: all 0 */
    uint32_t chained;        /* bit i: row i + 1 is the next kernel of the jobs of row i */
    const int64_t *needs;    /* masks of the rows that each row needs; NULL: none do. Not with
                                chains */
} gs_periodic_tasks_t;

/* Refuses n outside 1..GS_PERIODIC_TASKS_MAX, a period or deadline below 1, an offset below 0,
 * a period or offset + deadline of GS_NEVER / 2 or more, chains that do not end within the rows
 * or whose rows differ in their times, and needs of other rows than those above, in a cycle, or
 * beside chains. */
int gs_periodic_tasks_check(gs_context_t *ctx, const gs_periodic_tasks_t *tasks);

/* Least common multiple of the periods. GS_ERR_OVERFLOW when it is GS_NEVER / 2 or more (row: the
 * task whose period made it so). */
int gs_periodic_tasks_hyperperiod(gs_context_t *ctx, const gs_periodic_tasks_t *tasks,
                                  int64_t *hyperperiod);

static inline int64_t gs_periodic_tasks_offset(const gs_periodic_tasks_t *tasks, int32_t i)
{
    return tasks->offset == NULL ? 0 : tasks->offset[i];
}

/* The row of the last kernel of the jobs of row i. */
static inline int32_t gs_periodic_tasks_last_kernel(const gs_periodic_tasks_t *tasks, int32_t i)
{
    while ((tasks->chained >> i & 1) != 0) {
        i++;
    }
    return i;
}

/* Whether some row waits for others. */
static inline bool gs_periodic_tasks_has_precedence(const gs_periodic_tasks_t *tasks)
{
    return tasks->chained != 0 || tasks->needs != NULL;
}

/* Number of jobs of a task released before an instant. */
static inline int64_t gs_periodic_tasks_jobs_before(const gs_periodic_tasks_t *tasks, int32_t i,
                                                    int64_t instant)
{
    int64_t offset = gs_periodic_tasks_offset(tasks, i);
    return instant <= offset ? 0 : (instant - offset - 1) / tasks->period[i] + 1;
}

/* Release time of job number job (from 0) of a task. */
static inline int64_t gs_periodic_tasks_release(const gs_periodic_tasks_t *tasks, int32_t i,
                                                int64_t job)
{
    return gs_periodic_tasks_offset(tasks, i) + job * tasks->period[i];
}

#endif
