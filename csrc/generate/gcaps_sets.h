/* Random tasks with CPU and GPU segments on cores (model/host_tasks.h), as in the evaluation of
 * [ECRTS24] (Table 3, and the code that its authors published).
 *
 * As in generate/kernel_sets.h, set i of a key does not depend on what else is drawn, and is the
 * same on every machine. Shares and ratios are in millionths (parts).
 */
#ifndef GS_GENERATE_GCAPS_SETS_H
#define GS_GENERATE_GCAPS_SETS_H

#include "core/context.h"
#include "generate/range.h"

typedef struct {
    int64_t cpus;
    gs_generate_range_t tasks;       /* of a core */
    gs_generate_range_t utilization; /* of a core, in parts */
    int64_t ticks;                   /* every period is a multiple of it */
    gs_generate_range_t period;      /* in units of ticks */
    gs_generate_range_t gpu_share;   /* probability that a task uses the GPU, in parts */
    gs_generate_range_t segments;    /* GPU segments of a GPU-using task, at least 1 */
    gs_generate_range_t gpu_ratio;   /* GPU time per CPU time (G / C), in parts */
    gs_generate_range_t copy;        /* share of the copies in a GPU segment (G^m / G), in parts */
} gs_generate_gcaps_t;

/* Output arrays as in gs_host_tasks_t, with cpus tasks.most rows, width segments.most and one time
 * per kernel; they belong to the caller. Rows beyond the tasks of the set are 0 (core: -1). */
typedef struct {
    int64_t *period;
    int64_t *core;
    int64_t *segments;
    int64_t *cpu;
    int64_t *copy_in;
    int64_t *kernel;
} gs_generate_gcaps_columns_t;

/* Set `index` of a key; *size: its number of tasks, core by core. Drawn for every core: its number
 * of tasks and its utilization, which UUniFast divides. For every task: its period T and whether it
 * uses the GPU, by a probability of its own from gpu_share. C + G = U T to the nearest tick, at
 * least 1; for a GPU-using task G / C and the number of segments are drawn, and G is cut at uniform
 * points into segments of at least one tick, C into one more piece. A segment begins with its
 * copies, whose share is drawn for it. A task whose G rounds to 0 does not use the GPU. Ranges are
 * uniform over integers.
 *
 * Refuses: no cores or more than 1024, more than 1024 tasks on one, ranges that are empty or
 * negative, utilizations and shares above 1, periods as gs_generate_check_periods.
 */
int gs_generate_gcaps(gs_context_t *ctx, const gs_generate_gcaps_t *spec, const uint64_t key[4],
                      uint64_t index, const gs_generate_gcaps_columns_t *set, int64_t *size);

/* The checks of gs_generate_gcaps. */
int gs_generate_gcaps_check(gs_context_t *ctx, const gs_generate_gcaps_t *spec);

#endif
