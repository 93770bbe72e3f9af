/* Random tasks with CPU and GPU segments. */
#include "generate/host_sets.h"

#include "core/rng.h"
#include "generate/segment_parts.h"

static int check_profiles(gs_context_t *ctx, const gs_generate_hosts_t *spec)
{
    if (spec->columns < 1 || spec->columns > INT32_MAX) {
        return gs_fail(ctx, GS_ERR_VALUE, "sms", -1, spec->columns,
                       "a positive number of SMs below 2**31");
    }
    if (spec->at < 1 || spec->at > spec->columns) {
        return gs_fail(ctx, GS_ERR_VALUE, "at", -1, spec->at,
                       "a positive number, at most the GPU's SMs");
    }
    if (spec->profiles < 1 || spec->profiles > INT32_MAX) {
        return gs_fail(ctx, GS_ERR_VALUE, "profiles", -1, spec->profiles,
                       "a positive number of profiles below 2**31");
    }
    for (int64_t i = 0; i < spec->profiles; i++) {
        const int64_t *part = spec->profile + i * spec->columns;
        if (part[0] != GS_GENERATE_PARTS) {
            return gs_fail(ctx, GS_ERR_VALUE, "profiles", i, part[0], "1000000 parts on one SM");
        }
        for (int64_t k = 1; k < spec->columns; k++) {
            if (part[k] < 1 || part[k] > part[k - 1]) {
                return gs_fail(ctx, GS_ERR_VALUE, "profiles", i, part[k],
                               "a positive number that does not grow with the number of SMs");
            }
        }
    }
    return GS_OK;
}

static int check(gs_context_t *ctx, const gs_generate_hosts_t *spec)
{
    int status;
    if (spec->n < 1 || spec->n > INT32_MAX) {
        return gs_fail(ctx, GS_ERR_VALUE, "tasks", -1, spec->n, "a positive number below 2**31");
    }
    if ((status = gs_generate_check_periods(ctx, spec->period, spec->ticks)) != GS_OK ||
        (status = gs_generate_check_range(ctx, "utilization", spec->utilization, 0,
                                          GS_GENERATE_PARTS, "at most 1000000 parts")) != GS_OK ||
        (status = gs_generate_check_range(ctx, "gpu_ratio", spec->gpu_ratio, 0, INT32_MAX,
                                          "a number below 2**31")) != GS_OK ||
        (status = gs_generate_check_range(ctx, "segments", spec->segments, 1, INT16_MAX,
                                          "a number below 2**15")) != GS_OK ||
        (status = gs_generate_check_range(ctx, "cpu_ratio", spec->cpu_ratio, 0, INT32_MAX,
                                          "a number below 2**31")) != GS_OK ||
        (status = gs_generate_check_range(ctx, "kernel_ratio", spec->kernel, 0, GS_GENERATE_PARTS,
                                          "at most 1000000 parts")) != GS_OK) {
        return status;
    }
    return check_profiles(ctx, spec);
}

/* Marks the GPU-using tasks in segments: all choices of their number of tasks are equally
 * likely. */
static int choose(gs_context_t *ctx, gs_rng_t *rng, const gs_generate_hosts_t *spec,
                  int64_t *segments)
{
    int64_t ratio = gs_generate_draw(rng, spec->gpu_ratio);
    int64_t left = gs_generate_divided(spec->n * ratio, GS_GENERATE_PARTS + ratio);
    int status = GS_OK;
    for (int64_t i = 0; status == GS_OK && i < spec->n; i++) {
        segments[i] = (int64_t)gs_rng_below(rng, (uint64_t)(spec->n - i)) < left;
        left -= segments[i];
        status = gs_poll(ctx, 1);
    }
    return status;
}

/* One segment of a given length: copies and the kernel's times. The time on one SM is the largest
 * that, scaled by the profile and rounded up, is the share on `at` SMs. */
static void fill_segment(gs_rng_t *rng, const gs_generate_hosts_t *spec, const int64_t *part,
                         int64_t length, int64_t share, int64_t *copy_in, int64_t *kernel,
                         int64_t *copy_out)
{
    int64_t there = gs_generate_divided(length * share, GS_GENERATE_PARTS);
    int64_t whole = there * GS_GENERATE_PARTS / part[spec->at - 1];
    for (int64_t k = 0; k < spec->columns; k++) {
        /* ceil(whole part / GS_GENERATE_PARTS), in two steps that do not overflow */
        int64_t rest = whole % GS_GENERATE_PARTS * part[k];
        kernel[k] = whole / GS_GENERATE_PARTS * part[k] + rest / GS_GENERATE_PARTS +
                    (rest % GS_GENERATE_PARTS != 0);
    }
    int64_t half[2];
    gs_generate_cut(rng, spec->even_copy, length - there, 0, 2, half);
    *copy_in = half[0];
    *copy_out = half[1];
}

