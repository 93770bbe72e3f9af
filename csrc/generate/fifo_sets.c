/* Random task sets of kernels with blocks. */
#include "generate/fifo_sets.h"

#include <math.h>

#include "generate/uunifast.h"

static int check_periods(gs_context_t *ctx, const gs_generate_fifo_t *spec)
{
    if (spec->ticks < 1) {
        return gs_fail(ctx, GS_ERR_VALUE, "ticks", -1, spec->ticks, "a positive number");
    }
    if (spec->shortest < 1) {
        return gs_fail(ctx, GS_ERR_VALUE, "periods", 0, spec->shortest, "a positive number");
    }
    if (spec->longest < spec->shortest) {
        return gs_fail(ctx, GS_ERR_VALUE, "periods", 1, spec->longest,
                       "at least the shortest period");
    }
    /* Below GS_NEVER / 64, so that one random number selects among all octaves. */
    int64_t most;
    if (!gs_mul(spec->longest, spec->ticks, &most) || most >= GS_NEVER / 64) {
        return gs_fail(ctx, GS_ERR_OVERFLOW, "periods", 1, spec->longest,
                       "a period below 2**55 - 1 ticks");
    }
    return GS_OK;
}

static int check(gs_context_t *ctx, const gs_generate_fifo_t *spec)
{
    if (spec->m < 1 || spec->m > INT32_MAX) {
        return gs_fail(ctx, GS_ERR_VALUE, "threads", -1, spec->m,
                       "a positive number of threads below 2**31");
    }
    if (spec->blocks_max < 1 || spec->blocks_max > INT32_MAX) {
        return gs_fail(ctx, GS_ERR_VALUE, "blocks_max", -1, spec->blocks_max,
                       "a positive number of blocks below 2**31");
    }
    if (spec->size_count < 1) {
        return gs_fail(ctx, GS_ERR_VALUE, "block_sizes", -1, spec->size_count,
                       "at least one block size");
    }
    for (int64_t i = 0; i < spec->size_count; i++) {
        if (spec->sizes[i] < 1 || spec->sizes[i] > spec->m) {
            return gs_fail(ctx, GS_ERR_VALUE, "block_sizes", i, spec->sizes[i],
                           "a positive number, at most the GPU's threads");
        }
    }
    return check_periods(ctx, spec);
}

/* Threads of a kernel with blocks of this size that run at once, alone on the GPU. */
static int64_t side_by_side(const gs_generate_fifo_t *spec, int64_t size)
{
    int64_t blocks = spec->m / size;
    return (blocks < spec->blocks_max ? blocks : spec->blocks_max) * size;
}

/* Largest utilization of one task, in threads: it runs without a pause, with as many parallel
 * blocks as possible. */
static int64_t capacity(const gs_generate_fifo_t *spec)
{
    int64_t most = 0;
    for (int64_t i = 0; i < spec->size_count; i++) {
        int64_t width = side_by_side(spec, spec->sizes[i]);
        most = width > most ? width : most;
    }
    return most;
}

/* All octaves below last = shortest 2^octaves have the same weight; a position in one of them is an
 * offset with some surplus bits. */
static int64_t draw_period(gs_rng_t *rng, int64_t shortest, int64_t longest)
{
    int octaves = 0;
    int64_t last = shortest;
    while (last <= longest / 2) {
        last *= 2;
        octaves++;
    }
    int64_t total = octaves * last + (longest - last + 1);
    int64_t drawn = (int64_t)gs_rng_below(rng, (uint64_t)total);
    int octave = (int)(drawn / last);
    if (octave >= octaves) {
        return drawn - octaves * last + last;
    }
    return (shortest << octave) + ((drawn % last) >> (octaves - octave));
}

static int64_t draw_size(gs_rng_t *rng, const gs_generate_fifo_t *spec, double u)
{
    int64_t count = 0;
    for (int64_t i = 0; i < spec->size_count; i++) {
        count += u <= (double)side_by_side(spec, spec->sizes[i]);
    }
    int64_t chosen = (int64_t)gs_rng_below(rng, (uint64_t)count);
    int64_t i = 0;
    while (u > (double)side_by_side(spec, spec->sizes[i]) || chosen-- > 0) {
        i++;
    }
    return spec->sizes[i];
}

/* Grids that fit: with k waves of at most `wide` parallel blocks, those above (k - 1) wide, at most
 * k wide, and at least k `least`. */
