/* Random sets of periodic kernels. */
#include "generate/kernel_sets.h"

#include <math.h>

#include "core/rng.h"
#include "generate/uunifast.h"

static int check_spec(gs_context_t *ctx, const gs_generate_kernels_t *spec)
{
    if (spec->period_count < 1) {
        return gs_fail(ctx, GS_ERR_VALUE, "periods", -1, spec->period_count, "at least one period");
    }
    for (int64_t i = 0; i < spec->period_count; i++) {
        if (spec->periods[i] < 1) {
            return gs_fail(ctx, GS_ERR_VALUE, "periods", i, spec->periods[i], "a positive number");
        }
        if (spec->periods[i] >= GS_NEVER / 2) {
            return gs_fail(ctx, GS_ERR_OVERFLOW, "periods", i, spec->periods[i],
                           "a time below 2**60 - 1 ticks");
        }
    }
    if (spec->capacity < 1 || spec->capacity > INT32_MAX) {
        return gs_fail(ctx, GS_ERR_VALUE, "capacity", -1, spec->capacity,
                       "a positive number of blocks below 2**31");
    }
    return GS_OK;
}

static int64_t between(int64_t least, int64_t x, int64_t most)
{
    return x < least ? least : x > most ? most : x;
}

int gs_generate_kernels(gs_context_t *ctx, const gs_generate_kernels_t *spec, const uint64_t key[4],
                        uint64_t index, double utilization, double *share, int64_t *period,
                        int64_t *wcet, int64_t *blocks)
{
    int status = check_spec(ctx, spec);
    if (status != GS_OK) {
        return status;
    }
    gs_rng_t rng;
    gs_rng_init(&rng, key, index, GS_RNG_STREAM_UTILIZATION);
    status = gs_generate_uunifast_discard(ctx, &rng, spec->n, utilization, share);
    if (status != GS_OK) {
        return status;
    }
    gs_rng_init(&rng, key, index, GS_RNG_STREAM_PERIOD);
    for (int64_t i = 0; status == GS_OK && i < spec->n; i++) {
        period[i] = spec->periods[gs_rng_below(&rng, (uint64_t)spec->period_count)];
        double time = share[i] * (double)period[i];
        double held = share[i] * (double)spec->capacity;
        wcet[i] = between(1, llround(time), period[i]);
        blocks[i] = between(1, (int64_t)held, spec->capacity);
        status = gs_poll(ctx, 1);
    }
    return status;
}