/* Total length of the GPU segments of a task whose C + G, or C + G^m, is work. */
static int gpu_time(gs_context_t *ctx, const gs_generate_hosts_t *spec, int64_t work, int64_t ratio,
                    int64_t share, int64_t *time)
{
    int64_t parts = ratio + (spec->cpu_only ? GS_GENERATE_PARTS - share : GS_GENERATE_PARTS);
    *time = gs_generate_divided(work * GS_GENERATE_PARTS, parts > 0 ? parts : 1);
    /* Segments are multiplied by parts. */
    return *time < GS_NEVER / 2 / GS_GENERATE_PARTS
               ? GS_OK
               : gs_fail(ctx, GS_ERR_OVERFLOW, "kernel_ratio", 1, spec->kernel.most,
                         "GPU segments of less than 1152921504606 ticks");
}

/* Streams for the parts of a job, their cuts, and its copies. */
typedef struct {
    gs_rng_t parts;
    gs_rng_t cut;
    gs_rng_t copy;
} streams_t;

static int fill_job(gs_context_t *ctx, streams_t *rng, const gs_generate_hosts_t *spec, int64_t i,
                    int64_t work, const gs_generate_host_columns_t *set)
{
    int64_t width = spec->segments.most, count = gs_generate_draw(&rng->parts, spec->segments),
            time;
    int64_t ratio = gs_generate_draw(&rng->parts, spec->cpu_ratio),
            share = gs_generate_draw(&rng->parts, spec->kernel);
    int status = gpu_time(ctx, spec, work, ratio, share, &time);
    if (status != GS_OK) {
        return status;
    }
    int64_t *in = set->copy_in + i * width, *out = set->copy_out + i * width;
    int64_t gpu = time < count ? count : time, copies = 0;
    set->segments[i] = count;
    gs_generate_cut(&rng->cut, spec->even, gpu, 1, count, in);
    for (int64_t j = 0; j < count; j++) {
        fill_segment(&rng->copy, spec, spec->profile + set->profile[i] * spec->columns, in[j],
                     share, &in[j], set->kernel + (i * width + j) * spec->columns, &out[j]);
        copies += in[j] + out[j];
    }
    int64_t counted = spec->cpu_only ? copies : gpu;
    gs_generate_cut(&rng->cut, spec->even, work > counted ? work - counted : 0, 0, count + 1,
                    set->cpu + i * (width + 1));
    return GS_OK;
}

static int clear(gs_context_t *ctx, const gs_generate_hosts_t *spec,
                 const gs_generate_host_columns_t *set)
{
    int64_t n = spec->n, segments = n * spec->segments.most;
    int status = gs_generate_fill(ctx, set->cpu, segments + n, 0);
    status = status == GS_OK ? gs_generate_fill(ctx, set->copy_in, segments, 0) : status;
    status =
        status == GS_OK ? gs_generate_fill(ctx, set->kernel, segments * spec->columns, 0) : status;
    status = status == GS_OK ? gs_generate_fill(ctx, set->copy_out, segments, 0) : status;
    return status == GS_OK ? gs_generate_fill(ctx, set->profile, n, 0) : status;
}

int gs_generate_hosts(gs_context_t *ctx, const gs_generate_hosts_t *spec, const uint64_t key[4],
                      uint64_t index, const gs_generate_host_columns_t *set)
{
    int status = check(ctx, spec);
    if (status != GS_OK) {
        return status;
    }
    if ((status = clear(ctx, spec, set)) != GS_OK) {
        return status;
    }
    gs_rng_t rng, share;
    gs_rng_init(&rng, key, index, GS_RNG_STREAM_USES_GPU);
    status = choose(ctx, &rng, spec, set->segments);
    gs_rng_init(&rng, key, index, GS_RNG_STREAM_PROFILE);
    for (int64_t i = 0; status == GS_OK && i < spec->n; i++) {
        int64_t chosen = (int64_t)gs_rng_below(&rng, (uint64_t)spec->profiles);
        set->profile[i] = set->segments[i] > 0 ? chosen : 0;
        status = gs_poll(ctx, 1);
    }
    gs_rng_init(&rng, key, index, GS_RNG_STREAM_PERIOD);
    gs_rng_init(&share, key, index, GS_RNG_STREAM_UTILIZATION);
    streams_t job;
    gs_rng_init(&job.parts, key, index, GS_RNG_STREAM_SEGMENT);
    gs_rng_init(&job.cut, key, index, GS_RNG_STREAM_CUT);
    gs_rng_init(&job.copy, key, index, GS_RNG_STREAM_COPY);
    for (int64_t i = 0; status == GS_OK && i < spec->n; i++) {
        set->period[i] = gs_generate_draw(&rng, spec->period) * spec->ticks;
        int64_t work = gs_generate_divided(
            gs_generate_draw(&share, spec->utilization) * set->period[i], GS_GENERATE_PARTS);
        work = work < 1 ? 1 : work;
        if (set->segments[i] > 0) {
            status = fill_job(ctx, &job, spec, i, work, set);
        } else {
            set->cpu[i * (spec->segments.most + 1)] = work;
        }
        if (status == GS_OK) {
            status = gs_poll(ctx, spec->segments.most * (spec->columns + 1));
        }
    }
    return status;
}