typedef struct {
    int64_t wide;
    double least; /* average number of parallel blocks: u / b */
    int64_t most;
} grids_t;

/* Number of grids of k waves; *from receives the first. */
static int64_t grids_of(const grids_t *grids, int64_t k, int64_t *from)
{
    int64_t need = (int64_t)ceil((double)k * grids->least);
    int64_t above = (k - 1) * grids->wide + 1;
    *from = need > above ? need : above;
    int64_t to = k * grids->wide < grids->most ? k * grids->wide : grids->most;
    return to < *from ? 0 : to - *from + 1;
}

static int draw_grid(gs_context_t *ctx, gs_rng_t *rng, const grids_t *grids, int64_t *blocks)
{
    int64_t waves = (grids->most - 1) / grids->wide + 1;
    int64_t count = 0, from, k;
    int status = GS_OK;
    for (k = 1; status == GS_OK && k <= waves; k++) {
        int64_t here = grids_of(grids, k, &from);
        if (here > 0 && from == (k - 1) * grids->wide + 1) {
            break; /* from here on all grids fit */
        }
        count += here;
        status = gs_poll(ctx, 1);
    }
    int64_t whole = (k - 1) * grids->wide + 1;
    int64_t rest = k <= waves ? grids->most - whole + 1 : 0;
    int64_t chosen = (int64_t)gs_rng_below(rng, (uint64_t)(count + rest));
    if (chosen >= count) {
        *blocks = whole + chosen - count;
        return status;
    }
    for (k = 1; status == GS_OK; k++) {
        int64_t here = grids_of(grids, k, &from);
        if (chosen < here) {
            *blocks = from + chosen;
            break;
        }
        chosen -= here;
        status = gs_poll(ctx, 1);
    }
    return status;
}

/* Blocks and times of task i. */
static int draw_shape(gs_context_t *ctx, gs_rng_t *rng, const gs_generate_fifo_t *spec, int64_t i,
                      const gs_generate_fifo_set_t *set)
{
    double u = set->share[i] * (double)spec->m;
    int64_t period = set->period[i], threads = draw_size(rng, spec, u), blocks;
    double size = (double)threads;
    grids_t grids = {spec->m / threads, u / size, spec->blocks_max};
    double thick = grids.least * (double)period; /* number of blocks of one tick each */
    if (thick < (double)grids.most) {
        int64_t least = grids.least > 1 ? (int64_t)ceil(grids.least) : 1;
        grids.most = thick < (double)least ? least : (int64_t)thick;
    }
    int status = draw_grid(ctx, rng, &grids, &blocks);
    if (status != GS_OK) {
        return status;
    }
    int64_t waves = (blocks - 1) / grids.wide + 1;
    int64_t time = llround(u * (double)period / ((double)blocks * size));
    int64_t most = period / waves;
    time = time < 1 ? 1 : time > most ? most : time;
    set->block_time[i] = time;
    set->wcet[i] = waves * time;
    set->blocks[i] = blocks;
    set->threads[i] = threads;
    return GS_OK;
}

int gs_generate_fifo(gs_context_t *ctx, const gs_generate_fifo_t *spec, const uint64_t key[4],
                     uint64_t index, double utilization, const gs_generate_fifo_set_t *set)
{
    int status = check(ctx, spec);
    if (status != GS_OK) {
        return status;
    }
    if (utilization * (double)spec->m > (double)capacity(spec)) {
        return gs_fail_number(ctx, GS_ERR_VALUE, "utilization", -1, utilization,
                              "at most what one task can have with these blocks");
    }
    gs_rng_t rng;
    gs_rng_init(&rng, key, index, GS_RNG_STREAM_UTILIZATION);
    status = gs_generate_uunifast(ctx, &rng, spec->n, utilization, set->share);
    if (status != GS_OK) {
        return status;
    }
    gs_rng_init(&rng, key, index, GS_RNG_STREAM_PERIOD);
    for (int64_t i = 0; status == GS_OK && i < spec->n; i++) {
        set->period[i] = draw_period(&rng, spec->shortest, spec->longest) * spec->ticks;
        status = gs_poll(ctx, 1);
    }
    gs_rng_init(&rng, key, index, GS_RNG_STREAM_SHAPE);
    for (int64_t i = 0; status == GS_OK && i < spec->n; i++) {
        status = draw_shape(ctx, &rng, spec, i, set);
        if (status == GS_OK) {
            status = gs_poll(ctx, spec->size_count);
        }
    }
    return status;
}
