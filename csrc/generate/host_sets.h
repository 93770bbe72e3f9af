/* Random tasks with CPU and GPU segments (model/host_tasks.h), as in Table I of [RTCSA19].
 *
 * As in generate/kernel_sets.h, set i of a key does not depend on what else is drawn, and is the
 * same on every machine: GPU use, utilizations, periods, segments, cuts, copies and profiles have
 * their own streams, and all of it is integer arithmetic. Shares and ratios are in millionths
 * (parts).
 */
#ifndef GS_GENERATE_HOST_SETS_H
#define GS_GENERATE_HOST_SETS_H

#include "core/context.h"
#include "generate/range.h"

typedef struct {
    int64_t n;
    int64_t ticks;                   /* every period is a multiple of it */
    gs_generate_range_t period;      /* in units of ticks */
    gs_generate_range_t utilization; /* of each task, in parts */
    gs_generate_range_t gpu_ratio;   /* GPU-using tasks per CPU-only task, in parts */
    gs_generate_range_t segments;    /* GPU segments of a GPU-using task, at least 1 */
    gs_generate_range_t cpu_ratio;   /* CPU time per GPU time (C / G), in parts */
    gs_generate_range_t kernel;      /* share of the kernel in a GPU segment (G^e / G), in parts */
    int64_t columns;                 /* kernel times are made for 1 .. columns SMs */
    int64_t at;                      /* number of SMs for which G is given */
    const int64_t *profile; /* `profiles` rows of columns: time relative to one SM, in parts */
    int64_t profiles;
    bool cpu_only;  /* utilization is (C + G^m) / T rather than (C + G) / T */
    bool even;      /* segments of a task have equal lengths; else random cuts */
    bool even_copy; /* the same for the two copies of a segment */
} gs_generate_hosts_t;

/* Output arrays as in gs_host_tasks_t, with width segments.most; they belong to the caller. */
typedef struct {
    int64_t *period;
    int64_t *segments;
    int64_t *cpu;
    int64_t *copy_in;
    int64_t *kernel;
    int64_t *copy_out;
    int64_t *profile; /* n: profile of the kernels of each task; 0 for CPU-only tasks */
} gs_generate_host_columns_t;

/* Set `index` of a key. Drawn for the set: r from gpu_ratio; n r / (1 + r) tasks, to the nearest
 * integer, use the GPU, all choices equally likely. Drawn for every task: period T and utilization
 * U; for GPU-using tasks also the number of GPU segments, C / G, the share of the kernels and the
 * profile. C + G = U T to the nearest tick, at least 1 (C + G^m if cpu_only). The GPU time is cut
 * into segments of at least one tick, the CPU time into one more piece, evenly or at uniform
 * points. Kernels take their share of a segment on `at` SMs, to the nearest tick, and on other
 * numbers of SMs the time of the profile, rounded up; the rest is copies, in halves or cut at a
 * uniform point. Ranges are uniform over integers.
 *
 * Refuses: n < 1; ranges that are empty, negative, or with a utilization or a kernel's share above
 * 1; periods that are not positive or, times GS_GENERATE_PARTS, reach GS_NEVER / 2; profiles that
 * do not start with GS_GENERATE_PARTS, grow, or end below 1; `at` outside 1 .. columns; no
 * profiles; with cpu_only, GPU segments that, times GS_GENERATE_PARTS, reach GS_NEVER / 2.
 */
int gs_generate_hosts(gs_context_t *ctx, const gs_generate_hosts_t *spec, const uint64_t key[4],
                      uint64_t index, const gs_generate_host_columns_t *set);

#endif
