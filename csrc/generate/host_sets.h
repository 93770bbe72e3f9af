/* Random tasks with CPU and GPU segments (model/host_tasks.h), as in Table I of paper 002.
 *
 * As in generate/kernel_sets.h, set i of a key is the same whatever else is drawn and on every
 * machine: which tasks use the GPU, utilizations, periods, segments, where they are cut, copies and
 * profiles have streams of their own, and all of it is integer arithmetic. Shares and ratios are in
 * millionths (parts).
 */
#ifndef GS_GENERATE_HOST_SETS_H
#define GS_GENERATE_HOST_SETS_H

#include "core/context.h"

#define GS_GENERATE_PARTS 1000000

/* Both ends included. */
typedef struct {
    int64_t least;
    int64_t most;
} gs_generate_range_t;

typedef struct {
    int64_t n;
    int64_t ticks;                   /* every period is a multiple of it */
    gs_generate_range_t period;      /* in units of ticks */
    gs_generate_range_t utilization; /* of each task, in parts */
    gs_generate_range_t gpu_ratio;   /* tasks that use the GPU per task that does not, in parts */
    gs_generate_range_t segments;    /* GPU segments of a task that uses the GPU, at least 1 */
    gs_generate_range_t cpu_ratio;   /* CPU time per GPU time (C / G), in parts */
    gs_generate_range_t kernel;      /* share of the kernel in a GPU segment (G^e / G), in parts */
    int64_t columns;                 /* kernel times are wanted for 1 .. columns SMs */
    int64_t at;                      /* G is that on so many SMs */
    const int64_t *profile; /* `profiles` rows of columns: time relative to one SM, in parts */
    int64_t profiles;
    bool cpu_only;  /* utilization is (C + G^m) / T rather than (C + G) / T */
    bool even;      /* segments of a task are equally long rather than cut at random */
    bool even_copy; /* so are the copies of a segment */
} gs_generate_hosts_t;

/* Where a set goes: arrays as in gs_host_tasks_t, with a width of segments.most, of the caller's.
 */
typedef struct {
    int64_t *period;
    int64_t *segments;
    int64_t *cpu;
    int64_t *copy_in;
    int64_t *kernel;
    int64_t *copy_out;
    int64_t *profile; /* n: the profile that each task's kernels have; 0 for tasks without any */
} gs_generate_host_columns_t;

/* Set `index` of a key. Drawn for the set: r from gpu_ratio; n r / (1 + r) tasks to the nearest
 * whole number use the GPU, any of them as likely. For every task: its period T and utilization U;
 * for those that use the GPU also the number of GPU segments, C / G, the share of the kernels and
 * the profile. C + G = U T to the nearest tick, at least 1 (C + G^m if cpu_only). The GPU time is
 * cut into segments of a tick or more, the CPU time into one piece more, evenly or at uniform
 * places. Kernels take their share of a segment on `at` SMs, to the nearest tick, and on
 * other numbers of SMs what the profile says, rounded up; the rest is copies, in two halves or cut
 * at a uniform place. Ranges are uniform over whole numbers.
 *
 * Refuses: n < 1; ranges that are empty, negative, or with a utilization or a kernel's share above
 * 1; periods that are not positive or beyond the clock; profiles that do not start with
 * GS_GENERATE_PARTS, grow, or end below 1; `at` outside 1 .. columns; no profiles; kernels that are
 * so large a share of short copies (cpu_only) that the clock cannot hold them. Everything is
 * checked at each call, in less time than drawing takes. */
int gs_generate_hosts(gs_context_t *ctx, const gs_generate_hosts_t *spec, const uint64_t key[4],
                      uint64_t index, const gs_generate_host_columns_t *set);

#endif
