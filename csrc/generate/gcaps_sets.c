/* Random tasks with CPU and GPU segments on cores. */
#include "generate/gcaps_sets.h"

#include "generate/segment_parts.h"
#include "generate/uunifast.h"

enum { MOST = 1024 }; /* cores, and tasks of a core */

int gs_generate_gcaps_check(gs_context_t *ctx, const gs_generate_gcaps_t *spec)
{
    static const char *const SHARE = "at most 1000000 parts";
    int status;
    if (spec->cpus < 1 || spec->cpus > MOST) {
        return gs_fail(ctx, GS_ERR_VALUE, "cpus", -1, spec->cpus, "1 to 1024 cores");
    }
    if ((status = gs_generate_check_range(ctx, "tasks", spec->tasks, 1, MOST,
                                          "at most 1024 tasks")) != GS_OK ||
        (status = gs_generate_check_range(ctx, "utilization", spec->utilization, 0,
                                          GS_GENERATE_PARTS, SHARE)) != GS_OK ||
        (status = gs_generate_check_periods(ctx, spec->period, spec->ticks)) != GS_OK ||
        (status = gs_generate_check_range(ctx, "gpu_share", spec->gpu_share, 0, GS_GENERATE_PARTS,
                                          SHARE)) != GS_OK ||
        (status = gs_generate_check_range(ctx, "segments", spec->segments, 1, INT16_MAX,
                                          "a number below 2**15")) != GS_OK ||
        (status = gs_generate_check_range(ctx, "gpu_ratio", spec->gpu_ratio, 0, INT32_MAX,
                                          "a number below 2**31")) != GS_OK) {
        return status;
    }
    return gs_generate_check_range(ctx, "copy_ratio", spec->copy, 0, GS_GENERATE_PARTS, SHARE);
}

static int clear(gs_context_t *ctx, const gs_generate_gcaps_t *spec,
                 const gs_generate_gcaps_columns_t *set)
{
    int64_t n = spec->cpus * spec->tasks.most, width = spec->segments.most;
    int status = gs_generate_fill(ctx, set->period, n, 0);
    status = status == GS_OK ? gs_generate_fill(ctx, set->core, n, -1) : status;
    status = status == GS_OK ? gs_generate_fill(ctx, set->segments, n, 0) : status;
    status = status == GS_OK ? gs_generate_fill(ctx, set->cpu, n * (width + 1), 0) : status;
    status = status == GS_OK ? gs_generate_fill(ctx, set->copy_in, n * width, 0) : status;
    return status == GS_OK ? gs_generate_fill(ctx, set->kernel, n * width, 0) : status;
}

/* Streams of a set. */
typedef struct {
    gs_rng_t utilization, period, uses_gpu, segment, cut, copy;
} streams_t;

/* Segments of a job of row i that takes `work`. */
static void fill_job(streams_t *rng, const gs_generate_gcaps_t *spec, int64_t i, int64_t work,
                     const gs_generate_gcaps_columns_t *set)
{
    int64_t width = spec->segments.most, *cpu = set->cpu + i * (width + 1);
    int64_t chance = gs_generate_draw(&rng->uses_gpu, spec->gpu_share);
    bool uses = (int64_t)gs_rng_below(&rng->uses_gpu, GS_GENERATE_PARTS) < chance;
    int64_t count = gs_generate_draw(&rng->segment, spec->segments);
    int64_t ratio = gs_generate_draw(&rng->segment, spec->gpu_ratio);
    int64_t on_cpu = gs_generate_divided(work * GS_GENERATE_PARTS, GS_GENERATE_PARTS + ratio);
    if (!uses || on_cpu == work) {
        cpu[0] = work;
        return;
    }
    int64_t on_gpu = work - on_cpu < count ? count : work - on_cpu;
    int64_t *in = set->copy_in + i * width, *kernel = set->kernel + i * width;
    set->segments[i] = count;
    gs_generate_cut(&rng->cut, false, on_gpu, 1, count, kernel);
    gs_generate_cut(&rng->cut, false, work > on_gpu ? work - on_gpu : 0, 0, count + 1, cpu);
    for (int64_t j = 0; j < count; j++) {
        int64_t share = gs_generate_draw(&rng->copy, spec->copy);
        in[j] = gs_generate_divided(kernel[j] * share, GS_GENERATE_PARTS);
        kernel[j] -= in[j];
    }
}

/* The tasks of a core, from row *size on. */
static int fill_core(gs_context_t *ctx, streams_t *rng, const gs_generate_gcaps_t *spec,
                     int64_t core, const gs_generate_gcaps_columns_t *set, double *share,
                     int64_t *size)
{
    int64_t tasks = gs_generate_draw(&rng->utilization, spec->tasks);
    int64_t parts = gs_generate_draw(&rng->utilization, spec->utilization);
    int status = gs_generate_uunifast(ctx, &rng->utilization, tasks,
                                      (double)parts / GS_GENERATE_PARTS, share);
    for (int64_t k = 0; status == GS_OK && k < tasks; k++) {
        int64_t i = (*size)++;
        set->core[i] = core;
        set->period[i] = gs_generate_draw(&rng->period, spec->period) * spec->ticks;
        int64_t work = (int64_t)(share[k] * (double)set->period[i] + 0.5);
        fill_job(rng, spec, i, work < 1 ? 1 : work, set);
        status = gs_poll(ctx, spec->segments.most);
    }
    return status;
}

int gs_generate_gcaps(gs_context_t *ctx, const gs_generate_gcaps_t *spec, const uint64_t key[4],
                      uint64_t index, const gs_generate_gcaps_columns_t *set, int64_t *size)
{
    int status = gs_generate_gcaps_check(ctx, spec);
    if (status != GS_OK) {
        return status;
    }
    double *share = gs_alloc(ctx, (size_t)spec->tasks.most, sizeof *share);
    if (share == NULL) {
        return ctx->status;
    }
    streams_t rng;
    gs_rng_init(&rng.utilization, key, index, GS_RNG_STREAM_UTILIZATION);
    gs_rng_init(&rng.period, key, index, GS_RNG_STREAM_PERIOD);
    gs_rng_init(&rng.uses_gpu, key, index, GS_RNG_STREAM_USES_GPU);
    gs_rng_init(&rng.segment, key, index, GS_RNG_STREAM_SEGMENT);
    gs_rng_init(&rng.cut, key, index, GS_RNG_STREAM_CUT);
    gs_rng_init(&rng.copy, key, index, GS_RNG_STREAM_COPY);
    status = clear(ctx, spec, set);
    *size = 0;
    for (int64_t core = 0; status == GS_OK && core < spec->cpus; core++) {
        status = fill_core(ctx, &rng, spec, core, set, share, size);
    }
    gs_free(ctx, share);
    return status;
}
